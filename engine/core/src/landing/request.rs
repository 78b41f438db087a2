//! What of a run's work lands.

use std::collections::BTreeSet;

use protocol::{MergeMode, TaskId};

use crate::ports::{LandingRequest, LandingTarget, LandingTask};
use crate::run::RunRecord;
use crate::task::TaskRecord;

/// Returns what lands at the end of a run, if anything does: the work of the tasks that kept their
/// contract.
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
    let done = run.tasks().iter().filter(|task| task.is_done()).map(|task| task.spec.id);
    let tasks = landing_tasks(run, &done.collect());
    (!tasks.is_empty()).then(|| LandingRequest { run: run.name.clone(), target, tasks })
}

/// Returns how the work of these tasks is landed, predecessors first. A task that changed nothing
/// is left out, and what builds on it builds on what it built on.
#[must_use]
pub fn landing_tasks(run: &RunRecord, chosen: &BTreeSet<TaskId>) -> Vec<LandingTask> {
    let wanted = run.tasks_in_order().into_iter().filter(|task| chosen.contains(&task.spec.id));
    let landing_task = |task: &TaskRecord| {
        let on = changed_predecessors(run, task).into_iter();
        let on = on.filter(|on| chosen.contains(&on.spec.id));
        Some(LandingTask {
            task: task.spec.name.clone(),
            capture: task.changes()?.capture.clone(),
            depends_on: on.map(|on| on.spec.name.clone()).collect(),
            message: task.spec.title.clone(),
        })
    };
    wanted.filter_map(landing_task).collect()
}

/// Returns the nearest predecessors of a task that changed something: one that did not stands for
/// its own.
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
