//! Adding tasks to a run that is not over, and parents that wait for the tasks they added.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{EventKind, TaskId, TaskName, TaskReport, TaskSpec, Work};

use super::{Effect, Ending, LiveState, RunMachine};
use crate::dependencies::{OrderError, in_order};
use crate::run::RunRecord;
use crate::task::TaskRecord;

/// Why tasks could not be added to a run. If there is an error, none was added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddTasksError {
    /// The run is over, landing or cancelled, or it does not exist.
    #[error("the run takes no more tasks")]
    Ending,
    /// The parent task is not running.
    #[error("the parent task does not run")]
    ParentNotRunning,
    /// The run has a task with this name.
    #[error("there is a task `{0}` already")]
    NameTaken(TaskName),
    /// The run has a task with this id.
    #[error("task `{0}` was added before")]
    Known(TaskName),
    /// The schema of a task is invalid.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// Compiling the schemas crashed.
    #[error("checking the tasks crashed: {0}")]
    Crashed(String),
    /// A task depends on an unknown task, or tasks depend on each other in a cycle.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// Tasks whose ledger entry is being written.
#[derive(Debug)]
pub(super) struct Adding {
    pub(super) request: RequestId,
    pub(super) tasks: Vec<TaskSpec>,
}

impl RunMachine {
    /// Checks whether these tasks can be added.
    pub(super) fn check(
        &self,
        parent: Option<TaskId>,
        tasks: &[TaskSpec],
    ) -> Result<(), AddTasksError> {
        if self.cancelled.is_some() || self.ending != Ending::TasksUnfinished {
            return Err(AddTasksError::Ending);
        }
        if parent.is_some_and(|parent| self.live(parent) != Some(LiveState::Running)) {
            return Err(AddTasksError::ParentNotRunning);
        }
        let before = self.adding.iter().flat_map(|adding| &adding.tasks);
        check(&self.record, before, tasks)
    }

    /// Queues the tasks that were just added to the record, and answers the request.
    pub(super) fn added(&mut self, effects: &mut Vec<Effect>) {
        let from = self.live.len();
        self.live.resize(self.record.tasks().len(), LiveState::Waiting);
        self.unfinished += self.live.len() - from;
        let new = &self.record.tasks()[from..];
        let ids: Vec<_> = new.iter().map(|task| task.spec.id).collect();
        for task in new {
            self.children.add(task);
        }
        if let Some(Adding { request, .. }) = self.adding.pop_front() {
            effects.push(Effect::AnswerAddTasks(request, Ok(ids)));
        }
        self.enqueue(from, effects);
        if self.cancelled.is_some() {
            self.cancel_unstarted(from, effects);
        }
        self.end_if_done(effects);
    }
}

/// Checks the names, ids and dependencies of `tasks`, which are to be added to `run`. The tasks in
/// `before` were accepted earlier, but their ledger entries are still being written.
fn check<'a>(
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

/// Identifies a request to a run. The sender chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A child task that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedChild {
    /// The name of the task.
    pub task: TaskName,
    /// How the task ended, and what it changed.
    pub report: TaskReport,
}

/// Why a task could not wait for its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The waiting task is not running or does not exist.
    #[error("the task that waits does not run")]
    NotRunning,
}

/// The children of each task that added tasks.
#[derive(Debug, Default)]
pub(super) struct Children(BTreeMap<TaskId, ChildTasks>);

#[derive(Debug, Default)]
struct ChildTasks {
    children: Vec<TaskId>,
    unfinished: usize,
    waiting: Vec<RequestId>,
    permit: PermitState,
}

/// The state of a parent's permit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PermitState {
    #[default]
    Held,
    /// The permit is lent to the schedule, so that children can use it.
    Lent,
    /// The permit was requested back from the schedule.
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

    /// Records the parent of a task, if it has one.
    pub(super) fn add(&mut self, task: &TaskRecord) {
        if let Some(parent) = task.parent {
            let child_tasks = self.0.entry(parent).or_default();
            child_tasks.children.push(task.spec.id);
            child_tasks.unfinished += usize::from(task.report().is_none());
        }
    }

    /// Answers `request` when all children of `parent` have ended and the parent has its permit
    /// again. Until then the permit is lent to the schedule.
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

    /// Returns whether the parent of a task waits for its children.
    pub(super) fn is_awaited(&self, run: &RunRecord, task: TaskId) -> bool {
        let parent = run.task(task).and_then(|task| task.parent);
        let parent = parent.and_then(|parent| self.0.get(&parent));
        parent.is_some_and(|parent| parent.permit != PermitState::Held)
    }

    /// Handles the end of a task: it wakes a parent that waits for it, and rejects the task's own
    /// requests to wait.
    pub(super) fn ended(&mut self, run: &RunRecord, task: TaskId, effects: &mut Vec<Effect>) {
        if let Some(child_tasks) = self.0.get_mut(&task) {
            let waiting = std::mem::take(&mut child_tasks.waiting).into_iter();
            let answer = |request| Effect::AnswerAwaitChildren(request, Err(WaitError::NotRunning));
            effects.extend(waiting.map(answer));
            child_tasks.permit = PermitState::Held; // the schedule drops a lent permit with its task
        }
        let Some(parent) = run.task(task).and_then(|task| task.parent) else { return };
        let Some(child_tasks) = self.0.get_mut(&parent) else { return };
        child_tasks.unfinished = child_tasks.unfinished.saturating_sub(1);
        if child_tasks.unfinished == 0 && child_tasks.permit == PermitState::Lent {
            child_tasks.permit = PermitState::Requested;
            effects.push(Effect::ReclaimPermit(parent));
        }
    }

    /// Handles the return of the permit of `parent`.
    pub(super) fn resumed(&mut self, run: &RunRecord, parent: TaskId, effects: &mut Vec<Effect>) {
        let Some(child_tasks) = self.0.get_mut(&parent) else { return };
        if child_tasks.unfinished > 0 && !child_tasks.waiting.is_empty() {
            child_tasks.permit = PermitState::Lent; // the parent has added more children
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

/// Returns the event for a queued task of a run.
pub(super) fn queued(run: &RunRecord, TaskRecord { spec, parent, .. }: &TaskRecord) -> EventKind {
    let (item, items) = spec.item_or_chunk();
    EventKind::TaskQueued {
        task: spec.name.clone(),
        title: spec.title.clone(),
        item: item.map(str::to_owned),
        items: items.to_vec(),
        model: match &spec.work {
            Work::Agent(agent) => Some(agent.model.to_string()),
            Work::Command(_) | Work::Conversation(_) => None,
        },
        parent: parent.and_then(|parent| Some(run.task(parent)?.spec.name.clone())),
    }
}
