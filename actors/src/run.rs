//! Carries one run from its first event to its last: starts tasks as they are admitted, answers
//! for them while they live, reports how each ended, and has their work landed once at the end.
//!
//! Every task that starts dies exactly once, and its death is reported here and nowhere else.
//! That is why `task_finished` needs no deduplication anywhere.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{CancelLevel, Gate, IsolationError, LandingNews, Notice};
use engine::schedule::{Entry, Left, Refused};
use engine::task::YieldContract;
use engine::verdict::Interruption;
use protocol::{
    Event, EventKind, Failure, FailureClass, FailureDetail, LandingReport, LedgerEntry, OnFailure,
    Outcome, RunId, RunName, RunSpec, TaskId, TaskReport,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant;

use crate::ask::{Teller, ask};
use crate::engine::Deps;
use crate::events::EventBus;
use crate::executors::ExecutorsMessage;
use crate::isolation::{RepositoryMessage, SettledRun};
use crate::jobs::Jobs;
use crate::ledger::LedgerMessage;
use crate::task::{Task, TaskArguments, TaskMessage, TaskState};

mod landing;
mod members;

use landing::LandingOutcome;
use members::Members;

pub(crate) struct Run;

pub(crate) struct RunArguments {
    pub(crate) name: RunName,
    /// Its tasks are with the members once it has begun.
    pub(crate) spec: RunSpec,
    pub(crate) contracts: BTreeMap<TaskId, YieldContract>,
    /// What people should know before it begins.
    pub(crate) notices: Vec<Notice>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Deps,
    pub(crate) events: EventBus,
    pub(crate) schedule: Teller<ScheduleRequest>,
}

/// What the tasks of a run need to know about it.
#[derive(Clone)]
pub(crate) struct RunFacts {
    pub(crate) name: RunName,
    pub(crate) repo: PathBuf,
    pub(crate) subfolder: PathBuf,
}

/// What a run asks of the engine's schedule.
pub(crate) enum ScheduleRequest {
    Enqueue(Vec<Entry>),
    Left(RunId, TaskId, Left),
    Over(RunId),
}

pub(crate) enum RunMessage {
    /// Comes first, and once.
    Begin,
    /// The schedule has room for this task.
    Admitted(TaskId),
    /// The schedule will never admit this task.
    Refused(Refused),
    /// Someone no longer wants the run.
    Cancel(CancelLevel, Interruption),
    /// Something happened to a task.
    News(EventKind),
    /// The ledger knows what is about to be done, or is gone.
    Recorded(Box<Step>, Option<()>),
    /// Something happened to the landing.
    LandingNews(LandingNews),
    Landed(Option<Result<LandingReport, IsolationError>>),
    Settled(Option<SettledRun>),
    /// The claim on the run's workspaces is given up.
    Closed(protocol::Totals, protocol::ExitCode),
}

/// What is done once the ledger knows of it.
pub(crate) enum Step {
    Start(TaskId),
    Finish(TaskId, TaskReport),
    Land,
    Settle(LandingReport),
    NoteLate,
    Close(protocol::Totals, protocol::ExitCode),
}

pub(crate) struct RunState {
    members: Members,
    landing: LandingOutcome,
    seq: u64,
    began: Instant,
    interruption: Option<Interruption>,
    jobs: Jobs,
    arguments: RunArguments,
}

impl Actor for Run {
    type Msg = RunMessage;
    type State = RunState;
    type Arguments = RunArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        mut arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let contracts = std::mem::take(&mut arguments.contracts);
        let tasks = std::mem::take(&mut arguments.spec.tasks);
        Ok(RunState {
            members: Members::new(tasks, contracts),
            landing: LandingOutcome::default(),
            seq: 0,
            began: Instant::now(),
            interruption: None,
            jobs: Jobs::default(),
            arguments,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RunMessage::Begin => state.begin(&myself),
            RunMessage::Admitted(task) => state.admitted(&myself, task),
            RunMessage::Refused(refused) => state.refused(&myself, refused),
            RunMessage::Cancel(how, interruption) => {
                state.interruption.get_or_insert(interruption);
                state.landing.cancel();
                state.cancel_the_rest(&myself, how);
            }
            RunMessage::News(news) => state.publish(news),
            RunMessage::Recorded(step, Some(())) => state.perform(&myself, *step).await?,
            RunMessage::Recorded(step, None) => match *step {
                // The engine is closing: what has not begun is about to be cancelled.
                Step::Start(_) => {}
                Step::Land => state.announce_and_settle(&myself, LandingReport::default()),
                begun => state.perform(&myself, begun).await?,
            },
            RunMessage::LandingNews(news) => state.publish(landing::told(news)),
            RunMessage::Landed(landed) => state.landed(&myself, landed),
            RunMessage::Settled(settled) => state.settled(&myself, settled.unwrap_or_default()),
            RunMessage::Closed(totals, exit_code) => state.end(&myself, totals, exit_code),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (child, report) = match event {
            SupervisionEvent::ActorTerminated(child, last_state, reason) => {
                let last = last_state.and_then(|mut boxed| boxed.take::<TaskState>().ok());
                let report = last.and_then(TaskState::into_report);
                (child, report.unwrap_or_else(|| crashed(reason.unwrap_or_default())))
            }
            SupervisionEvent::ActorFailed(child, error) => (child, crashed(error.to_string())),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {
                return Ok(());
            }
        };
        if let Some(task) = state.members.died(child.get_id()) {
            state.finish(&myself, task, report);
        }
        Ok(())
    }
}

impl RunState {
    fn begin(&mut self, myself: &ActorRef<RunMessage>) {
        let spec = &self.arguments.spec;
        let started = EventKind::RunStarted {
            tasks: self.members.count(),
            jobs: spec.jobs.get(),
            isolation: spec.isolation,
            merge: spec.merge,
            pass_env: spec.pass_env.clone(),
        };
        self.publish(started);
        for Notice { from, to, why } in std::mem::take(&mut self.arguments.notices) {
            self.publish(EventKind::Degraded { from, to, why });
        }
        for announcement in self.members.announcements() {
            self.publish(announcement);
        }
        let entries = self.members.entries(self.arguments.spec.id);
        self.arguments.schedule.tell(ScheduleRequest::Enqueue(entries));
        self.go_on(myself);
    }

    fn admitted(&mut self, myself: &ActorRef<RunMessage>, task: TaskId) {
        // It may have been cancelled while the permit was on its way.
        if self.members.admit(task) {
            let run = self.arguments.spec.id;
            let entry = LedgerEntry::TaskStarted { run, task, attempt: 1 };
            self.record(myself, entry, Step::Start(task));
        }
    }

    fn refused(&mut self, myself: &ActorRef<RunMessage>, refused: Refused) {
        if self.members.withdraw(refused.task) {
            let on = self.members.name(refused.because_of);
            let message = format!("it was not started, because `{on}` did not succeed");
            let failure = Failure::new(FailureClass::Dependency, message)
                .with(FailureDetail::Tasks { tasks: vec![on] });
            let outcome = Outcome::Failed { failure };
            self.finish(
                myself,
                refused.task,
                TaskReport { outcome, captured: None, ms: 0, usage: None },
            );
        }
    }

    fn cancel_the_rest(&mut self, myself: &ActorRef<RunMessage>, how: CancelLevel) {
        for task in self.members.running() {
            // It may have died a moment ago; then its supervision event is already on the way.
            let _dead = task.cast(TaskMessage::Cancel(how));
        }
        for task in self.members.withdraw_all() {
            let outcome = Outcome::Cancelled;
            self.finish(myself, task, TaskReport { outcome, captured: None, ms: 0, usage: None });
        }
    }

    async fn perform(
        &mut self,
        myself: &ActorRef<RunMessage>,
        step: Step,
    ) -> Result<(), ActorProcessingErr> {
        match step {
            Step::Start(task) => self.start(myself, task).await,
            Step::Finish(task, report) => {
                let left = match report.outcome {
                    Outcome::Done { .. } => Left::Succeeded,
                    Outcome::Failed { .. } | Outcome::Cancelled => Left::NotSucceeded,
                };
                let name = self.members.name(task);
                self.members.finish(task, report.clone());
                self.publish(EventKind::TaskFinished { task: name, report });
                self.arguments.schedule.tell(ScheduleRequest::Left(
                    self.arguments.spec.id,
                    task,
                    left,
                ));
                self.go_on(myself);
            }
            Step::Land => self.land(myself),
            Step::Settle(report) => self.announce_and_settle(myself, report),
            Step::NoteLate => {}
            Step::Close(totals, exit_code) => self.close(myself, totals, exit_code),
        }
        Ok(())
    }

    async fn start(&mut self, myself: &ActorRef<RunMessage>, task: TaskId) {
        let Some((spec, contract)) = self.members.take(task) else {
            return; // cancelled while the ledger wrote
        };
        let news = EventKind::TaskStarted { task: spec.name.clone(), attempt: 1 };
        let arguments = TaskArguments {
            predecessors: self.members.predecessor_captures(task),
            spec,
            contract,
            run: RunFacts {
                name: self.arguments.name.clone(),
                repo: self.arguments.spec.repo.clone(),
                subfolder: self.arguments.spec.subfolder.clone(),
            },
            repository: self.arguments.repository.clone(),
            executors: self.arguments.executors.clone(),
            gate: Arc::clone(&self.arguments.gate),
            ledger: self.arguments.ledger.clone(),
            deps: self.arguments.deps.clone(),
            news: Teller::to(myself, RunMessage::News),
        };
        self.publish(news);
        // A task that cannot start is that task's failure, never ours.
        match Actor::spawn_linked(None, Task, arguments, myself.get_cell()).await {
            Ok((actor, _join)) => self.members.started(task, actor),
            Err(error) => self.finish(myself, task, crashed(error.to_string())),
        }
    }

    /// Has the end of a task recorded; its report follows.
    fn finish(&mut self, myself: &ActorRef<RunMessage>, task: TaskId, report: TaskReport) {
        let ends_the_rest = self.ends_the_rest(&report.outcome);
        let entry = LedgerEntry::TaskFinished { task, report: report.clone() };
        self.record(myself, entry, Step::Finish(task, report));
        if ends_the_rest {
            self.cancel_the_rest(myself, CancelLevel::Gently);
        }
    }

    /// Whether a task's end is the end of all that have not ended.
    fn ends_the_rest(&self, outcome: &Outcome) -> bool {
        let Outcome::Failed { failure } = outcome else { return false };
        let faults = &self.arguments.deps.faults;
        match self.arguments.spec.on_failure {
            OnFailure::CancelTheRest => !faults.is_off("F120"),
            OnFailure::Continue => failure.class == FailureClass::Crashed && faults.is_off("F132"),
        }
    }

    /// Writes an entry to the ledger; what it announces is done when it is durable. Should the
    /// ledger be gone the engine is closing, and what was begun is still seen through.
    fn record(&mut self, myself: &ActorRef<RunMessage>, entry: LedgerEntry, then: Step) {
        let ledger = self.arguments.ledger.clone();
        let question = |reply| LedgerMessage::Record(entry, reply);
        let then = Box::new(then);
        ask(&mut self.jobs, myself, &ledger, question, |done| RunMessage::Recorded(then, done));
    }

    /// Lands when the last task has ended.
    fn go_on(&mut self, myself: &ActorRef<RunMessage>) {
        if self.members.all_finished() && self.landing.begin() {
            if self.landing_request().is_some() {
                let entry = LedgerEntry::LandingStarted { run: self.arguments.spec.id };
                self.record(myself, entry, Step::Land);
            } else {
                self.announce_and_settle(myself, LandingReport::default());
            }
        }
    }

    fn publish(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: self.arguments.deps.clock.now(),
            run: self.arguments.name.clone(),
            kind,
        };
        self.arguments.events.publish(event);
    }
}

fn crashed(message: String) -> TaskReport {
    let message = if message.is_empty() { "its actor was stopped".to_owned() } else { message };
    let failure = Failure::new(FailureClass::Crashed, message);
    TaskReport { outcome: Outcome::Failed { failure }, captured: None, ms: 0, usage: None }
}
