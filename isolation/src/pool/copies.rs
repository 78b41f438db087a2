//! The copies of a run that no task uses, and what is known about those in use.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::failpoint;
use engine::ports::Workspace;
use protocol::TaskName;
use rustix::io::Errno;

use super::lent::{Found, Lent};
use super::look::Differences;
use super::pooled_copy::PooledCopy;
use crate::baseline::{Snapshot, Table};
use crate::error::{OrCannot, Result, is_exhausted};
use crate::tree::Tree;
use crate::view::WriteRecord;
use crate::workspace::{FileCopier, FileWork, Manifest, cores, keep_carried, set_aside};

/// The prefix of the folders of copies that no task uses. The name is also the mark that the work of
/// the last task is durable in the task store: only then a workspace gets it.
const POOLED: &str = ".pool-";

fn pooled_name(number: u32) -> OsString {
    [POOLED, &number.to_string()].concat().into()
}

/// Returns whether an entry of a run's folder is a copy that no task uses. There is no work in it
/// that is not captured.
pub(crate) fn is_in_pool(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(POOLED.as_bytes())
}

/// The copies of a run. They are known to the process that made them only: a copy of which nothing
/// is known is removed after its task.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Notified when a copy comes back, or is made.
    pub(super) changed: Condvar,
    /// The run's copy of the carried files, once it is made; `None` in it if no file is carried.
    carried: Mutex<Option<Option<PathBuf>>>,
    copier: Mutex<Option<Arc<FileCopier>>>,
    /// Whether a task can work while a copy is captured: there are more cores than look at it.
    pub(super) leaves_a_core: bool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) idle: Vec<PooledCopy>,
    lent: BTreeMap<TaskName, Lent>,
    /// The tasks whose copies are not used again. They may have processes until they end.
    apart: BTreeSet<TaskName>,
    /// How many copies are being made.
    pub(super) making: usize,
    /// The tasks whose copies are expected back soon, because they are being captured.
    pub(super) ending: BTreeSet<TaskName>,
    /// How many others wait for such a copy.
    pub(super) waiting: usize,
    /// For how long one of them waits at most: as long as it took to make a copy. Where a core is left
    /// meanwhile, less the time that was waited since: then another copy is worth its time.
    pub(super) patience: Duration,
    /// How many copies were begun in this run.
    pub(super) made: usize,
    /// How many tasks have ended that may have had processes. These could have written to all copies.
    ended: u64,
    /// Whether processes may run of which nothing is known.
    is_unknown: bool,
    /// How many copies are being looked at; nothing is known about their processes meanwhile.
    looking: usize,
}

impl State {
    /// Returns whether a process of a task may run now.
    fn may_run_processes(&self) -> bool {
        self.is_unknown
            || self.looking > 0
            || !self.apart.is_empty()
            || self.lent.values().any(Lent::may_have_processes)
    }

    /// Removes what is known about the copy of a task, which has ended.
    fn remove(&mut self, task: &TaskName) -> Option<Lent> {
        self.ended += u64::from(self.apart.remove(task));
        let lent = self.lent.remove(task)?;
        self.ended += u64::from(!lent.is_over && lent.may_have_processes());
        Some(lent)
    }
}

impl Pool {
    /// Returns the pool of a run with the snapshot `table`. It is empty.
    pub(crate) fn of(table: &Table) -> Self {
        let files = table.folders.values().map(|folder| folder.files.len()).sum();
        Self { leaves_a_core: FileWork::LookAt(files).threads() < cores(), ..Self::default() }
    }

    /// Expects the copy of a task back: its work has ended and is being captured.
    pub(crate) fn expect(&self, task: &TaskName) {
        let mut state = self.state();
        let State { lent, ending, ended, .. } = &mut *state;
        if let Some(lent) = lent.get_mut(task) {
            lent.is_over = true;
            *ended += u64::from(lent.may_have_processes());
            ending.insert(task.clone());
        }
    }

    /// Expects the copy of a task no more: it is idle now, or will not be.
    pub(crate) fn unexpect(&self, task: &TaskName) {
        self.state().ending.remove(task);
        self.changed.notify_all();
    }

    /// Keeps what is known about the copy of a task; `None` if it is not used again.
    pub(crate) fn lend(&self, task: &TaskName, lent: Option<Lent>) {
        let mut state = self.state();
        match lent {
            Some(lent) => drop(state.lent.insert(task.clone(), lent)),
            None => {
                state.lent.remove(task);
                state.apart.insert(task.clone());
            }
        }
    }

    /// Records that processes may run from now on, until the end of the run, of which nothing is
    /// known.
    pub(crate) fn lend_unknown(&self) {
        self.state().is_unknown = true;
    }

