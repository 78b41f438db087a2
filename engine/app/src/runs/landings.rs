//! Lands kept work.

use std::sync::Arc;

use async_trait::async_trait;
use engine::landing::{self, LandingBackend, LandingEnd};
use engine::ports::{
    CancelToken, Ids as _, IsolationError, LandingNotice, LandingRequest, LandingTarget,
    LedgerError, Repository, SettleRequest,
};
use protocol::{Conflict, Landed, LandingId, LandingReport, RunName, TaskLanding, TaskName};
use store::TaskRow;

use super::kept_work::{ChosenWork, NotReady, has_landed, landing_tasks};
use super::landable_work::LandableWork;
use super::locked_target::LockedTarget;
use super::repository_runs::RepositoryRuns;
use super::target::Target;
use crate::app_context::UniqueIds;

/// Why work did not land.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// Work that has landed before conflicts with the tree as it is now.
    #[error("cannot land the work of task {task} again")]
    ConflictsAgain {
        /// The task, as `RUN/TASK`.
        task: String,
        /// The conflicts.
        conflicts: Vec<Conflict>,
    },
    /// The landing was cancelled before anything had landed.
    #[error("stopped before anything had landed; all of it is kept")]
    Stopped,
    /// The landing failed, and nothing has landed.
    #[error(transparent)]
    Failed(IsolationError),
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] IsolationError),
    /// The work has landed, and the ledger does not have that yet. The next opening of the repository records
    /// it.
    #[error("{of}")]
    Unrecorded {
        /// The tasks whose work has landed.
        landed: Vec<TaskName>,
        /// Why it was not recorded.
        #[source]
        of: LedgerError,
    },
    /// The ledger cannot be written. Nothing has landed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Returns the request that lands the chosen work of a target, its conflicts settled as `settle` says.
///
/// # Errors
/// Chosen work builds on work that is not in the repository, or the ledger cannot be read.
pub fn landing_request(
    runs: &RepositoryRuns,
    target: &Target,
    work: &LandableWork<'_>,
    settle: &SettleRequest,
) -> Result<LandingRequest, NotReady> {
    let terms = &target.run.spec;
    let ChosenWork { mut tasks, landed } = landing_tasks(runs, &target.run.name, work)?;
    for task in &mut tasks {
        let row = target.tasks.iter().find(|row| row.name == task.task);
        let landed = row.map(|row| row.settled.landed.iter().cloned().collect());
        task.settle = SettleRequest { landed: landed.unwrap_or_default(), ..settle.clone() };
    }
    Ok(LandingRequest {
        run: target.run.name.clone(),
        // Work that is only kept lands in the tree.
        target: landing::landing_target(terms.merge, &terms.branch_prefix, terms.stack.as_ref())
            .unwrap_or(LandingTarget::Tree),
        tasks,
        landed,
        union: terms.union.clone(),
    })
}

/// Checks that work which has landed before lands again without a conflict. Otherwise the ledger
/// would call it a conflict, although a part of it is in the tree.
///
/// # Errors
/// It conflicts, or the repository cannot be read.
pub async fn check_lands_again(
    repository: &dyn Repository,
    target: &Target,
    request: &LandingRequest,
) -> Result<(), LandError> {
    let report = repository.dry_run(request.clone()).await?;
    let landed_before =
        |task: &TaskName| target.tasks.iter().any(|row| row.name == *task && has_landed(row));
    for TaskLanding { task, landed, .. } in report.tasks {
        if let (Landed::Conflicted { conflicts }, true) = (landed, landed_before(&task)) {
            let task = format!("{}/{task}", target.run.name);
            return Err(LandError::ConflictsAgain { task, conflicts });
        }
    }
    Ok(())
}

/// Lands work of a target as `request` says. The work of each task lands as a whole or not at all. The begin
/// is in the ledger before anything changes, and the report afterwards.
///
/// # Errors
/// The landing failed, or was cancelled before anything had landed.
pub async fn land(
    runs: &RepositoryRuns,
    repository: &dyn Repository,
    (locked, request): (&LockedTarget, LandingRequest),
    cancel: CancelToken,
    notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
) -> Result<LandingReport, LandError> {
    let target = locked.target();
    let backend = RepositoryLandings { repository, known: &target.tasks };
    let request = (target.run.id, request);
    let landing = UniqueIds.landing();
    match landing::land(landing, request, &backend, runs, cancel, notify).await? {
        LandingEnd::Reported(report) => Ok(report),
        LandingEnd::Cancelled => Err(LandError::Stopped),
        LandingEnd::Failed(error) => Err(LandError::Failed(error)),
        LandingEnd::Unrecorded(report, of) => {
            let is_landed = |task: &TaskLanding| matches!(task.landed, Landed::Landed { .. });
            let landed = report.tasks.into_iter().filter(is_landed);
            Err(LandError::Unrecorded { landed: landed.map(|task| task.task).collect(), of })
        }
    }
}

/// Implements the port `LandingBackend` with an opened repository.
struct RepositoryLandings<'a> {
    repository: &'a dyn Repository,
    /// The tasks as the ledger knows them.
    known: &'a [TaskRow],
}

#[async_trait]
impl LandingBackend for RepositoryLandings<'_> {
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        let mut report = self.repository.land(landing, request, cancel, notify).await?;
        for task in &mut report.tasks {
            let row = self.known.iter().find(|row| row.name == task.task);
            if let (Some(row), Landed::Conflicted { conflicts }) = (row, &mut task.landed) {
                keep_other_tasks(row, conflicts);
            }
        }
        Ok(report)
    }

    async fn acknowledge(&self, run: &RunName) {
        if let Err(error) = self.repository.acknowledge(run).await {
            tracing::warn!(%error, "the next start finds this landing again, and that it is recorded");
        }
    }
}

/// Keeps the other task of each conflict that an earlier landing found too: its work is a part of the
/// tree now.
pub fn keep_other_tasks(row: &TaskRow, conflicts: &mut [Conflict]) {
    let Some(Landed::Conflicted { conflicts: before }) = &row.landing else { return };
    for conflict in conflicts.iter_mut().filter(|conflict| conflict.with.is_none()) {
        let same =
            before.iter().find(|other| other.path == conflict.path && other.ours == conflict.ours);
        conflict.with = same.and_then(|other| other.with.clone());
    }
}
