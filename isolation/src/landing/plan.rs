//! Makes steps out of what merging came to: in which order, how, and where new versions wait.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{RepoPath, temporary_name};
use rustix::fs::{AtFlags, FileType, statat};

use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};
use crate::landing::step::{FileChange, WriteMethod};
use crate::merge::MergedPath;
use crate::tree::{Parent, Tree, TreeEntry};

/// How the tree gets to what merging came to.
pub(super) struct Plan {
    /// Folders that are made on the way.
    pub(super) folders: Vec<RepoPath>,
    /// Removals first, because they make room.
    pub(super) changes: Vec<FileChange>,
}

impl Plan {
    /// Plans the landing `id` in `tree`.
    pub(super) fn of(
        tree: &Tree,
        id: &str,
        touched: &BTreeMap<RepoPath, MergedPath>,
    ) -> Result<Self> {
        let mut changes = Vec::with_capacity(touched.len());
        for (number, (path, touched_path)) in touched.iter().enumerate() {
            let folder = staging_folder(tree, touched, path)?;
            changes.push(FileChange {
                path: path.clone(),
                expected: touched_path.before,
                new: touched_path.after,
                temp: temp(folder.as_ref(), id, number),
                method: method(tree, path, touched_path)?,
                by: touched_path.by.clone(),
            });
        }
        changes.sort_by_key(|change| change.new.is_some());
        let mut folders = BTreeSet::new();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            for folder in change.path.folders() {
                if tree.read_entry(&folder)? == TreeEntry::Folder {
                    break;
                }
                folders.insert(folder);
            }
        }
        Ok(Self { folders: folders.into_iter().collect(), changes })
    }
}

/// Returns the nearest folder of `path` that is there before, in the middle and after; none for
/// the root. A version waits there, so that moving it is a rename within one file system.
fn staging_folder(
    tree: &Tree,
    touched: &BTreeMap<RepoPath, MergedPath>,
    path: &RepoPath,
) -> Result<Option<RepoPath>> {
    let goes = |folder: &RepoPath| touched.get(folder).is_some_and(|path| path.after.is_some());
    for folder in path.folders() {
        let stays = !goes(&folder) && !folder.folders().any(|above| goes(&above));
        if stays && tree.read_entry(&folder)? == TreeEntry::Folder {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

fn temp(folder: Option<&RepoPath>, id: &str, number: usize) -> RepoPath {
    let name = temporary_name(id, number).into_bytes();
    let path = match folder {
        Some(folder) => [folder.as_bytes(), b"/", &name].concat(),
        None => name,
    };
    RepoPath::new(path).expect("a plain name in a folder of the repository is a path")
}

/// A file that has several names shows its new bytes under all of them.
fn method(tree: &Tree, path: &RepoPath, touched: &MergedPath) -> Result<WriteMethod> {
    let is_file = |entry: Option<Entry>| entry.is_some_and(|entry| entry.mode != Mode::Link);
    if !is_file(touched.before) || !is_file(touched.after) {
        return Ok(WriteMethod::Exchange);
    }
    let Parent::Folder { fd, name } = tree.parent(path)? else { return Ok(WriteMethod::Exchange) };
    let stat =
        statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).or_cannot(|| format!("look at {path}"))?;
    let writable = stat.st_mode & 0o200 != 0;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if is_regular && writable && stat.st_nlink > 1 {
        Ok(WriteMethod::InPlace)
    } else {
        Ok(WriteMethod::Exchange)
    }
}
