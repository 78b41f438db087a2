//! The steps of one landing, from its request to its recorded report.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    Landed, LandingId, LandingReport, LedgerEntry, MergeMode, RunId, RunName, StackBranch, TaskId,
    TaskLanding, TaskName,
};

use super::commit_subject::commit_message;
use crate::ports::{
    CancelToken, IsolationError, LandingNotice, LandingRequest, LandingTarget, LandingTask,
    LedgerError, SettleRequest,
};
use crate::run::RunRecord;
use crate::task::TaskRecord;

/// Merges captured work into one repository.
#[async_trait]
pub trait LandingBackend: Send + Sync {
    /// Lands captures as [`Repository::land`](crate::ports::Repository::land) does.
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError>;

    /// Notes that the ledger contains the reports of all landings of `run`. If this fails, the next
    /// start of an engine finds the landings again, and also finds them in the ledger.
    async fn acknowledge(&self, run: &RunName);
}

/// Writes entries to the ledger.
#[async_trait]
pub trait LedgerWriter: Send + Sync {
    /// Records one entry. It is durable when the future completes.
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError>;
}

/// How a landing ended.
#[derive(Debug)]
pub enum LandingEnd {
    /// The landing was done.
    Reported(LandingReport),
    /// The landing was cancelled before anything had changed.
    Cancelled,
    /// The landing failed. All work stays in the task store.
    Failed(IsolationError),
    /// The landing was done, and the ledger could not record it. The next start does.
    Unrecorded(LandingReport, LedgerError),
}

/// Lands the work in `request`. The start is recorded in the ledger before anything changes and the
/// report afterwards; then the backend need not keep the report.
///
/// # Errors
/// The ledger cannot be written, and nothing was landed.
pub async fn land(
    landing: LandingId,
    (run, request): (RunId, LandingRequest),
    backend: &dyn LandingBackend,
    ledger: &dyn LedgerWriter,
    cancel: CancelToken,
    notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
) -> Result<LandingEnd, LedgerError> {
    let started = LedgerEntry::LandingStarted { run, landing: Some(landing) };
    ledger.record(started).await?;
    let asked: Vec<_> = request.tasks.iter().map(|task| task.task.clone()).collect();
    let name = request.run.clone();
    let landed = match cancel.is_cancelled() {
        true => Err(IsolationError::Withdrawn),
        false => backend.land(landing, request, cancel, notify).await,
    };
    let (report, end) = match landed {
        Ok(report) => (report.clone(), LandingEnd::Reported(report)),
        // Nothing was tried, so that there is nothing to report about the tasks.
        Err(IsolationError::Withdrawn) => (LandingReport::default(), LandingEnd::Cancelled),
        Err(error) => {
            (failed_landing_report(&asked, &error.to_failure().message), LandingEnd::Failed(error))
        }
    };
    let finished = LedgerEntry::LandingFinished { run, landing: Some(landing), report };
    match (ledger.record(finished).await, end) {
        (Ok(()), end) => {
            backend.acknowledge(&name).await;
            Ok(end)
        }
        (Err(error), LandingEnd::Reported(report)) => Ok(LandingEnd::Unrecorded(report, error)),
        (Err(error), _nothing_landed) => Err(error),
    }
}

/// Returns the report of a landing that failed as a whole: all work stays in the task store.
#[must_use]
pub fn failed_landing_report(asked: &[TaskName], message: &str) -> LandingReport {
    let kept = |task: &TaskName| {
        let landed = Landed::Unwritten { message: message.to_owned() };
        TaskLanding::of(task.clone(), landed)
    };
    LandingReport { tasks: asked.iter().map(kept).collect() }
}

/// Returns the request for the landing at the end of a run, which contains the work of all tasks
/// that are done and whose work has not landed. Returns `None` if there is nothing to land.
#[must_use]
pub fn landing_request(run: &RunRecord) -> Option<LandingRequest> {
    let there =
        |task: &&TaskRecord| matches!(task.landed, Some(Landed::Landed { .. } | Landed::Unchanged));
    let done = run.tasks().iter().filter(|task| task.is_done() && !there(task));
    landing_request_of(run, &done.map(|task| task.spec.id).collect())
}

