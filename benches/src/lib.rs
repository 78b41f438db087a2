//! Measurements: what a bench needs to state a figure, hold it against a bound and say so.

mod binary;
mod report;
mod sample;
mod timing;

pub use binary::release_binary;
pub use report::{Bound, Report};
pub use sample::{SampleTree, scratch};
pub use timing::{Rounds, median, timed};
