//! What subagents get, and who may start them: pure rules over what files, settings and callers say.

mod child_approvals;
mod precedence;
mod spawn_rules;

pub use child_approvals::child_approvals;
pub use precedence::{Choice, Preferences, choose};
pub use spawn_rules::{may_call, may_spawn};
