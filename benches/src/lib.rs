//! Measurements: what a bench needs to state a figure, hold it against a bound and say so.

mod binary;
mod files;
mod replay;
mod report;
mod sample;
mod timing;
mod used;

pub use binary::release_binary;
pub use files::{session_files, wrote_session_files};
pub use replay::Replay;
pub use report::{Bound, Report};
pub use sample::{SampleTree, scratch};
pub use timing::{Rounds, median, timed};
pub use used::{Used, used_by};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
