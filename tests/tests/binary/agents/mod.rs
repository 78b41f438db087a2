//! Tasks of models.

mod accounts;
mod answers;
mod attempts;
mod bad_input;
mod compaction;
mod costs;
mod endings;
mod every_tool;
pub(super) mod fallbacks;
mod fallbacks_revoked;
mod gates;
mod killed;
mod limits;
mod outages;
pub(super) mod own_servers;
mod streams;
mod subagent_rules;
pub(super) mod subagents;
mod tools;
pub(super) mod work;
mod yields;
