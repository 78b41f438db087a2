//! The effects of a run's state machine. Each effect sends a request to another actor, whose answer
//! arrives as a message; only the start of a task is awaited.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::ports::{CancelLevel, InputFiles};
use engine::run::{Effect, Input};
use engine::task::with_yields;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    CaptureRef, Failure, FailureClass, LedgerEntry, Outcome, RunId, RunSpec, TaskId, TaskName,
    TaskReport, TaskSpec, WorkspaceNeeds,
};
use ractor::ActorRef;
use serde_json::Value;

use super::messages::{RunMessage, ScheduleRequest};
use super::state::RunState;
use crate::child::start_child;
use crate::contracts;
use crate::isolation::RepositoryMessage;
use crate::job::Job;
use crate::ledger::LedgerMessage;
use crate::messaging::{Notifier, Receipt, ask};
use crate::task::{ConversationRequest, INPUTS, Task, TaskArguments, TaskMessage, artifacts_of};

/// The largest number of tasks at the same time at which another one works while one is captured.
/// Among more tasks than these one more makes no difference, and costs a message for each.
const MOST_OVERLAPPING: usize = 32;

/// The start of a task's actor, which may fail with the report of the task.
type TaskStart<'a> = BoxFuture<'a, Result<(), Box<TaskReport>>>;

impl RunState {
    /// Performs the effects in their order. The actor moves a future of this size with each
    /// message: what is awaited is on the heap.
    pub(super) async fn perform(&mut self, myself: &ActorRef<RunMessage>, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        loop {
            let Some((task, start)) = self.perform_until_start(myself, &mut effects) else {
                return;
            };
            let started = start.await;
            // If a task cannot start, that task fails. The run continues.
            if let Err(report) = started {
                effects.extend(self.machine.step(Input::TaskEnded(task, report)));
            }
        }
    }

