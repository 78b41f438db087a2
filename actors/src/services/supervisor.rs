//! Starts and supervises what lives longer than a session. Servers are started when they are first used, and stay
//! until the engine closes or the task that has them ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::McpDefinition;
use futures_util::future::join_all;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::server::{McpServer, McpServerArguments, McpServerMessage};
use super::server_handle::ServerHandle;
use crate::child::start_child;
use crate::deps::Deps;
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::answer;

pub(crate) struct Services;

pub(crate) enum ServicesMessage {
    /// Returns the server with this definition, and starts it if it is not there. Sessions that use it work in
    /// this folder.
    Use(Arc<McpDefinition>, Option<PathBuf>, RpcReplyPort<ServerHandle>),
    /// Ends the server with this key, and answers when its process has ended.
    End(String, RpcReplyPort<()>),
    /// Ends all servers side by side, answers, and stops.
    Close(RpcReplyPort<()>),
    /// All servers have ended.
    Closed(Result<(), Panicked>, RpcReplyPort<()>),
}

pub(crate) struct ServicesState {
    deps: Arc<Deps>,
    /// The servers by the keys of their definitions.
    servers: BTreeMap<String, (ActorRef<McpServerMessage>, ServerHandle)>,
    jobs: Jobs,
}

impl Actor for Services {
    type Msg = ServicesMessage;
    type State = ServicesState;
    type Arguments = Arc<Deps>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        deps: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(ServicesState { jobs: Jobs::new(&deps.faults), deps, servers: BTreeMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ServicesMessage::Use(definition, root, reply) => {
                if let Some(handle) = state.server(&myself, definition).await {
                    handle.client().add_root(root);
                    let _gone = reply.send(handle);
                }
            }
            ServicesMessage::End(key, reply) => match state.servers.remove(&key) {
                // If it has crashed, the dropped reply port tells the caller.
                Some((server, _)) => drop(server.cast(McpServerMessage::Close(reply))),
                None => drop(reply.send(())),
            },
            ServicesMessage::Close(reply) => {
                let servers = std::mem::take(&mut state.servers).into_values();
                let closing = servers.map(|(server, _)| answer(&server, McpServerMessage::Close));
                let close = join_all(closing.collect::<Vec<_>>());
                let close = async move { drop(close.await) };
                state.jobs.run(Job::ServicesClose, &myself, close, move |closed| {
                    ServicesMessage::Closed(closed, reply)
                });
            }
            ServicesMessage::Closed(closed, reply) => {
                closed?;
                let _gone = reply.send(());
                myself.stop(None);
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
        // The calls of a server that crashed get errors, and its process has ended with it. The next session or
        // request that uses it starts it again.
        match event {
            SupervisionEvent::ActorFailed(server, error) => {
                tracing::error!(%error, "an MCP server's actor crashed");
                state.forget(&server);
            }
            SupervisionEvent::ActorTerminated(server, ..) => state.forget(&server),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl ServicesState {
    /// Returns a server; `None` if the engine has no servers, or if the actor cannot be started.
    async fn server(
        &mut self,
        myself: &ActorRef<ServicesMessage>,
        definition: Arc<McpDefinition>,
    ) -> Option<ServerHandle> {
        if let Some((_, handle)) = self.servers.get(&definition.key) {
            return Some(handle.clone());
        }
        let key = definition.key.clone();
        let (handle, publisher) = ServerHandle::new(Arc::clone(&definition));
        let arguments = McpServerArguments {
            definition,
            ports: self.deps.mcp.clone()?,
            publisher,
            client: handle.client(),
            faults: self.deps.faults.clone(),
        };
        let server = start_child(McpServer, arguments, myself.get_cell()).await.ok()?;
        let handle = handle.of(&server);
        self.servers.insert(key, (server, handle.clone()));
        Some(handle)
    }

    fn forget(&mut self, ended: &ActorCell) {
        self.servers.retain(|_, (server, _)| server.get_id() != ended.get_id());
    }
}
