//! The life of one task: its contract and its phases.

mod contract;
mod machine;
mod record;

pub use contract::{NullYield, Patience, Reminder, SessionEnd, Verdict, YieldContract};
pub use machine::{Effect, Input, Machine, Timer, WorkerPolicy};
pub(crate) use record::task_of;
pub use record::{TaskRecord, TaskStatus};
