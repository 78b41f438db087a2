//! One landing, from its request to its report.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    Landed, LandingId, LandingReport, LedgerEntry, RunId, RunName, TaskLanding, TaskName,
};

use crate::ports::{CancelToken, IsolationError, LandingNews, LandingRequest, LedgerError};

/// Lands work in one repository.
#[async_trait]
pub trait Lands: Send + Sync {
    /// Does what [`Repository::land`](crate::ports::Repository::land) does.
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        news: Arc<dyn Fn(LandingNews) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError>;

    /// Notes that the ledger has the reports of the landings of `run`. Where that cannot be noted,
    /// the next start finds the landing again, and that it is recorded.
    async fn acknowledge(&self, run: &RunName);
}

/// Records transitions.
#[async_trait]
pub trait Records: Send + Sync {
    /// Records one transition. Durable when it returns.
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError>;
}

/// How a landing ended.
#[derive(Debug)]
pub enum LandingEnd {
    /// With this report.
    Reported(LandingReport),
    /// It was cancelled before anything had changed.
    Cancelled,
    /// It could not be done: everything stays in the task store.
    Failed(IsolationError),
}

/// Lands what `request` says: its begin is recorded before anything changes, its report when it is
/// over, and then the repository is told that it need not keep that.
///
/// # Errors
/// The ledger cannot be written. Where it could not at the beginning, nothing was done.
pub async fn land(
    landing: LandingId,
    (run, request): (RunId, LandingRequest),
    lands: &dyn Lands,
    records: &dyn Records,
    cancel: CancelToken,
    news: Arc<dyn Fn(LandingNews) + Send + Sync>,
) -> Result<LandingEnd, LedgerError> {
    let started = LedgerEntry::LandingStarted { run, landing: Some(landing) };
    records.record(started).await?;
    let asked: Vec<_> = request.tasks.iter().map(|task| task.task.clone()).collect();
    let name = request.run.clone();
    let landed = match cancel.is_cancelled() {
        true => Err(IsolationError::Withdrawn),
        false => lands.land(landing, request, cancel, news).await,
    };
    let (report, end) = match landed {
        Ok(report) => (report.clone(), LandingEnd::Reported(report)),
        // Nothing was tried: everything is kept as the tasks left it.
        Err(IsolationError::Withdrawn) => (LandingReport::default(), LandingEnd::Cancelled),
        Err(error) => (unwritten(&asked, &error.to_failure().message), LandingEnd::Failed(error)),
    };
    records.record(LedgerEntry::LandingFinished { run, landing: Some(landing), report }).await?;
    lands.acknowledge(&name).await;
    Ok(end)
}

/// Returns the report of a landing that could not be done at all: everything stays in the task
/// store.
#[must_use]
pub fn unwritten(asked: &[TaskName], message: &str) -> LandingReport {
    let kept = |task: &TaskName| TaskLanding {
        task: task.clone(),
        landed: Landed::Unwritten { message: message.to_owned() },
    };
    LandingReport { tasks: asked.iter().map(kept).collect() }
}
