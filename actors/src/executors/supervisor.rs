//! Starts and supervises the tool executors.

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::tool_executor::{ExecutorLease, ExecutorSetup, ToolExecutor, ToolExecutorArguments};
use crate::deps::Deps;

pub(crate) struct Executors;

pub(crate) enum ExecutorsMessage {
    /// Starts an executor for one task.
    Lease(ExecutorSetup, RpcReplyPort<ExecutorLease>),
}

impl Actor for Executors {
    type Msg = ExecutorsMessage;
    type State = Deps;
    type Arguments = Deps;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        deps: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(deps)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        deps: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let ExecutorsMessage::Lease(setup, reply) = message;
        let arguments = ToolExecutorArguments { deps: deps.clone(), setup };
        let started = Actor::spawn_linked(None, ToolExecutor, arguments, myself.get_cell()).await;
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
        _deps: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // A crash drops the reply ports of the executor, which tells its callers, and its jobs,
        // which kills its processes. No restart is needed: the next lease starts a new executor.
        if let SupervisionEvent::ActorFailed(_executor, error) = event {
            tracing::error!(%error, "an executor crashed");
        }
        Ok(())
    }
}
