//! Supervises the gates, one for each provider account.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::{AccountId, Gate as GatePort, GateEvent, Requester};
use engine::request::GatePolicy;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::mpsc::unbounded_channel;

mod gate;

use gate::{Gate, GateArguments, GateMessage, Waiting};

pub(crate) struct Gates;

#[derive(Clone)]
pub(crate) struct GatesArguments {
    /// The limits of every account.
    pub(crate) policy: GatePolicy,
    pub(crate) faults: Faults,
}

pub(crate) enum GatesMessage {
    /// Queues a request at the gate of its account.
    Acquire(AccountId, Waiting),
}

pub(crate) struct GatesState {
    arguments: GatesArguments,
    gates: BTreeMap<AccountId, ActorRef<GateMessage>>,
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
        let GatesMessage::Acquire(account, waiting) = message;
        let gate = if let Some(gate) = state.gates.get(&account) {
            gate.clone()
        } else {
            let arguments = GateArguments {
                account: account.clone(),
                policy: state.arguments.policy,
                faults: state.arguments.faults.clone(),
            };
            let (gate, _join) =
                Actor::spawn_linked(None, Gate, arguments, myself.get_cell()).await?;
            state.gates.insert(account, gate.clone());
            gate
        };
        // If the gate has just crashed, the failed cast drops its channel, which tells the session.
        let _crashed = gate.cast(GateMessage::Acquire(waiting));
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

/// The gates of all accounts, as sessions see them.
pub(crate) struct GateHandle(pub(crate) ActorRef<GatesMessage>);

impl GatePort for GateHandle {
    fn acquire(
        &self,
        account: &AccountId,
        requester: Requester,
        retries: u32,
    ) -> BoxStream<'static, GateEvent> {
        let (queue, mut events) = unbounded_channel();
        // If this actor is gone because the engine closes, the cast fails and the stream ends.
        let _closing = self
            .0
            .cast(GatesMessage::Acquire(account.clone(), Waiting { requester, retries, queue }));
        stream::poll_fn(move |context| events.poll_recv(context)).boxed()
    }
}
