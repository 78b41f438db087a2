//! The situation of a task as another process sees it: by the ledger, and by what else it can read.

use protocol::{LandTime, MergeMode, Outcome, TaskName};

use super::super::{LandingRecord, RunRecord, RunStatus};
use super::situation::{AccountHold, EngineProcess, TaskEnding, TaskSituation};
use crate::task::{TaskRecord, TaskStatus};

/// What another process sees of a task beside the record of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// For how many milliseconds the task has worked.
    pub ms: u64,
    /// The subagents of its calls that have not returned.
    pub subagents: Option<Subagents>,
    /// What holds up the account of its model.
    pub hold: Option<AccountHold>,
    /// How many tasks of its run wait for subagents, so that others have their places.
    pub waiting: usize,
    /// How many tasks of other runs of its engine work.
    pub elsewhere: usize,
    /// Its engine.
    pub engine: EngineProcess,
}

/// The subagents of the calls of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subagents {
    /// How many have ended.
    pub ended: usize,
    /// How many there are.
    pub all: usize,
}

/// Returns the situation of a task of a run. What only its engine knows is left to that.
#[must_use]
pub fn situation(run: &RunRecord, task: &TaskRecord, observed: &Observed) -> TaskSituation {
    match &task.status {
        TaskStatus::Interrupted => TaskSituation::Interrupted,
        TaskStatus::Queued => queued(run, task, observed),
        TaskStatus::Running => running(task, observed),
        TaskStatus::Finished(report) => {
            let ending = TaskEnding {
                files: task.changes().map_or(0, |changes| changes.changes.files),
                is_discarded: task.is_discarded,
                ..TaskEnding::of(report, task.landed.as_ref())
            };
            unlanded(run, &ending, observed).unwrap_or(TaskSituation::Ended(Box::new(ending)))
        }
    }
}

fn queued(run: &RunRecord, task: &TaskRecord, observed: &Observed) -> TaskSituation {
    let is_open = |on: &&TaskName| run.task_named(on).is_some_and(|on| !on.is_done());
    let open: Vec<_> = task.spec.depends_on.iter().filter(is_open).cloned().collect();
    if !open.is_empty() {
        return TaskSituation::Predecessors(open);
    }
    let running = run.tasks().iter().filter(|task| task.status == TaskStatus::Running).count();
    let working = running.saturating_sub(observed.waiting);
    let limit = run.spec.jobs.get();
    match run.spec.caller.is_none() && working >= limit {
        true => TaskSituation::RunLimit(limit),
        false => TaskSituation::Capacity {
            others: working + observed.elsewhere,
            engine: observed.engine,
        },
    }
}

fn running(task: &TaskRecord, observed: &Observed) -> TaskSituation {
    let Observed { ms, subagents, hold, engine, .. } = observed;
    match (&task.workspace, subagents, hold) {
        (None, ..) => TaskSituation::Workspace,
        (_, Some(Subagents { ended, all }), _) => {
            TaskSituation::Subagents { ended: *ended, all: *all }
        }
        (_, None, Some(hold)) => TaskSituation::Account(hold.clone()),
        (_, None, None) => TaskSituation::WorksElsewhere { ms: *ms, engine: *engine },
    }
}

/// Returns the situation of a task that has ended and whose work has not landed yet, if it will.
fn unlanded(run: &RunRecord, ending: &TaskEnding, observed: &Observed) -> Option<TaskSituation> {
    let is_done = matches!(ending.outcome, Outcome::Done { .. });
    let lands = run.spec.merge != MergeMode::None && run.status == RunStatus::Running;
    if !is_done || !lands || ending.files == 0 || ending.landed.is_some() {
        return None;
    }
    if run.landing == LandingRecord::Begun {
        return Some(TaskSituation::Landing);
    }
    let others = run.tasks().iter().filter(|task| task.report().is_none()).count();
    Some(match run.spec.land {
        LandTime::End if others > 0 => TaskSituation::LandsLater(others),
        LandTime::End | LandTime::Eager => TaskSituation::LandsNext(observed.engine),
    })
}

#[cfg(test)]
mod tests;
