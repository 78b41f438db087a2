//! One task: its record in the ledger, its state machine, and the contract that its worker has to
//! fulfil.

mod contract;
mod machine;
mod record;
mod yields;

pub use contract::{ContractDecision, NullYield, Reminder, ReminderPolicy, YieldContract};
pub use machine::{Effect, Input, SetupPolicy, TaskMachine, Timer, Unsealed, WorkerPolicy};
pub(crate) use record::task_of;
pub use record::{TaskRecord, TaskStatus};
pub use yields::with_yields;
