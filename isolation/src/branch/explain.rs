//! Explains conflicts between git trees: which of them are with changes that no commit has.

use std::cell::OnceCell;

use git2::{ObjectType, Repository};
use protocol::{Conflict, ConflictReason};

use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::RepoBlobs;
use crate::error::{OrCannot, Result};
use crate::file_entry::Change;
use crate::merge::Blobs as _;
use crate::settle::entry_of;

impl Cleaner<'_> {
    /// Gives conflicts between git trees their reason, and writes their versions to the task store,
    /// from which they are read. `changes` are those of the task as git would commit them.
    pub(super) fn explain(
        &self,
        mut conflicts: Vec<Conflict>,
        changes: &[Change],
    ) -> Result<Vec<Conflict>> {
        let real = OnceCell::new();
        for conflict in &mut conflicts {
            let own = changes.iter().find(|change| change.path == conflict.path);
            if let Some(change) = own
                && conflict.with.is_none()
                && self.is_uncommitted(&real, change)?
            {
                conflict.reason = ConflictReason::Uncommitted;
            }
            for side in [&conflict.base, &conflict.ours, &conflict.theirs] {
                // A submodule has no content.
                if let Some(entry) = entry_of(side.as_ref()) {
                    self.store.write(&RepoBlobs(self.git).read(entry.oid)?)?;
                }
            }
        }
        Ok(conflicts)
    }

    /// Returns whether the task changed a path whose content at the start of the run was not
    /// committed: it was only in the working tree or the index. `real` is the user's repository, once
    /// it is open.
    fn is_uncommitted(&self, real: &OnceCell<Repository>, clean: &Change) -> Result<bool> {
        let what = || format!("look for {} in the repository", clean.path);
        if real.get().is_none() {
            let _first = real.set(self.repo.git()?);
        }
        let real = real.get().ok_or("it is not open").or_cannot(what)?;
        let index = real.index().or_cannot(what)?;
        let staged = index.get_path(clean.path.as_path(), 0).map(|entry| entry.id);
        // What a branch of the run has besides is the work of other tasks.
        let head = real.head().and_then(|head| head.peel_to_tree());
        let head = head.and_then(|tree| tree.get_path(clean.path.as_path())).ok();
        // A folder of that name is not a version of the file.
        let head = head.filter(|entry| entry.kind() != Some(ObjectType::Tree));
        let head = head.map(|entry| entry.id());
        // A file that the task added is one that the user had removed, or of no commit at all.
        let Some(base) = clean.base else { return Ok(staged.is_none() && head.is_some()) };
        if staged == Some(base.oid) && head != Some(base.oid) {
            return Ok(true);
        }
        let known = real.odb().or_cannot(what)?.exists(base.oid);
        let on_disk = || self.repo.root.join(clean.path.as_path()).symlink_metadata();
        let is_untracked = staged.is_none() && head.is_none() && on_disk().is_ok();
        Ok(!known || is_untracked)
    }
}
