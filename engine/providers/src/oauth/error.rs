//! Why a login failed, and how what an authorization server says becomes a message.

use std::time::Duration;

use oauth2::{ErrorResponse, RequestTokenError};

use crate::printable::printable;

/// The maximum length of what a server says in a message.
const LONGEST: usize = 200;

/// Why a login or the renewal of a token failed. No message contains a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// What the user has configured cannot be used.
    #[error("{0}")]
    Config(String),
    /// The user or the server has denied the login.
    #[error("the login was denied: {0}")]
    Denied(String),
    /// The answer does not belong to this login.
    #[error("the answer does not belong to this login: its `state` is {0}")]
    State(&'static str),
    /// A text is not the address at which a login ends.
    #[error("this is not the address at which the login ended: {0}")]
    NotTheAddress(&'static str),
    /// The port of the redirect cannot be used.
    #[error("the login comes back to port {port} of this machine, which cannot be used: {why}")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        why: String,
    },
    /// The login was not completed in time.
    #[error("the login was not completed within {}", seconds(*.0))]
    TimedOut(Duration),
    /// The server cannot be reached, or does not answer as it should.
    #[error("{host} {why}")]
    Unreachable {
        /// The server.
        host: String,
        /// Why.
        why: String,
    },
    /// The server does not accept the request.
    #[error("{host} refused: {why}")]
    Refused {
        /// The server.
        host: String,
        /// What it says.
        why: String,
    },
}

/// Why a request got no answer, as the end of a sentence that begins with the server.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct HttpError(pub(super) String);

fn seconds(limit: Duration) -> String {
    match limit.as_secs() {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

/// Returns what a server says for a message: printable, shortened and without these secrets, which it
/// may repeat.
pub(super) fn said(text: &str, secrets: &[&str]) -> String {
    let hidden = secrets
        .iter()
        .filter(|secret| secret.len() >= 8)
        .fold(text.to_owned(), |text, secret| text.replace(secret, "[secret]"));
    printable(&hidden, LONGEST)
}

/// Returns the error of a request to `host`.
pub(super) fn of_request<T: ErrorResponse + 'static>(
    error: RequestTokenError<HttpError, T>,
    host: &str,
    secrets: &[&str],
) -> LoginError {
    let host = host.to_owned();
    match error {
        RequestTokenError::ServerResponse(response) => {
            LoginError::Refused { host, why: said(&response.to_string(), secrets) }
        }
        RequestTokenError::Request(HttpError(why)) => LoginError::Unreachable { host, why },
        // The texts of these errors would quote the answer.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            let why = "does not answer as an OAuth server does".to_owned();
            LoginError::Unreachable { host, why }
        }
    }
}
