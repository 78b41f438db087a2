//! Random kills of a run and of its recoveries, in any nesting; after the last one, everything that
//! must hold is asked through the binary.

mod questions;
mod reading;
mod repeated;
mod story;

pub use questions::check;
pub use repeated::{Interrupted, Series, check_recovery};