    /// Returns the copier of the run. `probe` is a folder of the file system of its workspaces.
    pub(crate) fn copier(&self, probe: &OwnedFd) -> std::result::Result<Arc<FileCopier>, Errno> {
        let mut copier = self.copier.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copier) = copier.as_ref() {
            return Ok(Arc::clone(copier));
        }
        let found = Arc::new(FileCopier::find(probe)?);
        *copier = Some(Arc::clone(&found));
        Ok(found)
    }

    /// Returns the run's copy of the carried files, which is made at the first call; `None` if no
    /// file is carried.
    pub(crate) fn carried_files(&self, snapshot: &Snapshot) -> Result<Option<PathBuf>> {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(carried) = carried.as_ref() {
            return Ok(carried.clone());
        }
        let kept = keep_carried(snapshot)?;
        *carried = Some(kept.clone());
        Ok(kept)
    }

    /// Returns how the copy of a task differs from a new one now; `None` if that is not known. A copy
    /// that cannot be looked at is not used again.
    pub(crate) fn differences(
        &self,
        snapshot: &Snapshot,
        workspace: &Workspace,
    ) -> Option<Differences> {
        let mut lent = {
            let mut state = self.state();
            let mut lent = state.lent.remove(&workspace.task)?;
            state.looking += 1;
            lent.looked_at = Some(state.ended);
            lent
        };
        lent.had_processes = true;
        let tree = Tree::open_at(&workspace.root);
        let looked = tree.and_then(|tree| lent.look(snapshot, &tree));
        let mut state = self.state();
        state.looking -= 1;
        match looked {
            Ok(differences) => {
                state.lent.insert(workspace.task.clone(), lent);
                Some(differences)
            }
            Err(error) => {
                state.apart.insert(workspace.task.clone());
                tracing::info!(%error, "a copy is not used again");
                None
            }
        }
    }

    /// Keeps how the copy of a task differed when it was captured.
    pub(crate) fn keep_differences(&self, task: &TaskName, differences: Differences) {
        if let Some(lent) = self.state().lent.get_mut(task) {
            let looked = |ended| Found::Looked { differences, ended };
            lent.differences = lent.looked_at.map(looked);
        }
    }

    /// Returns the record of what views write to the workspace of a task; `None` if a capture does not
    /// use it.
    pub(crate) fn record(&self, task: &TaskName) -> Option<Arc<WriteRecord>> {
        let mut state = self.state();
        let lent = state.lent.get_mut(task).filter(|lent| lent.overwritten.is_empty())?;
        Some(Arc::clone(lent.record.get_or_insert_default()))
    }

    /// Returns every path of the workspace of a task that may have changed; `None` if that is not
    /// known. The workspace is about to be captured.
    pub(crate) fn written(&self, task: &TaskName) -> Option<BTreeSet<Vec<u8>>> {
        self.state().lent.get(task)?.record.as_ref()?.close()
    }

    /// Keeps how the copy of a task differs because of what views have written to it.
    pub(crate) fn keep_written(
        &self,
        snapshot: &Snapshot,
        task: &TaskName,
        written: &BTreeSet<Vec<u8>>,
    ) {
        let differences = Differences::of_written(snapshot, written);
        if let Some(lent) = self.state().lent.get_mut(task) {
            lent.differences = Some(Found::Recorded(differences));
        }
    }

    /// Returns whether a process may have written to any copy of the run.
    pub(super) fn may_have_processes(&self) -> bool {
        let state = self.state();
        state.ended > 0 || state.may_run_processes()
    }

    /// Returns whether certainly no process of another task has run since the look at which `ended`
    /// tasks with processes had ended. One could have written to any copy.
    pub(super) fn is_still_true(&self, ended: u64) -> bool {
        let state = self.state();
        state.ended == ended && !state.may_run_processes()
    }

    /// Takes back the workspace of a task, whose work is captured, and in which nothing has run since.
    /// Returns whether it is in the pool now; if not, it is as before.
    pub(crate) fn take_back(&self, snapshot: &Snapshot, workspace: &Workspace) -> Result<bool> {
        let taken = self.try_take_back(snapshot, workspace);
        self.unexpect(&workspace.task);
        taken
    }

    fn try_take_back(&self, snapshot: &Snapshot, workspace: &Workspace) -> Result<bool> {
        let Some(lent) = self.state().remove(&workspace.task) else { return Ok(false) };
        let (folder, context) = (&workspace.folder, &snapshot.context);
        let what = || format!("put the workspace {} back", folder.display());
        failpoint!(context.faults, "capture.discard").or_cannot(what)?;
        let pooled = match set_aside(folder, &context.folder, pooled_name) {
            Ok(Some(pooled)) => pooled,
            Ok(None) => return Ok(false),
            Err(error) if is_exhausted(&error) => return Ok(false),
            Err(error) => return Err(error).or_cannot(what),
        };
        failpoint!(context.faults, "capture.discarded").or_cannot(what)?;
        Manifest::remove(&context.folder, workspace.task.as_str())?;
        self.state().idle.push(PooledCopy { folder: pooled, lent });
        Ok(true)
    }

    /// Forgets what is known about the copy of a task, whose processes may still run.
    pub(crate) fn forget(&self, task: &TaskName) {
        let mut state = self.state();
        let forgotten = state.remove(task);
        state.is_unknown |= forgotten.is_none_or(|lent| lent.may_have_processes());
        drop(state);
        self.unexpect(task);
    }

    /// Returns how many tasks have ended that may have had processes.
    pub(super) fn ended(&self) -> u64 {
        self.state().ended
    }

    /// Adds a new copy in `folder`, which gets a name of the pool.
    pub(super) fn add(&self, run: &Path, folder: &Path, lent: Lent) -> std::io::Result<()> {
        let pooled = set_aside(folder, run, pooled_name)?;
        self.state().idle.extend(pooled.map(|folder| PooledCopy { folder, lent }));
        Ok(())
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
