//! The tasks of a run and where each of them stands.

use std::collections::{BTreeMap, BTreeSet};

use engine::order::in_order;
use engine::schedule::Entry;
use engine::task::{Patience, YieldContract};
use protocol::{CaptureRef, EventKind, RunId, TaskId, TaskName, TaskReport, TaskSpec, Work};
use ractor::{ActorId, ActorRef};

use crate::task::TaskMessage;

/// Where one task stands.
pub(super) enum Member {
    Waiting(YieldContract),
    /// Has a permit; the ledger is being told.
    Admitted(YieldContract),
    Running(Option<ActorRef<TaskMessage>>),
    /// Its end is being recorded.
    Finishing,
    Finished(Box<TaskReport>),
}

pub(super) struct Members {
    /// In the order of their declaration.
    specs: Vec<TaskSpec>,
    states: Vec<Member>,
    positions: BTreeMap<TaskId, usize>,
    named: BTreeMap<String, usize>,
    actors: BTreeMap<u64, TaskId>,
    /// Positions, predecessors first.
    order: Vec<usize>,
    unfinished: usize,
}

impl Members {
    pub(super) fn new(
        specs: Vec<TaskSpec>,
        mut contracts: BTreeMap<TaskId, YieldContract>,
    ) -> Self {
        let view: Vec<_> =
            specs.iter().map(|spec| (&spec.name, spec.depends_on.as_slice())).collect();
        // The plan was checked before it came here; an unchecked one runs as declared.
        let order = in_order(&view).unwrap_or_else(|_| (0..specs.len()).collect());
        let free = || YieldContract::new(Box::new(engine::ports::AnyValue), Patience::COMMAND);
        let states = specs
            .iter()
            .map(|spec| Member::Waiting(contracts.remove(&spec.id).unwrap_or_else(free)))
            .collect();
        let positions = specs.iter().enumerate().map(|(at, spec)| (spec.id, at)).collect();
        let named = specs.iter().enumerate().map(|(at, spec)| (spec.name.folded(), at)).collect();
        let unfinished = specs.len();
        Self { specs, states, positions, named, actors: BTreeMap::new(), order, unfinished }
    }

    pub(super) fn count(&self) -> usize {
        self.specs.len()
    }

    pub(super) fn announcements(&self) -> Vec<EventKind> {
        let one = |spec: &TaskSpec| EventKind::TaskQueued {
            task: spec.name.clone(),
            title: spec.title.clone(),
            model: match &spec.work {
                Work::Agent(agent) => Some(agent.model.to_string()),
                Work::Command(_) => None,
            },
        };
        self.specs.iter().map(one).collect()
    }

    pub(super) fn entries(&self, run: RunId) -> Vec<Entry> {
        let ids = |names: &[TaskName]| {
            names.iter().filter_map(|name| self.at(name)).map(|at| self.specs[at].id).collect()
        };
        let entry = |spec: &TaskSpec| Entry {
            task: spec.id,
            run,
            priority: spec.priority,
            depends_on: ids(&spec.depends_on),
        };
        self.specs.iter().map(entry).collect()
    }

    pub(super) fn name(&self, task: TaskId) -> TaskName {
        match self.positions.get(&task) {
            Some(&at) => self.specs[at].name.clone(),
            None => TaskName::nearest("unknown"),
        }
    }

    /// Notes that a waiting task got its permit. False if it does not wait any more.
    pub(super) fn admit(&mut self, task: TaskId) -> bool {
        self.replace(task, |member| match member {
            Member::Waiting(contract) => Ok(Member::Admitted(contract)),
            other => Err(other),
        })
    }

    /// Takes a task that has not started out of the run. False if it has.
    pub(super) fn withdraw(&mut self, task: TaskId) -> bool {
        self.replace(task, |member| match member {
            Member::Waiting(_) | Member::Admitted(_) => Ok(Member::Finishing),
            other => Err(other),
        })
    }

    /// Takes every task that has not started out of the run, in the order of their declaration.
    pub(super) fn withdraw_all(&mut self) -> Vec<TaskId> {
        let tasks: Vec<_> = self.specs.iter().map(|spec| spec.id).collect();
        tasks.into_iter().filter(|task| self.withdraw(*task)).collect()
    }

