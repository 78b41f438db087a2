//! Starts executors and answers for them.

use std::sync::Arc;

use engine::ports::Commands;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::tool_executor::{ExecutorLease, ToolExecutor};

pub(crate) struct Executors;

pub(crate) enum ExecutorsMessage {
    /// Starts an executor for one task.
    Lease(RpcReplyPort<ExecutorLease>),
}

impl Actor for Executors {
    type Msg = ExecutorsMessage;
    type State = Arc<dyn Commands>;
    type Arguments = Arc<dyn Commands>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        commands: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(commands)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        commands: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let ExecutorsMessage::Lease(reply) = message;
        let started =
            Actor::spawn_linked(None, ToolExecutor, Arc::clone(commands), myself.get_cell()).await;
        if let Ok((executor, _join)) = started {
            // If the task is gone, the lease comes back in the error and is dropped here.
            let _gone = reply.send(ExecutorLease::new(executor));
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _commands: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // Whoever waits for a crashed executor is told by its dropped reply port; its processes
        // died with its jobs. There is nothing to restart: the next lease starts a new one.
        if let SupervisionEvent::ActorFailed(_executor, error) = event {
            tracing::error!(%error, "an executor crashed");
        }
        Ok(())
    }
}
