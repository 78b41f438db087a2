//! Connects to servers: implements the port of the connector.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    McpClient, McpConnection, McpConnector, McpDefinition, McpError, McpErrorKind, McpTransport,
    Processes,
};
use rmcp::model::ProtocolVersion;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::time::timeout;
use url::Url;

use crate::bounds::MESSAGE_BYTES;
use crate::client::Client;
use crate::connection::Connection;
use crate::event_stream::{EventStream, EventStreamError};
use crate::faults::{self, Fault};
use crate::guarded::Link;
use crate::handshake::{self, Next, Refusal, Way};
use crate::http_client;
use crate::program::Program;
use crate::subject::Subject;

/// How often a stream of events that ended early is opened again.
const REOPENED: usize = 5;

/// The longest pause before that.
const PAUSE: Duration = Duration::from_secs(8);

/// How many requests over HTTP can be under way at least.
const REQUESTS: usize = 16;

/// Connects to MCP servers. Each server that is a program gets an owner of processes of its own.
pub struct Connector {
    processes: Box<dyn Fn() -> Arc<dyn Processes> + Send + Sync>,
    /// The way that each server took the last time, by the key of its definition.
    taken: Mutex<BTreeMap<String, Way>>,
}

impl Connector {
    /// Returns a connector. `processes` returns a new owner of processes for each server.
    #[must_use]
    pub fn new(processes: impl Fn() -> Arc<dyn Processes> + Send + Sync + 'static) -> Self {
        Self { processes: Box::new(processes), taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, Way>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries one way to begin with a server, on a new connection.
    async fn attempt(
        &self,
        definition: &McpDefinition,
        way: Way,
        client: Arc<Client>,
    ) -> Result<Connection, Refusal> {
        let link = Link::default();
        let mut subject = Subject { name: definition.name.clone(), link, program: None };
        match &definition.transport {
            transport @ McpTransport::Stdio { .. } => {
                let ending = subject.link.ending.clone();
                let started = Program::start((self.processes)(), transport, ending).await;
                let (program, lines) = started.map_err(|what| unusable(&subject, &what))?;
                subject.program = Some(program);
                handshake::agree(definition, way, lines, subject, client).await
            }
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                let url = http_client::address(url).map_err(|what| unusable(&subject, &what))?;
                let http =
                    http_client::client(&url, headers).map_err(|what| unusable(&subject, &what))?;
                if way != Way::EventStream {
                    let transport = streamable(definition, http, &url);
                    return handshake::agree(definition, way, transport, subject, client).await;
                }
                let open = EventStream::open(http, &url, subject.link.ending.clone());
                let stream = match timeout(definition.timeout, open).await {
                    Ok(stream) => stream.map_err(|error| not_opened(&subject, &error))?,
                    Err(_elapsed) => {
                        let what = "does not name an address for messages".to_owned();
                        let fault = Fault::Other(McpErrorKind::NoAnswer, what);
                        return Err(handshake::refused(&subject, fault));
                    }
                };
                handshake::agree(definition, way, stream, subject, client).await
            }
        }
    }
}

#[async_trait]
impl McpConnector for Connector {
    async fn connect(
        &self,
        definition: &McpDefinition,
        client: Arc<dyn McpClient>,
    ) -> Result<Arc<dyn McpConnection>, McpError> {
        let revision = revision(definition)?;
        let last = self.taken().get(&definition.key).copied();
        let mut next = Next::Anything;
        let mut refused: Option<McpError> = None;
        let mut rest = VecDeque::from(order(&definition.transport, revision.as_ref(), last));
        while let Some(way) = rest.pop_front() {
            if refused.is_some() && way == Way::EventStream && next < Next::Anything {
                continue;
            }
            let spoken = revision.clone().unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
            let asked = Client::new(&definition.name, spoken, Arc::clone(&client));
            match self.attempt(definition, way, asked).await {
                Ok(connection) => {
                    self.taken().insert(definition.key.clone(), way);
                    return Ok(Arc::new(connection));
                }
                Err(refusal) => {
                    next = refusal.next;
                    match next {
                        Next::Nothing => rest.clear(),
                        Next::RequestAgain => rest.push_back(Way::DiscoverPatiently),
                        Next::Request | Next::Anything => {}
                    }
                    // What a server says to `initialize` says most about it.
                    if refused.is_none() || way == Way::Initialize || next == Next::Nothing {
                        refused = Some(refusal.error);
                    }
                }
            }
        }
        let none = || {
            let what = "is of type `sse`, which does not have the revision in its `protocol`";
            let message = format!("MCP server `{}` {what}", definition.name);
            McpError { kind: McpErrorKind::NotSent, message }
        };
        Err(refused.unwrap_or_else(none))
    }
}

/// Returns the revision that a definition fixes, if it does.
fn revision(definition: &McpDefinition) -> Result<Option<ProtocolVersion>, McpError> {
    let Some(text) = &definition.protocol else { return Ok(None) };
    let known = ProtocolVersion::KNOWN_VERSIONS;
    let found = known.iter().find(|version| version.as_str() == text);
    found.cloned().map(Some).ok_or_else(|| {
        let known: Vec<_> = known.iter().map(ProtocolVersion::as_str).collect();
        let message = format!(
            "MCP server `{}` cannot be used: revision `{text}` of MCP is not supported; `protocol` is one of {}",
            definition.name,
            known.join(", ")
        );
        McpError { kind: McpErrorKind::NotSent, message }
    })
}

/// Returns the ways to begin with a server, the one that it took the last time first.
fn order(
    transport: &McpTransport,
    revision: Option<&ProtocolVersion>,
    last: Option<Way>,
) -> Vec<Way> {
    let all: &[Way] = match transport {
        McpTransport::Stdio { .. } => &[Way::Initialize, Way::Discover],
        McpTransport::Http { .. } => &[Way::Discover, Way::Initialize, Way::EventStream],
        McpTransport::Sse { .. } => &[Way::EventStream],
    };
    let speaks = |way: &Way| {
        revision.is_none_or(|revision| revision.has_initialize() != (*way == Way::Discover))
    };
    let mut ways: Vec<_> = all.iter().copied().filter(speaks).collect();
    ways.sort_by_key(|way| Some(*way) != last);
    ways
}

/// Returns the transport of streamable HTTP.
fn streamable(
    definition: &McpDefinition,
    http: reqwest::Client,
    url: &Url,
) -> StreamableHttpClientTransport<reqwest::Client> {
    let mut pauses = ExponentialBackoff::default();
    (pauses.max_times, pauses.max_delay) = (Some(REOPENED), Some(PAUSE));
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_concurrent_requests(definition.concurrency.max(REQUESTS))
        .max_sse_event_size(MESSAGE_BYTES)
        .max_json_response_size(MESSAGE_BYTES);
    config.retry_config = Arc::new(pauses);
    StreamableHttpClientTransport::with_client(http, config)
}

/// Returns the refusal of a definition that cannot be used as it is.
fn unusable(subject: &Subject, what: &str) -> Refusal {
    Refusal { error: subject.error(McpErrorKind::NotSent, what), next: Next::Nothing }
}

fn not_opened(subject: &Subject, error: &EventStreamError) -> Refusal {
    handshake::refused(subject, faults::event_stream_fault(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_begin_follow_the_transport_the_revision_and_the_last_time() {
        let (headers, url) = (BTreeMap::new(), String::new());
        let http = McpTransport::Http { url: url.clone(), headers: headers.clone() };
        let sse = McpTransport::Sse { url, headers };
        let stdio = McpTransport::Stdio {
            command: "x".into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            folder: None,
        };
        let (old, new) = (ProtocolVersion::V_2024_11_05, ProtocolVersion::V_2026_07_28);
        use Way::{Discover, EventStream, Initialize};
        for (transport, revision, last, expected) in [
            (&stdio, None, None, &[Initialize, Discover][..]),
            (&stdio, None, Some(Discover), &[Discover, Initialize]),
            (&stdio, Some(&new), None, &[Discover]),
            (&http, None, None, &[Discover, Initialize, EventStream]),
            (&http, None, Some(EventStream), &[EventStream, Discover, Initialize]),
            (&http, Some(&old), Some(Discover), &[Initialize, EventStream]),
            (&sse, None, Some(Initialize), &[EventStream]),
        ] {
            assert_eq!(order(transport, revision, last), expected);
        }
    }
}