    /// Performs effects until a task is to be started, and returns the start.
    fn perform_until_start<'a>(
        &'a mut self,
        myself: &'a ActorRef<RunMessage>,
        effects: &mut VecDeque<Effect>,
    ) -> Option<(TaskId, TaskStart<'a>)> {
        let run = self.run();
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Record(entry) => {
                    self.times.note(&entry, self.machine.record());
                    self.record(myself, entry, None);
                }
                Effect::Announce(event) => self.publish(event),
                Effect::Enqueue(entries) => self.schedule(ScheduleRequest::Enqueue(entries)),
                Effect::Dequeue(task, left) => {
                    self.schedule(ScheduleRequest::Leave(run, task, left));
                }
                Effect::LendPermit(task) => self.schedule(ScheduleRequest::Lend(task)),
                Effect::ReleasePermit(task) => self.schedule(ScheduleRequest::WorkEnded(task)),
                Effect::Continue(task) => self.go_on(task),
                Effect::ReclaimPermit(task) => self.schedule(ScheduleRequest::TakeBack(task)),
                Effect::StartTask { task, predecessors, .. } => {
                    return Some((task, self.start(myself, task, predecessors).boxed()));
                }
                Effect::CancelTask(task, level) => self.cancel(task, level),
                Effect::Land(request) => self.land(myself, request),
                Effect::CancelLanding(level) => self.landing.cancel(level),
                Effect::ReleaseWorkspaces => {
                    self.verifier = None;
                    let name = self.arguments.name.clone();
                    let question = |reply| RepositoryMessage::SettleRun(name, reply);
                    let ends = (myself, &self.arguments.repository);
                    ask(Job::RunSettle, &mut self.jobs, ends, question, |settled| {
                        RunMessage::Settled(settled.ok())
                    });
                }
                Effect::Close => {
                    let name = self.arguments.name.clone();
                    let question = |reply| RepositoryMessage::CloseRun(name, reply);
                    let (jobs, ends) = (&mut self.jobs, (myself, &self.arguments.repository));
                    ask(Job::RunClose, jobs, ends, question, |_| RunMessage::Closed);
                }
                Effect::End => {
                    self.schedule(ScheduleRequest::Over(run));
                    myself.stop(None);
                }
            }
        }
        None
    }

    async fn start(
        &mut self,
        myself: &ActorRef<RunMessage>,
        task: TaskId,
        predecessors: Vec<(TaskName, CaptureRef)>,
    ) -> Result<(), Box<TaskReport>> {
        let Some(record) = self.machine.record().task(task).cloned() else { return Ok(()) };
        let yields = self.machine.record().predecessor_yields(task);
        let work = with_yields(&record.spec.work, &yields).map_err(unstarted)?;
        let spec = TaskSpec { work, ..record.spec.clone() };
        let needs = self.arguments.spec.needs_of(&spec);
        let overlaps = overlaps(&self.arguments.spec, &needs);
        let arguments = TaskArguments {
            inputs: self.inputs(&spec, yields),
            spec,
            needs,
            timings: self.times.until_start(task),
            contract: self.contracts.remove(&task).unwrap_or_else(contracts::any),
            predecessors,
            run: Arc::clone(&self.facts),
            repository: self.arguments.repository.clone(),
            executors: self.arguments.executors.clone(),
            gate: Arc::clone(&self.arguments.gate),
            ledger: Notifier::to(myself, |(entry, receipt)| RunMessage::Record(entry, receipt)),
            work_ended: match overlaps {
                true => Notifier::to(myself, move |()| RunMessage::WorkEnded(task)),
                false => Notifier::new(|()| {}),
            },
            waits: Notifier::to(myself, move |wait| RunMessage::Wait(task, wait)),
            answerer: self.arguments.answerer,
            mode: self.arguments.mode.clone(),
            deps: self.arguments.deps.clone(),
            events: Notifier::to(myself, RunMessage::TaskEvent),
        };
        let arguments = (Box::new(arguments), Box::new(record));
        let started = start_child(Task, arguments, myself.get_cell()).await;
        let actor = started.map_err(|error| crashed(error.to_string()))?;
        self.tasks.insert(actor.get_id().pid(), task);
        self.actors.insert(task, actor);
        Ok(())
    }

    /// Returns the files with the yields of the predecessors of a task, if it has any.
    fn inputs(
        &self,
        spec: &TaskSpec,
        yields: Vec<(TaskName, Value)>,
    ) -> Option<Arc<dyn InputFiles>> {
        let deps = &self.arguments.deps;
        let folder = artifacts_of(deps, &self.arguments.name, &spec.name).join(INPUTS);
        (!spec.depends_on.is_empty()).then(|| deps.artifacts.inputs(&folder, yields))
    }

    fn cancel(&self, task: TaskId, level: CancelLevel) {
        if let Some(actor) = self.actors.get(&task) {
            // If the task actor has just died, its supervision event will report that.
            let _dead = actor.cast(TaskMessage::Cancel(level));
        }
    }

    /// Passes on a request to a conversation. Without it, the request is dropped with its reply port.
    pub(super) fn converse(&self, task: TaskId, request: ConversationRequest) {
        if let Some(actor) = self.actors.get(&task) {
            let _dead = actor.cast(TaskMessage::Conversation(request));
        }
    }

    /// Writes an entry to the ledger. Its effects follow when it is durable.
    pub(super) fn record(
        &self,
        myself: &ActorRef<RunMessage>,
        entry: LedgerEntry,
        receipt: Option<Receipt>,
    ) {
        let written = Box::new(entry.clone());
        let recorded = Receipt::to(myself, move |durability| {
            RunMessage::Recorded(written, durability, receipt)
        });
        // If the ledger is gone, the dropped receipt reports `Durability::Lost`.
        let _gone = self.arguments.ledger.cast(LedgerMessage::Record(entry, recorded));
    }

    fn schedule(&self, request: ScheduleRequest) {
        self.arguments.schedule.notify(request);
    }

    fn run(&self) -> RunId {
        self.arguments.spec.id
    }
}

/// Returns whether another task of a run may work while one is captured. That can take a copy more,
/// for which there may be no room where files are carried into each.
fn overlaps(spec: &RunSpec, needs: &WorkspaceNeeds) -> bool {
    spec.jobs.get() <= MOST_OVERLAPPING && needs.carry.is_empty()
}

pub(super) fn crashed(message: String) -> Box<TaskReport> {
    let message = if message.is_empty() {
        "the task's actor stopped unexpectedly".to_owned()
    } else {
        message
    };
    unstarted(Failure::new(FailureClass::Crashed, message))
}

/// Returns the report of a task that could not start, or of which nothing else is known.
fn unstarted(failure: Failure) -> Box<TaskReport> {
    Box::new(TaskReport::unstarted(Outcome::Failed { failure }))
}
