//! Recovery after a crash: the work of dead engines is found and captured first, then recorded by
//! the caller, and only then removed.

mod dead_runs;
mod find;
mod finish;
#[cfg(test)]
mod tests;

pub(crate) use find::{Findings, find};
pub(crate) use finish::Cleanup;