    /// Hands an admitted task over to be started.
    pub(super) fn take(&mut self, task: TaskId) -> Option<(TaskSpec, YieldContract)> {
        let at = *self.positions.get(&task)?;
        match std::mem::replace(&mut self.states[at], Member::Running(None)) {
            Member::Admitted(contract) => Some((self.specs[at].clone(), contract)),
            other => {
                self.states[at] = other;
                None
            }
        }
    }

    pub(super) fn started(&mut self, task: TaskId, actor: ActorRef<TaskMessage>) {
        self.actors.insert(actor.get_id().pid(), task);
        if let Some(&at) = self.positions.get(&task) {
            self.states[at] = Member::Running(Some(actor));
        }
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &ActorRef<TaskMessage>> {
        self.states.iter().filter_map(|state| match state {
            Member::Running(actor) => actor.as_ref(),
            _ => None,
        })
    }

    /// Notes that a task's actor is gone and returns whose it was.
    pub(super) fn died(&mut self, actor: ActorId) -> Option<TaskId> {
        let task = self.actors.remove(&actor.pid())?;
        let at = *self.positions.get(&task)?;
        self.states[at] = Member::Finishing;
        Some(task)
    }

    pub(super) fn finish(&mut self, task: TaskId, report: TaskReport) {
        if let Some(&at) = self.positions.get(&task)
            && !matches!(self.states[at], Member::Finished(_))
        {
            self.states[at] = Member::Finished(Box::new(report));
            self.unfinished -= 1;
        }
    }

    pub(super) fn all_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// The reports of finished tasks, in the order of their declaration.
    pub(super) fn reports(&self) -> impl Iterator<Item = (&TaskSpec, &TaskReport)> {
        self.specs.iter().zip(&self.states).filter_map(|(spec, state)| match state {
            Member::Finished(report) => Some((spec, report.as_ref())),
            _ => None,
        })
    }

    /// The same, predecessors first.
    pub(super) fn reports_in_order(&self) -> impl Iterator<Item = (&TaskSpec, &TaskReport)> {
        self.order.iter().filter_map(|&at| match &self.states[at] {
            Member::Finished(report) => Some((&self.specs[at], report.as_ref())),
            _ => None,
        })
    }

    pub(super) fn report(&self, task: &TaskName) -> Option<(&TaskSpec, &TaskReport)> {
        let at = self.at(task)?;
        match &self.states[at] {
            Member::Finished(report) => Some((&self.specs[at], report.as_ref())),
            _ => None,
        }
    }

    /// Adds work that came to light after its task had reported.
    pub(super) fn add_late(
        &mut self,
        task: &TaskName,
        captured: protocol::Captured,
    ) -> Option<TaskId> {
        let at = self.at(task)?;
        let Member::Finished(report) = &mut self.states[at] else { return None };
        report.captured = Some(captured);
        Some(self.specs[at].id)
    }

    /// The captures that a task's workspace builds on: those of all tasks it depends on, directly
    /// or not, predecessors first.
    pub(super) fn predecessor_captures(&self, task: TaskId) -> Vec<(TaskName, CaptureRef)> {
        let Some(&start) = self.positions.get(&task) else { return Vec::new() };
        if self.specs[start].depends_on.is_empty() {
            return Vec::new();
        }
        let mut needed = BTreeSet::new();
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for on in self.specs[at].depends_on.iter().filter_map(|name| self.at(name)) {
                if needed.insert(on) {
                    open.push(on);
                }
            }
        }
        let needed = self.order.iter().filter(|at| needed.contains(at));
        let capture = |at: &usize| match &self.states[*at] {
            Member::Finished(report) => {
                let captured = report.captured.as_ref()?;
                let name = self.specs[*at].name.clone();
                (captured.changes.files > 0).then(|| (name, captured.capture.clone()))
            }
            _ => None,
        };
        needed.filter_map(capture).collect()
    }

    fn at(&self, task: &TaskName) -> Option<usize> {
        self.named.get(&task.folded()).copied()
    }

    fn replace(
        &mut self,
        task: TaskId,
        change: impl FnOnce(Member) -> Result<Member, Member>,
    ) -> bool {
        let Some(&at) = self.positions.get(&task) else { return false };
        let before = std::mem::replace(&mut self.states[at], Member::Finishing);
        let changed = change(before);
        let done = changed.is_ok();
        self.states[at] = changed.unwrap_or_else(|unchanged| unchanged);
        done
    }
}
