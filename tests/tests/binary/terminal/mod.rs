//! What is on a terminal: conversations and live runs.

mod approvals;
mod commands;
mod conversation;
mod earlier;
mod ends;
mod files;
mod hostile;
mod isolated;
mod jobs;
pub(super) mod kit;
mod latency;
mod lists;
mod live;
mod notes;
mod notify;
mod plain;
mod print;
mod progress;
mod sessions;
mod steps;
mod subagents;
mod tmux;
