//! The steps of a task: each asks someone, and the answer comes back as a message.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{IsolationError, Worker, Workspace as Place, WorkspaceRequest};
use engine::task::{Effect, Input, Reminder};
use protocol::{
    AgentEnd, Captured, EventKind, Failure, LedgerEntry, Outcome, Phase, TaskName, TaskReport,
};
use ractor::{ActorProcessingErr, ActorRef};
use tracing::Instrument as _;

use super::message::TaskMessage;
use super::start;
use super::state::TaskState;
use crate::ask::{Receipt, ask, ask_within};
use crate::executors::{ExecutorLease, ExecutorsMessage, ToolExecutorMessage};
use crate::isolation::{Lease, RepositoryMessage, WorkspaceMessage, Writers};
use crate::job::Job;
use crate::worker::{self, WorkerDeps, Working};

impl TaskState {
    pub(super) async fn perform(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        effects: Vec<Effect>,
    ) -> Result<(), ActorProcessingErr> {
        for effect in effects {
            match effect {
                Effect::Prepare => self.prepare(myself),
                Effect::Record(entry) => self.record(myself, entry),
                Effect::LeaseExecutor => self.lease_executor(myself),
                Effect::StartWorker { workspace, attempt, reminder } => {
                    self.start_worker(myself, &workspace, attempt, reminder).await;
                }
                Effect::Remind(reminder) => self.go_on(myself, reminder),
                Effect::StopWorker(level) => {
                    if let Some(working) = &self.worker {
                        working.stop(level);
                    }
                }
                Effect::KillWorker => {
                    self.worker = None;
                    let _dying = myself.cast(TaskMessage::WorkerKilled);
                }
                Effect::CleanUpWorker { error, deadline } => self.clear(myself, &error, deadline),
                Effect::StartTimer(timer, after) => {
                    let message = TaskMessage::TimerFired(timer);
                    self.remind(Job::TaskTimer, myself, after, message);
                }
                Effect::AnnounceStopping => self.progress(Phase::Stopping, None),
                Effect::AnnounceYield => self.tell(EventKind::TaskYielded { task: self.name() }),
                Effect::AnnounceReminder(Reminder { feedback: complaint, .. }) => {
                    self.tell(EventKind::ContractReminded { task: self.name(), complaint });
                }
                Effect::AnnounceCapture(captured) => {
                    self.tell(EventKind::TaskCaptured { task: self.name(), captured });
                }
                Effect::Seal { deadline } => self.seal(myself, deadline),
                Effect::Capture => self.capture(myself),
                Effect::Discard(_) => self.discard(myself),
                Effect::Finish(outcome, captured) => self.finish(myself, outcome, captured),
            }
        }
        Ok(())
    }

    /// Writes an entry to the ledger, by way of the run.
    fn record(&self, myself: &ActorRef<TaskMessage>, entry: LedgerEntry) {
        let written = Box::new(entry.clone());
        let receipt = Receipt::to(myself, |durability| TaskMessage::Recorded(written, durability));
        self.arguments.ledger.tell((entry, receipt));
    }

