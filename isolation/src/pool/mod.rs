//! The pool of a run: copies of its snapshot that one task after the other works in. Between two
//! tasks a copy is put back to what a new copy would be.

mod copies;
mod copy_stats;
mod git_folder;
mod look;
mod restore;
mod run_table;
mod written;

pub(crate) use copies::{Lent, Pool, Source, is_in_pool};
pub(crate) use copy_stats::CopyStats;
pub(crate) use git_folder::GitFolder;
pub(crate) use look::{Differences, SameEntries};
