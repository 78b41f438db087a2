//! The runs that left a folder: which of them are dead, and what their workspaces hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{IsolationError, RecoveredTask, Uncaptured};
use protocol::{Captured, RunName, TaskName};

use crate::baseline::{Claim, Frozen, NewClaim};
use crate::capture::recapture;
use crate::error::{Result, cannot};
use crate::places::RepoPlaces;
use crate::repository::Repo;
use crate::run_folder::RunFolder;
use crate::workspace::Manifest;

/// The runs that left a folder.
#[derive(Default)]
pub(super) struct Runs {
    /// Those whose engine died; their folders are claimed.
    pub(super) dead: Vec<DeadRun>,
    /// Those whose engine lives.
    pub(super) alive: BTreeSet<RunName>,
    /// What cannot be looked at, in lines for people.
    pub(super) kept: Vec<String>,
}

/// A run whose engine died.
pub(super) struct DeadRun {
    pub(super) name: RunName,
    pub(super) folder: PathBuf,
    pub(super) claim: Claim,
}

/// What the workspaces of a dead run hold.
#[derive(Default)]
pub(super) struct CapturedRun {
    pub(super) tasks: Vec<RecoveredTask>,
    /// The workspaces that may go once that is recorded.
    pub(super) discard: Vec<PathBuf>,
    /// What stays, in lines for people.
    pub(super) kept: Vec<String>,
}

impl Runs {
    /// Claims the folder of every run whose engine is dead. The held lock decides, nothing else.
    pub(super) fn claim(places: &RepoPlaces, names: Vec<RunName>) -> Self {
        let mut runs = Self::default();
        for name in names {
            let folder = places.workspaces.join(name.as_str());
            match Claim::inherit(&folder) {
                // A run may be about to begin there, and must not wait for what is recovered of
                // others: its ledger waits for it, and we for its ledger.
                Ok(Some(claim)) if RunFolder::is_bare(&folder) => {
                    NewClaim::give_up(claim, &folder);
                }
                Ok(Some(claim)) => runs.dead.push(DeadRun { name, folder, claim }),
                Ok(None) => {
                    runs.alive.insert(name);
                }
                // Whose it is cannot be told, so it is somebody's.
                Err(error) => {
                    runs.kept.push(format!("{} stays: {}", folder.display(), words(&error)));
                    runs.alive.insert(name);
                }
            }
        }
        runs
    }
}

impl DeadRun {
    /// Captures every workspace of a dead run. What cannot be captured is kept, and so is what is
    /// not ours.
    pub(super) fn capture(
        repo: &Repo,
        places: &RepoPlaces,
        faults: &Faults,
        run: &RunName,
        folder: &Path,
    ) -> CapturedRun {
        let mut captured = CapturedRun::default();
        let listed = match RunFolder::list(folder) {
            Ok(listed) => listed,
            Err(error) => {
                captured.kept.push(format!("{} stays: {}", folder.display(), words(&error)));
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
        let frozen = Frozen::load(repo, places, faults, run);
        for task in listed.workspaces {
            let place = folder.join(task.as_str());
            let manifest = Manifest::read(folder, &task);
            let attempt = manifest.as_ref().map_or(1, |manifest| manifest.attempt);
            let end = match (&frozen, &manifest) {
                (Ok(frozen), Ok(manifest)) => rescue(frozen, &place, manifest, &task),
                (Err(error), _) | (_, Err(error)) => Err(Uncaptured::Kept(words(error))),
            };
            let may_go = match &end {
                Ok(captured) => !captured.holds_uncaptured_files(),
                Err(Uncaptured::Gone(_)) => true,
                Err(Uncaptured::Kept(_)) => false,
            };
            if may_go {
                captured.discard.push(place);
            }
            captured.tasks.push(RecoveredTask { run: run.clone(), task, attempt, captured: end });
        }
        captured
    }
}

/// Captures one workspace.
fn rescue(
    frozen: &Frozen,
    place: &Path,
    manifest: &Manifest,
    task: &TaskName,
) -> std::result::Result<Captured, Uncaptured> {
    match checked(frozen, place, manifest, task) {
        Ok(captured) => Ok(captured),
        Err(error @ IsolationError::Vanished { .. }) => Err(Uncaptured::Gone(words(&error))),
        Err(error) => Err(Uncaptured::Kept(words(&error))),
    }
}

fn checked(
    frozen: &Frozen,
    place: &Path,
    manifest: &Manifest,
    task: &TaskName,
) -> Result<Captured> {
    if (&manifest.run, &manifest.task) == (&frozen.run, task) {
        recapture(frozen, place, manifest)
    } else {
        Err(cannot(format!("capture {}", place.display()), "its manifest is another task's"))
    }
}

fn words(error: &IsolationError) -> String {
    error.to_failure().message
}
