//! Recovery after a crash: the work of dead engines is found and captured first, then recorded by
//! the caller, and only then removed.

mod dead_runs;
mod finish;
mod recover;
#[cfg(test)]
mod tests;

pub(crate) use finish::Cleanup;
pub(crate) use recover::{Findings, recover};
