//! Whether the work of a task concerns what changed in the target besides the work of tasks. Only then is
//! that looked for.

use protocol::RepoPath;

use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::merger::Merger;
use crate::merge::obstacles::entries_below;
use crate::merge::{EntryState, OutsideChanges};

impl Merger<'_> {
    /// Returns whether a file that the task changed, renamed or removed, or the folder of a file that it
    /// added, is not in the target any more, and no task removed it; or whether work that has landed
    /// before added a file to a folder that the task may have renamed.
    pub(super) fn concerns_outside(
        &self,
        changes: &[Change],
        outside: &dyn OutsideChanges,
    ) -> Result<bool> {
        let may_rename = changes.iter().any(|change| change.base.is_none());
        for change in changes {
            if change.base.is_some() {
                let is_gone = self.entry(&change.path)?.is_none();
                let has_landed_in = |folder: &RepoPath| outside.has_landed_in(folder);
                if (is_gone && !self.changed.contains_key(&change.path))
                    || (may_rename
                        && change.task.is_none()
                        && change.path.folders().any(|folder| has_landed_in(&folder)))
                {
                    return Ok(true);
                }
                continue;
            }
            let Some(folder) = change.path.folders().next() else { continue };
            let by_tasks = || entries_below(&self.changed, &folder).next().is_some();
            let is_missing = self.state_of(&folder)? == EntryState::Missing;
            if is_missing && !by_tasks() && outside.had_folder(&folder) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
