//! Which paths of a workspace count as the work of its task, and which folders a walk enters.

use protocol::RepoPath;

use super::Walk;
use crate::baseline::{FolderKind, split_path};
use crate::error::Result;
use crate::ignore::PathKind;
use crate::nested::{has_whole_link, link_text};
use crate::tree::{FolderListing, Stat};

impl Walk<'_, '_> {
    /// Returns whether a set-up has left this in an ignored place. It is not work, even if the place is
    /// not ignored now.
    pub(super) fn is_left_ignored(&self, path: &[u8], stat: &Stat) -> bool {
        stat.ctime_ns < self.manifest.marker_ns
            && self.was_ignored(path)
            && !self.force_added.has(path)
    }

    /// Returns whether a path was ignored when the set-up had ended, or the folder of a name that
    /// cannot be in a repository.
    pub(super) fn was_ignored(&self, path: &[u8]) -> bool {
        let path = RepoPath::new(path).or_else(|| RepoPath::new(split_path(path).0));
        path.is_some_and(|path| self.manifest.setup.was_ignored(&path))
    }

    /// Returns whether a path counts as the task's work. Ignored paths count only if they existed
    /// when the workspace was made or if the workspace tracks them.
    pub(super) fn is_work(&self, path: &[u8], kind: PathKind) -> Result<bool> {
        let original = RepoPath::new(path).is_some_and(|path| {
            self.snapshot.table.get(&path).is_some()
                || self.manifest.predecessor_changes.contains_key(&path)
        });
        Ok(original || self.force_added.has(path) || !self.rules.ignores(path, kind)?)
    }

    /// Returns whether a folder is that of a submodule.
    pub(super) fn is_submodule(&self, path: &[u8]) -> bool {
        let folder = self.snapshot.table.folders.get(path);
        folder.is_some_and(|folder| folder.kind == FolderKind::Submodule)
    }

    /// Returns whether a folder is that of a nested repository of the snapshot, and has the `.git`
    /// with which it was made.
    pub(super) fn is_nested_as_it_was(&self, path: &[u8], listing: &FolderListing) -> bool {
        let nested = &self.snapshot.nested;
        nested
            .binary_search_by(|root| root.as_slice().cmp(path))
            .is_ok_and(|number| has_whole_link(&listing.fd, &link_text(path, number)))
    }

    /// Returns whether the walk enters a folder. The walk enters an ignored folder only if it has
    /// original or tracked contents, or is a nested repository of the snapshot. The files of a
    /// nested repository that the task made count, but not its `.git`.
    pub(super) fn descends(&self, path: &[u8]) -> Result<bool> {
        let folder = self.snapshot.table.folders.get(path);
        if folder.is_some_and(|folder| folder.kind == FolderKind::Nested) {
            return Ok(true);
        }
        if self.snapshot.table.has_below(path) || self.has_predecessor_change_below(path) {
            return Ok(true);
        }
        Ok(!self.rules.ignores(path, PathKind::Folder)? || self.force_added.has_below(path))
    }

    fn has_predecessor_change_below(&self, path: &[u8]) -> bool {
        self.manifest.predecessor_changes.keys().any(|change| {
            change.as_bytes().strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
        })
    }
}
