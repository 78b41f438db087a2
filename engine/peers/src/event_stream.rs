//! HTTP with server-sent events, of the revision 2024-11-05: a transport of `rmcp`, which has none.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use url::Url;

use crate::ending::{Ending, Why};
use crate::sse_events::{Event, EventParser, TooLong};

/// Why a message was not sent, or the stream not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EventStreamError {
    #[error("cannot be reached")]
    Http(#[from] reqwest::Error),
    #[error("answered with HTTP {0}")]
    Status(u16),
    #[error("sent a message that cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("ended the stream of events before it named an address for messages")]
    NoEndpoint,
    #[error("does not answer with a stream of events")]
    NoEvents,
    #[error("sent a message of more than 16 MB")]
    TooLong,
    #[error("wants messages at {0}, which is another origin than that of its `url`")]
    Elsewhere(String),
}

/// A stream of events, and the address for messages to the server.
pub(crate) struct EventStream {
    client: Client,
    endpoint: Url,
    events: Events,
    ending: Ending,
}

/// The events of an answer.
struct Events {
    response: Response,
    parser: EventParser,
}

impl EventStream {
    /// Opens the stream, and waits until the server has named the address for messages.
    pub(crate) async fn open(
        client: Client,
        url: &Url,
        ending: Ending,
    ) -> Result<Self, EventStreamError> {
        let request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let response = request.send().await?;
        if !response.status().is_success() {
            return Err(EventStreamError::Status(response.status().as_u16()));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Err(EventStreamError::NoEvents);
        }
        let mut events = Events { response, parser: EventParser::default() };
        loop {
            let event = events.next().await.map_err(|TooLong| EventStreamError::TooLong)?;
            let event = event.ok_or(EventStreamError::NoEndpoint)?;
            if event.name != "endpoint" {
                continue;
            }
            let endpoint =
                url.join(event.data.trim()).map_err(|_invalid| EventStreamError::NoEndpoint)?;
            if endpoint.origin() != url.origin() {
                let origin = endpoint.origin().ascii_serialization();
                return Err(EventStreamError::Elsewhere(origin));
            }
            return Ok(Self { client, endpoint, events, ending });
        }
    }
}

impl Events {
    /// Returns the next event; `None` at the end of the stream. It can be dropped and called again.
    async fn next(&mut self) -> Result<Option<Event>, TooLong> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Ok(Some(chunk)) = self.response.chunk().await else { return Ok(None) };
            self.parser.feed(&chunk)?;
        }
    }
}

impl Transport<RoleClient> for EventStream {
    type Error = EventStreamError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), EventStreamError>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&item)?;
            let request = request.header(CONTENT_TYPE, "application/json").body(body);
            let status = request.send().await?.status();
            match status.is_success() {
                true => Ok(()),
                false => Err(EventStreamError::Status(status.as_u16())),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.next().await {
                Ok(event) => event?,
                Err(TooLong) => {
                    self.ending.end(Why::Fault("sent a message of more than 16 MB"));
                    return None;
                }
            };
            if event.name != "message" {
                continue;
            }
            match serde_json::from_str(&event.data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event of an MCP server is left out"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), EventStreamError> {
        Ok(())
    }
}
