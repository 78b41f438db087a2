//! The plan of a landing: the changed files in order, how each is written, and where its new version
//! is staged.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::fault::Faults;
use git2::Oid;
use protocol::{RepoPath, Side, TaskName, temporary_name};
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::landing::file_mover::{FileMover, ParentDir, Swap};
use crate::merge::MergedPath;
use crate::tree::{Stat, Tree, TreeEntry};

/// How coarse the change times of files are at most.
const COARSEST: Duration = Duration::from_secs(2);

/// The file changes of a landing, in order.
pub(super) struct Plan {
    /// The folders that the landing makes for new files.
    pub(super) folders: Vec<RepoPath>,
    /// The changes. Removals come first, because a new file or folder may need a removed path.
    pub(super) changes: Vec<FileChange>,
}

impl Plan {
    /// Plans the landing `id` in `tree`, whose files were read at `read_since` or later; `None` if
    /// nobody knows, so that each file is read again before it is replaced.
    pub(super) fn of(
        tree: &Tree,
        id: &str,
        merged_paths: &BTreeMap<RepoPath, MergedPath>,
        read_since: Option<SystemTime>,
    ) -> Result<Self> {
        let present = PresentFolders { tree, known: RefCell::default() };
        let faults = Faults::default();
        let mover = FileMover::within(tree, Swap::Exchange, &faults);
        let mut changes = Vec::with_capacity(merged_paths.len());
        for (number, (path, merged_path)) in merged_paths.iter().enumerate() {
            let folder = staging_folder(&present, merged_paths, path)?;
            let (method, seen) = method(&mover, path, merged_path)?;
            let seen = seen.filter(|stat| read_since.is_some_and(|since| is_older(stat, since)));
            changes.push(FileChange {
                path: path.clone(),
                expected: merged_path.before,
                new: merged_path.after,
                temp: temp(folder.as_ref(), id, number),
                method,
                seen,
                by: merged_path.by.clone(),
            });
        }
        changes.sort_by_key(|change| change.new.is_some());
        let mut folders = BTreeSet::new();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            for folder in change.path.folders() {
                if present.contains(&folder)? {
                    break;
                }
                folders.insert(folder);
            }
        }
        Ok(Self { folders: folders.into_iter().collect(), changes })
    }
}

/// The folders of the tree when the landing is planned. Each is looked up once.
struct PresentFolders<'a> {
    tree: &'a Tree,
    known: RefCell<BTreeMap<RepoPath, bool>>,
}

impl PresentFolders<'_> {
    fn contains(&self, folder: &RepoPath) -> Result<bool> {
        if let Some(known) = self.known.borrow().get(folder) {
            return Ok(*known);
        }
        let found = self.tree.read_entry(folder)? == TreeEntry::Folder;
        self.known.borrow_mut().insert(folder.clone(), found);
        Ok(found)
    }
}

