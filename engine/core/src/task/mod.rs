//! The life of one task: its contract and its phases.

mod contract;
mod lifecycle;

pub use contract::{NullYield, Patience, Reminder, SessionEnd, Verdict, YieldContract};
pub use lifecycle::{Effect, Input, Lifecycle};
