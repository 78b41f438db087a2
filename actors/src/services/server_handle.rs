//! What sessions know of a server, and how they call it.

use std::sync::Arc;
use std::time::Duration;

use engine::mcp::ServerPhase;
use engine::ports::{
    Ask, CancelToken, LineSink, McpCall, McpConnection, McpDefinition, McpError, McpErrorKind,
    McpResult,
};
use protocol::SessionId;
use ractor::ActorRef;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::server::McpServerMessage;
use super::server_client::ServerClient;
use super::server_snapshot::ServerSnapshot;
use crate::messaging::answer;

/// How often a call is sent that surely did not run.
const SENDS: usize = 3;

/// How long a call that is sent again waits for a new connection before it takes the same one.
const NEW_CONNECTION: Duration = Duration::from_secs(1);

/// Whether a call is sent again that may have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It is not: it may have an effect.
    IfNotSent,
    /// It is, once: a second one changes nothing more.
    Once,
}

/// A server as sessions see it.
#[derive(Clone)]
pub(crate) struct ServerHandle {
    definition: Arc<McpDefinition>,
    actor: Option<ActorRef<McpServerMessage>>,
    newest: watch::Receiver<ServerSnapshot>,
    permits: Arc<Semaphore>,
    client: Arc<ServerClient>,
}

/// A call of a session.
pub(super) struct ServerCall {
    pub(super) call: McpCall,
    pub(super) repeat: Repeat,
    pub(super) session: SessionId,
    pub(super) ask: Option<Arc<dyn Ask>>,
    pub(super) progress: LineSink,
    pub(super) cancel: CancelToken,
}

impl ServerHandle {
    /// Returns a handle of a server whose actor is not started yet, and what publishes its changes.
    pub(super) fn new(definition: Arc<McpDefinition>) -> (Self, watch::Sender<ServerSnapshot>) {
        let (publisher, newest) = watch::channel(ServerSnapshot::default());
        let permits = Arc::new(Semaphore::new(definition.concurrency.max(1)));
        let client = Arc::new(ServerClient::new(&definition.name));
        (Self { definition, actor: None, newest, permits, client }, publisher)
    }

    pub(super) fn of(self, actor: &ActorRef<McpServerMessage>) -> Self {
        Self { actor: Some(actor.clone()), ..self }
    }

    pub(super) fn client(&self) -> Arc<ServerClient> {
        Arc::clone(&self.client)
    }

    pub(super) fn definition(&self) -> &Arc<McpDefinition> {
        &self.definition
    }

    pub(super) fn snapshot(&self) -> ServerSnapshot {
        self.newest.borrow().clone()
    }

    /// Returns whether the actor of the server has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.newest.has_changed().is_err()
    }

    /// Waits until a snapshot is as `wanted` says, or the actor has ended.
    pub(super) async fn until(&self, wanted: impl FnMut(&ServerSnapshot) -> bool) {
        let mut newest = self.newest.clone();
        let _ended = newest.wait_for(wanted).await;
    }

    /// Returns why the server cannot be used, if it cannot.
    pub(super) fn fault(&self) -> Option<String> {
        let newest = self.snapshot();
        match newest.phase {
            ServerPhase::Degraded(why) => Some(why.to_string()),
            ServerPhase::Stopped => self.has_ended().then(|| "it was ended".to_owned()),
            ServerPhase::Starting | ServerPhase::Ready | ServerPhase::BackOff => {
                newest.error.map(|why| why.to_string())
            }
        }
    }

    /// Calls a tool of the server, as soon as it is ready and not too many calls are under way.
    ///
    /// # Errors
    /// The text for the model.
    pub(super) async fn call(&self, call: ServerCall) -> Result<McpResult, String> {
        let cancel = call.cancel.clone();
        tokio::select! {
            biased;
            // The connection reports an abort to the server, and drops the late answer.
            result = self.send(call) => result,
            () = cancel.cancelled_at_once() => Err("Operation aborted".to_owned()),
        }
    }

    async fn send(&self, call: ServerCall) -> Result<McpResult, String> {
        let ServerCall { call, repeat, session, ask, progress, cancel } = call;
        let _permit = tokio::select! {
            permit = self.permits.acquire() => permit,
            () = cancel.cancelled() => return Err("Operation aborted".to_owned()),
        };
        let _under_way = self.client.begin(session, ask);
        let mut sends = 0;
        loop {
            let (number, connection) = tokio::select! {
                ready = self.ready() => ready?,
                () = cancel.cancelled() => return Err("Operation aborted".to_owned()),
            };
            sends += 1;
            let sent = connection.call(call.clone(), Arc::clone(&progress), cancel.clone());
            let error = match sent.await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let is_repeated = match error.kind {
                McpErrorKind::NotSent => sends < SENDS,
                McpErrorKind::NoAnswer => repeat == Repeat::Once && sends == 1,
                McpErrorKind::Answered(_)
                | McpErrorKind::Unauthorized
                | McpErrorKind::Cancelled => false,
            };
            if !is_repeated {
                return Err(self.failure(&error));
            }
            drop(connection);
            let is_other = |newest: &ServerSnapshot| {
                newest.connection.as_ref().is_none_or(|(other, _)| *other != number)
            };
            let _same = timeout(NEW_CONNECTION, self.until(is_other)).await;
        }
    }

    /// Waits until the server is ready.
    async fn ready(&self) -> Result<(u64, Arc<dyn McpConnection>), String> {
        if let (ServerPhase::Degraded(_), Some(actor)) = (&self.snapshot().phase, &self.actor) {
            // The answer comes when the attempt has begun, if it is time for one.
            let _dead = answer(actor, McpServerMessage::Wanted).await;
        }
        self.until(|newest| newest.connection.is_some() || is_over(&newest.phase)).await;
        match self.snapshot().connection {
            Some(ready) => Ok(ready),
            None => Err(self.unusable()),
        }
    }

    /// Returns what the model reads where the server cannot be used.
    fn unusable(&self) -> String {
        let name = &self.definition.name;
        let why = self.fault().unwrap_or_else(|| "it was ended".to_owned());
        format!(
            "The MCP server `{name}` cannot be used: {why}\nNothing was run. Go on without it if you can; a call \
             after a minute tries once more. The user can look into it with `regatta mcp test {name}`."
        )
    }

    /// Returns what the model reads of a call that failed.
    fn failure(&self, error: &McpError) -> String {
        let name = &self.definition.name;
        let McpError { kind, message } = error;
        match kind {
            McpErrorKind::Answered(code) => {
                format!("The MCP server `{name}` refused this call (error {code}): {message}")
            }
            McpErrorKind::NotSent => {
                format!(
                    "This call did not reach the MCP server `{name}`: {message}\nNothing was run."
                )
            }
            McpErrorKind::NoAnswer => format!(
                "The MCP server `{name}` gave no answer: {message}\nThe call may have run: look before you call \
                 again, and try another way if there is one."
            ),
            McpErrorKind::Unauthorized => format!(
                "The MCP server `{name}` wants a login: {message}\nThe user can give it a header: `regatta mcp add \
                 {name} URL --header 'Authorization: Bearer ${{TOKEN}}'`."
            ),
            McpErrorKind::Cancelled => "Operation aborted".to_owned(),
        }
    }
}

/// Returns whether a server is not about to be ready.
fn is_over(phase: &ServerPhase) -> bool {
    match phase {
        ServerPhase::Degraded(_) => true,
        ServerPhase::Stopped
        | ServerPhase::Starting
        | ServerPhase::Ready
        | ServerPhase::BackOff => false,
    }
}
