//! The folder of a run's workspaces: its contents, and its removal when nothing needs it any more.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::{RunName, TaskName};

use crate::baseline::{TABLE, keep_file_list, pins_reference};
use crate::carry::{CARRIED, CARRIED_FILES};
use crate::error::{OrCannot, Result};
use crate::paths::RepoPaths;
use crate::pool::is_in_pool;
use crate::run_lock::LOCK;
use crate::store::TaskStore;
use crate::workspace::{
    FileWork, GIT_TEMPLATE, MANIFESTS, in_threads, is_being_removed, is_unfinished, is_workspace,
    remove_tree, task_of,
};

/// The folder for a backend's own data of a run. No task can have its name.
pub(crate) const BACKEND: &str = ".backend";

/// The prefix of files that are being written, before they get their final name.
const TEMPORARY: &str = ".tmp";

/// The contents of a run's folder.
#[derive(Debug, Default)]
pub(crate) struct RunFolder {
    /// The tasks that have a workspace, sorted.
    pub(crate) workspaces: Vec<TaskName>,
    /// Workspaces that were never complete or are being removed, and copies that no task uses. They
    /// hold no work that is not captured.
    pub(crate) leftovers: Vec<PathBuf>,
    /// Entries that this program did not make, sorted.
    pub(crate) foreign: Vec<PathBuf>,
}

impl RunFolder {
    /// Lists the folder of a run. The caller holds its lock.
    pub(crate) fn list(folder: &Path) -> Result<Self> {
        let what = || format!("look into {}", folder.display());
        let mut listed = Self::default();
        for entry in fs::read_dir(folder).or_cannot(what)? {
            let entry = entry.or_cannot(what)?;
            let name = entry.file_name();
            if is_workspace(&entry) {
                listed.workspaces.extend(task_of(&entry));
            } else if is_unfinished(&entry) || is_being_removed(&entry) || is_in_pool(&entry) {
                listed.leftovers.push(entry.path());
            } else if ![LOCK, TABLE, CARRIED, CARRIED_FILES, GIT_TEMPLATE, MANIFESTS, BACKEND]
                .iter()
                .any(|ours| name == **ours)
                && !name.as_bytes().starts_with(TEMPORARY.as_bytes())
            {
                listed.foreign.push(entry.path());
            }
        }
        listed.workspaces.sort();
        listed.foreign.sort();
        Ok(listed)
    }

    /// Returns whether the folder of a run certainly holds nothing but its lock.
    pub(crate) fn is_bare(folder: &Path) -> bool {
        fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == LOCK))
        })
    }
}

/// Removes folders, in as many threads as copied them.
fn remove_all(folders: &[PathBuf]) -> Result<()> {
    let next = AtomicUsize::new(0);
    in_threads(FileWork::Remove(folders.len()), &|| {
        while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            remove_tree(folder)?;
        }
        Ok(())
    })
}

/// Removes the folder of a run unless it holds a workspace or a foreign entry. The caller holds its
/// lock.
pub(crate) fn remove_if_unused(folder: &Path, paths: &RepoPaths, run: &RunName) -> Result<()> {
    let listed = RunFolder::list(folder)?;
    remove_all(&listed.leftovers)?;
    if !listed.workspaces.is_empty() || !listed.foreign.is_empty() {
        return Ok(());
    }
    if let Some(store) = TaskStore::open_existing(&paths.store)? {
        if !store.captures(run)?.is_empty() {
            keep_file_list(folder, paths, run)?;
        }
        store.release(&pins_reference(run))?;
        store.remove_checkpoints(run)?;
    }
    remove_tree(folder)?;
    // Fails if another run has a folder, as it should.
    let _still_used = fs::remove_dir(&paths.workspaces);
    Ok(())
}
