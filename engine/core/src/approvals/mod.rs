//! Decides which calls of tools run, which are asked about, and which are refused. Nothing here runs, reads or
//! resolves anything: a request has the paths already resolved, and the parts of its command.

mod always;
mod chosen_mode;
mod git;
mod harmless;
mod pattern;
mod policy;
mod refusal;
mod request;

pub use chosen_mode::ChosenMode;
pub use pattern::tool as names_tool;
pub use policy::{ApprovalPolicy, Decision};
pub use refusal::{refusal, refusal_by_user, refusal_unanswered};
pub use request::{CallRequest, Target, shell_paths};
