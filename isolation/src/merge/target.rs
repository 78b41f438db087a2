//! The interfaces that merging needs: the tree to merge into, and a store of blobs.

use std::collections::BTreeMap;

use git2::Oid;
use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::Entry;
use crate::store::TaskStore;

/// A tree into which tasks' work is merged: the user's working tree, a snapshot, or a commit.
pub(crate) trait MergeTarget {
    /// Returns the state of `path`. The content of an entry can be read from the [`Blobs`] of the
    /// same merge.
    fn state_of(&self, path: &RepoPath) -> Result<EntryState>;

    /// Returns a path that prevents the removal of `folder`, or `None` if it can be removed. Such a
    /// path is an entry below `folder` that is not a folder and for which `goes` is false, or a
    /// folder that contains a name without a valid [`RepoPath`]. `goes` returns whether the merge
    /// removes a path.
    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>>;

    /// Returns whether the folder of `path` takes names that differ in case only for one.
    fn folds_case(&self, _path: &RepoPath) -> Result<bool> {
        Ok(false)
    }

    /// Returns the name by which `path`, or a folder above it, is there already, if that differs in
    /// case only. Asked only where names are folded.
    fn twin(&self, _path: &RepoPath) -> Result<Option<RepoPath>> {
        Ok(None)
    }
}

/// The state of a path of a [`MergeTarget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// Nothing exists at the path. An entry above the path may be something else than a folder.
    Missing,
    /// A file or a symlink.
    Entry(Entry),
    /// A folder.
    Folder,
    /// Something that must not be touched: a device, a submodule, another repository.
    Foreign,
    /// Nothing exists at the path, but git tracks a file there: a sparse checkout leaves it out, or a
    /// partial clone has no copy of it. The entry is `None` if its content cannot be read.
    NotCheckedOut(Option<Entry>),
}

impl EntryState {
    /// Returns the entry if the path is a file or symlink.
    pub(crate) fn entry(self) -> Option<Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Missing | Self::Folder | Self::Foreign | Self::NotCheckedOut(_) => None,
        }
    }

    /// Returns the entry that git tracks at the path, also if it is not checked out.
    pub(crate) fn tracked(self) -> Option<Entry> {
        match self {
            Self::NotCheckedOut(entry) => entry,
            Self::Entry(_) | Self::Missing | Self::Folder | Self::Foreign => self.entry(),
        }
    }
}

/// What changed in the target since the tasks began, besides their work.
pub(crate) trait OutsideChanges {
    /// Returns whether there was a folder when the tasks began.
    fn had_folder(&self, folder: &RepoPath) -> bool;

    /// Returns the paths that were removed, each with the entry it had, and those that were added.
    fn bases(&self) -> Result<&BTreeMap<RepoPath, Option<Entry>>>;

    /// Returns the old path of an added file, if it is known that the file was renamed, and it has not
    /// changed since. `now` is what is there.
    fn old_path(&self, path: &RepoPath, now: Option<Entry>) -> Option<RepoPath>;

    /// Returns whether work that has landed before added a file to a folder.
    fn has_landed_in(&self, folder: &RepoPath) -> bool;

    /// Returns the task whose work has landed before and has removed a path, or added the file that is
    /// there; `None` if no task did, or if the path has changed since. `now` is what is there.
    fn author(&self, path: &RepoPath, now: Option<Entry>) -> Option<TaskName>;

    /// Returns the same, but of a path that was removed the task that removed it, whoever had added the
    /// file.
    fn remover(&self, path: &RepoPath, now: Option<Entry>) -> Option<TaskName> {
        self.author(path, now)
    }
}

/// A store of blobs.
pub(crate) trait Blobs {
    /// Returns the bytes of the blob `oid`.
    fn read(&self, oid: Oid) -> Result<Vec<u8>>;

    /// Stores bytes and returns their id.
    fn write(&self, bytes: &[u8]) -> Result<Oid>;

    /// Returns which bytes of a file these blobs are.
    fn form(&self) -> BlobForm {
        BlobForm::Committed
    }
}

/// The bytes that a blob has of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlobForm {
    /// Those that git commits.
    Committed,
    /// Those in the working tree.
    WorkingTree,
}

impl Blobs for TaskStore {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        self.read(oid)
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        self.write(bytes)
    }

    fn form(&self) -> BlobForm {
        BlobForm::WorkingTree
    }
}
