//! The root of the supervision tree: starts the critical actors and closes them in order.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, LedgerError};
use engine::request::GatePolicy;
use engine::schedule::Places;
use protocol::{Failure, FailureClass, RunId, error_chain};
use ractor::{Actor, ActorProcessingErr, ActorRef, RactorErr, RpcReplyPort, SupervisionEvent};
use tokio::sync::watch;

use crate::child::start_child;
use crate::deps::Deps;
use crate::events::{EventBus, EventFilter, Events};
use crate::executors::{Executors, ExecutorsArguments};
use crate::gates::{GateHandle, Gates, GatesArguments};
use crate::isolation::{Isolator, IsolatorArguments, IsolatorMessage};
use crate::job::Job;
use crate::jobs::Jobs;
use crate::ledger::{Ledger, LedgerArguments};
use crate::messaging::answer;
use crate::root_children::{ChildName, Children};
use crate::run::RunRequest;
use crate::runs::{Runs, RunsArguments, RunsMessage, Submission, SubmitError, Submitted};
use crate::services::{Services, ServicesMessage};
use crate::sessions::{
    SessionOpening, Sessions, SessionsArguments, SessionsMessage, SessionsReply,
};
use crate::shutdown_limits::{self, ActivityCounter};

pub(crate) struct Root;

pub(crate) struct RootArguments {
    pub(crate) deps: Arc<Deps>,
    /// Set to the reason why the engine cannot continue: the name and error of a critical actor
    /// that failed, or what a shutdown has given up waiting for. Its class is `resources` if there is
    /// no room for the ledger; otherwise it is a crash.
    pub(crate) failure: watch::Sender<Option<Failure>>,
}

pub(crate) enum RootMessage {
    Submit(Box<Submission>, RpcReplyPort<Result<Submitted, SubmitError>>),
    OpenSession(Box<SessionOpening>, SessionsReply),
    Cancel(RunId, CancelLevel, Interruption),
    /// A request to one run.
    Request(RunId, Box<RunRequest>),
    /// Changes how many tasks work at the same time.
    SetCapacity(NonZeroUsize),
    /// Returns how many tasks may work at the same time, and how many do.
    Places(RpcReplyPort<Places>),
    /// Returns a reader of the events that pass a filter, from now on.
    Listen(EventFilter, RpcReplyPort<Events>),
    /// Cancels all runs, closes everything, then stops.
    Close,
    /// It is time to check whether a shutdown makes progress. Contains the value of the activity
    /// counter at the last check; `None` if the job that waited panicked.
    StillClosing(Option<u64>),
}

/// The progress of a shutdown. Runs and sessions are over when their actors have ended, normally
/// or by a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// Waits for runs and sessions.
    Work,
    /// Waits until the isolator has closed the repositories.
    Repositories,
}

/// The state of the root: its children, and the progress of a shutdown.
pub(crate) struct RootState {
    children: Children,
    isolator: ActorRef<IsolatorMessage>,
    services: ActorRef<ServicesMessage>,
    sessions: ActorRef<SessionsMessage>,
    runs: ActorRef<RunsMessage>,
    events: EventBus,
    failure: watch::Sender<Option<Failure>>,
    closing: Closing,
    activity: ActivityCounter,
    jobs: Jobs,
}

