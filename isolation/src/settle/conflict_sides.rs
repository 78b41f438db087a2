//! The sides of a conflict as trees, and what a choice makes of their paths.

use std::collections::BTreeMap;

use protocol::RepoPath;

use crate::error::Result;
use crate::file_entry::Entry;
use crate::merge::{Blobs, MarkerForm};

/// The new entries of paths; `None` for a path that is removed.
pub(crate) type Entries = BTreeMap<RepoPath, Option<Entry>>;

/// The two sides as trees, besides the versions in the conflict.
pub(crate) struct Sides<'a> {
    /// Returns the entry at a path of the tree into which the task is merged.
    pub(crate) ours: &'a dyn Fn(&RepoPath) -> Result<Option<Entry>>,
    /// Returns the entry that the task left at a path; `None` if the task did not change the path.
    pub(crate) theirs: &'a dyn Fn(&RepoPath) -> Option<Option<Entry>>,
    /// Returns whether something else than a file is at a path, or above it, that must not be
    /// touched.
    pub(crate) is_foreign: &'a dyn Fn(&RepoPath) -> Result<bool>,
    /// Returns whether ours has files below a path.
    pub(crate) is_folder: &'a dyn Fn(&RepoPath) -> Result<bool>,
    /// Returns what the markers of conflicts in a file look like.
    pub(crate) markers: &'a dyn Fn(&RepoPath) -> Result<MarkerForm>,
    pub(crate) blobs: &'a dyn Blobs,
}
