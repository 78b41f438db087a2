//! The built-in tools: the same tests over a workspace that is a folder, and over one in memory.

#[macro_use]
mod views;

mod apply_patch;
mod ask;
mod background;
mod bash;
mod code;
mod commands;
mod edit;
mod escapes;
mod gate;
mod gate_paths;
mod meddling;
mod notebook;
mod properties;
mod read;
mod report_finding;
mod search;
mod session;
mod set;
mod taken_back;
mod task;
mod todo_write;
mod unseen;
mod view;
mod write;
mod yielding;