impl Actor for Root {
    type Msg = RootMessage;
    type State = RootState;
    type Arguments = RootArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        engine: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let RootArguments { deps, failure } = engine;
        let cell = || myself.get_cell();
        let jobs = Jobs::new(&deps.faults);
        let arguments = LedgerArguments {
            store: Arc::clone(&deps.ledger),
            clock: Arc::clone(&deps.clock),
            faults: deps.faults.clone(),
        };
        let ledger = start_child(Ledger, arguments, cell()).await?;
        let activity = ActivityCounter::default();
        let events = EventBus::new(activity.clone());
        let arguments =
            IsolatorArguments { activity: activity.clone(), faults: deps.faults.clone() };
        let isolator = start_child(Isolator, arguments, cell()).await?;
        let services = start_child(Services, deps.clone(), cell()).await?;
        let arguments = ExecutorsArguments { deps: deps.clone(), services: services.clone() };
        let executors = start_child(Executors, arguments, cell()).await?;
        let arguments = GatesArguments {
            policy: GatePolicy::from(&deps.policy.requests),
            store: deps.gates.clone(),
            faults: deps.faults.clone(),
        };
        let gates = start_child(Gates, arguments, cell()).await?;
        let gate = Arc::new(GateHandle(gates.clone()));
        let arguments = SessionsArguments {
            executors: executors.clone(),
            deps: deps.clone(),
            gate: gate.clone(),
            events: events.clone(),
        };
        let sessions = start_child(Sessions, arguments, cell()).await?;
        let arguments = RunsArguments {
            isolator: isolator.clone(),
            executors: executors.clone(),
            gate,
            ledger: ledger.clone(),
            deps,
            events: events.clone(),
        };
        let runs = start_child(Runs, arguments, cell()).await?;
        let children = Children::new([
            (ChildName::Ledger, ledger.get_cell()),
            (ChildName::Isolator, isolator.get_cell()),
            (ChildName::Services, services.get_cell()),
            (ChildName::Executors, executors.get_cell()),
            (ChildName::Gates, gates.get_cell()),
            (ChildName::Sessions, sessions.get_cell()),
            (ChildName::Runs, runs.get_cell()),
        ]);
        Ok(RootState {
            children,
            isolator,
            services,
            sessions,
            runs,
            events,
            failure,
            closing: Closing::No,
            activity,
            jobs,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            // If the receiving actor has stopped, the dropped reply port tells the caller.
            RootMessage::Submit(submission, reply) => {
                let _gone = state.runs.cast(RunsMessage::Submit(submission, reply));
            }
            RootMessage::OpenSession(opening, reply) => {
                let _gone = state.sessions.cast(SessionsMessage::Open(opening, reply));
            }
            RootMessage::Cancel(run, how, why) => {
                let _gone = state.runs.cast(RunsMessage::Cancel(run, how, why));
            }
            RootMessage::Request(run, request) => {
                let _gone = state.runs.cast(RunsMessage::Request(run, request));
            }
            RootMessage::SetCapacity(capacity) => {
                let _gone = state.runs.cast(RunsMessage::SetCapacity(capacity));
            }
            RootMessage::Places(reply) => {
                let _gone = state.runs.cast(RunsMessage::Places(reply));
            }
            RootMessage::Listen(filter, reply) => {
                let _gone = reply.send(state.events.subscribe(filter));
            }
            RootMessage::Close => state.close(&myself, Interruption::Terminate),
            RootMessage::StillClosing(before) => state.still_closing(&myself, before),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (child, error) = match event {
            SupervisionEvent::ActorFailed(child, error) => (child, Some(error)),
            SupervisionEvent::ActorTerminated(child, ..) => (child, None),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {
                return Ok(());
            }
        };
        let child = state.children.end(&child);
        if let (Some(child), Some(error)) = (child, error) {
            let name = child.name();
            tracing::error!(name, %error, "a child of the root failed");
            if child.is_critical() {
                let (failure, why) = failure(name, error.as_ref());
                state.fail(|| failure);
                state.close(&myself, why);
            }
        }
        if child == Some(ChildName::Isolator) {
            myself.stop(None); // it stops after the runs and sessions
        }
        state.close_repositories(&myself);
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // They end their servers side by side. If they have failed, their servers have ended with them.
        let closed = answer(&state.services, ServicesMessage::Close);
        let _late = tokio::time::timeout(shutdown_limits::SERVICES, closed).await;
        for (child, limit) in [
            (ChildName::Services, shutdown_limits::SERVICES),
            (ChildName::Executors, shutdown_limits::EXECUTORS),
            (ChildName::Ledger, shutdown_limits::LEDGER),
        ] {
            let Some(cell) = state.children.running(child) else { continue };
            // An actor that has failed already returns an error other than a timeout. That error is
            // ignored, so that the next actor is closed as well.
            let is_late = match child {
                // Drained rather than stopped: entries are in its mailbox.
                ChildName::Ledger => {
                    matches!(cell.drain_and_wait(Some(limit)).await, Err(RactorErr::Timeout))
                }
                _ => matches!(cell.stop_and_wait(None, Some(limit)).await, Err(RactorErr::Timeout)),
            };
            if is_late {
                state.give_up(child.name(), limit);
            }
        }
        Ok(())
    }
}

impl RootState {
    fn close(&mut self, myself: &ActorRef<RootMessage>, why: Interruption) {
        if self.closing == Closing::No {
            self.closing = Closing::Work;
            // If one of them has stopped already, its supervision event reports that.
            let _dead = self.runs.cast(RunsMessage::Close(why));
            let _dead = self.sessions.cast(SessionsMessage::CloseAll);
            self.look_again(myself);
            self.close_repositories(myself);
        }
    }

