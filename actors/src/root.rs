//! The root of the tree: opens the engine in order, closes it in reverse.

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

use crate::ask::ask;
use crate::closing::{self, Activity};
use crate::deps::Deps;
use crate::events::{EventBus, Events};
use crate::executors::{Executors, ExecutorsMessage};
use crate::gates::{GateHandle, Gates, GatesArguments, GatesMessage};
use crate::isolation::{Isolator, IsolatorMessage};
use crate::jobs::Jobs;
use crate::ledger::{Ledger, LedgerArguments, LedgerMessage};
use crate::run::RunRequest;
use crate::runs::{Runs, RunsArguments, RunsMessage, Submission, SubmitError, Submitted};
use crate::sessions::{
    SessionOpening, Sessions, SessionsArguments, SessionsMessage, SessionsReply,
};

/// What is waited for first when the engine closes, and what of it may be left.
const ALL: &str = "the runs and the sessions";
const RUNS: &str = "the runs";
const SESSIONS: &str = "the sessions";

pub(crate) struct Root;

pub(crate) struct RootArguments {
    pub(crate) deps: Deps,
    /// Told which pillar fell, if one does.
    pub(crate) fell: watch::Sender<Option<String>>,
}

pub(crate) enum RootMessage {
    Submit(Box<Submission>, RpcReplyPort<Result<Submitted, SubmitError>>),
    OpenSession(Box<SessionOpening>, SessionsReply),
    Cancel(RunId, CancelLevel, Interruption),
    /// Something is asked of one run.
    Request(RunId, Box<RunRequest>),
    /// Hands out everything that happens from now on.
    Listen(RpcReplyPort<Events>),
    /// Cancels everything, gives every workspace back, then stops.
    Close,
    /// No session is open any more, or whoever owned them is gone.
    SessionsClosed,
    /// Nothing runs any more, or whoever ran it is gone.
    RunsClosed,
    /// A while has passed since so much had happened.
    StillClosing(u64),
}

/// The children the root answers for.
pub(crate) struct RootState {
    ledger: ActorRef<LedgerMessage>,
    isolator: ActorRef<IsolatorMessage>,
    executors: ActorRef<ExecutorsMessage>,
    gates: ActorRef<GatesMessage>,
    sessions: ActorRef<SessionsMessage>,
    runs: ActorRef<RunsMessage>,
    events: EventBus,
    fell: watch::Sender<Option<String>>,
    /// What is waited for, once the engine is closing.
    closing: Option<&'static str>,
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
        let arguments =
            LedgerArguments { store: Arc::clone(&deps.ledger), clock: Arc::clone(&deps.clock) };
        let (ledger, _join) = Actor::spawn_linked(None, Ledger, arguments, cell()).await?;
        let activity = Activity::default();
        let events = EventBus::new(activity.clone());
        let (isolator, _join) =
            Actor::spawn_linked(None, Isolator, activity.clone(), cell()).await?;
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
            sessions,
            runs,
            events,
            fell,
            closing: None,
            activity,
            jobs: Jobs::default(),
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
            RootMessage::Listen(reply) => {
                let _gone = reply.send(state.events.subscribe());
            }
            RootMessage::Close => state.close(&myself),
            RootMessage::RunsClosed if state.closing == Some(ALL) => state.closing = Some(SESSIONS),
            RootMessage::SessionsClosed if state.closing == Some(ALL) => state.closing = Some(RUNS),
            RootMessage::RunsClosed | RootMessage::SessionsClosed => {
                state.closing = Some("the repositories");
                // The isolator sees every capture through and then stops; if it fell, so do we.
                if state.isolator.cast(IsolatorMessage::Close).is_err() {
                    myself.stop(None);
                }
            }
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
                if let Some(pillar) = state.pillar(&child) {
                    tracing::error!(pillar, %error, "a pillar of the engine fell");
                    state.fell(|| format!("{pillar}: {}", chain(error.as_ref())));
                    state.close(&myself);
                    if child.get_id() == state.isolator.get_id() {
                        myself.stop(None);
                    }
                }
            }
            SupervisionEvent::ActorTerminated(child, ..) => {
                if child.get_id() == state.isolator.get_id() {
                    myself.stop(None); // it was the last that had obligations
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // A pillar that already fell must not keep us from the rest.
        let stopped = state.executors.stop_and_wait(None, Some(closing::EXECUTORS)).await;
        if let Err(RactorErr::Timeout) = stopped {
            state.give_up("the executors", closing::EXECUTORS);
        }
        // Drained rather than stopped: entries are in its mailbox.
        if let Err(RactorErr::Timeout) = state.ledger.drain_and_wait(Some(closing::LEDGER)).await {
            state.give_up("the ledger", closing::LEDGER);
        }
        Ok(())
    }
}

impl RootState {
    fn close(&mut self, myself: &ActorRef<RootMessage>) {
        if self.closing.is_none() {
            self.closing = Some(ALL);
            let runs = self.runs.clone();
            ask(&mut self.jobs, myself, &runs, RunsMessage::Close, |_| RootMessage::RunsClosed);
            let (sessions, close) = (self.sessions.clone(), SessionsMessage::CloseAll);
            ask(&mut self.jobs, myself, &sessions, close, |_| RootMessage::SessionsClosed);
            self.look_again(myself);
        }
    }

    /// Looks later whether anything has happened until then.
    fn look_again(&mut self, myself: &ActorRef<RootMessage>) {
        let (pause, before) = (tokio::time::sleep(closing::STANDSTILL), self.activity.count());
        self.jobs.run(myself, pause, move |_slept| RootMessage::StillClosing(before));
    }

    fn still_closing(&mut self, myself: &ActorRef<RootMessage>, before: u64) {
        if self.activity.count() != before {
            return self.look_again(myself);
        }
        self.give_up(self.closing.unwrap_or_default(), closing::STANDSTILL);
        myself.stop(None);
    }

    /// Notes that something is not waited for any more. What it held is for the next start.
    fn give_up(&self, what: &str, after: Duration) {
        let seconds = after.as_secs();
        tracing::error!(what, seconds, "gave up waiting while closing");
        self.fell(|| format!("gave up waiting for {what} after {seconds} s"));
    }

    /// Notes why the engine cannot go on. The first reason counts.
    fn fell(&self, why: impl FnOnce() -> String) {
        self.fell.send_if_modified(|fell| {
            let first = fell.is_none();
            fell.get_or_insert_with(why);
            first
        });
    }

    /// The name of a child without which the engine cannot go on.
    fn pillar(&self, child: &ActorCell) -> Option<&'static str> {
        let id = child.get_id();
        let pillars = [
            (self.ledger.get_id(), "the ledger"),
            (self.isolator.get_id(), "the isolator"),
            (self.executors.get_id(), "the executors"),
            (self.gates.get_id(), "the gates"),
            (self.sessions.get_id(), "the sessions"),
            (self.runs.get_id(), "the runs"),
        ];
        pillars.into_iter().find(|(pillar, _)| *pillar == id).map(|(_, name)| name)
    }
}

/// Returns an error and everything behind it in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        line = format!("{line}: {source}");
        next = source.source();
    }
    line
}
