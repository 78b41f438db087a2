//! One run: its record in the ledger, and the state machine that takes it from its first event to
//! its last.

mod machine;
mod phase_times;
mod record;
mod replay_check;
pub mod why;
mod without_room;

#[cfg(test)]
mod lending_tests;
#[cfg(test)]
mod test_support;

pub use machine::{Effect, Input, RunMachine, WaitsFor};
pub use phase_times::{PhaseTime, phase_times};
pub use record::{LandingRecord, RunRecord, RunStatus, totals};
pub use replay_check::{Divergence, ReplayCheck};
pub use without_room::end_without_room;
