//! The root of the supervision tree: starts the critical actors and closes them in order.

use std::sync::Arc;
use std::time::Duration;

use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use engine::request::GatePolicy;
use protocol::RunId;
use ractor::{
    Actor, ActorCell, ActorProcessingErr, ActorRef, RactorErr, RpcReplyPort, SupervisionEvent,
};
use tokio::sync::watch;

use crate::deps::Deps;
use crate::events::{EventBus, Events};
use crate::executors::{Executors, ExecutorsMessage};
use crate::gates::{GateHandle, Gates, GatesArguments, GatesMessage};
use crate::isolation::{Isolator, IsolatorArguments, IsolatorMessage};
use crate::job_names::Job;
use crate::jobs::Jobs;
use crate::ledger::{Ledger, LedgerArguments, LedgerMessage};
use crate::run::RunRequest;
use crate::runs::{Runs, RunsArguments, RunsMessage, Submission, SubmitError, Submitted};
use crate::sessions::{
    SessionOpening, Sessions, SessionsArguments, SessionsMessage, SessionsReply,
};
use crate::shutdown::{self, Activity};

pub(crate) struct Root;

pub(crate) struct RootArguments {
    pub(crate) deps: Deps,
    /// Set to the name and error of a critical actor that failed.
    pub(crate) fell: watch::Sender<Option<String>>,
}

pub(crate) enum RootMessage {
    Submit(Box<Submission>, RpcReplyPort<Result<Submitted, SubmitError>>),
    OpenSession(Box<SessionOpening>, SessionsReply),
    Cancel(RunId, CancelLevel, Interruption),
    /// A request to one run.
    Request(RunId, Box<RunRequest>),
    /// Returns a reader of all events from now on.
    Listen(RpcReplyPort<Events>),
    /// Cancels all runs, closes everything, then stops.
    Close,
    /// The pause of a shutdown is over. Contains the value of the activity counter at its
    /// beginning; `None` if the timer crashed.
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

/// Whether a child that a shutdown waits for is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Child {
    There,
    Gone,
}

