//! The copies of a run that no task uses, and what is known about those in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::ports::Workspace;
use protocol::TaskName;
use rustix::io::Errno;

use super::lent::{Found, Lent};
use super::look::Differences;
use super::pooled_copy::PooledCopy;
use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result, is_exhausted};
use crate::tree::Tree;
use crate::view::WriteRecord;
use crate::workspace::{COPY_THREADS, FileCopier, Manifest, keep_carried, set_aside};

/// The prefix of the folders of copies that no task uses. The name is also the mark that the work of
/// the last task is durable in the task store: only then a workspace gets it.
const POOLED: &str = ".pool-";

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
    changed: Condvar,
    /// The run's copy of the carried files, once it is made; `None` in it if no file is carried.
    carried: Mutex<Option<Option<PathBuf>>>,
    copier: Mutex<Option<Arc<FileCopier>>>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<PooledCopy>,
    lent: BTreeMap<TaskName, Lent>,
    /// How many copies are being made.
    making: usize,
    /// The tasks whose copies are expected back soon, because they are being captured.
    ending: BTreeSet<TaskName>,
    /// For how long others may still wait for such a copy. It is how long it took to make one, less
    /// the time that was waited since: then another copy is worth its time.
    patience: Duration,
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
        self.is_unknown || self.looking > 0 || self.lent.values().any(Lent::may_have_processes)
    }

    /// Removes what is known about the copy of a task, which has ended.
    fn remove(&mut self, task: &TaskName) -> Option<Lent> {
        let lent = self.lent.remove(task)?;
        self.ended += u64::from(!lent.is_over && lent.may_have_processes());
        Some(lent)
    }
}

/// What a new workspace is made of.
pub(crate) enum Source<'a> {
    /// A copy that no task uses any more.
    Pooled(Box<PooledCopy>),
    /// A new copy, which may be made until this is dropped.
    New(Turn<'a>),
}

/// The turn of one thread to make a copy.
pub(crate) struct Turn<'a> {
    pool: &'a Pool,
    began: Instant,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.making -= 1;
        state.patience = self.began.elapsed();
        self.pool.changed.notify_all();
    }
}

/// Returns how many copies are made at the same time: each takes as many threads as copy best. More
/// would let all tasks wait for the last copy.
fn turns() -> usize {
    // The system is asked once: the answer is in several files.
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    CORES.div_ceil(COPY_THREADS)
}

impl Pool {
    /// Returns a copy that no task uses, or the turn to make one. Waits for one or the other: so that
    /// no more copies are made than are needed, also for a copy that is being captured, until that
    /// has taken as long as making one.
    pub(crate) fn take(&self) -> Source<'_> {
        let (mut state, turns) = (self.state(), turns());
        loop {
            if let Some(pooled) = state.idle.pop() {
                return Source::Pooled(Box::new(pooled));
            }
            let began = Instant::now();
            if !state.ending.is_empty() && !state.patience.is_zero() {
                let patience = state.patience;
                let waited = self.changed.wait_timeout(state, patience);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                state.patience = state.patience.saturating_sub(began.elapsed());
            } else if state.making < turns {
                state.making += 1;
                return Source::New(Turn { pool: self, began });
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
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
    fn unexpect(&self, task: &TaskName) {
        self.state().ending.remove(task);
        self.changed.notify_all();
    }

    /// Keeps what is known about the copy of a task; `None` if nothing is.
    pub(crate) fn lend(&self, task: &TaskName, lent: Option<Lent>) {
        match lent {
            Some(lent) => drop(self.state().lent.insert(task.clone(), lent)),
            None => self.lend_unknown(),
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
                state.is_unknown = true;
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
        context.faults.failpoint("capture.discard").or_cannot(what)?;
        let named = |number: u32| [POOLED, &number.to_string()].concat().into();
        let pooled = match set_aside(folder, &context.folder, named) {
            Ok(Some(pooled)) => pooled,
            Ok(None) => return Ok(false),
            Err(error) if is_exhausted(&error) => return Ok(false),
            Err(error) => return Err(error).or_cannot(what),
        };
        context.faults.failpoint("capture.discarded").or_cannot(what)?;
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

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expecting(patience: Duration) -> (Pool, TaskName) {
        let (pool, task) = (Pool::default(), TaskName::nearest("one"));
        {
            let mut state = pool.state();
            (state.patience, _) = (patience, state.ending.insert(task.clone()));
        }
        (pool, task)
    }

    #[test]
    fn who_has_waited_for_a_copy_as_long_as_making_one_takes_makes_one() {
        let (pool, _) = expecting(Duration::from_millis(1));
        let made = pool.take();
        assert!(matches!(made, Source::New(_)));
        assert_eq!(pool.state().patience, Duration::ZERO);
        drop(made);
        assert!(!pool.state().patience.is_zero(), "it is how long that copy took");
    }

    #[test]
    fn an_expected_copy_is_waited_for_until_it_is_certain_that_it_does_not_come() {
        let (pool, task) = expecting(Duration::from_secs(3600));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| matches!(pool.take(), Source::New(_)));
            pool.forget(&task);
            assert!(waiting.join().unwrap());
        });
    }
}
