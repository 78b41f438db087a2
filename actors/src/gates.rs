//! Supervises the gates, one for each provider account.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{Gate as GatePort, GateEvent, GateRequest, GateStore};
use engine::request::GatePolicy;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

mod account_queue;
mod gate;
mod wait_clock;

use gate::{Gate, GateArguments, GateMessage};
pub(crate) use wait_clock::{WaitClock, Waits};

use crate::child::start_child;

pub(crate) struct Gates;

#[derive(Clone)]
pub(crate) struct GatesArguments {
    /// The limits of every account.
    pub(crate) policy: GatePolicy,
    /// Where engines share what they know about accounts, if they do.
    pub(crate) store: Option<Arc<dyn GateStore>>,
    pub(crate) faults: Faults,
}

pub(crate) enum GatesMessage {
    /// Queues a request at the gate of its account.
    Acquire(Box<GateRequest>, UnboundedSender<GateEvent>),
    /// A request that waited at the gate of this account was given up.
    GivenUp(String),
}

pub(crate) struct GatesState {
    arguments: GatesArguments,
    /// The gate of each account, by what identifies it.
    gates: BTreeMap<String, ActorRef<GateMessage>>,
}

impl Actor for Gates {
    type Msg = GatesMessage;
    type State = GatesState;
    type Arguments = GatesArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(GatesState { arguments, gates: BTreeMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GatesMessage::Acquire(request, queue) => {
                let gate = match state.gates.get(request.account.identity()) {
                    Some(gate) => gate.clone(),
                    None => state.open(&myself, &request).await?,
                };
                // If the gate has just crashed, the failed cast drops its channel, which tells the
                // session.
                let _crashed = gate.cast(GateMessage::Acquire(request, queue));
            }
            GatesMessage::GivenUp(identity) => {
                if let Some(gate) = state.gates.get(&identity) {
                    let _crashed = gate.cast(GateMessage::GivenUp); // nothing waits there then
                }
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // A request that waited at the crashed gate sees its queue end and asks again, which starts
        // a new gate. Requests under way continue; the new gate does not count them.
        if let SupervisionEvent::ActorFailed(crashed, error) = event {
            tracing::error!(%error, "the gate of an account crashed");
            state.gates.retain(|_, gate| gate.get_id() != crashed.get_id());
        }
        Ok(())
    }
}

impl GatesState {
    /// Starts the gate of the account of a request.
    async fn open(
        &mut self,
        myself: &ActorRef<GatesMessage>,
        request: &GateRequest,
    ) -> Result<ActorRef<GateMessage>, ActorProcessingErr> {
        let GatesArguments { policy, store, faults } = self.arguments.clone();
        let GateRequest { account, limits, .. } = request;
        let policy = GatePolicy {
            account: Some(account.clone()),
            concurrency: limits.concurrency.or(policy.concurrency),
            per_minute: limits.per_minute,
            ..policy
        };
        let arguments = GateArguments { account: account.clone(), policy, store, faults };
        let gate = start_child(Gate, arguments, myself.get_cell()).await?;
        self.gates.insert(account.identity().to_owned(), gate.clone());
        Ok(gate)
    }
}

/// The gates of all accounts, as sessions see them.
pub(crate) struct GateHandle(pub(crate) ActorRef<GatesMessage>);

impl GatePort for GateHandle {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        let (queue, mut events) = unbounded_channel();
        let mut place = QueuePlace {
            gates: self.0.clone(),
            identity: Some(request.account.identity().to_owned()),
        };
        // If this actor is gone because the engine closes, the cast fails and the stream ends.
        let _closing = self.0.cast(GatesMessage::Acquire(Box::new(request), queue));
        let events = stream::poll_fn(move |context| events.poll_recv(context));
        let events = events.inspect(move |event| {
            let place = &mut place;
            match event {
                GateEvent::Waiting(_) | GateEvent::Unshared(_) => {}
                GateEvent::Admitted(_) | GateEvent::Refused(_) => place.identity = None,
            }
        });
        events.boxed()
    }
}

/// The place of a request in its queue. Dropping it gives it up, unless its end has come.
struct QueuePlace {
    gates: ActorRef<GatesMessage>,
    /// The account; absent when the request no longer waits.
    identity: Option<String>,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if let Some(identity) = self.identity.take() {
            let _closing = self.gates.cast(GatesMessage::GivenUp(identity)); // nothing waits then
        }
    }
}
