//! The root of the tree: opens the house in order, closes it in reverse.

use std::sync::Arc;

use engine::verdict::Interruption;
use protocol::{Event, RunId};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::sync::{mpsc, watch};

use crate::ask::ask;
use crate::events::{Ear, EventBus, Events};
use crate::executors::{Executors, ExecutorsMessage};
use crate::house::Means;
use crate::isolation::{Isolator, IsolatorMessage};
use crate::jobs::Jobs;
use crate::ledger::{Ledger, LedgerArguments, LedgerMessage};
use crate::run::Cancelling;
use crate::runs::{Runs, RunsArguments, RunsMessage, Submission, SubmitError, Submitted};

pub(crate) struct Root;

pub(crate) struct RootArguments {
    pub(crate) means: Means,
    /// Told which pillar fell, if one does.
    pub(crate) fell: watch::Sender<Option<String>>,
}

pub(crate) enum RootMessage {
    Submit(Submission, RpcReplyPort<Result<Submitted, SubmitError>>),
    Cancel(RunId, Cancelling, Interruption),
    /// Hands out everything that happens from now on.
    Listen(RpcReplyPort<Events>),
    /// Cancels everything, gives every workspace back, then stops.
    Close,
    /// Nothing runs any more, or whoever ran it is gone.
    RunsClosed,
}

/// The children the root answers for.
pub(crate) struct RootState {
    ledger: ActorRef<LedgerMessage>,
    isolator: ActorRef<IsolatorMessage>,
    executors: ActorRef<ExecutorsMessage>,
    runs: ActorRef<RunsMessage>,
    events: EventBus,
    fell: watch::Sender<Option<String>>,
    closing: bool,
    jobs: Jobs,
}

impl Actor for Root {
    type Msg = RootMessage;
    type State = RootState;
    type Arguments = RootArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        house: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let RootArguments { means, fell } = house;
        let cell = || myself.get_cell();
        let arguments =
            LedgerArguments { store: Arc::clone(&means.ledger), clock: Arc::clone(&means.clock) };
        let (ledger, _join) = Actor::spawn_linked(None, Ledger, arguments, cell()).await?;
        let (isolator, _join) = Actor::spawn_linked(None, Isolator, (), cell()).await?;
        let commands = Arc::clone(&means.commands);
        let (executors, _join) = Actor::spawn_linked(None, Executors, commands, cell()).await?;
        let events = EventBus::default();
        let arguments = RunsArguments {
            isolator: isolator.clone(),
            executors: executors.clone(),
            ledger: ledger.clone(),
            means,
            events: events.clone(),
        };
        let (runs, _join) = Actor::spawn_linked(None, Runs, arguments, cell()).await?;
        let jobs = Jobs::default();
        Ok(RootState { ledger, isolator, executors, runs, events, fell, closing: false, jobs })
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
            RootMessage::Cancel(run, how, why) => {
                let _gone = state.runs.cast(RunsMessage::Cancel(run, how, why));
            }
            RootMessage::Listen(reply) => {
                let (sender, events) = mpsc::unbounded_channel::<Arc<Event>>();
                let (ear, _join) =
                    Actor::spawn_linked(None, Ear, sender, myself.get_cell()).await?;
                state.events.subscribe(ear);
                let _gone = reply.send(events);
            }
            RootMessage::Close => state.close(&myself),
            RootMessage::RunsClosed => {
                // The isolator sees every capture through and then stops; if it fell, so do we.
                if state.isolator.cast(IsolatorMessage::Close).is_err() {
                    myself.stop(None);
                }
            }
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
                    tracing::error!(pillar, %error, "a pillar of the house fell");
                    state.fell.send_if_modified(|fell| {
                        let first = fell.is_none();
                        fell.get_or_insert_with(|| format!("{pillar}: {}", chain(error.as_ref())));
                        first
                    });
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
        let _fallen = state.executors.stop_and_wait(None, None).await;
        // Drained rather than stopped: entries are in its mailbox.
        let _fallen = state.ledger.drain_and_wait(None).await;
        Ok(())
    }
}

impl RootState {
    fn close(&mut self, myself: &ActorRef<RootMessage>) {
        if !std::mem::replace(&mut self.closing, true) {
            let runs = self.runs.clone();
            ask(&mut self.jobs, myself, &runs, RunsMessage::Close, |_| RootMessage::RunsClosed);
        }
    }

    /// The name of a child without which the house cannot go on.
    fn pillar(&self, child: &ActorCell) -> Option<&'static str> {
        let id = child.get_id();
        let pillars = [
            (self.ledger.get_id(), "the ledger"),
            (self.isolator.get_id(), "the isolator"),
            (self.executors.get_id(), "the executors"),
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
