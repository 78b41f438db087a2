//! The folder of a run's workspaces: its contents, and its removal when nothing needs it any more.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use protocol::TaskName;

use crate::backends::RunContext;
use crate::baseline::{TABLE, keep_file_list, pins_reference};
use crate::carry::{CARRIED, CARRIED_FILES};
use crate::error::{OrCannot, Result, is_exhausted};
use crate::pool::is_in_pool;
use crate::run_lock::LOCK;
use crate::store::TaskStore;
use crate::workspace::{
    GIT_TEMPLATE, MANIFESTS, is_being_removed, is_merged_copy, is_unfinished, is_workspace,
    remove_tree, set_aside_run, task_of,
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
    /// Workspaces that were never complete or are being removed, copies that no task uses, and those in
    /// which work is verified. They hold no work that is not captured.
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
            } else if is_unfinished(&entry)
                || is_being_removed(&entry)
                || is_in_pool(&entry)
                || is_merged_copy(&entry)
            {
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

/// Gives up the folder of a run unless it holds a workspace or a foreign entry. What no work is in gets
/// a name that no run can have, and is removed in the background. The captures of the run are moved into
/// git's format before. The caller holds the lock of the folder.
pub(crate) fn give_up_if_unused(context: &RunContext) -> Result<()> {
    let RunContext { folder, paths, run, faults, .. } = context;
    let store = TaskStore::open_existing(&paths.store)?.map(|store| store.with_faults(faults));
    if let Some(store) = &store {
        store.settle()?;
    }
    let listed = RunFolder::list(folder)?;
    if !listed.workspaces.is_empty() || !listed.foreign.is_empty() {
        return listed.leftovers.iter().try_for_each(|leftover| give_up(context, leftover));
    }
    if let Some(store) = &store {
        if !store.captures(run)?.is_empty() {
            keep_file_list(folder, paths, run)?;
        }
        store.release(&pins_reference(run))?;
        store.remove_checkpoints(run)?;
    }
    give_up(context, folder)?;
    // Fails if another run has a folder, as it should.
    let _still_used = fs::remove_dir(&paths.workspaces);
    Ok(())
}

/// Gives up the folder of a run, or a folder in it, in which no work is.
fn give_up(context: &RunContext, folder: &Path) -> Result<()> {
    let RunContext { paths, run, removals, faults, .. } = context;
    match set_aside_run(folder, &paths.workspaces, run) {
        Ok(Some(aside)) => removals.begin_set_aside(aside, faults),
        Ok(None) => {}
        // On a full disk, the folder is removed without a rename.
        Err(error) if is_exhausted(&error) => remove_tree(folder)?,
        Err(error) => return Err(error).or_cannot(|| format!("remove {}", folder.display())),
    }
    Ok(())
}
