//! Explains conflicts between git trees with the contents that the user sees in the working tree.

use git2::Oid;
use protocol::{Conflict, ConflictReason};

use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::RepoBlobs;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry};
use crate::merge::Blobs as _;

impl Cleaner<'_> {
    /// Converts conflicts between git trees to conflicts with the contents that the user sees in
    /// the working tree. `changes` are those of the task, and `clean` the same ones as git would
    /// commit them.
    pub(super) fn explain(
        &self,
        conflicts: Vec<Conflict>,
        changes: &[Change],
        clean: &[Change],
    ) -> Result<Vec<Conflict>> {
        let mut explained = Vec::with_capacity(conflicts.len());
        for mut conflict in conflicts {
            let own = changes.iter().zip(clean).find(|(change, _)| change.path == conflict.path);
            if let Some((change, clean)) = own {
                conflict.base = change.base.map(Entry::to_side);
                conflict.theirs = change.task.map(Entry::to_side);
                if conflict.with.is_none() && self.is_uncommitted(clean)? {
                    conflict.reason = ConflictReason::Uncommitted;
                }
            }
            if let Some(ours) = &conflict.ours {
                let oid = Oid::from_str(&ours.oid).or_cannot(|| "read a conflict")?;
                self.store.write(&RepoBlobs(self.git).read(oid)?)?;
            }
            explained.push(conflict);
        }
        Ok(explained)
    }

    /// Returns whether the task changed a path whose content at the start of the run was not
    /// committed: it was only in the working tree or the index.
    fn is_uncommitted(&self, clean: &Change) -> Result<bool> {
        let what = || format!("look for {} in the repository", clean.path);
        let real = self.repo.git()?;
        let index = real.index().or_cannot(what)?;
        let staged = index.get_path(clean.path.as_path(), 0).map(|entry| entry.id);
        let Some(base) = clean.base else { return Ok(staged.is_none()) };
        let head = self.head_entry(&clean.path)?.map(|entry| entry.oid);
        if staged == Some(base.oid) && head != Some(base.oid) {
            return Ok(true);
        }
        let known = real.odb().or_cannot(what)?.exists(base.oid);
        let on_disk = || self.repo.root.join(clean.path.as_path()).symlink_metadata();
        let is_untracked = staged.is_none() && head.is_none() && on_disk().is_ok();
        Ok(!known || is_untracked)
    }
}
