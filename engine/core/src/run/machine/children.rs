//! The tasks that other tasks added, and who waits for them.

use std::collections::BTreeMap;

use protocol::{TaskId, TaskName, TaskReport};

use super::Effect;
use crate::run::RunRecord;
use crate::task::TaskRecord;

/// Tells a request to a run from others. Chosen by the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A task that was waited for, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitedFor {
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
pub(super) struct Children(BTreeMap<TaskId, Family>);

#[derive(Debug, Default)]
struct Family {
    children: Vec<TaskId>,
    unfinished: usize,
    waiting: Vec<RequestId>,
    permit: Permit,
}

/// Where the permit of a parent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Permit {
    #[default]
    Held,
    /// Its children may use it.
    Lent,
    /// It was asked for.
    Returning,
}

impl Children {
    pub(super) fn of(run: &RunRecord) -> Self {
        let mut children = Self::default();
        for task in run.tasks() {
            children.born(task);
        }
        children
    }

    /// Notes a task that may have a parent.
    pub(super) fn born(&mut self, task: &TaskRecord) {
        if let Some(parent) = task.parent {
            let family = self.0.entry(parent).or_default();
            family.children.push(task.spec.id);
            family.unfinished += usize::from(task.report().is_none());
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
            Some(family) if family.unfinished > 0 || family.permit != Permit::Held => {
                family.waiting.push(request);
                if family.permit == Permit::Held {
                    family.permit = Permit::Lent;
                    effects.push(Effect::Lend(parent));
                }
            }
            Some(family) => effects.push(family.answer(run, request)),
            None => effects.push(Effect::AnswerAwaitChildren(request, Ok(Vec::new()))),
        }
    }

    /// Notes the end of a task: its parent may go on, and it waits for nobody any more.
    pub(super) fn ended(&mut self, run: &RunRecord, task: TaskId, effects: &mut Vec<Effect>) {
        if let Some(family) = self.0.get_mut(&task) {
            let waiting = std::mem::take(&mut family.waiting).into_iter();
            let answer = |request| Effect::AnswerAwaitChildren(request, Err(WaitError::NotRunning));
            effects.extend(waiting.map(answer));
            family.permit = Permit::Held; // the schedule forgets what it had lent
        }
        let Some(parent) = run.task(task).and_then(|task| task.parent) else { return };
        let Some(family) = self.0.get_mut(&parent) else { return };
        family.unfinished = family.unfinished.saturating_sub(1);
        if family.unfinished == 0 && family.permit == Permit::Lent {
            family.permit = Permit::Returning;
            effects.push(Effect::TakeBack(parent));
        }
    }

    /// The permit of `parent` is back.
    pub(super) fn resumed(&mut self, run: &RunRecord, parent: TaskId, effects: &mut Vec<Effect>) {
        let Some(family) = self.0.get_mut(&parent) else { return };
        if family.unfinished > 0 && !family.waiting.is_empty() {
            family.permit = Permit::Lent; // it has more children by now
            effects.push(Effect::Lend(parent));
            return;
        }
        family.permit = Permit::Held;
        for request in std::mem::take(&mut family.waiting) {
            effects.push(family.answer(run, request));
        }
    }
}

impl Family {
    fn answer(&self, run: &RunRecord, request: RequestId) -> Effect {
        let ended = self.children.iter().filter_map(|child| {
            let child = run.task(*child)?;
            let (task, report) = (child.spec.name.clone(), child.report()?.clone());
            Some(WaitedFor { task, report })
        });
        Effect::AnswerAwaitChildren(request, Ok(ended.collect()))
    }
}
