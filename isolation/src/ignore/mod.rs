//! Git's ignore rules. libgit2 drops a pattern that re-includes what a pattern of another file
//! ignores, and a task's work would be lost with it; so this module reads the rules itself.

mod glob;
mod include;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use include::IncludePatterns;
pub(crate) use rules::{PathKind, Rules};
