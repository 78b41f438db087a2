//! One MCP server: owns its connection, and with that its process.

use std::sync::Arc;
use std::time::Duration;

use engine::fault::Faults;
use engine::mcp::{ServerEffect, ServerInput, ServerLife};
use engine::ports::{
    McpConnection, McpDefinition, McpError, McpErrorKind, McpList, McpOffer, McpTool,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::server_client::ServerClient;
use super::server_snapshot::ServerSnapshot;
use crate::deps::McpPorts;
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::Notifier;

/// How long a server may take to start. A program may have to be downloaded first.
const STARTING: Duration = Duration::from_secs(120);

/// How long the end of a connection may take. It ends the process itself within a second.
const CLOSING: Duration = Duration::from_secs(2);

pub(super) struct McpServer;

pub(super) struct McpServerArguments {
    pub(super) definition: Arc<McpDefinition>,
    pub(super) ports: McpPorts,
    pub(super) publisher: watch::Sender<ServerSnapshot>,
    pub(super) client: Arc<ServerClient>,
    pub(super) faults: Faults,
}

pub(super) enum McpServerMessage {
    /// A call wants the server although it was given up. Answers when it is started again, if it is time.
    Wanted(RpcReplyPort<()>),
    /// What it offered when it was last used.
    Known(Result<Option<McpOffer>, Panicked>),
    /// The result of the attempt to connect with this number.
    Connected(u64, Result<Result<Connected, McpError>, Panicked>),
    /// The connection with this number has ended.
    Lost(u64, Result<McpError, Panicked>),
    /// The pause before the next start is over.
    PauseEnded,
    /// One of its lists has changed.
    Changed(McpList),
    /// The tools that the connection with this number has now.
    Listed(u64, Result<Result<Vec<McpTool>, McpError>, Panicked>),
    /// Ends the connection, answers, and stops the actor.
    Close(RpcReplyPort<()>),
    /// A connection is closed.
    Closed,
}

/// A connection with what the server offers.
pub(super) struct Connected {
    connection: Arc<dyn McpConnection>,
    offer: McpOffer,
}

pub(super) struct McpServerState {
    definition: Arc<McpDefinition>,
    ports: McpPorts,
    publisher: watch::Sender<ServerSnapshot>,
    client: Arc<ServerClient>,
    life: ServerLife,
    /// The number of the newest attempt to connect.
    number: u64,
    connection: Option<Arc<dyn McpConnection>>,
    attempt: Option<AbortHandle>,
    listing: Listing,
    /// The connections that are being closed.
    closing: usize,
    closed: Option<RpcReplyPort<()>>,
    jobs: Jobs,
}

/// Whether the tools are being listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    No,
    Yes,
    /// The list has changed once more meanwhile.
    Again,
}

impl Actor for McpServer {
    type Msg = McpServerMessage;
    type State = McpServerState;
    type Arguments = McpServerArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let McpServerArguments { definition, ports, publisher, client, faults } = arguments;
        client.report_to(Notifier::to(&myself, McpServerMessage::Changed));
        let mut state = McpServerState {
            definition,
            ports,
            publisher,
            client,
            life: ServerLife::default(),
            number: 0,
            connection: None,
            attempt: None,
            listing: Listing::No,
            closing: 0,
            closed: None,
            jobs: Jobs::new(&faults),
        };
        let (cache, key) = (Arc::clone(&state.ports.cache), state.definition.key.clone());
        let known = async move { cache.load(&key).await };
        state.jobs.run(Job::ServerCache, &myself, known, McpServerMessage::Known);
        state.step(&myself, ServerInput::Use);
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            McpServerMessage::Wanted(reply) => {
                state.step(&myself, ServerInput::Wanted);
                let _gone = reply.send(());
            }
            McpServerMessage::Known(Ok(Some(offer))) => state.known(offer),
            McpServerMessage::Known(Ok(None) | Err(_)) => {}
            McpServerMessage::Connected(number, result) if number == state.number => {
                state.attempt = None;
                match result.unwrap_or_else(|panicked| Err(crashed(&panicked))) {
                    Ok(connected) => state.connected(&myself, connected),
                    Err(error) => state.failed(&myself, error),
                }
            }
            McpServerMessage::Lost(number, error) if number == state.number => {
                state.failed(&myself, error.unwrap_or_else(|panicked| crashed(&panicked)));
            }
            McpServerMessage::Listed(number, listed) if number == state.number => {
                state.listed(&myself, listed);
            }
            // They are about a connection that is not used any more.
            McpServerMessage::Connected(..)
            | McpServerMessage::Lost(..)
            | McpServerMessage::Listed(..) => {}
            McpServerMessage::PauseEnded => state.step(&myself, ServerInput::PauseEnded),
            McpServerMessage::Changed(McpList::Tools) => state.list(&myself),
            // They are read when they are asked for.
            McpServerMessage::Changed(McpList::Resources | McpList::Prompts) => {}
            McpServerMessage::Close(reply) => {
                state.closed = Some(reply);
                state.step(&myself, ServerInput::Close);
            }
            McpServerMessage::Closed => state.closing -= 1,
        }
        if state.closing == 0
            && let Some(reply) = state.closed.take()
        {
            let _gone = reply.send(());
            myself.stop(None);
        }
        Ok(())
    }
}

