//! The life of one task: its contract and its phases.

mod contract;
mod lifecycle;
mod record;

pub use contract::{NullYield, Patience, Reminder, SessionEnd, Verdict, YieldContract};
pub use lifecycle::{Effect, Input, Lifecycle, Timer, WorkerPolicy};
pub(crate) use record::task_of;
pub use record::{TaskRecord, TaskStatus};