/// Returns the work of the run that has landed, dependencies first.
#[must_use]
pub fn landed_tasks(run: &RunRecord) -> Vec<LandingTask> {
    let landed = |task: &&TaskRecord| matches!(task.landed, Some(Landed::Landed { .. }));
    let landed = run.tasks().iter().filter(landed);
    landing_tasks(run, &landed.map(|task| task.spec.id).collect())
}

/// Returns the request for a landing of the `chosen` tasks. Returns `None` if there is nothing to
/// land.
#[must_use]
pub fn landing_request_of(run: &RunRecord, chosen: &BTreeSet<TaskId>) -> Option<LandingRequest> {
    if !run.spec.isolation.capabilities().can_capture {
        return None;
    }
    let spec = &run.spec;
    let target = landing_target(spec.merge, &spec.branch_prefix, spec.stack.as_ref())?;
    let tasks = landing_tasks(run, chosen);
    (!tasks.is_empty()).then(|| LandingRequest {
        run: run.name.clone(),
        target,
        tasks,
        landed: landed_predecessors(run, chosen),
        union: run.spec.union.clone(),
    })
}

/// Returns where the work of a run lands, or `None` if it is only kept. `stack` is the branch of a
/// stack that is not the run's own.
#[must_use]
pub fn landing_target(
    merge: MergeMode,
    prefix: &str,
    stack: Option<&StackBranch>,
) -> Option<LandingTarget> {
    let prefix = prefix.to_owned();
    match merge {
        MergeMode::Patch => Some(LandingTarget::Tree),
        MergeMode::Branch => Some(LandingTarget::Branches { prefix }),
        MergeMode::Stack => Some(LandingTarget::Stack { prefix, branch: stack.cloned() }),
        MergeMode::None => None,
    }
}

/// Returns the work of the `chosen` tasks for a landing, dependencies first. A task that changed
/// nothing is left out; tasks that depend on it depend on its dependencies instead.
#[must_use]
pub fn landing_tasks(run: &RunRecord, chosen: &BTreeSet<TaskId>) -> Vec<LandingTask> {
    let wanted = run.tasks_in_order().into_iter().filter(|task| chosen.contains(&task.spec.id));
    let landing_task = |task: &TaskRecord| {
        let on = changed_predecessors(run, task).into_iter();
        // The branch of a task grows from those of landed ones.
        let on = on.filter(|on| {
            chosen.contains(&on.spec.id) || matches!(on.landed, Some(Landed::Landed { .. }))
        });
        Some(LandingTask {
            task: task.spec.name.clone(),
            capture: task.changes()?.capture.clone(),
            depends_on: on.map(|on| on.spec.name.clone()).collect(),
            message: commit_message(&run.name, &task.spec),
            settle: SettleRequest::default(),
        })
    };
    wanted.filter_map(landing_task).collect()
}

/// Returns the work that has landed and on which that of the `chosen` tasks builds, dependencies first.
#[must_use]
pub fn landed_predecessors(run: &RunRecord, chosen: &BTreeSet<TaskId>) -> Vec<LandingTask> {
    let is_there =
        |task: &TaskRecord| matches!(task.landed, Some(Landed::Landed { .. } | Landed::Unchanged));
    let mut found = BTreeSet::new();
    let mut open: Vec<&TaskRecord> =
        run.tasks().iter().filter(|task| chosen.contains(&task.spec.id)).collect();
    while let Some(task) = open.pop() {
        for on in changed_predecessors(run, task) {
            let id = on.spec.id;
            if is_there(on) && !chosen.contains(&id) && found.insert(id) {
                open.push(on);
            }
        }
    }
    landing_tasks(run, &found)
}

/// Returns the dependencies of a task that changed something. A dependency that changed nothing is
/// replaced by its own dependencies.
#[must_use]
pub fn changed_predecessors<'a>(run: &'a RunRecord, task: &'a TaskRecord) -> Vec<&'a TaskRecord> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open: Vec<_> = task.spec.depends_on.iter().rev().collect();
    while let Some(name) = open.pop() {
        let Some(predecessor) = run.task_named(name) else { continue };
        if !seen.insert(predecessor.spec.id) {
            continue;
        }
        if predecessor.changes().is_some() {
            found.push(predecessor);
        } else {
            open.extend(predecessor.spec.depends_on.iter().rev());
        }
    }
    found
}
