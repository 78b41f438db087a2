//! The pool of a run: copies of its snapshot that one task after the other works in. Between two
//! tasks a copy is put back to what a new copy would be.

mod ahead;
mod copies;
mod copy_stats;
mod git_folder;
mod lent;
mod look;
mod pooled_copy;
mod restore;
mod run_table;
#[cfg(test)]
mod tests;
mod turn;
mod written;

pub(crate) use ahead::make_ahead;
pub(crate) use copies::{Pool, is_in_pool};
pub(crate) use copy_stats::CopyStats;
pub(crate) use git_folder::GitFolder;
pub(crate) use lent::Lent;
pub(crate) use look::{Differences, SameEntries};
pub(crate) use turn::Source;
