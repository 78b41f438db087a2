//! The result of a merge after each task.

use std::collections::BTreeMap;

use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::merge::{MergedPath, Merger};

impl Merger<'_> {
    /// Returns every path in which the tasks that were added so far differ from the target, sorted.
    pub(crate) fn so_far(&self) -> Result<BTreeMap<RepoPath, MergedPath>> {
        let mut merged = BTreeMap::new();
        for (path, changed) in &self.changed {
            let before = self.state_of(path)?.entry();
            if before != changed.entry {
                let by = changed.by.clone();
                merged.insert(path.clone(), MergedPath { before, after: changed.entry, by });
            }
        }
        Ok(merged)
    }

    /// Returns every path that `task`, which was added last, has changed.
    pub(crate) fn last_changes(&self, task: &TaskName) -> Result<BTreeMap<RepoPath, MergedPath>> {
        let mut merged = BTreeMap::new();
        for (path, changed) in &self.changed {
            if changed.last().as_ref() == Some(task) {
                let before = self.state_of(path)?.entry();
                let by = changed.by.clone();
                merged.insert(path.clone(), MergedPath { before, after: changed.entry, by });
            }
        }
        Ok(merged)
    }
}
