//! What git ignores. libgit2 drops a pattern that takes back what another file's pattern ignores,
//! and with it a task's work; so we read the rules ourselves.

mod glob;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use rules::{PathKind, Rules};
