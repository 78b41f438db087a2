//! Cleans up after a recovery, when its findings are recorded in the ledger.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{Recovered, Reuse, Workspace};
use group_log::LockedFile;
use protocol::RunName;

use crate::backends::{FrozenTree, RunContext};
use crate::error::{OrCannot, Result};
use crate::landing;
use crate::paths::RepoPaths;
use crate::run_folder::give_up_if_unused;
use crate::run_lock::RunLock;
use crate::store::remove_leftovers;

/// A dead run whose folder is locked.
pub(super) struct LockedRun {
    pub(super) context: RunContext,
    pub(super) lock: RunLock,
    /// The captured workspaces in it, each with the snapshot that discards it.
    pub(super) discard: Vec<(Arc<dyn FrozenTree>, Workspace)>,
}

/// The cleanup to do once the findings of a recovery are recorded.
pub(crate) struct Cleanup {
    runs: Vec<LockedRun>,
    /// The runs whose landings were reported.
    landed: Vec<RunName>,
    /// Whether the recovery found a dead run or an open landing of this repository.
    somebody_died: bool,
    paths: RepoPaths,
    faults: Faults,
    /// The lock of the recovery, released last.
    _recovery_lock: LockedFile,
}

impl Cleanup {
    pub(super) fn of(
        recovered: &Recovered,
        runs: Vec<LockedRun>,
        recovery_lock: LockedFile,
        paths: &RepoPaths,
        faults: &Faults,
    ) -> Self {
        Self {
            runs,
            landed: recovered.landings.iter().map(|landing| landing.run.clone()).collect(),
            somebody_died: !recovered.dead.is_empty() || !recovered.landings.is_empty(),
            paths: paths.clone(),
            faults: faults.clone(),
            _recovery_lock: recovery_lock,
        }
    }

    /// Removes captured workspaces and empty folders. A failure does not stop the rest. The next
    /// recovery finds the remaining folders again.
    pub(crate) fn finish(self, unrecorded: &BTreeSet<RunName>) -> Result<()> {
        let (paths, faults) = (&self.paths, &self.faults);
        failpoint!(faults, "recover.finish").or_cannot(|| "finish a recovery")?;
        let mut end = Ok(());
        for run in self.landed.iter().filter(|run| !unrecorded.contains(*run)) {
            end = end.and(landing::acknowledge(paths, faults, run));
        }
        for LockedRun { context, lock, discard } in self.runs {
            let known = !unrecorded.contains(&context.run);
            for (frozen, workspace) in discard.iter().filter(|_| known) {
                end = end.and(frozen.discard(workspace, Reuse::Refused));
            }
            let removed =
                failpoint!(faults, "recover.remove").or_cannot(|| "remove a run's folder");
            end = end.and(removed.and_then(|()| give_up_if_unused(&context)));
            // The lock is released last, so that no other process sees a partly removed folder.
            drop(lock);
            context.removals.wait();
        }
        if self.somebody_died {
            remove_leftovers(&paths.store);
        }
        end
    }
}
