//! What of a run's work lands, and what is announced of how that went.

use std::collections::BTreeSet;

use protocol::{EventKind, Landed, LandingReport, MergeMode, TaskLanding, TaskName};

use super::RunRecord;
use crate::ports::{LandingRequest, LandingTarget, LandingTask};
use crate::task::TaskRecord;

/// Returns what is to land, if anything is: the work of the tasks that kept their contract.
#[must_use]
pub fn landing_request(run: &RunRecord) -> Option<LandingRequest> {
    if !run.spec.isolation.capabilities().can_capture {
        return None;
    }
    let target = match run.spec.merge {
        MergeMode::Patch => LandingTarget::Tree,
        MergeMode::Branch => LandingTarget::Branches { prefix: run.spec.branch_prefix.clone() },
        MergeMode::None => return None,
    };
    let tasks = run.tasks_in_order().into_iter().filter_map(|task| landing_task(run, task));
    let tasks: Vec<_> = tasks.collect();
    (!tasks.is_empty()).then(|| LandingRequest { run: run.name.clone(), target, tasks })
}

fn landing_task(run: &RunRecord, task: &TaskRecord) -> Option<LandingTask> {
    let captured = task.changes().filter(|_| task.is_done())?;
    Some(LandingTask {
        task: task.spec.name.clone(),
        capture: captured.capture.clone(),
        depends_on: changed_predecessors(run, task),
        message: task.spec.title.clone(),
    })
}

/// The nearest predecessors that changed something: one that did not stands for its own.
fn changed_predecessors(run: &RunRecord, task: &TaskRecord) -> Vec<TaskName> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open: Vec<_> = task.spec.depends_on.iter().rev().collect();
    while let Some(name) = open.pop() {
        let predecessor = run.task_named(name).filter(|task| task.report().is_some());
        let Some(predecessor) = predecessor else { continue };
        if !seen.insert(predecessor.spec.id) {
            continue;
        }
        if predecessor.changes().is_some() {
            found.push(predecessor.spec.name.clone());
        } else {
            open.extend(predecessor.spec.depends_on.iter().rev());
        }
    }
    found
}

/// Returns the report of a landing that could not be done at all: everything stays in the task
/// store.
pub(super) fn unwritten(asked: &[TaskName], message: &str) -> LandingReport {
    let kept = |task: &TaskName| TaskLanding {
        task: task.clone(),
        landed: Landed::Unwritten { message: message.to_owned() },
    };
    LandingReport { tasks: asked.iter().map(kept).collect() }
}

/// Returns what is announced of one task's work.
pub(super) fn announcement(landing: TaskLanding) -> EventKind {
    let TaskLanding { task, landed } = landing;
    match landed {
        Landed::Landed { branch } => EventKind::TaskLanded { task, branch },
        Landed::Unchanged => EventKind::TaskLanded { task, branch: None },
        Landed::Conflicted { conflicts } => EventKind::TaskConflicted { task, conflicts },
        Landed::Unwritten { message } => EventKind::TaskKept { task, why: message },
        Landed::Waiting { on } => {
            let names: Vec<_> = on.iter().map(TaskName::as_str).collect();
            let why = format!("it builds on {}, which did not land", names.join(", "));
            EventKind::TaskKept { task, why }
        }
    }
}
