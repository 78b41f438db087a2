//! What the work of each task has changed in a merge.

use std::collections::BTreeSet;

use protocol::{RepoPath, TaskName};

use crate::file_entry::Change;
use crate::merge::Merger;

/// What the work of one task has changed at a path: from the tree with the work of those before it to the
/// tree with its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskChange {
    pub(crate) task: TaskName,
    pub(crate) change: Change,
}

impl Merger<'_> {
    /// Returns what each work that was added has changed, in the order in which they were added.
    pub(crate) fn task_changes(&self) -> &[TaskChange] {
        &self.task_changes
    }

    /// Returns the same if two works have changed one path, so that the merged paths do not say it.
    pub(crate) fn shared_changes(&self) -> Vec<TaskChange> {
        let mut paths: BTreeSet<&RepoPath> = BTreeSet::new();
        let is_shared = self.task_changes.iter().any(|own| !paths.insert(&own.change.path));
        if is_shared { self.task_changes.clone() } else { Vec::new() }
    }
}
