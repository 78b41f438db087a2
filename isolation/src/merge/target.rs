//! What merging needs to know about the tree that tasks are merged into, and about bytes.

use git2::Oid;
use protocol::RepoPath;

use crate::entry::Entry;
use crate::error::Result;
use crate::store::TaskStore;

/// A tree that tasks' work is merged into: the user's working tree, a baseline, a commit.
pub(crate) trait MergeTarget {
    /// Returns what stands at `path`. The bytes of an entry can be read from the same [`Blobs`]
    /// that the merge uses.
    fn state_of(&self, path: &RepoPath) -> Result<EntryState>;

    /// Returns something below `folder` that is not a folder itself and for which `goes` is false,
    /// or `folder` itself if what is there has no [`RepoPath`]; nothing if the folder can go.
    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>>;
}

/// What stands at a path of a [`MergeTarget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// Nothing, also where something that is not a folder stands on the way to it.
    Missing,
    /// A file or a symlink.
    Entry(Entry),
    /// A folder.
    Folder,
    /// Something that is not ours to touch: a device, a submodule, another repository.
    Foreign,
}

impl EntryState {
    /// Returns the file or symlink, if it is one.
    pub(crate) fn entry(self) -> Option<Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Missing | Self::Folder | Self::Foreign => None,
        }
    }
}

/// Where bytes are kept.
pub(crate) trait Blobs {
    /// Returns the bytes with this id.
    fn read(&self, oid: Oid) -> Result<Vec<u8>>;

    /// Keeps bytes and returns their id.
    fn write(&self, bytes: &[u8]) -> Result<Oid>;
}

impl Blobs for TaskStore {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        self.read(oid)
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        self.write(bytes)
    }
}
