//! The renames of one side of a merge, and of one task.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::Blobs;
use crate::merge::renames::{
    Added, FolderCounts, FolderRenames, Removed, RemovedFolders, Rename, Wanted, detect, folder_of,
};
use crate::merge::tree_merge::{SideName, Versions};

/// How many removed and added files a merge and a diff compare with each other, as in git: the
/// product of the two numbers is at most the square of this.
const MERGE_LIMIT: usize = 7_000;
const DIFF_LIMIT: usize = 1_000;

/// Returns the renames among the changes of one task, as `git diff` finds them.
pub(crate) fn renames_of(blobs: &dyn Blobs, changes: &[Change]) -> Result<Vec<Rename>> {
    let versions = |change: &Change| Versions { base: change.base, sides: [None, change.task] };
    let paths = changes.iter().map(|change| (change.path.clone(), versions(change))).collect();
    let folders = RemovedSide::default();
    // The other side has removed everything, so that the place of each file is of interest.
    Ok(SideRenames::find(blobs, &paths, SideName::Theirs, &folders, DIFF_LIMIT)?.files)
}

/// Returns the id of an empty file. Empty files are alike whatever they are for, so that none counts
/// as renamed.
fn empty_blob() -> Oid {
    Oid::from_str("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391").expect("it is an id")
}

/// The renames of one side.
#[derive(Default)]
pub(super) struct SideRenames {
    pub(super) files: Vec<Rename>,
    pub(super) folders: FolderRenames,
    /// Every path that the side added, also by a rename.
    pub(super) added: Vec<RepoPath>,
}

impl SideRenames {
    /// Finds the renames of `side` among the work of each author alone. A file that one task removed
    /// and another that looks like it, which a second task added, are no rename: so tasks that have
    /// no path in common come to the same in any order.
    pub(super) fn of_authors(
        blobs: &dyn Blobs,
        paths: &BTreeMap<RepoPath, Versions>,
        side: SideName,
        folders: &RemovedSide,
        author: &dyn Fn(&RepoPath) -> Option<TaskName>,
    ) -> Result<Self> {
        let at = side.at();
        let is_removed =
            |versions: &Versions| versions.base.is_some() && versions.sides[at].is_none();
        let mut by_author: BTreeMap<Option<TaskName>, BTreeMap<RepoPath, Versions>> =
            BTreeMap::new();
        for (path, versions) in paths {
            if is_removed(versions) || versions.base.is_none() && versions.sides[at].is_some() {
                let own = by_author.entry(author(path)).or_default();
                own.insert(path.clone(), versions.clone());
            }
        }
        let mut all = Self::default();
        for own in by_author.values() {
            let by_others = |folder: &Vec<u8>| {
                RepoPath::new(folder.as_slice()).is_some_and(|folder| {
                    let gone = paths.iter().filter(|(_, versions)| is_removed(versions));
                    gone.into_iter()
                        .any(|(path, _)| path.is_below(&folder) && !own.contains_key(path))
                })
            };
            let removed = folders.removed.iter().filter(|(folder, _)| !by_others(folder));
            let removed = removed.map(|(folder, relevance)| (folder.clone(), *relevance)).collect();
            let folders = RemovedSide { removed, wanted: folders.wanted.clone() };
            let found = Self::find(blobs, own, side, &folders, MERGE_LIMIT)?;
            all.files.extend(found.files);
            all.folders.to.extend(found.folders.to);
            all.folders.split.extend(found.folders.split);
            all.added.extend(found.added);
        }
        all.files.sort_by(|one, other| one.from.cmp(&other.from));
        all.added.sort();
        Ok(all)
    }

    fn find(
        blobs: &dyn Blobs,
        paths: &BTreeMap<RepoPath, Versions>,
        side: SideName,
        folders: &RemovedSide,
        limit: usize,
    ) -> Result<Self> {
        let empty = empty_blob();
        let (at, other) = (side.at(), side.other().at());
        let mut removed = Vec::new();
        let mut added = Vec::new();
        let mut all_added = Vec::new();
        for (path, versions) in paths {
            match (versions.base, versions.sides[at]) {
                (Some(base), None) if base.oid != empty => {
                    let is_changed = versions.sides[other] != Some(base);
                    let in_wanted_folder = folders.wanted.contains(folder_of(path.as_bytes()));
                    let wanted =
                        if is_changed || in_wanted_folder { Wanted::Yes } else { Wanted::No };
                    removed.push(Removed { path: path.clone(), entry: base, wanted });
                }
                (None, Some(entry)) => {
                    all_added.push(path.clone());
                    if entry.oid != empty {
                        added.push(Added { path: path.clone(), entry });
                    }
                }
                _ => {}
            }
        }
        let mut counts = FolderCounts::new(&folders.removed);
        let is_any_wanted = removed.iter().any(|file| file.wanted == Wanted::Yes);
        let files = match is_any_wanted {
            true => detect(blobs, &removed, &added, limit, &mut counts)?,
            false => Vec::new(),
        };
        Ok(Self { files, folders: counts.renames(), added: all_added })
    }
}

/// The folders that one side removed.
#[derive(Debug, Default)]
pub(crate) struct RemovedSide {
    pub(crate) removed: RemovedFolders,
    /// The folders whose files' places are of interest.
    pub(crate) wanted: BTreeSet<Vec<u8>>,
}