    /// Closes the repositories once runs and sessions are over.
    fn close_repositories(&mut self, myself: &ActorRef<RootMessage>) {
        let is_over = |child| self.children.running(child).is_none();
        let is_over = is_over(ChildName::Runs) && is_over(ChildName::Sessions);
        if self.closing == Closing::Work && is_over {
            self.closing = Closing::Repositories;
            // The isolator stops when all captures are finished. If it has stopped already, the
            // root stops here.
            if self.isolator.cast(IsolatorMessage::Close).is_err() {
                myself.stop(None);
            }
        }
    }

    /// Returns what the shutdown waits for.
    fn waited_for(&self) -> &'static str {
        let is_there = |child| self.children.running(child).is_some();
        match (is_there(ChildName::Runs), is_there(ChildName::Sessions)) {
            (true, true) => "the runs and the sessions",
            (true, false) => "the runs",
            (false, true) => "the sessions",
            (false, false) => "the repositories",
        }
    }

    /// Checks again after a pause whether there was any activity.
    fn look_again(&mut self, myself: &ActorRef<RootMessage>) {
        let (pause, before) =
            (tokio::time::sleep(shutdown_limits::STALL_LIMIT), self.activity.count());
        self.jobs.run(Job::RootWatch, myself, pause, move |slept| {
            RootMessage::StillClosing(slept.ok().map(|()| before))
        });
    }

    fn still_closing(&mut self, myself: &ActorRef<RootMessage>, before: Option<u64>) {
        if before != Some(self.activity.count()) {
            return self.look_again(myself);
        }
        self.give_up(self.waited_for(), shutdown_limits::STALL_LIMIT);
        myself.stop(None);
    }

    /// Gives up waiting, and records it as an error. The next start of the program recovers the
    /// unfinished runs.
    fn give_up(&self, what: &str, after: Duration) {
        let seconds = after.as_secs();
        tracing::error!(what, seconds, "gave up waiting while closing");
        let message = format!("gave up waiting for {what} after {seconds} s");
        self.fail(|| Failure::new(FailureClass::Crashed, message));
    }

    /// Sets the reason why the engine cannot continue. Later reasons are ignored.
    fn fail(&self, why: impl FnOnce() -> Failure) {
        self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert_with(why);
            first
        });
    }
}

/// Returns the failure of a critical actor, and why it interrupts the runs.
fn failure(
    critical: &str,
    error: &(dyn std::error::Error + Send + Sync + 'static),
) -> (Failure, Interruption) {
    let shortage = error.downcast_ref::<LedgerError>().map(LedgerError::to_failure);
    match shortage.filter(|failure| failure.class == FailureClass::Resources) {
        Some(failure) => (failure, Interruption::Resources),
        None => {
            let message = format!("{critical}: {}", error_chain(error));
            (Failure::new(FailureClass::Crashed, message), Interruption::Bug)
        }
    }
}
