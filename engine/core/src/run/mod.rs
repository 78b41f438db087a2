//! One run: what the ledger has of it, and the machine that carries it from its first event to its
//! last.

mod machine;
mod record;
mod replay_check;

#[cfg(test)]
mod test_support;

pub use machine::{
    AddTasksError, CancelTrigger, Effect, FinishedChild, Input, RequestId, RunMachine, WaitError,
};
pub use record::{LandingRecord, RunRecord, RunStatus, totals};
pub use replay_check::{Divergence, ReplayCheck};
