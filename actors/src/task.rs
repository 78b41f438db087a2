//! Carries one task through its [`Lifecycle`]: performs what it asks for, tells it what happened.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelLevel, Gate, IsolationError, Workspace as Place};
use engine::supervise::{CrashLog, Decision, RestartBudget};
use engine::task::{Effect, Input, Lifecycle, Patience, Reminder, SessionEnd, YieldContract};
use protocol::{
    CaptureRef, Captured, EventKind, Failure, FailureClass, LedgerEntry, Outcome, Phase, TaskName,
    TaskReport, TaskSpec, Work,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant; // the runtime's clock: a test can pause it

use crate::ask::{NoAnswer, Teller};
use crate::engine::Deps;
use crate::executors::{ExecutorLease, ExecutorsMessage};
use crate::isolation::{Lease, RepositoryMessage, Writers};
use crate::jobs::Jobs;
use crate::ledger::LedgerMessage;
use crate::run::RunFacts;
use crate::session::{SessionMessage, SessionNews, SessionState};

mod agent;
mod command;
mod news;
mod steps;

use self::news::Activity;

pub(crate) struct Task;

pub(crate) struct TaskArguments {
    pub(crate) spec: TaskSpec,
    pub(crate) contract: YieldContract,
    pub(crate) run: RunFacts,
    /// The captures of its predecessors, in the order in which they build on each other.
    pub(crate) predecessors: Vec<(TaskName, CaptureRef)>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Deps,
    pub(crate) news: Teller<EventKind>,
}

/// Counts the attempts at a task. A command has one.
const ATTEMPT: u32 = 1;

/// A session that was told to stop has the grace period for its processes, and this for itself.
const FAREWELL: Duration = Duration::from_secs(5);

/// What was killed has this long to be gone. Processes need milliseconds; what takes longer waits in
/// the kernel for a disk, and nothing but the disk can end it.
const SEALING: Duration = Duration::from_secs(30);

pub(crate) enum TaskMessage {
    /// Asked by anyone who no longer wants the result.
    Cancel(CancelLevel),
    Prepared(Option<Result<Lease, IsolationError>>),
    Leased(Place, Option<ExecutorLease>),
    /// The ledger knows what is about to be done.
    Recorded(Box<Effect>, Option<()>),
    /// Nothing of the crashed session runs any more, and it may be started again; or something of
    /// it could not be stopped.
    Cleared(Place, Result<(), NoAnswer>),
    SessionEnded(Option<SessionEnd>),
    /// The task has run as long as it may.
    WallReached,
    /// The stopped session has had its time.
    FarewellOver,
    Sealed(Result<(), NoAnswer>),
    Captured(Option<Result<Option<Captured>, IsolationError>>),
    Discarded,
    /// The capture is in the ledger, and the workspace stays.
    Kept,
    News(SessionNews),
    /// It is time to say again what the task is doing.
    ProgressDue,
}

pub(crate) struct TaskState {
    lifecycle: Lifecycle,
    /// Set once, just before the actor stops; the run reads it from our last state.
    report: Option<TaskReport>,
    began: Instant,
    lease: Option<Lease>,
    writers: Writers,
    executor: Option<ExecutorLease>,
    session: Option<ActorRef<SessionMessage>>,
    /// What the session was reminded of, until it ends again.
    reminder: Option<Reminder>,
    /// What was captured, between the capture and its entry in the ledger.
    captured: Option<Captured>,
    crashes: CrashLog,
    /// Set as soon as the session is to stop, whether it runs already or not.
    stopping: Option<CancelLevel>,
    /// What a model has used and is doing; nothing where a command does the work.
    activity: Option<Box<Activity>>,
    jobs: Jobs,
    /// Everything that is traced about the task is in it.
    span: tracing::Span,
    arguments: TaskArguments,
}

impl Actor for Task {
    type Msg = TaskMessage;
    type State = TaskState;
    type Arguments = TaskArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        mut arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let nothing = YieldContract::new(Box::new(engine::ports::AnyValue), Patience::COMMAND);
        let contract = std::mem::replace(&mut arguments.contract, nothing);
        let (lifecycle, effects) = Lifecycle::begin(contract, arguments.spec.change);
        let mut state = TaskState {
            lifecycle,
            report: None,
            began: Instant::now(),
            lease: None,
            writers: Writers::Stopped,
            executor: None,
            session: None,
            reminder: None,
            captured: None,
            crashes: CrashLog::default(),
            stopping: None,
            activity: Activity::of(&arguments.spec.work),
            jobs: Jobs::default(),
            span: tracing::info_span!(
                parent: None,
                "task",
                run = %arguments.run.name,
                task = %arguments.spec.name,
                id = %arguments.spec.id,
            ),
            arguments,
        };
        state.perform(&myself, effects).await?;
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let input = match message {
            TaskMessage::Cancel(how) => {
                if how == CancelLevel::AtOnce {
                    state.stop_session(how);
                }
                Input::Cancel
            }
            TaskMessage::Prepared(prepared) => Input::Prepared(state.keep(prepared)),
            TaskMessage::Leased(..) if state.stopping.is_some() => Input::SessionStopped,
            TaskMessage::Leased(place, Some(executor)) => {
                return state.start_session(&myself, &place, executor).await;
            }
            TaskMessage::Leased(_, None) => {
                Input::SessionCrashed("no executor answered".to_owned())
            }
            TaskMessage::Recorded(effect, Some(())) => {
                return state.perform_recorded(&myself, *effect);
            }
            // The ledger is gone and the engine is closing: what is not recorded is not done.
            TaskMessage::Recorded(effect, None) => match *effect {
                // The work is in the task store already.
                effect @ (Effect::Discard(_) | Effect::Keep(_)) => {
                    return state.perform_recorded(&myself, effect);
                }
                _ => Input::SessionCrashed("the ledger is gone".to_owned()),
            },
            TaskMessage::Cleared(..) if state.stopping.is_some() => Input::SessionStopped,
            TaskMessage::Cleared(_, Err(NoAnswer::Late)) => {
                Input::SessionCrashed("it crashed, and what it had started did not stop".to_owned())
            }
            // A crashed executor took its processes with it.
            TaskMessage::Cleared(place, Ok(()) | Err(NoAnswer::Died)) => {
                state.executor = None;
                return state.perform(&myself, vec![Effect::RunSession(place, None)]).await;
            }
            TaskMessage::SessionEnded(Some(end)) => {
                state.reminder = None;
                Input::SessionEnded(end)
            }
            TaskMessage::SessionEnded(None) => return Ok(()), // its death is told by supervision
            TaskMessage::WallReached => Input::WallReached(state.wall_reached()),
            TaskMessage::FarewellOver => {
                state.kill_session();
                return Ok(());
            }
            TaskMessage::Sealed(Ok(()) | Err(NoAnswer::Died)) => Input::Sealed,
            TaskMessage::Sealed(Err(NoAnswer::Late)) => Input::NotSealed(state.unsealed()),
            TaskMessage::Captured(captured) => state.note(captured),
            TaskMessage::Discarded => Input::Discarded,
            TaskMessage::Kept => Input::Kept,
            TaskMessage::News(news) => {
                state.hear(&myself, news);
                return Ok(());
            }
            TaskMessage::ProgressDue => {
                state.say_progress();
                return Ok(());
            }
        };
        let effects = state.lifecycle.step(input);
        state.perform(&myself, effects).await
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let effects = match event {
            SupervisionEvent::ActorFailed(_session, error) => {
                let budget = restarts(&state.arguments.spec.work);
                match (state.crashes.record(budget, Instant::now().into_std()), &state.lease) {
                    (Decision::Restart, Some(lease)) if state.stopping.is_none() => {
                        let place = lease.place.clone();
                        tracing::warn!(%error, "the session crashed and is started again");
                        state.clear(&myself, place);
                        return Ok(());
                    }
                    _ => state.lifecycle.step(Input::SessionCrashed(error.to_string())),
                }
            }
            // One that ended by itself has replied; only one that was killed is news.
            SupervisionEvent::ActorTerminated(_session, Some(mut last_state), _) => {
                let killed =
                    last_state.take::<SessionState>().is_ok_and(|last| last.is_unanswered());
                if !killed {
                    return Ok(());
                }
                state.lifecycle.step(Input::SessionStopped)
            }
            SupervisionEvent::ActorTerminated(_session, None, _) => {
                state.lifecycle.step(Input::SessionStopped)
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {
                return Ok(());
            }
        };
        state.perform(&myself, effects).await
    }
}

impl TaskState {
    pub(crate) fn into_report(self) -> Option<TaskReport> {
        self.report
    }

    async fn perform(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        effects: Vec<Effect>,
    ) -> Result<(), ActorProcessingErr> {
        for effect in effects {
            match effect {
                Effect::Prepare => self.prepare(myself),
                // Copying is not worth the trouble of being stopped half way.
                Effect::AbandonPreparing => self.progress(Phase::Stopping, None),
                Effect::RunSession(_, Some(reminder)) => self.go_on(myself, reminder),
                Effect::RunSession(workspace, None) => {
                    let entry = LedgerEntry::SessionStarted {
                        task: self.arguments.spec.id,
                        attempt: ATTEMPT,
                        workspace: workspace.root.display().to_string(),
                    };
                    self.record(myself, entry, Effect::RunSession(workspace, None));
                }
                Effect::StopSession => {
                    self.progress(Phase::Stopping, None);
                    self.stop_session(CancelLevel::Gently);
                    let patience = self.arguments.deps.policy.grace + FAREWELL;
                    self.remind(myself, patience, TaskMessage::FarewellOver);
                }
                Effect::AnnounceYield => self.tell(EventKind::TaskYielded { task: self.name() }),
                Effect::AnnounceReminder(Reminder { complaint, .. }) => {
                    self.tell(EventKind::ContractReminded { task: self.name(), complaint });
                }
                Effect::Seal(_) => self.seal(myself),
                Effect::Capture(_) => self.capture(myself),
                Effect::Discard(_) | Effect::Keep(_) => self.record_capture(myself, effect),
                Effect::Finish(outcome, captured) => {
                    if let Some(lease) = self.lease.take() {
                        // Discarded, or kept because not all of it was captured.
                        lease.settle(self.writers);
                    }
                    let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let report = TaskReport { outcome, captured, ms, usage: self.usage() };
                    self.span.in_scope(|| {
                        tracing::info!(outcome = word(&report.outcome), ms, "finished")
                    });
                    self.report = Some(report);
                    myself.stop(None);
                }
            }
        }
        Ok(())
    }

    /// Sends a message to ourselves later, unless we are gone by then.
    fn remind(&mut self, myself: &ActorRef<TaskMessage>, after: Duration, message: TaskMessage) {
        self.jobs.run(myself, tokio::time::sleep(after), |_slept| message);
    }

    fn stop_session(&mut self, how: CancelLevel) {
        self.stopping = Some(how);
        if let Some(session) = &self.session {
            let _over = session.cast(SessionMessage::Stop(how)); // it may have ended by itself
        }
    }

    fn kill_session(&self) {
        if let Some(session) = &self.session {
            session.kill();
        }
    }

    fn wall_reached(&self) -> Failure {
        let seconds = self.arguments.spec.limits.wall.as_secs_f64();
        let message = format!("it was stopped after {seconds} s, as long as it may run");
        Failure::new(FailureClass::Timeout, message)
    }

    fn unsealed(&mut self) -> Failure {
        self.writers = Writers::MayRemain;
        let seconds = SEALING.as_secs();
        self.span.in_scope(|| tracing::error!(seconds, "gave up stopping what still runs"));
        let message = format!(
            "what it started was killed and did not stop within {seconds} s, so nothing was captured"
        );
        Failure::new(FailureClass::Workspace, message)
    }

    fn tell(&self, news: EventKind) {
        self.arguments.news.tell(news);
    }

    fn name(&self) -> TaskName {
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

/// A session of a model is started again from its log, as long as it does not crash all the time.
const CRASHES: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

/// How often a crashed session is started again. A command may have effects outside its
/// workspace, so it is never run twice.
fn restarts(work: &Work) -> RestartBudget {
    match work {
        Work::Command(_) => RestartBudget::NONE,
        Work::Agent(_) => CRASHES,
    }
}
