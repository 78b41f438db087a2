//! The effects of a task's state machine. Each effect sends a request to another actor, whose
//! answer arrives as a message.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    Ask, AttemptEnd, Gate, IsolationError, ModelWork, Reuse, Worker, Workspace as Place,
    WorkspaceRequest, WorkspaceStart,
};
use engine::task::{Effect, Input, Reminder, Timer};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    AgentEnd, Captured, EventKind, Failure, LedgerEntry, Outcome, Phase, TaskName, TaskReport, Work,
};
use ractor::ActorRef;
use serde_json::Value;
use tracing::Instrument as _;

use super::state::{ConversationRequest, TaskMessage, TaskState};
use super::task_ask::{TaskAsk, TaskPause};
use super::worker_setup;
use crate::executors::{
    Answerer, ExecutorLease, ExecutorSetup, ExecutorsMessage, LeasedBy, SessionPorts,
};
use crate::isolation::{Lease, RepositoryMessage, WorkspaceMessage};
use crate::job::Job;
use crate::messaging::{Receipt, ask};
use crate::worker::{self, RunningWorker, WorkerDeps};

impl TaskState {
    /// Performs the effects in their order. An actor holds a future of this size for all of its
    /// life, and moves it with each message: what is awaited is on the heap.
    pub(super) async fn perform(&mut self, myself: &ActorRef<TaskMessage>, effects: Vec<Effect>) {
        let mut effects = effects.into_iter();
        while let Some(start) = self.perform_until_start(myself, &mut effects) {
            start.await;
        }
    }

