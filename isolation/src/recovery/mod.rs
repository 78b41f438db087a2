//! Recovery after engines that died: what they left is found and captured first, then recorded by
//! whoever asked, and only then removed.

mod find;
mod finish;
mod runs;
#[cfg(test)]
mod tests;

pub(crate) use find::{Findings, find};
pub(crate) use finish::Cleanup;
