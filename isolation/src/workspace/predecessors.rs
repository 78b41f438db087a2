//! Writes the work of predecessors over a new copy of the snapshot.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::Path;

use protocol::{CaptureRef, RepoPath, TaskName};

use crate::baseline::{ContentReader, FolderKind, Snapshot};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::merge::{self, EntryState, MergeRules, MergeTarget};
use crate::store::TaskStore;
use crate::workspace::remove_tree;

/// A snapshot as the target of a merge.
pub(crate) struct SnapshotTarget<'a> {
    snapshot: &'a Snapshot,
    bytes: ContentReader,
}

impl<'a> SnapshotTarget<'a> {
    /// Returns the snapshot as a target for the captures that there are now. Those in the journal of
    /// the task store stay there.
    pub(crate) fn open(snapshot: &'a Snapshot) -> Result<Self> {
        Ok(Self { snapshot, bytes: ContentReader::open(snapshot)?.with_journal()? })
    }

    /// Returns the task store with these captures.
    pub(crate) fn store(&self) -> &TaskStore {
        &self.bytes.store
    }
}

impl MergeTarget for SnapshotTarget<'_> {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        if let Some(frozen) = self.snapshot.table.get(path) {
            return Ok(EntryState::Entry(self.bytes.entry(path, frozen)?));
        }
        Ok(match self.snapshot.table.folders.get(path.as_bytes()).map(|folder| folder.kind) {
            None => EntryState::Missing,
            Some(FolderKind::Plain | FolderKind::Nested) => EntryState::Folder,
            Some(FolderKind::Submodule) => EntryState::Foreign,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let below = self.snapshot.table.files_below(folder.as_bytes());
        Ok(below.filter_map(RepoPath::new).find(|path| !goes(path)))
    }
}

/// Merges the predecessors' captures over the snapshot and writes the result to its copy at `tree`,
/// which is not in use yet. Returns the changes to the snapshot.
pub(super) fn apply_predecessors_to(
    snapshot: &Snapshot,
    tree: &Path,
    predecessors: &[(TaskName, CaptureRef)],
) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
    if predecessors.is_empty() {
        return Ok(BTreeMap::new());
    }
    let target = SnapshotTarget::open(snapshot)?;
    let rules = snapshot.context.merge_rules()?;
    apply_predecessors(tree, &target, (target.store(), &rules), predecessors)
}

/// Merges the predecessors' captures over `target` and writes the result to its copy at `tree`.
/// Returns the changes to `target`.
pub(crate) fn apply_predecessors(
    tree: &Path,
    target: &dyn MergeTarget,
    (store, rules): (&TaskStore, &MergeRules),
    predecessors: &[(TaskName, CaptureRef)],
) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
    let predecessor_changes = merge::merge_captures(target, store, rules, predecessors)?;
    // Removals come first, because a new file or folder may need a removed path.
    for (path, change) in predecessor_changes.iter().rev() {
        if change.is_none() {
            remove_file(tree, path)?;
        }
    }
    for (path, change) in &predecessor_changes {
        if let Some(entry) = change {
            write_file(tree, path, *entry, store)?;
        }
    }
    Ok(predecessor_changes)
}

/// Removes a file or symlink from a workspace, and the folders that are empty then. No folder above
/// it may be a symlink.
pub(crate) fn remove_file(tree: &Path, path: &RepoPath) -> Result<()> {
    let what = || format!("remove {path} in the workspace");
    match fs::remove_file(tree.join(path.as_path())) {
        Ok(()) => {}
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error).or_cannot(what),
    }
    // As in git, empty folders are removed.
    for folder in path.folders() {
        if fs::remove_dir(tree.join(folder.as_path())).is_err() {
            break;
        }
    }
    Ok(())
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Removes a carried file or symlink in whose place `path` needs a folder, so that no symlink is
/// followed.
fn make_way(tree: &Path, path: &RepoPath) -> Result<()> {
    let what = || format!("write {path} in the workspace");
    let mut folders: Vec<_> = path.folders().collect(); // the innermost is first
    folders.reverse();
    for folder in folders {
        let place = tree.join(folder.as_path());
        match fs::symlink_metadata(&place) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return fs::remove_file(&place).or_cannot(what),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(error).or_cannot(what),
        }
    }
    Ok(())
}

/// Writes a file or symlink to a workspace, in the place of whatever is there or in its way.
pub(crate) fn write_file(
    tree: &Path,
    path: &RepoPath,
    entry: Entry,
    store: &TaskStore,
) -> Result<()> {
    let what = || format!("write {path} in the workspace");
    make_way(tree, path)?;
    let place = tree.join(path.as_path());
    match fs::symlink_metadata(&place) {
        Ok(meta) if meta.is_dir() => remove_tree(&place)?,
        Ok(_) => fs::remove_file(&place).or_cannot(what)?,
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error).or_cannot(what),
    }
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).or_cannot(what)?;
    }
    let bytes = store.read(entry.oid)?;
    if entry.mode == Mode::Link {
        return symlink(std::ffi::OsStr::from_bytes(&bytes), &place).or_cannot(what);
    }
    let permissions = if entry.mode == Mode::Executable { 0o777 } else { 0o666 };
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(permissions).open(&place);
    file.and_then(|mut file| file.write_all(&bytes)).or_cannot(what)
}
