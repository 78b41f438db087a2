//! Tasks that are added to a run that goes on, and parents that wait for theirs.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{TaskId, TaskName, TaskReport, TaskSpec};

use super::Effect;
use crate::dependencies::{OrderError, in_order};
use crate::run::RunRecord;
use crate::task::TaskRecord;

/// Why tasks were not added to a run. None of them was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddTasksError {
    /// The run is over, is landing or was cancelled, or there is no such run.
    #[error("the run takes no more tasks")]
    Ending,
    /// The task that would be their parent does not run.
    #[error("the parent task does not run")]
    ParentNotRunning,
    /// The run has a task of that name.
    #[error("there is a task `{0}` already")]
    NameTaken(TaskName),
    /// The run has the task already.
    #[error("task `{0}` was added before")]
    Known(TaskName),
    /// The schema of one is none.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// What compiles schemas crashed.
    #[error("checking the tasks crashed: {0}")]
    Crashed(String),
    /// They depend on what is not there, or on each other in a circle.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// Checks names, identities and dependencies of tasks that are to be added to `run` after those
/// that are about to be.
pub(super) fn check<'a>(
    run: &RunRecord,
    before: impl Iterator<Item = &'a TaskSpec>,
    tasks: &[TaskSpec],
) -> Result<(), AddTasksError> {
    let mut names = BTreeSet::new();
    let mut ids: BTreeSet<TaskId> = BTreeSet::new();
    for spec in before {
        names.insert(spec.name.folded());
        ids.insert(spec.id);
    }
    let mut inner: BTreeMap<usize, Vec<TaskName>> = BTreeMap::new();
    let together: BTreeSet<_> = tasks.iter().map(|spec| spec.name.folded()).collect();
    for (at, spec) in tasks.iter().enumerate() {
        for on in &spec.depends_on {
            let folded = on.folded();
            if together.contains(&folded) {
                inner.entry(at).or_default().push(on.clone());
            } else if !names.contains(&folded) && run.task_named(on).is_none() {
                let (task, on) = (spec.name.clone(), on.clone());
                return Err(OrderError::Unknown { task, on }.into());
            }
        }
    }
    for spec in tasks {
        if run.task_named(&spec.name).is_some() || !names.insert(spec.name.folded()) {
            return Err(AddTasksError::NameTaken(spec.name.clone()));
        }
        if run.task(spec.id).is_some() || !ids.insert(spec.id) {
            return Err(AddTasksError::Known(spec.name.clone()));
        }
    }
    let view: Vec<_> = tasks
        .iter()
        .enumerate()
        .map(|(at, spec)| (&spec.name, inner.get(&at).map_or(&[][..], Vec::as_slice)))
        .collect();
    in_order(&view)?;
    Ok(())
}

/// Tells a request to a run from others. Chosen by the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A task that was waited for, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedChild {
    /// Which.
    pub task: TaskName,
    /// How it ended and what it left behind.
    pub report: TaskReport,
}

/// Why waiting for children came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The task that waits does not run, or there is no such task.
    #[error("the task that waits does not run")]
    NotRunning,
}

/// The children of each task that has some.
#[derive(Debug, Default)]
pub(super) struct Children(BTreeMap<TaskId, ChildTasks>);

#[derive(Debug, Default)]
struct ChildTasks {
    children: Vec<TaskId>,
    unfinished: usize,
    waiting: Vec<RequestId>,
    permit: PermitState,
}

/// Where the permit of a parent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PermitState {
    #[default]
    Held,
    /// Its children may use it.
    Lent,
    /// It was asked for.
    Requested,
}

impl Children {
    pub(super) fn of(run: &RunRecord) -> Self {
        let mut children = Self::default();
        for task in run.tasks() {
            children.add(task);
        }
        children
    }

    /// Notes a task that may have a parent.
    pub(super) fn add(&mut self, task: &TaskRecord) {
        if let Some(parent) = task.parent {
            let child_tasks = self.0.entry(parent).or_default();
            child_tasks.children.push(task.spec.id);
            child_tasks.unfinished += usize::from(task.report().is_none());
        }
    }

    /// Answers when the children of `parent` have ended and it has its permit; lends the permit
    /// until then.
    pub(super) fn wait(
        &mut self,
        run: &RunRecord,
        request: RequestId,
        parent: TaskId,
        running: Result<(), WaitError>,
        effects: &mut Vec<Effect>,
    ) {
        if let Err(error) = running {
            effects.push(Effect::AnswerAwaitChildren(request, Err(error)));
            return;
        }
        match self.0.get_mut(&parent) {
            Some(child_tasks)
                if child_tasks.unfinished > 0 || child_tasks.permit != PermitState::Held =>
            {
                child_tasks.waiting.push(request);
                if child_tasks.permit == PermitState::Held {
                    child_tasks.permit = PermitState::Lent;
                    effects.push(Effect::LendPermit(parent));
                }
            }
            Some(child_tasks) => effects.push(child_tasks.answer(run, request)),
            None => effects.push(Effect::AnswerAwaitChildren(request, Ok(Vec::new()))),
        }
    }

    /// Notes the end of a task: its parent may go on, and it waits for nobody any more.
    pub(super) fn ended(&mut self, run: &RunRecord, task: TaskId, effects: &mut Vec<Effect>) {
        if let Some(child_tasks) = self.0.get_mut(&task) {
            let waiting = std::mem::take(&mut child_tasks.waiting).into_iter();
            let answer = |request| Effect::AnswerAwaitChildren(request, Err(WaitError::NotRunning));
            effects.extend(waiting.map(answer));
            child_tasks.permit = PermitState::Held; // the schedule forgets what it had lent
        }
        let Some(parent) = run.task(task).and_then(|task| task.parent) else { return };
        let Some(child_tasks) = self.0.get_mut(&parent) else { return };
        child_tasks.unfinished = child_tasks.unfinished.saturating_sub(1);
        if child_tasks.unfinished == 0 && child_tasks.permit == PermitState::Lent {
            child_tasks.permit = PermitState::Requested;
            effects.push(Effect::ReclaimPermit(parent));
        }
    }

    /// The permit of `parent` is back.
    pub(super) fn resumed(&mut self, run: &RunRecord, parent: TaskId, effects: &mut Vec<Effect>) {
        let Some(child_tasks) = self.0.get_mut(&parent) else { return };
        if child_tasks.unfinished > 0 && !child_tasks.waiting.is_empty() {
            child_tasks.permit = PermitState::Lent; // it has more children by now
            effects.push(Effect::LendPermit(parent));
            return;
        }
        child_tasks.permit = PermitState::Held;
        for request in std::mem::take(&mut child_tasks.waiting) {
            effects.push(child_tasks.answer(run, request));
        }
    }
}

impl ChildTasks {
    fn answer(&self, run: &RunRecord, request: RequestId) -> Effect {
        let ended = self.children.iter().filter_map(|child| {
            let child = run.task(*child)?;
            let (task, report) = (child.spec.name.clone(), child.report()?.clone());
            Some(FinishedChild { task, report })
        });
        Effect::AnswerAwaitChildren(request, Ok(ended.collect()))
    }
}
