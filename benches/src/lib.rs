//! Measurements: what a bench needs to state a figure, hold it against a bound and say so.

mod agents_run;
mod bare_client;
mod binary;
mod files;
mod phases;
mod replay;
mod report;
mod sample;
mod timing;
mod used;

pub use agents_run::{plan_of_agents, run_of_plan};
pub use bare_client::{BareCall, BareTurn, BareWork, bare_client, was_bare_client};
pub use binary::measured_binary;
pub use files::{session_files, wrote_session_files};
pub use phases::phases;
pub use replay::Replay;
pub use report::{Bound, Limit, Report};
pub use sample::{SampleTree, scratch, scratch_in_memory, spread_folders};
pub use timing::{Rounds, as_f64, median, ms, percentile, timed};
pub use used::{Used, used_by};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
