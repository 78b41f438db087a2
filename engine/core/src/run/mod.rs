//! One run: what the ledger has of it, and the machine that carries it from its first event to its
//! last.

mod fold_check;
mod machine;
mod record;

#[cfg(test)]
mod test_support;

pub use fold_check::{Divergence, FoldCheck};
pub use machine::{
    AddTasksError, CancelsTheRest, Effect, Input, Machine, RequestId, WaitError, WaitedFor,
};
pub use record::{LandingRecord, RunRecord, RunStatus, totals};