impl McpServerState {
    fn step(&mut self, myself: &ActorRef<McpServerMessage>, input: ServerInput) {
        let effects = self.life.step(input, Instant::now().into_std());
        for effect in effects {
            match effect {
                ServerEffect::Connect => self.connect(myself),
                ServerEffect::Disconnect => self.disconnect(myself),
                ServerEffect::Pause(pause) => {
                    let pause = tokio::time::sleep(pause);
                    // After a panic, the server is started at once.
                    let then = |_ended| McpServerMessage::PauseEnded;
                    self.jobs.run(Job::ServerPause, myself, pause, then);
                }
            }
        }
        self.publish();
    }

    fn connect(&mut self, myself: &ActorRef<McpServerMessage>) {
        self.number += 1;
        let (number, definition) = (self.number, Arc::clone(&self.definition));
        let connector = Arc::clone(&self.ports.connector);
        let client = Arc::clone(&self.client) as Arc<_>;
        let connect = async move {
            let connect = async {
                let connection = connector.connect(&definition, client).await?;
                let tools = tools(connection.as_ref()).await?;
                let instructions = connection.info().instructions.clone();
                Ok(Connected { connection, offer: McpOffer { tools, instructions } })
            };
            timeout(STARTING, connect).await.unwrap_or_else(|_elapsed| {
                let message = format!("it did not start within {} s", STARTING.as_secs());
                Err(McpError { kind: McpErrorKind::NotSent, message })
            })
        };
        let attempt = self.jobs.run(Job::ServerConnect, myself, connect, move |result| {
            McpServerMessage::Connected(number, result)
        });
        self.attempt = Some(attempt);
    }

    fn connected(&mut self, myself: &ActorRef<McpServerMessage>, connected: Connected) {
        let Connected { connection, offer } = connected;
        self.connection = Some(Arc::clone(&connection));
        self.listing = Listing::No;
        self.step(myself, ServerInput::Connected);
        let (number, cache, key) =
            (self.number, Arc::clone(&self.ports.cache), self.definition.key.clone());
        let kept = offer.clone();
        let watch = async move {
            cache.store(&key, kept).await;
            connection.closed().await
        };
        self.jobs.run(Job::ServerWatch, myself, watch, move |ended| {
            McpServerMessage::Lost(number, ended)
        });
        self.offer(offer);
    }

    fn failed(&mut self, myself: &ActorRef<McpServerMessage>, error: McpError) {
        let server = &self.definition.name;
        tracing::warn!(server, error = error.message, "an MCP server failed");
        let why = error.message.as_str().into();
        self.publisher.send_modify(|newest| newest.error = Some(why));
        self.step(myself, ServerInput::Failed(error));
    }

    /// Ends the attempt to connect, or closes the connection.
    fn disconnect(&mut self, myself: &ActorRef<McpServerMessage>) {
        self.number += 1;
        if let Some(attempt) = self.attempt.take() {
            attempt.abort();
        }
        if let Some(connection) = self.connection.take() {
            self.closing += 1;
            let close = async move { timeout(CLOSING, connection.close()).await };
            let then = |_ended| McpServerMessage::Closed;
            self.jobs.run(Job::ServerClose, myself, close, then);
        }
    }

    fn list(&mut self, myself: &ActorRef<McpServerMessage>) {
        let Some(connection) = &self.connection else { return };
        if self.listing != Listing::No {
            self.listing = Listing::Again;
            return;
        }
        self.listing = Listing::Yes;
        let (number, connection) = (self.number, Arc::clone(connection));
        let list = async move { tools(connection.as_ref()).await };
        self.jobs.run(Job::ServerList, myself, list, move |listed| {
            McpServerMessage::Listed(number, listed)
        });
    }

    fn listed(
        &mut self,
        myself: &ActorRef<McpServerMessage>,
        listed: Result<Result<Vec<McpTool>, McpError>, Panicked>,
    ) {
        let again = std::mem::replace(&mut self.listing, Listing::No) == Listing::Again;
        match listed {
            Ok(Ok(tools)) => {
                let instructions = {
                    let newest = self.publisher.borrow();
                    newest.offer.as_ref().and_then(|offer| offer.instructions.clone())
                };
                self.offer(McpOffer { tools, instructions });
            }
            // The tools stay as they were.
            Ok(Err(error)) => {
                let server = &self.definition.name;
                tracing::warn!(server, error = error.message, "the tools cannot be listed again");
            }
            Err(_panicked) => {}
        }
        if again {
            self.list(myself);
        }
    }

    /// Takes what the server offered before, as long as it has not answered itself.
    fn known(&mut self, offer: McpOffer) {
        if self.publisher.borrow().offer.is_none() {
            self.offer(offer);
        }
    }

    fn offer(&mut self, offer: McpOffer) {
        self.publisher.send_if_modified(|newest| {
            let is_other = newest.offer.as_deref() != Some(&offer);
            if is_other {
                newest.offer = Some(Arc::new(offer));
                newest.version += 1;
            }
            is_other
        });
    }

    fn publish(&self) {
        let connection = self.connection.clone().map(|connection| (self.number, connection));
        let phase = self.life.phase().clone();
        self.publisher.send_modify(|newest| {
            if connection.is_some() {
                newest.error = None;
            }
            newest.phase = phase;
            newest.connection = connection;
        });
    }
}

/// Returns the tools of a server, none if it has no list of them.
async fn tools(connection: &dyn McpConnection) -> Result<Vec<McpTool>, McpError> {
    match connection.info().lists.contains(&McpList::Tools) {
        true => connection.tools().await,
        false => Ok(Vec::new()),
    }
}

fn crashed(panicked: &Panicked) -> McpError {
    McpError { kind: McpErrorKind::NotSent, message: format!("connecting crashed: {panicked}") }
}
