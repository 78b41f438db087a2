//! Fetches a document from a server: bounded in size and time, and without following a redirect.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use crate::failure::lost_because;
use crate::http_client::Clients;
use crate::printable::printable;
use crate::proxy::UsedProxy;
use crate::response_body::{BodyError, ResponseBody};

/// The maximum size of a document, in bytes.
pub const LARGEST_DOCUMENT: usize = 32 << 20;

/// How long a document may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the document at `url`. The error is a fragment that says why there is none.
///
/// # Errors
/// The URL is not http or https or has a password, the server does not answer, or the document is too
/// large or takes too long.
pub async fn fetch_document(url: &str) -> Result<Vec<u8>, String> {
    let url = Url::parse(url).map_err(|error| format!("it is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("it has to begin with http:// or https:// and a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user or a password".to_owned());
    }
    let client = Clients::default().client_for(&url).map_err(|failure| failure.message)?;
    let proxy = UsedProxy::of_environment(&url);
    timeout(TIMEOUT, read(client.get(url), proxy))
        .await
        .map_err(|_elapsed| format!("it took longer than {} seconds", TIMEOUT.as_secs()))?
}

async fn read(
    request: reqwest::RequestBuilder,
    proxy: Option<UsedProxy>,
) -> Result<Vec<u8>, String> {
    let lost = |error| lost_because(error, proxy.as_ref());
    let response = request.send().await.map_err(lost)?;
    if !response.status().is_success() {
        return Err(format!("the server answered {}", printable(response.status().as_str(), 40)));
    }
    let mut body = ResponseBody::new(response);
    let mut bytes = Vec::new();
    let unread = |error| match error {
        BodyError::Lost(error) => lost(error),
        BodyError::Corrupt(error) => format!("it is compressed and corrupt: {error}"),
    };
    while let Some(chunk) = body.chunk().await.map_err(unread)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGEST_DOCUMENT {
            return Err(format!("it is larger than {} MiB", LARGEST_DOCUMENT >> 20));
        }
    }
    Ok(bytes)
}
