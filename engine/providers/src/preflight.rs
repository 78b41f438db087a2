//! Checks before a run whether a local model, or one at a base URL the user gave, is available.

use std::time::Duration;

use protocol::{Failure, FailureClass};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::endpoint::Endpoint;
use crate::failure::unreachable;
use crate::known_providers::{KnownProvider, nearest_name};
use crate::printable::printable;
use crate::response_body::ResponseBody;

/// The maximum duration of the check.
const TIMEOUT: Duration = Duration::from_millis(900);

/// The maximum number of bytes that are read of a list of models.
const MAX_LEN: usize = 4 << 20;

/// Asks the server for its list of models. Fails only if the model is certainly not available.
pub(crate) async fn preflight(client: Client, endpoint: &Endpoint) -> Result<(), Failure> {
    // A server that does not answer in time may still have the model.
    timeout(TIMEOUT, check(client, endpoint)).await.unwrap_or(Ok(()))
}

async fn check(client: Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let mut request = client.get(endpoint.models_url());
    if let Ok(Some((name, value))) = endpoint.key_header() {
        request = request.header(name, value);
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_connect() => return Err(not_listening(endpoint, error)),
        Err(_other) => return Ok(()),
    };
    let Some(names) = model_names(response).await else { return Ok(()) };
    let known = names.iter().any(|name| is_model(name, &endpoint.model));
    let sure = lists_all(&endpoint.provider) && !names.is_empty();
    if known || !sure { Ok(()) } else { Err(unknown_model(endpoint, &names)) }
}

/// Returns whether a provider lists every model that it accepts. A gateway accepts more names than
/// it lists, and a llama.cpp server accepts any name for its one model.
fn lists_all(provider: &str) -> bool {
    provider != "llama.cpp" && KnownProvider::find(provider).is_some_and(KnownProvider::is_local)
}

/// Returns the failure that no server listens at the address, with a hint what to do.
fn not_listening(endpoint: &Endpoint, error: reqwest::Error) -> Failure {
    let failure = unreachable(endpoint, error);
    if failure.class != FailureClass::Transient || endpoint.proxy.is_some() {
        return failure; // it listens, and cannot be trusted; or a proxy stands before it
    }
    if KnownProvider::find(&endpoint.provider).is_some_and(KnownProvider::is_local) {
        return failure; // it says how to start the server
    }
    failure.advise("is the base URL right, and is it running?")
}

/// Returns the names in a list of models; `None` if the response is no such list.
pub(crate) async fn model_names(response: Response) -> Option<Vec<String>> {
    if !response.status().is_success() {
        return None;
    }
    let mut response = ResponseBody::new(response);
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LEN {
            return None;
        }
    }
    let list: Value = serde_json::from_slice(&body).ok()?;
    let models = list.get("data")?.as_array()?;
    models.iter().map(|model| Some(model.get("id")?.as_str()?.to_owned())).collect()
}

/// Returns whether `name` is the model `id`. The id may omit the tag `:latest`.
fn is_model(name: &str, id: &str) -> bool {
    name == id || name.strip_suffix(":latest") == Some(id)
}

fn unknown_model(endpoint: &Endpoint, names: &[String]) -> Failure {
    let (provider, model) = (&endpoint.provider, &endpoint.model);
    let it = match nearest_name(model, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", printable(near, 80)),
        None => {
            let some: Vec<_> = names.iter().take(5).map(|name| printable(name, 80)).collect();
            let more = if names.len() > some.len() { ", …" } else { "" };
            format!("it has {}{more}", some.join(", "))
        }
    };
    let message = format!("{provider} at {} has no model `{model}` ({it})", endpoint.display_url());
    let failure = Failure::new(FailureClass::Invalid, message);
    if provider == "ollama" { failure.advise(format!("try: ollama pull {model}")) } else { failure }
}

#[cfg(test)]
mod tests;
