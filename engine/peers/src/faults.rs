//! What the errors of `rmcp` and of the HTTP client say, in words.

use std::error::Error;
use std::io;

use engine::ports::McpErrorKind;
use rmcp::ErrorData;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::event_stream::EventStreamError;
use crate::printable;

/// The longest text of a server in a message, in characters.
const TEXT: usize = 300;

/// What a server did that answered with other JSON, or with none.
const NO_MESSAGE: &str = "answered with something that is not a message of MCP";

/// Why a message was not sent or not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection has ended.
    Gone,
    /// The server refused the message with this HTTP status.
    Status(u16, String),
    /// The server wants its messages at another origin: what it did, as the rest of a sentence.
    Elsewhere(String),
    /// What the server did, as the rest of a sentence.
    Other(McpErrorKind, String),
}

/// Returns what is wrong with a message that could not be sent.
pub(crate) fn transport_fault(error: &DynamicTransportError) -> Fault {
    let error: &(dyn Error + 'static) = error.error.as_ref();
    if error.is::<io::Error>() {
        return Fault::Gone;
    }
    if let Some(error) = error.downcast_ref::<EventStreamError>() {
        return event_stream_fault(error);
    }
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(error) => streamable_fault(error),
        None => Fault::Other(McpErrorKind::NoAnswer, "cannot be reached".to_owned()),
    }
}

/// Returns what is wrong with a stream of events, or with a message that could not be sent beside it.
pub(crate) fn event_stream_fault(error: &EventStreamError) -> Fault {
    match error {
        EventStreamError::Http(error) => http_fault(error),
        EventStreamError::Status(status) => Fault::Status(*status, String::new()),
        elsewhere @ EventStreamError::Elsewhere(_) => Fault::Elsewhere(elsewhere.to_string()),
        EventStreamError::Json(_)
        | EventStreamError::NoEndpoint
        | EventStreamError::NoEvents
        | EventStreamError::TooLong => Fault::Other(McpErrorKind::NoAnswer, error.to_string()),
    }
}

fn streamable_fault(error: &StreamableHttpError<reqwest::Error>) -> Fault {
    let other = |what: String| Fault::Other(McpErrorKind::NoAnswer, what);
    match error {
        StreamableHttpError::Client(error) => http_fault(error),
        StreamableHttpError::HttpStatus(error) => Fault::Status(error.status, String::new()),
        StreamableHttpError::AuthRequired(_) => Fault::Status(401, String::new()),
        StreamableHttpError::InsufficientScope(_) => Fault::Status(403, String::new()),
        StreamableHttpError::TransportChannelClosed => Fault::Gone,
        StreamableHttpError::UnexpectedServerResponse(text) => {
            let status = text.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)?.parse().ok());
            match status {
                Some(status) => {
                    let body = text.split_once(": ").map_or("", |(_, body)| body);
                    Fault::Status(status, printable::line(body, TEXT))
                }
                None if text.starts_with("could not parse JSON") => other(NO_MESSAGE.to_owned()),
                None => other(format!("gave a wrong answer: {}", printable::line(text, TEXT))),
            }
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            other(format!("answered with {} instead of JSON", printable::line(kind, TEXT)))
        }
        StreamableHttpError::UnexpectedContentType(None) => {
            other("answered without a content type instead of with JSON".to_owned())
        }
        StreamableHttpError::Deserialize(_) => other(NO_MESSAGE.to_owned()),
        StreamableHttpError::ResponseBodyTooLarge { .. } => {
            other("sent a message of more than 16 MB".to_owned())
        }
        error => {
            other(format!("gave a wrong answer: {}", printable::line(&error.to_string(), TEXT)))
        }
    }
}

/// Returns what is wrong with a request over HTTP. The address is not part of it, since it may hold a key.
pub(crate) fn http_fault(error: &reqwest::Error) -> Fault {
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let why = match root.is::<reqwest::Error>() {
        true if error.is_timeout() => "no answer in time".to_owned(),
        true => "the connection failed".to_owned(),
        false => printable::line(&root.to_string(), TEXT),
    };
    if error.is_redirect() {
        return Fault::Elsewhere(why);
    }
    let kind = match error.is_connect() || error.is_builder() {
        true => McpErrorKind::NotSent,
        false => McpErrorKind::NoAnswer,
    };
    Fault::Other(kind, format!("cannot be reached: {why}"))
}

/// Returns what a server says with an HTTP status.
pub(crate) fn status_fault(status: u16, body: &str) -> (McpErrorKind, String) {
    match status {
        401 => (McpErrorKind::Unauthorized, "wants a login (HTTP 401)".to_owned()),
        403 => {
            (McpErrorKind::Unauthorized, "does not allow it with this login (HTTP 403)".to_owned())
        }
        _ if body.is_empty() => (McpErrorKind::NoAnswer, format!("answered with HTTP {status}")),
        _ => (McpErrorKind::NoAnswer, format!("answered with HTTP {status}: {body}")),
    }
}

/// Returns the error with which a server answered.
pub(crate) fn answered(error: &ErrorData) -> (McpErrorKind, String) {
    let code = i64::from(error.code.0);
    let text = printable::line(&error.message, crate::bounds::ERROR_TEXT);
    (McpErrorKind::Answered(code), format!("answered with error {code}: {text}"))
}

/// Returns what is wrong with the first answer of a server.
pub(crate) fn first_answer_fault(error: &ClientInitializeError) -> Fault {
    let other = |what: &str| Fault::Other(McpErrorKind::NoAnswer, what.to_owned());
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_fault(error),
        ClientInitializeError::ConnectionClosed(_) => Fault::Gone,
        ClientInitializeError::JsonRpcError(error) => {
            let (kind, what) = answered(error);
            Fault::Other(kind, what)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let supported: Vec<_> = server_supported.iter().map(ToString::to_string).collect();
            let supported = printable::line(&supported.join(", "), TEXT);
            other(&format!("speaks none of the supported revisions of MCP, but {supported}"))
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            other("answered the first request under a wrong id")
        }
        _ => other("gave a wrong answer to the first request"),
    }
}
