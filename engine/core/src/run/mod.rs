//! One run: what the ledger has of it, and the machine that carries it from its first event to its
//! last.

mod fold_check;
mod machine;
mod record;

#[cfg(test)]
mod test_support;

pub use fold_check::{Divergence, ReplayCheck};
pub use machine::{
    AddTasksError, CancelTrigger, Effect, FinishedChild, Input, RequestId, RunMachine, WaitError,
};
pub use record::{LandingRecord, RunRecord, RunStatus, totals};
