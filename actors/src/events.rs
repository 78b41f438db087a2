//! Carries events from the runs that cause them to everyone who listens.

use std::sync::Arc;

use protocol::Event;
use ractor::{Actor, ActorProcessingErr, ActorRef, OutputPort};
use tokio::sync::mpsc;

use crate::closing::Activity;

/// The events of a house, in the order in which each run saw them.
pub type Events = mpsc::UnboundedReceiver<Arc<Event>>;

/// Publishing never blocks and never drops: a listener that cannot keep up must say so in its
/// own queue, not here.
#[derive(Clone)]
pub(crate) struct EventBus {
    port: Arc<OutputPort<Arc<Event>>>,
    activity: Activity,
}

impl EventBus {
    pub(crate) fn new(activity: Activity) -> Self {
        Self { port: Arc::default(), activity }
    }

    pub(crate) fn publish(&self, event: Event) {
        self.activity.note();
        self.port.send(Arc::new(event));
    }

    pub(crate) fn subscribe(&self, listener: ActorRef<Arc<Event>>) {
        self.port.subscribe(listener, Some);
    }
}

/// Forwards what it hears into a channel, for listeners that are no actors.
pub(crate) struct Ear;

impl Actor for Ear {
    type Msg = Arc<Event>;
    type State = mpsc::UnboundedSender<Arc<Event>>;
    type Arguments = Self::State;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        channel: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(channel)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        event: Self::Msg,
        channel: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if channel.send(event).is_err() {
            myself.stop(None); // nobody listens any more
        }
        Ok(())
    }
}
