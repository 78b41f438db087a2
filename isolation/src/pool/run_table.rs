//! The table of a run: the folders and files of every new copy, from the snapshot and the carried
//! files.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use crate::baseline::{Folder, FolderKind, FrozenEntry, Snapshot};
use crate::carry::CarriedFolder;
use crate::nested::link_text;

/// One folder of every new copy.
#[derive(Clone, Copy)]
pub(super) struct TableFolder<'a> {
    /// Its path, which is empty for the root.
    pub(super) path: &'a [u8],
    /// The permissions with which it is made.
    pub(super) permissions: u32,
    /// The number of the nested repository whose folder it is.
    pub(super) nested: Option<usize>,
    frozen: Option<&'a Folder>,
    carried: Option<&'a BTreeSet<OsString>>,
}

/// One file or symlink of every new copy.
#[derive(Clone, Copy)]
pub(super) struct TableFile<'a> {
    /// Its name.
    pub(super) name: &'a OsStr,
    /// The origin of its bytes.
    pub(super) origin: Origin<'a>,
}

/// The origin of a file's bytes.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// The snapshot.
    Frozen(&'a FrozenEntry),
    /// The run's copy of the carried files.
    Carried,
}

impl<'a> TableFolder<'a> {
    /// Returns the content of its `.git`, if it is that of a nested repository.
    pub(super) fn link(&self) -> Option<Vec<u8>> {
        self.nested.map(|number| link_text(self.path, number))
    }

    /// Returns its files and symlinks, sorted by name.
    pub(super) fn files(&self) -> Vec<TableFile<'a>> {
        let mut files: Vec<TableFile<'a>> = self.frozen().collect();
        if let Some(names) = self.carried {
            files.extend(names.iter().map(|name| TableFile { name, origin: Origin::Carried }));
            files.sort_by_key(|file| file.name);
        }
        files
    }

    /// Goes through the same files, which most folders need not be sorted for.
    pub(super) fn each_file(&self) -> impl Iterator<Item = TableFile<'a>> {
        let sorted = self.carried.map(|_| self.files());
        let frozen = sorted.is_none().then(|| self.frozen());
        sorted.into_iter().flatten().chain(frozen.into_iter().flatten())
    }

    fn frozen(&self) -> impl Iterator<Item = TableFile<'a>> + use<'a> {
        let files = self.frozen.into_iter().flat_map(|folder| &folder.files);
        files.map(|(name, entry)| TableFile { name, origin: Origin::Frozen(entry) })
    }
}

/// Returns every folder of a new copy, sorted by path, so that each comes after those above it.
pub(super) fn folders(snapshot: &Snapshot) -> Vec<TableFolder<'_>> {
    let mut all: Vec<TableFolder<'_>> = snapshot
        .table
        .folders
        .iter()
        .map(|(path, folder)| TableFolder {
            path,
            permissions: folder.permissions,
            nested: number_of(snapshot, path, folder),
            frozen: Some(folder),
            carried: None,
        })
        .collect();
    let frozen = all.len();
    for (path, CarriedFolder { permissions, files }) in &snapshot.carried_of_pool().folders {
        match all[..frozen].binary_search_by(|folder| folder.path.cmp(path)) {
            Ok(place) => all[place].carried = Some(files),
            Err(_) => all.push(TableFolder {
                path,
                permissions: permissions.unwrap_or(0o777),
                nested: None,
                frozen: None,
                carried: Some(files),
            }),
        }
    }
    if all.len() > frozen {
        all.sort_by_key(|folder| folder.path);
    }
    all
}

fn number_of(snapshot: &Snapshot, path: &[u8], folder: &Folder) -> Option<usize> {
    match folder.kind {
        FolderKind::Plain | FolderKind::Submodule => None,
        FolderKind::Nested => {
            snapshot.nested.binary_search_by(|root| root.as_slice().cmp(path)).ok()
        }
    }
}

/// Returns the place of the folder above each folder; the root is its own.
pub(super) fn parents(folders: &[TableFolder<'_>]) -> Vec<usize> {
    let parent = |folder: &TableFolder<'_>| {
        let (above, _) = crate::baseline::split_path(folder.path);
        folders.binary_search_by(|other| other.path.cmp(above)).unwrap_or_default()
    };
    folders.iter().map(parent).collect()
}