/// Returns the nearest folder above `path` that exists before, during and after the landing; `None`
/// for the root. The new version is staged there, so that a rename within one file system moves it
/// into place.
fn staging_folder(
    present: &PresentFolders<'_>,
    merged_paths: &BTreeMap<RepoPath, MergedPath>,
    path: &RepoPath,
) -> Result<Option<RepoPath>> {
    let goes =
        |folder: &RepoPath| merged_paths.get(folder).is_some_and(|path| path.after.is_some());
    for folder in path.folders() {
        let stays = !goes(&folder) && !folder.folders().any(|above| goes(&above));
        if stays && present.contains(&folder)? {
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

/// Returns how a path is written, and the stat of the file that is replaced. A file with several hard
/// links is overwritten, so that all of them show the new content.
fn method(
    mover: &FileMover<'_>,
    path: &RepoPath,
    merged_path: &MergedPath,
) -> Result<(WriteMethod, Option<Stat>)> {
    let is_file = |entry: Option<Entry>| entry.is_some_and(|entry| entry.mode != Mode::Link);
    let exchange = (WriteMethod::Exchange, None);
    if !is_file(merged_path.before) {
        return Ok(exchange);
    }
    let Some(ParentDir { folder, name }) = mover.parent_to_read(path)? else {
        return Ok(exchange);
    };
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        // It is removed, and gone already.
        Err(Errno::NOENT) if merged_path.after.is_none() => return Ok(exchange),
        found => found.or_cannot(|| format!("look at {path}"))?,
    };
    let writable = stat.st_mode & 0o200 != 0;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if is_file(merged_path.after) && is_regular && writable && stat.st_nlink > 1 {
        return Ok((WriteMethod::InPlace, None));
    }
    Ok((WriteMethod::Exchange, Some(Stat::of(&stat))))
}

/// Returns whether a file was last changed so long before `moment` that what was read of it since
/// then is what it had when it got this stat. The change times of some systems are two seconds apart.
fn is_older(stat: &Stat, moment: SystemTime) -> bool {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(COARSEST);
    i64::try_from(since.as_nanos()).is_ok_and(|since| stat.ctime_ns < since)
}

/// The change of one path by a landing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredChange", into = "StoredChange")]
pub(super) struct FileChange {
    pub(super) path: RepoPath,
    /// The version that the landing started from; any other version is an edit.
    pub(super) expected: Option<Entry>,
    /// The new version.
    pub(super) new: Option<Entry>,
    /// The staging path. It holds the new version before the change, and the old one after it.
    pub(super) temp: RepoPath,
    pub(super) method: WriteMethod,
    /// The stat that the replaced file had when it was read for the merge, if that is known. It is not
    /// in the journal.
    pub(super) seen: Option<Stat>,
    /// The tasks that made the change.
    pub(super) by: Vec<TaskName>,
}

/// How a new version replaces the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WriteMethod {
    /// The new version is exchanged with the old one atomically.
    Exchange,
    /// The new version overwrites the old one, because the file has other hard links.
    InPlace,
}

impl FileChange {
    /// Returns the change that undoes this one.
    pub(super) fn reversed(&self) -> Self {
        Self { expected: self.new, new: self.expected, seen: None, ..self.clone() }
    }
}

/// The form of a change in a journal.
#[derive(Serialize, Deserialize)]
struct StoredChange {
    path: RepoPath,
    expected: Option<Side>,
    new: Option<Side>,
    temp: RepoPath,
    #[serde(rename = "way")]
    method: WriteMethod,
    by: Vec<TaskName>,
}

impl From<FileChange> for StoredChange {
    fn from(change: FileChange) -> Self {
        Self {
            path: change.path,
            expected: change.expected.map(Entry::to_side),
            new: change.new.map(Entry::to_side),
            temp: change.temp,
            method: change.method,
            by: change.by,
        }
    }
}

/// Reads the entry that a side in a journal is.
pub(super) fn entry_of_side(side: Side) -> std::result::Result<Entry, String> {
    let mode = Mode::from_git(side.mode).ok_or(format!("{:o} is not a file mode", side.mode))?;
    let oid = Oid::from_str(&side.oid).map_err(|error| error.message().to_owned())?;
    Ok(Entry { mode, oid })
}

impl TryFrom<StoredChange> for FileChange {
    type Error = String;

    fn try_from(written: StoredChange) -> std::result::Result<Self, String> {
        Ok(Self {
            path: written.path,
            expected: written.expected.map(entry_of_side).transpose()?,
            new: written.new.map(entry_of_side).transpose()?,
            temp: written.temp,
            method: written.method,
            seen: None,
            by: written.by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_is_known_only_of_a_file_that_was_changed_well_before_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let stat = Stat::of(&rustix::fs::stat(&path).unwrap());
        let changed = UNIX_EPOCH + Duration::from_nanos(stat.ctime_ns.unsigned_abs());
        let tick = Duration::from_nanos(1);
        assert!(is_older(&stat, changed + COARSEST + tick));
        assert!(!is_older(&stat, changed + COARSEST));
        assert!(!is_older(&stat, changed));
        assert!(!is_older(&stat, UNIX_EPOCH));
    }
}
