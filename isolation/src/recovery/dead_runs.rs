//! Finds dead runs by the folders that they have left, and captures their workspaces.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::ports::{IsolationError, RecoveredTask, Uncaptured, Workspace};
use protocol::RunName;

use crate::backends::{Backends, FrozenTree, RecoveredWorkspace, RunContext};
use crate::error::error_text;
use crate::paths::RepoPaths;
use crate::run_folder::RunFolder;
use crate::run_lock::{NewRunLock, RunLock};

/// The runs that have left a folder.
#[derive(Default)]
pub(super) struct RunFolders {
    /// Runs whose engine is dead; their folders are locked.
    pub(super) dead: Vec<DeadRun>,
    /// Runs whose engine is alive.
    pub(super) alive: BTreeSet<RunName>,
    /// Messages about folders that cannot be examined.
    pub(super) kept: Vec<String>,
}

/// A run whose engine is dead, and the lock on its folder.
pub(super) struct DeadRun {
    pub(super) name: RunName,
    pub(super) lock: RunLock,
}

/// The captured workspaces of a dead run.
#[derive(Default)]
pub(super) struct CapturedRun {
    pub(super) tasks: Vec<RecoveredTask>,
    /// The workspaces that may be removed once the captures are recorded.
    pub(super) discard: Vec<(Arc<dyn FrozenTree>, Workspace)>,
    /// Messages about the workspaces and entries that the recovery leaves in place.
    pub(super) kept: Vec<String>,
}

impl RunFolders {
    /// Locks the folder of every run whose engine is dead. Only a held lock shows that an engine is
    /// alive.
    pub(super) fn lock_dead(paths: &RepoPaths, names: Vec<RunName>) -> Self {
        let mut runs = Self::default();
        for name in names {
            let folder = paths.workspaces.join(name.as_str());
            match RunLock::try_acquire(&folder) {
                // A run may be about to start in a bare folder. It must not wait for the recovery
                // of other runs: its ledger would wait for the run, and the recovery for that
                // ledger.
                Ok(Some(lock)) if RunFolder::is_bare(&folder) => {
                    NewRunLock::release(lock, &folder);
                }
                Ok(Some(lock)) => runs.dead.push(DeadRun { name, lock }),
                Ok(None) => {
                    runs.alive.insert(name);
                }
                // The folder may be in use, so the run counts as alive.
                Err(error) => {
                    runs.kept.push(format!("{} stays: {}", folder.display(), error_text(&error)));
                    runs.alive.insert(name);
                }
            }
        }
        runs
    }
}

impl DeadRun {
    /// Captures every workspace of a dead run. Workspaces that cannot be captured and foreign
    /// entries are kept.
    pub(super) fn capture(context: &RunContext, backends: &Backends) -> CapturedRun {
        let RunContext { run, folder, .. } = context;
        let mut captured = CapturedRun::default();
        let listed = match RunFolder::list(folder) {
            Ok(listed) => listed,
            Err(error) => {
                captured.kept.push(format!("{} stays: {}", folder.display(), error_text(&error)));
                return captured;
            }
        };
        for path in listed.foreign {
            let line = format!("{} stays: a task of run {run} has put it there", path.display());
            captured.kept.push(line);
        }
        if listed.workspaces.is_empty() {
            return captured;
        }
        let frozen = backends.reopen(context);
        for task in listed.workspaces {
            let run = run.clone();
            let frozen = match &frozen {
                Ok(frozen) => frozen,
                Err(error) => {
                    let kept = Err(Uncaptured::Kept(error_text(error)));
                    captured.tasks.push(RecoveredTask { run, task, attempt: 1, captured: kept });
                    continue;
                }
            };
            let RecoveredWorkspace { workspace, captured: end } = frozen.recover(&task);
            let attempt = workspace.attempt;
            let end = end.map_err(|error| match error {
                IsolationError::Vanished { .. } => Uncaptured::Gone(error_text(&error)),
                error => Uncaptured::Kept(error_text(&error)),
            });
            let may_go = match &end {
                Ok(captured) => !captured.holds_uncaptured_files(),
                Err(Uncaptured::Gone(_)) => true,
                Err(Uncaptured::Kept(_)) => false,
            };
            if may_go {
                captured.discard.push((Arc::clone(frozen), workspace));
            }
            captured.tasks.push(RecoveredTask { run, task, attempt, captured: end });
        }
        captured
    }
}
