//! The renames of one side of a merge, and of one task.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::Blobs;
use crate::merge::renames::{
    Added, Folder, FolderCounts, FolderRenames, Removed, RemovedFolders, Rename, Wanted, detect,
    folder_of,
};
use crate::merge::tree_merge::{SideName, Versions};

/// How many removed and added files a merge and a diff compare with each other, as in git: the
/// product of the two numbers is at most the square of this.
const MERGE_LIMIT: usize = 7_000;
const DIFF_LIMIT: usize = 1_000;

/// Returns the renames among the changes of one task, as `git diff` finds them.
pub(crate) fn renames_of(blobs: &dyn Blobs, changes: &[Change]) -> Result<Vec<Rename>> {
    let versions = |change: &Change| Versions {
        base: change.base,
        sides: [None, change.task],
        from: [None, change.from.clone()],
    };
    let paths = changes.iter().map(|change| (change.path.clone(), versions(change))).collect();
    let folders = RemovedFolders::default();
    let counts = (&BTreeSet::new(), &mut FolderCounts::new(&folders));
    // The other side has removed everything, so that the place of each file is of interest.
    Ok(SideRenames::find(blobs, &paths, SideName::Theirs, DIFF_LIMIT, counts)?.files)
}

/// Returns which of the removed files are which of the added ones, because their content is the
/// same. Both are sorted by path.
pub(crate) fn same_files(
    blobs: &dyn Blobs,
    removed: Vec<(RepoPath, Entry)>,
    added: Vec<(RepoPath, Entry)>,
) -> Result<Vec<Rename>> {
    let empty = empty_blob();
    let wanted = Wanted::No;
    let removed: Vec<_> = removed
        .into_iter()
        .filter(|(_, entry)| entry.oid != empty)
        .map(|(path, entry)| Removed { path, entry, wanted })
        .collect();
    let added: Vec<_> =
        added.into_iter().map(|(path, entry)| Added { path, entry, from: None }).collect();
    detect(blobs, &removed, &added, 0, &mut FolderCounts::new(&RemovedFolders::default()))
}

/// Returns the id of an empty file. Empty files are alike whatever they are for, so that none counts
/// as renamed.
pub(super) fn empty_blob() -> Oid {
    Oid::from_str("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391").expect("it is an id")
}

/// Who made the changes of one side; `None` for the user.
#[derive(Clone, Copy)]
pub(crate) struct Authors<'a> {
    /// Returns the task whose file was removed from a path, or added to it.
    pub(crate) author: &'a dyn Fn(&RepoPath) -> Option<TaskName>,
    /// Returns who removed the file, also if another had added it.
    pub(crate) remover: &'a dyn Fn(&RepoPath) -> Remover,
}

/// Who removed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remover {
    User,
    Task(TaskName),
    /// Nobody: the file has followed a renamed folder.
    Nobody,
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
    /// and another that looks like it, which a second task added, are not rename: so tasks that have
    /// no path in common come to the same in any order.
    pub(super) fn of_authors(
        blobs: &dyn Blobs,
        paths: &BTreeMap<RepoPath, Versions>,
        side: SideName,
        folders: &RemovedSide,
        authors: Authors<'_>,
    ) -> Result<Self> {
        let removed = folders_of_one(folders, paths, side, authors.remover);
        let mut counts = FolderCounts::new(&removed);
        let mut all = Self::default();
        for own in by_author(paths, side, authors.author).values() {
            let counts = (&folders.wanted, &mut counts);
            let found = Self::find(blobs, own, side, MERGE_LIMIT, counts)?;
            all.files.extend(found.files);
            all.added.extend(found.added);
        }
        all.folders = counts.renames();
        all.files.sort_by(|one, other| one.from.cmp(&other.from));
        all.added.sort();
        Ok(all)
    }

    /// Finds the renamed files, and counts them for their folders.
    fn find(
        blobs: &dyn Blobs,
        paths: &BTreeMap<RepoPath, Versions>,
        side: SideName,
        limit: usize,
        (wanted_folders, counts): (&BTreeSet<Folder>, &mut FolderCounts<'_>),
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
                    let in_wanted_folder = wanted_folders.contains(folder_of(path.as_bytes()));
                    let wanted = match (is_changed, in_wanted_folder) {
                        (true, _) => Wanted::Content,
                        (false, true) => Wanted::Place,
                        (false, false) => Wanted::No,
                    };
                    removed.push(Removed { path: path.clone(), entry: base, wanted });
                }
                (None, Some(entry)) => {
                    all_added.push(path.clone());
                    if entry.oid != empty {
                        let from = versions.from[at].clone();
                        added.push(Added { path: path.clone(), entry, from });
                    }
                }
                _ => {}
            }
        }
        let is_any_wanted = removed.iter().any(|file| file.wanted != Wanted::No);
        let files = match is_any_wanted {
            true => detect(blobs, &removed, &added, limit, counts)?,
            false => Vec::new(),
        };
        Ok(Self { files, added: all_added, ..Self::default() })
    }
}

