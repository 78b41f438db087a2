//! What predecessors left, written over a fresh copy of the frozen tree.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::Path;

use protocol::{CaptureRef, RepoPath, TaskName};

use crate::baseline::{Bytes, FolderKind, Frozen};
use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};
use crate::merge::{self, Source, Standing};
use crate::store::TaskStore;
use crate::workspace::remove_tree;

/// A frozen tree, as merging asks it.
pub(crate) struct FrozenSource<'a> {
    frozen: &'a Frozen,
    bytes: Bytes,
}

impl<'a> FrozenSource<'a> {
    /// Opens it.
    pub(crate) fn open(frozen: &'a Frozen) -> Result<Self> {
        Ok(Self { frozen, bytes: Bytes::open(frozen)? })
    }
}

impl Source for FrozenSource<'_> {
    fn look(&self, path: &RepoPath) -> Result<Standing> {
        if let Some(start) = self.frozen.table.get(path) {
            return Ok(Standing::Entry(self.bytes.entry(path, start)?));
        }
        Ok(match self.frozen.table.folders.get(path.as_bytes()).map(|folder| folder.kind) {
            None => Standing::Missing,
            Some(FolderKind::Plain) => Standing::Folder,
            Some(FolderKind::Submodule) => Standing::Foreign,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let below = self.frozen.table.files_below(folder.as_bytes());
        Ok(below.filter_map(RepoPath::new).find(|path| !goes(path)))
    }
}

/// Merges the predecessors' captures over the frozen tree and writes the result into its copy at
/// `tree`, which nobody else uses yet. Returns what differs from the frozen tree now.
pub(super) fn sow(
    frozen: &Frozen,
    tree: &Path,
    predecessors: &[(TaskName, CaptureRef)],
) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
    if predecessors.is_empty() || frozen.context.faults.is_off("F270") {
        return Ok(BTreeMap::new());
    }
    let source = FrozenSource::open(frozen)?;
    apply_predecessors(tree, &source, &source.bytes.store, predecessors)
}

/// Merges the predecessors' captures over what `source` knows of the tree at `tree`, and writes the
/// result into it. Returns what differs now.
pub(crate) fn apply_predecessors(
    tree: &Path,
    source: &dyn Source,
    store: &TaskStore,
    predecessors: &[(TaskName, CaptureRef)],
) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
    let seeds = merge::seed(source, store, predecessors)?;
    // What goes makes room for what comes.
    for (path, seed) in seeds.iter().rev() {
        if seed.is_none() {
            remove(tree, path)?;
        }
    }
    for (path, seed) in &seeds {
        if let Some(entry) = seed {
            write(tree, path, *entry, store)?;
        }
    }
    Ok(seeds)
}

fn remove(tree: &Path, path: &RepoPath) -> Result<()> {
    let what = || format!("remove {path} in the workspace");
    match fs::remove_file(tree.join(path.as_path())) {
        Ok(()) => {}
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error).or_cannot(what),
    }
    // As git does: a folder that has nothing left goes too.
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

fn write(tree: &Path, path: &RepoPath, entry: Entry, store: &TaskStore) -> Result<()> {
    let what = || format!("write {path} in the workspace");
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
