//! Removes captured work.

use protocol::{CaptureRef, LedgerEntry, TaskName};
use serde::Serialize;
use store::TaskRow;

use super::repository_runs::{RepositoryRuns, WorkError};
use super::target::Target;
use crate::gc::Execution;

/// What was discarded of a target, or would be.
#[derive(Debug)]
pub struct Discarded<'a> {
    /// The tasks whose work it is.
    pub work: Vec<&'a TaskRow>,
    /// What resolvers wrote for conflicts of the tasks.
    pub resolutions: Vec<Resolution<'a>>,
}

/// The capture of what a resolver wrote for conflicts of a task.
#[derive(Debug, Serialize)]
pub struct Resolution<'a> {
    /// The task.
    pub task: &'a TaskName,
    /// The capture.
    pub capture: CaptureRef,
}

/// Removes the captured work of a target, whose run has ended. Landed work stays in the repository.
///
/// # Errors
/// The run has not ended, the ledger cannot be written, or a capture cannot be removed.
pub async fn discard<'a>(
    runs: &RepositoryRuns,
    target: &'a Target,
    execution: Execution,
) -> Result<Discarded<'a>, WorkError> {
    if !target.has_ended() {
        return Err(WorkError::StillRunning(target.run.name.clone()));
    }
    let is_there = |row: &&TaskRow| {
        row.captured.is_some() && row.discarded.is_none() && row.collected.is_none()
    };
    let gone = Discarded {
        work: target.tasks.iter().filter(is_there).collect(),
        resolutions: resolutions(runs, target)?,
    };
    if execution == Execution::Real {
        // The ledger is written first, so that it never offers a capture that is already removed.
        let entries = gone.work.iter().map(|row| LedgerEntry::TaskDiscarded { task: row.id });
        runs.record(entries.collect()).await?;
        // This includes captures that an earlier discard recorded but failed to remove.
        for captured in target.tasks.iter().filter_map(|row| row.captured.as_ref()) {
            runs.captured.remove(&target.run.name, &captured.capture)?;
        }
        for Resolution { capture, .. } in &gone.resolutions {
            runs.captured.remove(&target.run.name, capture)?;
        }
    }
    Ok(gone)
}

/// Returns what resolvers wrote for the tasks of a target.
fn resolutions<'a>(
    runs: &RepositoryRuns,
    target: &'a Target,
) -> Result<Vec<Resolution<'a>>, WorkError> {
    let mut found = Vec::new();
    for row in &target.tasks {
        // A task may have this very name.
        if runs.reader.find_task(target.run.id, &format!("{}.resolve", row.name)).is_ok() {
            continue;
        }
        let captures = runs.captured.resolutions(&target.run.name, &row.name)?;
        let of_task = |capture| Resolution { task: &row.name, capture };
        found.extend(captures.into_iter().map(of_task));
    }
    Ok(found)
}
