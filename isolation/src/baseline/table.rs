//! The table of a baseline: every folder and file of the frozen tree, with where its bytes are.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use git2::Oid;
use protocol::RepoPath;

use crate::entry::Mode;
use crate::tree::{Stat, join};

/// Every folder of the frozen tree by its path, which is empty for the root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// The folders. A folder's parents are in the table too.
    pub(crate) folders: BTreeMap<Vec<u8>, Folder>,
}

/// One folder of the frozen tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Whose it is.
    pub(crate) kind: FolderKind,
    /// Its permissions.
    pub(crate) permissions: u32,
    /// Its files and symlinks.
    pub(crate) files: BTreeMap<OsString, FrozenEntry>,
}

/// Whose a folder is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// The repository's.
    #[default]
    Plain,
    /// A submodule's: an empty folder in a workspace.
    Submodule,
}

/// One file or symlink of the frozen tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrozenEntry {
    /// As it was.
    pub(crate) stat: Stat,
    /// What kind of thing it was.
    pub(crate) mode: Mode,
    /// Where its bytes are if the user's file has changed since.
    pub(crate) source: ContentLocation,
}

/// Where the bytes of a frozen file are besides in the user's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentLocation {
    /// In this blob of the user's repository, as it stands.
    Blob(Oid),
    /// In this blob of the user's repository, with CRLF instead of each LF.
    Crlf(Oid),
    /// In the task store, as they are.
    Pin(Oid),
}

impl Table {
    /// Returns the file or symlink that was at `path`.
    pub(crate) fn get(&self, path: &RepoPath) -> Option<&FrozenEntry> {
        let (folder, name) = split(path.as_bytes());
        self.folders.get(folder)?.files.get(OsStr::from_bytes(name))
    }

    /// Returns the path of every file and symlink below `folder`.
    pub(crate) fn files_below<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = Vec<u8>> {
        let inside = |path: &[u8]| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.folders
            .range(folder.to_vec()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .filter(move |(path, _)| inside(path))
            .flat_map(|(path, found)| found.files.keys().map(|name| join(path, name)))
    }

    /// Returns whether a file or symlink was somewhere below `folder`.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        self.files_below(folder).next().is_some()
    }
}

/// Splits a path into its folder, which is empty for the root, and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}
