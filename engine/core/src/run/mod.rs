//! One run: what the ledger has of it, and the machine that carries it from its first event to its
//! last.

mod adding;
mod fold_check;
mod machine;
mod record;
mod totals;

#[cfg(test)]
mod sample;

pub use adding::AddTasksError;
pub use fold_check::{Divergence, FoldCheck};
pub use machine::{CancelsTheRest, Effect, Input, Machine, RequestId, WaitError, WaitedFor};
pub use record::{LandingRecord, RunRecord, RunStatus};
pub use totals::totals;