/// What each author removed and added.
type Works = BTreeMap<Option<TaskName>, BTreeMap<RepoPath, Versions>>;

fn by_author(
    paths: &BTreeMap<RepoPath, Versions>,
    side: SideName,
    author: &dyn Fn(&RepoPath) -> Option<TaskName>,
) -> Works {
    let mut works = Works::new();
    for (path, versions) in paths {
        if versions.removed_by(side) || versions.added_by(side) {
            let own = works.entry(author(path)).or_default();
            own.insert(path.clone(), versions.clone());
        }
    }
    works
}

/// Returns the folders of which one task alone, or the user alone, removed all files.
fn folders_of_one(
    folders: &RemovedSide,
    paths: &BTreeMap<RepoPath, Versions>,
    side: SideName,
    remover: &dyn Fn(&RepoPath) -> Remover,
) -> RemovedFolders {
    let mut removers: BTreeMap<&[u8], Option<Remover>> = BTreeMap::new();
    for (path, _) in paths.iter().filter(|(_, versions)| versions.removed_by(side)) {
        let remover = remover(path);
        if remover == Remover::Nobody {
            continue;
        }
        let mut folder = folder_of(path.as_bytes());
        while !folder.is_empty() {
            let only = removers.entry(folder).or_insert_with(|| Some(remover.clone()));
            if only.as_ref() != Some(&remover) {
                *only = None;
            }
            folder = folder_of(folder);
        }
    }
    let is_of_one = |folder: &Folder| matches!(removers.get(&folder[..]), Some(Some(_)));
    let folders = folders.removed.iter().filter(|(folder, _)| is_of_one(folder));
    folders.map(|(folder, relevance)| (folder.clone(), *relevance)).collect()
}

/// The folders that one side removed.
#[derive(Debug, Default)]
pub(crate) struct RemovedSide {
    pub(crate) removed: RemovedFolders,
    /// The folders whose files' places are of interest.
    pub(crate) wanted: BTreeSet<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_entry::Mode;
    use crate::merge::renames::Relevance;
    use crate::store::TaskStore;

    #[test]
    fn many_tasks_that_remove_many_folders_are_searched_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = TaskStore::open(&folder.path().join("store")).unwrap();
        let oid = Oid::hash_object(git2::ObjectType::Blob, b"same").unwrap();
        let entry = Some(Entry { mode: Mode::File, oid });
        let removed = Versions::new(entry, [None, entry]);
        let path = |task: usize, at: usize| RepoPath::new(format!("t{task:02}/{at:04}/f")).unwrap();
        let paths: BTreeMap<_, _> =
            (0..50_000).map(|at| (path(at % 50, at / 50), removed.clone())).collect();
        let folders = paths.keys().flat_map(|path| path.folders().collect::<Vec<_>>());
        let folders =
            folders.map(|folder| (folder.as_bytes().to_vec(), Relevance::ForItself)).collect();
        let side = RemovedSide { removed: folders, wanted: BTreeSet::new() };
        let author = |path: &RepoPath| {
            // The last task has removed a file of the first one's folder.
            let name = String::from_utf8_lossy(&path.as_bytes()[..3]).into_owned();
            let other = path.as_bytes() == b"t00/0000/f";
            Some(if other { "t49".to_owned() } else { name }.parse().unwrap())
        };
        let remover = |path: &RepoPath| author(path).map_or(Remover::User, Remover::Task);
        let of_one = folders_of_one(&side, &paths, SideName::Ours, &remover);
        // All but the folder of two tasks.
        assert_eq!(of_one.len(), 50 * 1_001 - 1);
        assert!(!of_one.contains_key(&b"t00"[..]));
        let authors = Authors { author: &author, remover: &remover };
        let found = SideRenames::of_authors(&store, &paths, SideName::Ours, &side, authors);
        let found = found.unwrap();
        assert!(found.files.is_empty());
    }
}
