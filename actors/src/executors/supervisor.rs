//! Starts and supervises the tool executors.

use std::sync::Arc;

use engine::ports::VariableChoice;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::executor::{ExecutorLease, ExecutorSetup, ToolExecutor, ToolExecutorArguments};
use super::launch_meter::LaunchMeter;
use crate::child::start_child;
use crate::deps::Deps;
use crate::services::ServicesMessage;

pub(crate) struct Executors;

pub(crate) struct ExecutorsArguments {
    pub(crate) deps: Arc<Deps>,
    pub(crate) services: ActorRef<ServicesMessage>,
}

pub(crate) enum ExecutorsMessage {
    /// Starts an executor for one task or session.
    Lease(ExecutorSetup, LeasedBy, VariableChoice, RpcReplyPort<ExecutorLease>),
}

/// Who uses an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeasedBy {
    /// A task, whose commands run beside those of other tasks.
    Task,
    /// A session without a task.
    Session,
}

impl Actor for Executors {
    type Msg = ExecutorsMessage;
    type State = ExecutorsArguments;
    type Arguments = ExecutorsArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(arguments)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        ExecutorsArguments { deps, services }: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let ExecutorsMessage::Lease(setup, by, variables, reply) = message;
        let launches = LaunchMeter::default();
        // The lease shares the owner: it can end the owner also when the executor has crashed.
        let commands = Arc::clone(&deps.commands);
        let owner = match by {
            LeasedBy::Task => commands.workspace_owner(&variables),
            LeasedBy::Session => commands.owner(&variables),
        };
        let commands = launches.over(owner);
        let arguments = ToolExecutorArguments {
            deps: deps.clone(),
            services: services.clone(),
            setup,
            commands: Arc::clone(&commands),
        };
        let started = start_child(ToolExecutor, arguments, myself.get_cell()).await;
        if let Ok(executor) = started {
            // If the caller is gone, the lease comes back in the error and is dropped here.
            let _gone = reply.send(ExecutorLease { executor, launches, commands });
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // When an executor crashes, its reply ports are dropped, so that its callers get an error,
        // and its jobs are dropped, so that its processes are killed. No restart is needed: the
        // next lease starts a new executor.
        if let SupervisionEvent::ActorFailed(_executor, error) = event {
            tracing::error!(%error, "an executor crashed");
        }
        Ok(())
    }
}
