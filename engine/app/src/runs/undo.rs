//! Takes landed work back.

use std::sync::Arc;

use engine::ports::{
    CancelToken, Ids as _, IsolationError, LandingNotice, LedgerError, Repository, UndoReport,
    UndoRequest, UndoScope, UndoTask,
};
use protocol::{Landed, LandingReport, LedgerEntry};
use store::TaskRow;

use super::kept_work::{has_landed, is_taken_back};
use super::locked_target::LockedTarget;
use super::repository_runs::RepositoryRuns;
use super::target::{Target, TargetKind};
use crate::app_context::UniqueIds;

/// Why work was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Nothing of the target has landed.
    #[error("nothing of {0} has landed")]
    NothingLanded(String),
    /// It was cancelled before anything had changed.
    #[error("stopped before anything had changed")]
    Stopped,
    /// The repository cannot be read or changed.
    #[error(transparent)]
    Repository(IsolationError),
    /// The work is taken back, and the ledger does not have that yet. The next opening of the repository
    /// records it.
    #[error("{0}")]
    Unrecorded(#[source] LedgerError),
    /// The ledger cannot be written. Nothing was taken back.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Returns what is to be taken back of a target; `None` if an earlier undo has taken back all of it.
///
/// # Errors
/// Nothing of it has landed.
pub async fn undo_request(
    repository: &dyn Repository,
    target: &Target,
) -> Result<Option<UndoRequest>, UndoError> {
    let tasks: Vec<UndoTask> =
        target.tasks.iter().filter(|row| is_in_force(row)).map(task).collect();
    let scope = match target.kind {
        TargetKind::Run => UndoScope::Run,
        TargetKind::Task => UndoScope::Tasks,
    };
    let run = target.run.name.clone();
    if !tasks.is_empty() {
        return Ok(Some(UndoRequest { run, scope, tasks }));
    }
    // As with git, tasks that are taken back one by one can leave a file at another name.
    let is_back = |row: &&TaskRow| is_taken_back(row) && !has_left(row);
    let back: Vec<_> = target.tasks.iter().filter(is_back).map(task).collect();
    if back.is_empty() {
        return Err(UndoError::NothingLanded(target.arguments()));
    }
    let all = UndoRequest { run, scope, tasks: back };
    if scope == UndoScope::Run
        && let Ok(report) = repository.dry_run_undo(all.clone()).await
        && !report.paths.is_empty()
    {
        return Ok(Some(all));
    }
    Ok(None)
}

/// Takes the work of a target back, as `request` says. What was edited since is merged, and left if that
/// conflicts. The begin is in the ledger before anything changes, and the result afterwards.
///
/// # Errors
/// The work cannot be taken back, or it was cancelled before anything had changed.
pub async fn take_back(
    runs: &RepositoryRuns,
    repository: &dyn Repository,
    (locked, request): (&LockedTarget, UndoRequest),
    cancel: CancelToken,
    notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
) -> Result<UndoReport, UndoError> {
    let row = &locked.target().run;
    let (landing, run) = (UniqueIds.landing(), row.id);
    runs.record(vec![LedgerEntry::LandingStarted { run, landing: Some(landing) }]).await?;
    let undone = repository.undo(landing, request, cancel, notify).await;
    let report = match &undone {
        Ok(undone) => undone.report.clone(),
        Err(_nothing_changed) => LandingReport::default(),
    };
    let ended = LedgerEntry::LandingFinished { run, landing: Some(landing), report };
    match (runs.record(vec![ended]).await, undone) {
        (Err(error), Ok(_)) => Err(UndoError::Unrecorded(error)),
        (Err(error), Err(_nothing_changed)) => Err(error.into()),
        (Ok(()), undone) => {
            if let Err(error) = repository.acknowledge(&row.name).await {
                tracing::warn!(%error, "the next start finds this undo again, and that it is recorded");
            }
            undone.map_err(|error| match error {
                IsolationError::Withdrawn => UndoError::Stopped,
                error => UndoError::Repository(error),
            })
        }
    }
}

/// Returns whether something of a task is in the repository.
fn is_in_force(row: &TaskRow) -> bool {
    has_landed(row) || has_left(row) || !row.settled.landed.is_empty()
}

/// Returns whether an earlier undo has left something of a task.
fn has_left(row: &TaskRow) -> bool {
    matches!(&row.landing, Some(Landed::TakenBack { left }) if !left.is_empty())
}

fn task(row: &TaskRow) -> UndoTask {
    let captured = row.captured.as_ref().filter(|_| row.discarded.is_none());
    UndoTask { task: row.name.clone(), capture: captured.map(|captured| captured.capture.clone()) }
}