/// The children of the root.
pub(crate) struct RootState {
    ledger: ActorRef<LedgerMessage>,
    isolator: ActorRef<IsolatorMessage>,
    executors: ActorRef<ExecutorsMessage>,
    gates: ActorRef<GatesMessage>,
    sessions: (ActorRef<SessionsMessage>, Child),
    runs: (ActorRef<RunsMessage>, Child),
    events: EventBus,
    fell: watch::Sender<Option<String>>,
    closing: Closing,
    activity: Activity,
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
        let RootArguments { deps, fell } = engine;
        let cell = || myself.get_cell();
        let jobs = Jobs::new(&deps.faults);
        let arguments = LedgerArguments {
            store: Arc::clone(&deps.ledger),
            clock: Arc::clone(&deps.clock),
            faults: deps.faults.clone(),
        };
        let (ledger, _join) = Actor::spawn_linked(None, Ledger, arguments, cell()).await?;
        let activity = Activity::default();
        let events = EventBus::new(activity.clone());
        let arguments =
            IsolatorArguments { activity: activity.clone(), faults: deps.faults.clone() };
        let (isolator, _join) = Actor::spawn_linked(None, Isolator, arguments, cell()).await?;
        let (executors, _join) = Actor::spawn_linked(None, Executors, deps.clone(), cell()).await?;
        let arguments = GatesArguments {
            policy: GatePolicy::from(&deps.policy.requests),
            faults: deps.faults.clone(),
        };
        let (gates, _join) = Actor::spawn_linked(None, Gates, arguments, cell()).await?;
        let gate = Arc::new(GateHandle(gates.clone()));
        let arguments = SessionsArguments {
            executors: executors.clone(),
            deps: deps.clone(),
            gate: gate.clone(),
            events: events.clone(),
        };
        let (sessions, _join) = Actor::spawn_linked(None, Sessions, arguments, cell()).await?;
        let arguments = RunsArguments {
            isolator: isolator.clone(),
            executors: executors.clone(),
            gate,
            ledger: ledger.clone(),
            deps,
            events: events.clone(),
        };
        let (runs, _join) = Actor::spawn_linked(None, Runs, arguments, cell()).await?;
        Ok(RootState {
            ledger,
            isolator,
            executors,
            gates,
            sessions: (sessions, Child::There),
            runs: (runs, Child::There),
            events,
            fell,
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
            // Should the runs be gone, the dropped reply port says so.
            RootMessage::Submit(submission, reply) => {
                let _gone = state.runs.0.cast(RunsMessage::Submit(submission, reply));
            }
            RootMessage::OpenSession(opening, reply) => {
                let _gone = state.sessions.0.cast(SessionsMessage::Open(opening, reply));
            }
            RootMessage::Cancel(run, how, why) => {
                let _gone = state.runs.0.cast(RunsMessage::Cancel(run, how, why));
            }
            RootMessage::Request(run, request) => {
                let _gone = state.runs.0.cast(RunsMessage::Request(run, request));
            }
            RootMessage::Listen(reply) => {
                let _gone = reply.send(state.events.subscribe());
            }
            RootMessage::Close => state.close(&myself),
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
        match event {
            SupervisionEvent::ActorFailed(child, error) => {
                state.gone(&child);
                if let Some(critical) = state.critical(&child) {
                    tracing::error!(critical, %error, "a critical actor failed");
                    state.fell(|| format!("{critical}: {}", chain(error.as_ref())));
                    state.close(&myself);
                    if child.get_id() == state.isolator.get_id() {
                        myself.stop(None);
                    }
                }
            }
            SupervisionEvent::ActorTerminated(child, ..) => {
                state.gone(&child);
                if child.get_id() == state.isolator.get_id() {
                    myself.stop(None); // it was the last that had obligations
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        state.close_repositories(&myself);
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // One that has failed already must not keep the others from being closed.
        let stopped = state.executors.stop_and_wait(None, Some(shutdown::EXECUTORS)).await;
        if let Err(RactorErr::Timeout) = stopped {
            state.give_up("the executors", shutdown::EXECUTORS);
        }
        // Drained rather than stopped: entries are in its mailbox.
        if let Err(RactorErr::Timeout) = state.ledger.drain_and_wait(Some(shutdown::LEDGER)).await {
            state.give_up("the ledger", shutdown::LEDGER);
        }
        Ok(())
    }
}

impl RootState {
    fn close(&mut self, myself: &ActorRef<RootMessage>) {
        if self.closing == Closing::No {
            self.closing = Closing::Work;
            // Where one is dead, its end is on the way.
            let _dead = self.runs.0.cast(RunsMessage::Close);
            let _dead = self.sessions.0.cast(SessionsMessage::CloseAll);
            self.look_again(myself);
            self.close_repositories(myself);
        }
    }

    /// Records that a child is gone.
    fn gone(&mut self, child: &ActorCell) {
        if child.get_id() == self.runs.0.get_id() {
            self.runs.1 = Child::Gone;
        }
        if child.get_id() == self.sessions.0.get_id() {
            self.sessions.1 = Child::Gone;
        }
    }

    /// Closes the repositories once runs and sessions are over.
    fn close_repositories(&mut self, myself: &ActorRef<RootMessage>) {
        let left = (self.runs.1, self.sessions.1);
        if self.closing == Closing::Work && left == (Child::Gone, Child::Gone) {
            self.closing = Closing::Repositories;
            // The isolator sees every capture through and then stops; if it fell, so do we.
            if self.isolator.cast(IsolatorMessage::Close).is_err() {
                myself.stop(None);
            }
        }
    }

    /// Returns what the shutdown waits for.
    fn waited_for(&self) -> &'static str {
        match (self.runs.1, self.sessions.1) {
            (Child::There, Child::There) => "the runs and the sessions",
            (Child::There, Child::Gone) => "the runs",
            (Child::Gone, Child::There) => "the sessions",
            (Child::Gone, Child::Gone) => "the repositories",
        }
    }

    /// Checks again after a pause whether there was any activity.
    fn look_again(&mut self, myself: &ActorRef<RootMessage>) {
        let (pause, before) = (tokio::time::sleep(shutdown::STANDSTILL), self.activity.count());
        self.jobs.run(Job::RootWatch, myself, pause, move |slept| {
            RootMessage::StillClosing(slept.ok().map(|()| before))
        });
    }

    fn still_closing(&mut self, myself: &ActorRef<RootMessage>, before: Option<u64>) {
        if before != Some(self.activity.count()) {
            return self.look_again(myself);
        }
        self.give_up(self.waited_for(), shutdown::STANDSTILL);
        myself.stop(None);
    }

    /// Gives up waiting, and records it as an error. The next start of the program recovers the
    /// unfinished runs.
    fn give_up(&self, what: &str, after: Duration) {
        let seconds = after.as_secs();
        tracing::error!(what, seconds, "gave up waiting while closing");
        self.fell(|| format!("gave up waiting for {what} after {seconds} s"));
    }

    /// Sets the reason why the engine cannot continue. Later reasons are ignored.
    fn fell(&self, why: impl FnOnce() -> String) {
        self.fell.send_if_modified(|fell| {
            let first = fell.is_none();
            fell.get_or_insert_with(why);
            first
        });
    }

    /// Returns the name of a critical child.
    fn critical(&self, child: &ActorCell) -> Option<&'static str> {
        let id = child.get_id();
        let critical = [
            (self.ledger.get_id(), "the ledger"),
            (self.isolator.get_id(), "the isolator"),
            (self.executors.get_id(), "the executors"),
            (self.gates.get_id(), "the gates"),
            (self.sessions.0.get_id(), "the sessions"),
            (self.runs.0.get_id(), "the runs"),
        ];
        critical.into_iter().find(|(critical, _)| *critical == id).map(|(_, name)| name)
    }
}

/// Formats an error with its sources in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        line = format!("{line}: {source}");
        next = source.source();
    }
    line
}
