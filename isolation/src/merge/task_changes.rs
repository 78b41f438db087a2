//! What the work of each task has changed in a merge.

use protocol::TaskName;

use crate::error::Result;
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

    /// Returns the same if a file is of several works, so that the merged paths do not say it: two of them
    /// have changed one path, or one has moved the file of another, which may have landed before.
    pub(crate) fn shared_changes(&self) -> Vec<TaskChange> {
        let is_shared = |own: &TaskChange| {
            let changed = self.changed.get(&own.change.path);
            changed.is_none_or(|changed| changed.by[..] != [own.task.clone()])
        };
        let is_any_shared = self.task_changes.iter().any(is_shared);
        if is_any_shared { self.task_changes.clone() } else { Vec::new() }
    }

    /// Notes that work of a task has landed before, for the tasks that build on it. `changes` is what the
    /// task itself left.
    pub(crate) fn begin_with(&mut self, task: &TaskName, changes: &[Change]) -> Result<()> {
        for change in changes.iter().filter(|change| change.base.is_none()) {
            // No landing has changed the path: its file has followed a renamed folder.
            let path = &change.path;
            if change.task.is_some()
                && self.entry(path)?.is_none()
                && self.outside.is_some_and(|outside| outside.author(path, None).is_none())
            {
                self.moved_away.insert(path.clone(), task.clone());
            }
        }
        let work = changes.iter().map(|change| (change.path.clone(), change.task)).collect();
        self.works.push((task.clone(), work));
        Ok(())
    }
}