    fn prepare(&mut self, myself: &ActorRef<TaskMessage>) {
        let request = WorkspaceRequest {
            task: self.name(),
            attempt: self.lifecycle.attempt(),
            predecessors: self.arguments.predecessors.clone(),
        };
        let (repository, run) =
            (self.arguments.repository.clone(), self.arguments.run.name.clone());
        let question = |reply| RepositoryMessage::Prepare(run, request, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &repository));
        ask(Job::TaskPrepare, jobs, ends, question, |made| TaskMessage::Prepared(made.ok()));
    }

    /// Keeps the lease and says where the workspace is.
    pub(super) fn keep(
        &mut self,
        prepared: Option<Result<Lease, IsolationError>>,
    ) -> Result<Place, Failure> {
        let lease = prepared
            .unwrap_or_else(|| Err(gone("prepare a workspace")))
            .map_err(|error| error.to_failure())?;
        let place = lease.place.clone();
        self.lease = Some(lease);
        self.tell(EventKind::WorkspaceReady {
            task: self.name(),
            path: place.root.display().to_string(),
            ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(place)
    }

    fn lease_executor(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(lease) = &self.lease else { return }; // it was prepared before
        let setup = start::executor(&self.arguments, lease, self.lifecycle.attempt());
        let executors = self.arguments.executors.clone();
        let question = |reply| ExecutorsMessage::Lease(setup, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &executors));
        ask(Job::TaskEquip, jobs, ends, question, |lease| TaskMessage::Leased(lease.ok()));
    }

    pub(super) fn leased(&mut self, executor: Option<ExecutorLease>) -> Input {
        self.executor = executor;
        if self.executor.is_some() { Input::ExecutorLeased } else { Input::ExecutorUnavailable }
    }

    async fn start_worker(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        place: &Place,
        attempt: u32,
        reminder: Option<Reminder>,
    ) {
        let Some(executor) = &self.executor else { return }; // it was equipped before
        let deps = WorkerDeps {
            deps: self.arguments.deps.clone(),
            gate: Arc::clone(&self.arguments.gate),
            executor: executor.executor().clone(),
            supervisor: myself.get_cell(),
            span: self.span.clone(),
        };
        let task = myself.clone();
        let start = start::start(&self.arguments, place, attempt, move |report| {
            let _gone = task.cast(TaskMessage::News(report)); // who reads it may be gone
        });
        match worker::open(&self.arguments.spec.work, start, deps).await {
            Ok(worker) => {
                self.tell_of_gates();
                self.work(myself, worker, reminder);
            }
            Err(failure) => {
                let end = Ok(AgentEnd::Failed(failure));
                let _dying = myself.cast(TaskMessage::WorkerEnded(end));
            }
        }
    }

    /// Says that an external program does the work, where one does: nothing holds its requests.
    fn tell_of_gates(&self) {
        if let Some(program) = worker::external_program(&self.arguments.spec.work) {
            self.tell(EventKind::Degraded {
                from: "requests to models within the limits of the engine".to_owned(),
                to: format!("requests of `{program}` itself"),
                why: format!("another program does the task `{}`", self.name()),
            });
        }
    }

    /// Has the worker work, from where it stands.
    fn work(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        worker: Arc<dyn Worker>,
        reminder: Option<Reminder>,
    ) {
        let work = Arc::clone(&worker);
        let job = async move { work.work(reminder).await }.instrument(self.span.clone());
        let job = self.jobs.run(Job::TaskWork, myself, job, TaskMessage::WorkerEnded);
        self.worker = Some(Working::new(worker, job));
    }

    /// Ends what a crashed worker started, so that it can be started again.
    fn clear(&mut self, myself: &ActorRef<TaskMessage>, error: &str, deadline: Duration) {
        tracing::warn!(%error, "the worker crashed and is started again");
        self.worker = None;
        let Some(executor) = &self.executor else {
            let _dying = myself.cast(TaskMessage::Cleared(Ok(())));
            return;
        };
        let (executor, seal) = (executor.executor().clone(), ToolExecutorMessage::Seal);
        let (jobs, ends) = (&mut self.jobs, (myself, &executor));
        ask_within(Job::TaskClear, jobs, ends, deadline, seal, TaskMessage::Cleared);
    }

    pub(super) fn cleared(&mut self) -> Input {
        self.executor = None;
        Input::CleanedUp
    }

    /// Has the worker go on, because its end was not accepted.
    fn go_on(&mut self, myself: &ActorRef<TaskMessage>, reminder: Reminder) {
        let Some(working) = &self.worker else { return }; // it has ended once, so it is there
        self.work(myself, working.worker(), Some(reminder));
    }

    fn seal(&mut self, myself: &ActorRef<TaskMessage>, deadline: Duration) {
        self.worker = None;
        let Some(executor) = &self.executor else {
            let _dying = myself.cast(TaskMessage::Sealed(Ok(()))); // nothing was ever started
            return;
        };
        let (executor, seal) = (executor.executor().clone(), ToolExecutorMessage::Seal);
        let (jobs, ends) = (&mut self.jobs, (myself, &executor));
        ask_within(Job::TaskSeal, jobs, ends, deadline, seal, TaskMessage::Sealed);
    }

    pub(super) fn not_sealed(&mut self) -> Input {
        self.writers = Writers::MayRemain;
        self.span.in_scope(|| tracing::error!("gave up stopping what still runs"));
        Input::NotSealed
    }

    fn capture(&mut self, myself: &ActorRef<TaskMessage>) {
        self.progress(Phase::Capturing, None);
        self.executor = None;
        let Some(lease) = &self.lease else { return };
        let owner = lease.owner().clone();
        let (jobs, ends) = (&mut self.jobs, (myself, &owner));
        ask(Job::TaskCapture, jobs, ends, WorkspaceMessage::Capture, |captured| {
            TaskMessage::Captured(captured.ok())
        });
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
        let owner = lease.owner().clone();
        let (jobs, ends) = (&mut self.jobs, (myself, &owner));
        ask(Job::TaskDiscard, jobs, ends, WorkspaceMessage::Discard, |_| TaskMessage::Discarded);
    }

    fn finish(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        outcome: Outcome,
        captured: Option<Captured>,
    ) {
        if let Some(lease) = self.lease.take() {
            // Discarded, or kept because not all of it was captured.
            lease.settle(self.writers);
        }
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let report = TaskReport { outcome, captured, ms, usage: self.usage() };
        self.span.in_scope(|| tracing::info!(outcome = word(&report.outcome), ms, "finished"));
        self.report = Some(report);
        myself.stop(None);
    }

    /// Sends a message to ourselves later, unless we are gone by then.
    pub(super) fn remind(
        &mut self,
        name: Job,
        myself: &ActorRef<TaskMessage>,
        after: Duration,
        message: TaskMessage,
    ) {
        self.jobs.run(name, myself, tokio::time::sleep(after), |_slept| message);
    }

    pub(super) fn tell(&self, news: EventKind) {
        self.arguments.news.tell(news);
    }

    pub(super) fn name(&self) -> TaskName {
        self.arguments.spec.name.clone()
    }
}

/// How a task ended, in a word for the log. What it yielded is the ledger's.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "done",
        Outcome::Failed { .. } => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

/// The failure of a question whose answerer died.
fn gone(what: &str) -> IsolationError {
    let source = "whoever owned it crashed".into();
    IsolationError::Failed { what: what.to_owned(), source }
}
