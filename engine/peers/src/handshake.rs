//! The first exchange with a server, by which both agree on a revision of the protocol.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{McpDefinition, McpError, McpErrorKind, McpTransport};
use rmcp::model::{ProtocolVersion, ServerPeerInfo};
use rmcp::service::RunningService;
use rmcp::transport::Transport;
use rmcp::{ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use tokio::time::timeout;

use crate::client::Client;
use crate::connection::Connection;
use crate::ending::Why;
use crate::faults::{self, Fault};
use crate::guarded::Guarded;
use crate::subject::Subject;

/// How long a server may be silent when it is asked over HTTP what it speaks.
const SILENCE: Duration = Duration::from_secs(2);

/// A way to begin with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is sent `initialize`, as all revisions up to 2025-11-25 have it.
    Initialize,
    /// It is asked `server/discover`, as the newest revision has it.
    Discover,
    /// The same, with as much time as for any other request.
    DiscoverPatiently,
    /// It is sent `initialize`, and answers with events of one long stream, as the oldest revision has it.
    EventStream,
}

/// A server that was not agreed with.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: McpError,
    pub(crate) next: Next,
}

/// Which other ways are tried with a server after one was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Next {
    /// None.
    Nothing,
    /// The other first request.
    Request,
    /// The other first request, and then the same again with more time.
    RequestAgain,
    /// Any, also a stream of events.
    Anything,
}

/// Returns the time that the first request of a way may take.
fn time(definition: &McpDefinition, way: Way) -> Duration {
    match (&definition.transport, way) {
        (McpTransport::Http { .. }, Way::Discover) => definition.timeout.min(SILENCE),
        _ => request_time(definition),
    }
}

/// Returns the time that a request may take.
fn request_time(definition: &McpDefinition) -> Duration {
    definition.timeout.max(definition.startup_timeout)
}

/// Agrees with a server on a revision, in one way.
pub(crate) async fn agree(
    definition: &McpDefinition,
    way: Way,
    transport: impl Transport<RoleClient> + 'static,
    subject: Subject,
    client: Arc<Client>,
) -> Result<Connection, Refusal> {
    let transport = Guarded::new(transport, subject.link.clone());
    let lifecycle = match way {
        Way::Discover | Way::DiscoverPatiently => {
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
        }
        Way::Initialize | Way::EventStream => ClientLifecycleMode::Initialize,
    };
    let time = time(definition, way);
    let serve = Box::pin(serve_client_with_lifecycle(client, transport, lifecycle));
    match timeout(time, serve).await {
        Ok(Ok(running)) => agreed(definition, running, subject),
        Ok(Err(error)) => {
            Err(refusal(definition, &subject, faults::first_answer_fault(&error)).await)
        }
        Err(_elapsed) => {
            let what = format!("did not answer the first request within {time:?}");
            let error = subject.error_with_stderr(McpErrorKind::NoAnswer, what);
            let next = match (&definition.transport, way) {
                (McpTransport::Http { .. }, Way::Discover) => Next::RequestAgain,
                _ => Next::Nothing,
            };
            Err(Refusal { error, next })
        }
    }
}

/// Checks the revision that a server has chosen.
fn agreed(
    definition: &McpDefinition,
    running: RunningService<RoleClient, Arc<Client>>,
    subject: Subject,
) -> Result<Connection, Refusal> {
    let server: Option<Arc<ServerPeerInfo>> = running.peer().peer_info();
    let revision = server.as_ref().map(|server| server.protocol_version.to_string());
    let known =
        |text: &String| ProtocolVersion::KNOWN_VERSIONS.iter().any(|it| it.as_str() == text);
    let wanted = |text: &String| definition.protocol.as_ref().is_none_or(|wanted| wanted == text);
    match (server, revision) {
        (Some(server), Some(revision)) if known(&revision) && wanted(&revision) => {
            Ok(Connection::new(running, &server, subject, request_time(definition)))
        }
        (_, revision) => {
            let revision = crate::printable::line(&revision.unwrap_or_default(), 40);
            let what = match &definition.protocol {
                Some(wanted) => format!("speaks revision {revision} of MCP, not {wanted}"),
                None => format!("speaks revision {revision} of MCP, which is not supported"),
            };
            let error = subject.error(McpErrorKind::NoAnswer, what);
            Err(Refusal { error, next: Next::Request })
        }
    }
}

/// Returns what a wrong answer to the first request means.
async fn refusal(definition: &McpDefinition, subject: &Subject, fault: Fault) -> Refusal {
    match fault {
        Fault::Gone => {
            let mut error = subject.gone(McpErrorKind::NoAnswer).await;
            let is_fault = matches!(subject.link.ending.why(), Some(Why::Fault(_)));
            if let (McpTransport::Stdio { .. }, false) = (&definition.transport, is_fault) {
                error.message.push_str(&format!(
                    "\nit got only the environment variables that every server gets and those in `env` of its entry in {}",
                    definition.source
                ));
            }
            Refusal { error, next: if is_fault { Next::Nothing } else { Next::Request } }
        }
        other => refused(subject, other),
    }
}

/// Returns what it means that a server refused the first request, or could not be reached.
pub(crate) fn refused(subject: &Subject, fault: Fault) -> Refusal {
    let (kind, what, next) = match fault {
        Fault::Gone => (McpErrorKind::NoAnswer, "ended the connection".to_owned(), Next::Request),
        Fault::Elsewhere(what) => (McpErrorKind::NoAnswer, what, Next::Nothing),
        Fault::Status(status, body) => {
            let (kind, what) = faults::status_fault(status, &body);
            let next = match status {
                401 | 403 => Next::Nothing,
                400..500 => Next::Anything,
                _ => Next::Request,
            };
            (kind, what, next)
        }
        Fault::Other(McpErrorKind::NotSent, what) => (McpErrorKind::NotSent, what, Next::Nothing),
        Fault::Other(kind, what) => (kind, what, Next::Request),
    };
    Refusal { error: subject.error_with_stderr(kind, what), next }
}
