//! The state of a run in progress that all backends share: its snapshot and the lock on its folder.

use std::sync::{Mutex, PoisonError};

use engine::failpoint;
use engine::ports::{CancelToken, FreezeRequest, IsolationError, LandingNotice};

use crate::backends::RunContext;
use crate::branch;
use crate::error::{OrCannot, Result};
use crate::landing::{self, LandingLock};
use crate::run_folder::{RunFolder, give_up_if_unused};
use crate::run_lock::{NewRunLock, RunLock};

/// A run's snapshot, and the lock on the run's folder of workspaces.
pub(crate) struct FrozenRun<T> {
    pub(crate) context: RunContext,
    /// The backend's snapshot.
    pub(crate) tree: T,
    lock: Mutex<Option<RunLock>>,
}

/// How taking a snapshot waits for landings in the same repository.
#[derive(Clone, Copy)]
pub(crate) struct LandingWait<'a> {
    /// Ends the wait, so that no snapshot is taken.
    pub(crate) cancel: &'a CancelToken,
    /// Called once when the wait begins.
    pub(crate) notify: &'a dyn Fn(LandingNotice),
}

impl<T> FrozenRun<T> {
    /// Takes a snapshot with `freeze` while no landing changes the working tree. The caller has
    /// locked the run's folder. Leaves nothing behind when it fails.
    pub(crate) fn freeze(
        context: RunContext,
        request: &FreezeRequest,
        lock: NewRunLock,
        landings: LandingWait<'_>,
        freeze: impl FnOnce(&RunContext) -> Result<T>,
    ) -> Result<Self> {
        let RunContext { repo, paths, faults, .. } = &context;
        if let Some(target) = &request.branches {
            branch::must_be_possible(repo, faults, target, &request.run)?;
        }
        // No landing may change the tree during the scan, which would see a part of it.
        let LandingWait { cancel, notify } = landings;
        let folders = || landing::git_folders(repo, paths, std::iter::empty());
        let landing_lock = LandingLock::acquire(&folders, faults, cancel, notify)?;
        let Some(landing_lock) = landing_lock else { return Err(IsolationError::Withdrawn) };
        // The landing that was waited for may have crashed in the middle.
        if let Err(error) =
            landing::finish_cut_short((repo, paths), &landing_lock, faults, cancel, notify)
        {
            // A recovery has reported it, and the next landing will again.
            tracing::warn!(%error, "the snapshot is taken although a landing is unfinished");
        }
        failpoint!(faults, "freeze.scan").or_cannot(|| "look at the working tree")?;
        match freeze(&context) {
            Ok(tree) => Ok(Self { context, tree, lock: Mutex::new(lock.begin()) }),
            // Dropping the lock removes the folder.
            Err(error) if RunFolder::is_bare(&context.folder) => Err(error),
            Err(error) => {
                let failed = FrozenRun { context, tree: (), lock: Mutex::new(lock.begin()) };
                if let Err(error) = failed.close() {
                    tracing::warn!(%error, "what is left of a baseline that failed stays");
                }
                Err(error)
            }
        }
    }

    /// Ends the run: gives up its folder if no workspace is left, and releases the lock. The ledger
    /// has recorded the run's landing by now. Does not wait long for what the next start can do.
    pub(crate) fn close(&self) -> Result<()> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            return Ok(());
        }
        let RunContext { paths, faults, run, removals, .. } = &self.context;
        landing::acknowledge(paths, faults, run)?;
        let (context, lock) = (self.context.clone(), lock.take());
        removals.run(move |_removed| {
            let given_up = give_up_if_unused(&context);
            // No other process may see a partly removed folder: what is removed next has another name.
            drop(lock);
            given_up
        });
        removals.wait();
        Ok(())
    }
}
