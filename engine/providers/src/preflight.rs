//! Finds out at once whether a model on this machine, or at an address of the user's, can be had.

use std::time::Duration;

use protocol::{Failure, FailureClass};
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::completions::{Endpoint, unreachable};
use crate::known::{Known, Site};
use crate::nearest::nearest;
use crate::printable::printable;

/// The longest it may take.
const PATIENCE: Duration = Duration::from_millis(900);

/// The most bytes that are read of a list of models.
const LONGEST: usize = 4 << 20;

/// Asks for the list of models. Only what is certain is a failure.
pub(crate) async fn preflight(client: Client, endpoint: &Endpoint) -> Result<(), Failure> {
    // One that is slow may still be right.
    timeout(PATIENCE, look(client, endpoint)).await.unwrap_or(Ok(()))
}

async fn look(client: Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let mut request = client.get(endpoint.url(&["models"]));
    if let Some(header) = endpoint.key.as_ref().and_then(crate::secret::Secret::header) {
        request = request.header(AUTHORIZATION, header);
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_connect() => return Err(silent(endpoint, error)),
        Err(_other) => return Ok(()),
    };
    let Some(names) = names(response).await else { return Ok(()) };
    let known = names.iter().any(|name| is(name, &endpoint.model));
    let sure = lists_all(&endpoint.provider) && !names.is_empty();
    if known || !sure { Ok(()) } else { Err(unknown(endpoint, &names)) }
}

/// Returns whether a provider of this name has no model but those in its list. A gateway knows
/// more names than it lists, and a server of one model answers to any.
fn lists_all(provider: &str) -> bool {
    provider != "llama.cpp" && Known::find(provider).is_some_and(Known::is_local)
}

/// Nothing listens there.
fn silent(endpoint: &Endpoint, error: reqwest::Error) -> Failure {
    let failure = unreachable(endpoint, error);
    let hint = match Known::find(&endpoint.provider).map(|known| known.site) {
        Some(Site::Local { start }) => format!("start it with `{start}`"),
        Some(Site::Hosted { .. }) | None => "is the base URL right, and is it running?".to_owned(),
    };
    Failure { message: format!("{}; {hint}", failure.message), ..failure }
}

/// Returns the names in a list of models; nothing if it is none.
async fn names(mut response: Response) -> Option<Vec<String>> {
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return None;
        }
    }
    let list: Value = serde_json::from_slice(&body).ok()?;
    let models = list.get("data")?.as_array()?;
    models.iter().map(|model| Some(model.get("id")?.as_str()?.to_owned())).collect()
}

/// Returns whether `name` is the model `id`; a tag may be left out.
fn is(name: &str, id: &str) -> bool {
    name == id || name.strip_suffix(":latest") == Some(id)
}

fn unknown(endpoint: &Endpoint, names: &[String]) -> Failure {
    let (provider, model) = (&endpoint.provider, &endpoint.model);
    let it = match nearest(model, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", printable(near, 80)),
        None => {
            let some: Vec<_> = names.iter().take(5).map(|name| printable(name, 80)).collect();
            let more = if names.len() > some.len() { ", …" } else { "" };
            format!("it has {}{more}", some.join(", "))
        }
    };
    let mut message = format!("{provider} at {} has no model `{model}` ({it})", endpoint.shown());
    if provider == "ollama" {
        message = format!("{message}; try: ollama pull {model}");
    }
    Failure::new(FailureClass::Invalid, message)
}

#[cfg(test)]
mod tests;
