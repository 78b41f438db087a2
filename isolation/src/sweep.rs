//! What engines that died left of their workspaces: captured first, and only then removed.

use std::fs;
use std::path::Path;

use engine::fault::Faults;
use engine::ports::{IsolationError, RecoveredTask, Uncaptured};
use protocol::{Captured, RunName, TaskName};

use crate::baseline::{Claim, Frozen, remove_if_unused};
use crate::capture::recapture;
use crate::error::{OrCannot, Result, cannot};
use crate::places::RepoPlaces;
use crate::repository::Repo;
use crate::workspace::{Manifest, discard, is_gone, is_workspace, remove_tree, task_of};

#[cfg(test)]
mod tests;

/// What a sweep found.
#[derive(Default)]
pub(crate) struct Swept {
    /// Tasks whose workspaces were found.
    pub(crate) tasks: Vec<RecoveredTask>,
    /// Runs whose engine died.
    pub(crate) dead: Vec<RunName>,
}

/// Sweeps the workspaces of every run whose engine is dead. What cannot be looked at is kept.
pub(crate) fn sweep(repo: &Repo, places: &RepoPlaces, faults: &Faults) -> Result<Swept> {
    let what = || format!("look for workspaces in {}", places.workspaces.display());
    let entries = match fs::read_dir(&places.workspaces) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Swept::default()),
        Err(error) => return Err(error).or_cannot(what),
    };
    faults.strike("recover.begin").or_cannot(what)?;
    let mut runs: Vec<RunName> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    runs.sort();
    let mut swept = Swept::default();
    for run in runs {
        // One that cannot be swept does not keep the others.
        if let Err(error) = sweep_run(repo, places, faults, &run, &mut swept) {
            tracing::warn!(%run, error = %error.to_failure().message, "a dead run stays");
        }
    }
    Ok(swept)
}

fn sweep_run(
    repo: &Repo,
    places: &RepoPlaces,
    faults: &Faults,
    run: &RunName,
    swept: &mut Swept,
) -> Result<()> {
    let folder = places.workspaces.join(run.as_str());
    let Some(claim) = Claim::inherit(&folder)? else { return Ok(()) };
    swept.dead.push(run.clone());
    let workspaces = workspaces(&folder)?;
    if workspaces.is_empty() {
        return remove_if_unused(&folder, places, run);
    }
    let frozen = Frozen::load(repo, places, faults, run, claim);
    for (task, manifest) in workspaces {
        let place = folder.join(task.as_str());
        let captured = match (&frozen, manifest) {
            (_, Ok(None)) => {
                remove_tree(&place)?;
                continue;
            }
            (Ok(frozen), Ok(Some(manifest))) => {
                let captured = rescue(frozen, &place, &manifest, &task);
                swept.tasks.push(told(run, &task, manifest.attempt, captured));
                continue;
            }
            (Err(error), Ok(Some(manifest))) => (manifest.attempt, Err(kept(error))),
            (_, Err(error)) => (1, Err(kept(&error))),
        };
        let (attempt, captured) = captured;
        swept.tasks.push(told(run, &task, attempt, captured));
    }
    match &frozen {
        Ok(frozen) => frozen.close(),
        Err(_) => Ok(()),
    }
}

fn told(
    run: &RunName,
    task: &TaskName,
    attempt: u32,
    captured: std::result::Result<Captured, Uncaptured>,
) -> RecoveredTask {
    RecoveredTask { run: run.clone(), task: task.clone(), attempt, captured }
}

fn kept(error: &IsolationError) -> Uncaptured {
    Uncaptured::Kept(error.to_failure().message)
}

/// Captures one workspace, and removes it if that went well, or if its task has taken everything
/// away that was in it.
fn rescue(
    frozen: &Frozen,
    place: &Path,
    manifest: &Manifest,
    task: &TaskName,
) -> std::result::Result<Captured, Uncaptured> {
    let checked = if (&manifest.run, &manifest.task) == (&frozen.run, task) {
        recapture(frozen, place, manifest)
    } else {
        Err(cannot(format!("capture {}", place.display()), "its manifest is another task's"))
    };
    let captured = match checked {
        Ok(captured) => Ok(captured),
        Err(error @ IsolationError::Vanished { .. }) => {
            Err(Uncaptured::Gone(error.to_failure().message))
        }
        Err(error) => return Err(kept(&error)),
    };
    if let Err(error) = discard(place, &frozen.faults) {
        tracing::warn!(%task, error = %error.to_failure().message, "a workspace that may go stays");
    }
    captured
}

/// Returns every workspace of a run with its manifest, sorted by task, and removes what was on its
/// way out.
fn workspaces(folder: &Path) -> Result<Vec<(TaskName, Result<Option<Manifest>>)>> {
    let what = || format!("look into {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).or_cannot(what)? {
        let entry = entry.or_cannot(what)?;
        if is_workspace(&entry)
            && let Some(task) = task_of(&entry)
        {
            found.push((task, Manifest::read(&entry.path())));
        } else if is_gone(&entry) {
            remove_tree(&entry.path())?;
        }
    }
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found)
}
