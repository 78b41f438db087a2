//! Supervises the repository actors, one for each repository in use.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::fault::Faults;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::repository::{Repository, RepositoryArguments, RepositoryMessage};
use crate::child::start_child;
use crate::shutdown_limits::ActivityCounter;

pub(crate) struct Isolator;

pub(crate) enum IsolatorMessage {
    /// Returns the actor of an opened repository, started if there is none.
    Adopt(Arc<dyn engine::ports::Repository>, RpcReplyPort<ActorRef<RepositoryMessage>>),
    /// Closes all repository actors, and stops when they have ended.
    Close,
}

/// Arguments of the isolator.
#[derive(Clone)]
pub(crate) struct IsolatorArguments {
    pub(crate) activity: ActivityCounter,
    pub(crate) faults: Faults,
}

pub(crate) struct IsolatorState {
    arguments: IsolatorArguments,
    repositories: BTreeMap<PathBuf, ActorRef<RepositoryMessage>>,
}

impl Actor for Isolator {
    type Msg = IsolatorMessage;
    type State = IsolatorState;
    type Arguments = IsolatorArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(IsolatorState { arguments, repositories: BTreeMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            IsolatorMessage::Adopt(repository, reply) => {
                let root = repository.facts().root.clone();
                let actor = match state.repositories.get(&root) {
                    Some(actor) => actor.clone(),
                    None => {
                        let supervisor = myself.get_cell();
                        let IsolatorArguments { activity, faults } = state.arguments.clone();
                        let arguments = RepositoryArguments { port: repository, activity, faults };
                        let actor = start_child(Repository, arguments, supervisor).await?;
                        state.repositories.insert(root, actor.clone());
                        actor
                    }
                };
                let _gone = reply.send(actor);
            }
            IsolatorMessage::Close => {
                for repository in state.repositories.values() {
                    let _gone = repository.cast(RepositoryMessage::Close);
                }
                stop_when_empty(&myself, state);
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
            SupervisionEvent::ActorTerminated(child, ..) => {
                state.repositories.retain(|_, actor| actor.get_id() != child.get_id());
                stop_when_empty(&myself, state);
                Ok(())
            }
            // The failure of a repository actor is fatal: it owns workspaces, and without it they
            // cannot be captured.
            SupervisionEvent::ActorFailed(_repository, error) => Err(error),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => Ok(()),
        }
    }
}

/// Stops the isolator when no repository actor is left. Repository actors stop only after `Close`.
fn stop_when_empty(myself: &ActorRef<IsolatorMessage>, state: &IsolatorState) {
    if state.repositories.is_empty() {
        myself.stop(None);
    }
}