    /// Performs effects until a worker is to be started, and returns the start.
    fn perform_until_start<'a>(
        &'a mut self,
        myself: &'a ActorRef<TaskMessage>,
        effects: &mut impl Iterator<Item = Effect>,
    ) -> Option<BoxFuture<'a, ()>> {
        for effect in effects {
            self.clock.on_effect(&effect);
            match effect {
                Effect::Prepare => self.prepare(myself),
                Effect::Record(entry) => self.record(myself, entry),
                Effect::LeaseExecutor => self.lease_executor(myself),
                Effect::SetUp(workspace) => self.set_up(myself, &workspace),
                Effect::StartWorker { workspace, attempt, reminder } => {
                    return Some(self.start_worker(myself, workspace, attempt, reminder).boxed());
                }
                Effect::Remind(reminder) => self.remind(myself, reminder),
                Effect::StopWorker(level) => {
                    self.setup.stop(level);
                    if let Some(working) = &self.worker {
                        working.stop(level);
                    }
                }
                Effect::KillWorker => {
                    self.end_setup();
                    self.worker = None;
                    let _dying = myself.cast(TaskMessage::WorkerKilled);
                }
                Effect::CleanUpWorker { error, deadline } => self.clear(myself, &error, deadline),
                Effect::StartTimer(timer, after) => self.start_timer(myself, timer, after),
                Effect::AnnounceStopping => self.progress(Phase::Stopping, None),
                Effect::AnnounceYield => {
                    self.announce(EventKind::TaskYielded { task: self.name() })
                }
                Effect::AnnounceReminder(Reminder { feedback: complaint, .. }) => {
                    self.announce(EventKind::ContractReminded { task: self.name(), complaint });
                }
                Effect::AnnounceCapture(captured) => {
                    self.announce(EventKind::TaskCaptured { task: self.name(), captured });
                }
                Effect::Seal { deadline } => self.seal(myself, deadline),
                Effect::ReportWorkEnd => self.arguments.work_ended.notify(()),
                Effect::Capture => self.capture(myself),
                Effect::Discard(_) => self.discard(myself),
                Effect::Finish(outcome, captured) => self.finish(myself, outcome, captured),
            }
        }
        None
    }

    /// Asks the run to write an entry to the ledger.
    fn record(&self, myself: &ActorRef<TaskMessage>, entry: LedgerEntry) {
        let written = Box::new(entry.clone());
        let receipt = Receipt::to(myself, |durability| TaskMessage::Recorded(written, durability));
        self.arguments.ledger.notify((entry, receipt));
    }

    fn prepare(&mut self, myself: &ActorRef<TaskMessage>) {
        let request = WorkspaceRequest {
            task: self.name(),
            attempt: self.lifecycle.attempt(),
            predecessors: self.arguments.predecessors.clone(),
            start: match self.arguments.setup().is_empty() {
                true => WorkspaceStart::AtOnce,
                false => WorkspaceStart::AfterSetup,
            },
            carry: self.arguments.spec.needs.carry.clone(),
        };
        let (repository, run) =
            (self.arguments.repository.clone(), self.arguments.run.name.clone());
        let question = |reply| RepositoryMessage::Prepare(run, request, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &repository));
        ask(Job::TaskPrepare, jobs, ends, question, |made| TaskMessage::Prepared(made.ok()));
    }

    /// Keeps the lease and announces the workspace.
    pub(super) fn keep(
        &mut self,
        prepared: Option<Result<Lease, IsolationError>>,
    ) -> Result<Place, Failure> {
        let lease = prepared
            .unwrap_or_else(|| Err(gone("prepare a workspace")))
            .map_err(|error| error.to_failure())?;
        let place = lease.place.clone();
        if let Work::Agent(_) = self.arguments.spec.work {
            // From its first view on, it is known that no process has been started in a workspace:
            // meanwhile, copies of the run are restored without a look at all their files.
            let _recorded = lease.view();
        }
        self.lease = Some(lease);
        self.announce(EventKind::WorkspaceReady {
            task: self.name(),
            path: place.root.display().to_string(),
            ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(place)
    }

    fn lease_executor(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(lease) = &self.lease else { return }; // always there: prepared before
        let setup = worker_setup::executor(&self.arguments, lease, self.lifecycle.attempt());
        let setup = match setup {
            ExecutorSetup::Tools(setup, _) => {
                let (task, waits) = (myself.clone(), self.waits.waits());
                let pause = TaskPause { task: task.clone(), waits: waits.clone() };
                let ask = match self.arguments.answerer {
                    Answerer::None => None,
                    Answerer::Client | Answerer::Person => {
                        Some(Arc::new(TaskAsk { task, waits }) as Arc<dyn Ask>)
                    }
                };
                ExecutorSetup::Tools(setup, SessionPorts { ask, pause: Some(Arc::new(pause)) })
            }
            ExecutorSetup::Commands => ExecutorSetup::Commands,
        };
        let executors = self.arguments.executors.clone();
        let variables = self.arguments.run.variables.clone();
        let question = |reply| ExecutorsMessage::Lease(setup, LeasedBy::Task, variables, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &executors));
        ask(Job::TaskEquip, jobs, ends, question, |lease| TaskMessage::Leased(lease.ok()));
    }

    pub(super) fn leased(&mut self, executor: Option<ExecutorLease>) -> Input {
        self.clock.launches.extend(executor.as_ref().map(ExecutorLease::launches));
        if let (Some(lease), Some(executor)) = (&mut self.lease, &executor) {
            lease.add_writer(executor.commands());
        }
        self.executor = executor;
        if self.executor.is_some() { Input::ExecutorLeased } else { Input::ExecutorUnavailable }
    }

    pub(super) fn start_timer(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        timer: Timer,
        after: Duration,
    ) {
        if timer == Timer::Wall {
            let _since = self.wall_since.get_or_insert_with(tokio::time::Instant::now);
        }
        self.send_later(Job::TaskTimer, myself, after, TaskMessage::TimerFired(timer));
    }

    /// Returns how much time the wall-clock limit has counted.
    pub(super) fn used_time(&self) -> Duration {
        let passed = self.wall_since.map(|since| since.elapsed()).unwrap_or_default();
        self.waits.without_granted(passed)
    }

    async fn start_worker(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        place: Place,
        attempt: u32,
        reminder: Option<Reminder>,
    ) {
        let Some(executor) = &self.executor else { return }; // always there: leased before
        let gate = Arc::clone(&self.arguments.gate);
        let gate: Arc<dyn Gate> = match self.arguments.spec.work {
            Work::Agent(_) => Arc::new(self.waits.measured(gate)),
            Work::Command(_) | Work::Conversation(_) => gate,
        };
        let deps = WorkerDeps {
            deps: self.arguments.deps.clone(),
            gate,
            executor: executor.executor().clone(),
            prompt: Arc::clone(&self.arguments.run.prompt),
            supervisor: myself.get_cell(),
            span: self.span.clone(),
        };
        let task = myself.clone();
        let start = worker_setup::start(&self.arguments, &place, attempt, move |report| {
            let _gone = task.cast(TaskMessage::Reported(report)); // the task may be gone
        });
        match worker::open(&self.arguments.spec.work, start, deps).await {
            Ok(worker) => self.work(myself, worker, reminder),
            Err(failure) => {
                let end = Ok(AgentEnd::Failed(failure));
                let _dying = myself.cast(TaskMessage::WorkerEnded(end));
            }
        }
    }

    /// Starts the worker, or continues it with a reminder.
    fn work(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        worker: Arc<dyn Worker>,
        reminder: Option<Reminder>,
    ) {
        let work = Arc::clone(&worker);
        // The files are there already after a set-up, and when a reminder is sent.
        let first = reminder.is_none() && self.arguments.setup().is_empty();
        let inputs = first.then(|| self.arguments.inputs.clone()).flatten();
        let job = async move {
            if let Err(failure) = worker_setup::write_inputs(inputs).await {
                return AgentEnd::Failed(failure);
            }
            work.work(reminder).await
        };
        let job = job.instrument(self.span.clone());
        let job = self.jobs.run(Job::TaskWork, myself, job, TaskMessage::WorkerEnded);
        self.worker = Some(RunningWorker::new(worker, job));
    }

    /// Sends the worker a reminder, because its yield was not accepted.
    fn remind(&mut self, myself: &ActorRef<TaskMessage>, reminder: Reminder) {
        let Some(working) = &self.worker else { return }; // always there: it has yielded
        self.work(myself, working.worker(), Some(reminder));
    }

    fn capture(&mut self, myself: &ActorRef<TaskMessage>) {
        self.progress(Phase::Capturing, None);
        self.executor = None;
        let Some(lease) = &self.lease else { return };
        let owner = lease.owner().clone();
        let end = Some(self.attempt_end());
        let question = |reply| WorkspaceMessage::Capture(end, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &owner));
        ask(Job::TaskCapture, jobs, ends, question, |captured| {
            TaskMessage::Captured(captured.ok())
        });
    }

    /// Answers a request to the conversation, and returns its end if it was told. If there is none that
    /// works, the request is dropped with its reply port.
    pub(super) fn conversation(&self, request: ConversationRequest) -> Option<AgentEnd> {
        let lease = self.lease.as_ref().filter(|_| self.arguments.spec.work.is_of_user())?;
        match request {
            ConversationRequest::Checkpoint(reply) if self.lifecycle.is_working() => {
                let _gone = lease.owner().cast(WorkspaceMessage::Capture(None, reply));
                None
            }
            ConversationRequest::Checkpoint(_) => None,
            ConversationRequest::End => Some(AgentEnd::Yielded(Value::Null)),
        }
    }

    /// Returns how the attempt ends whose work is about to be captured.
    fn attempt_end(&self) -> AttemptEnd {
        let [changed, unchanged] = self.lifecycle.outcomes().unwrap_or_default();
        let model = self.activity.as_ref().map_or(ModelWork::None, |activity| activity.work());
        AttemptEnd { changed, unchanged, model }
    }

    pub(super) fn captured(captured: Option<Result<Option<Captured>, IsolationError>>) -> Input {
        match captured.unwrap_or_else(|| Err(gone("capture its workspace"))) {
            Ok(captured) => Input::Captured(Ok(captured)),
            Err(error @ IsolationError::Vanished { .. }) => Input::Vanished(error.to_failure()),
            Err(error) => Input::Captured(Err(error.to_failure())),
        }
    }

    fn discard(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(lease) = &self.lease else { return };
        let (owner, writers) = (lease.owner().clone(), lease.writers().to_vec());
        let question = |reply| WorkspaceMessage::Discard(Reuse::Allowed, writers, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &owner));
        ask(Job::TaskDiscard, jobs, ends, question, |_| TaskMessage::Discarded);
    }

    fn finish(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        outcome: Outcome,
        captured: Option<Captured>,
    ) {
        if let Some(lease) = self.lease.take() {
            // The workspace was discarded, or is kept because its capture is incomplete.
            lease.settle(self.writers);
        }
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let setup_ms = self.end_setup();
        let timings = Some(Box::new(self.clock.finish()));
        let (usage, turns) = (self.usage(), self.turns());
        let fallbacks = self.activity.as_ref().map(|it| it.fallbacks.clone()).unwrap_or_default();
        let refused_calls = self.activity.as_ref().map_or(0, |it| it.refused_calls);
        let reached_limit = self.reached_limit(&outcome);
        let report = TaskReport {
            outcome,
            captured,
            ms,
            setup_ms,
            usage,
            fallbacks,
            turns,
            reached_limit,
            refused_calls,
            timings,
        };
        self.span.in_scope(|| tracing::info!(outcome = word(&report.outcome), ms, "finished"));
        self.report = Some(Box::new(report));
        myself.stop(None);
    }

    /// Sends this actor a message after a delay.
    pub(super) fn send_later(
        &mut self,
        name: Job,
        myself: &ActorRef<TaskMessage>,
        after: Duration,
        message: TaskMessage,
    ) {
        self.jobs.run(name, myself, tokio::time::sleep(after), |_slept| message);
    }

    pub(super) fn announce(&self, event: EventKind) {
        self.arguments.events.notify(event);
    }

    pub(super) fn name(&self) -> TaskName {
        self.arguments.spec.name.clone()
    }
}

/// Returns the outcome as one word for the log.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "done",
        Outcome::Failed { .. } => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

/// Returns the error of a request to an actor that crashed.
fn gone(what: &str) -> IsolationError {
    let source = "the actor that owned it crashed".into();
    IsolationError::Failed { what: what.to_owned(), source }
}
