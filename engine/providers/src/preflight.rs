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
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of bytes that are read of a list of models.
const MAX_LEN: usize = 4 << 20;

/// Asks the server for its list of models, for at most this long. Fails only if the model is certainly
/// not available.
pub(crate) async fn preflight(
    limit: Duration,
    client: Client,
    endpoint: &Endpoint,
) -> Result<(), Failure> {
    // A server that does not answer in time may still have the model.
    timeout(limit, check(client, endpoint)).await.unwrap_or(Ok(()))
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
    let Some(list) = list_of(response).await else { return Ok(()) };
    let names = names_of(&list).unwrap_or_default();
    let known = names.iter().any(|name| is_model(name, &endpoint.model));
    if known || names.is_empty() || !lists_all(endpoint, &list, &names) {
        return Ok(());
    }
    Err(unknown_model(endpoint, &names))
}

/// Returns whether a list has every model that its server accepts. A llama.cpp server accepts any name
/// for its one model, Azure lists models in place of deployments, a pattern stands for many names, and
/// a list may be the first page of several.
fn lists_all(endpoint: &Endpoint, list: &Value, names: &[String]) -> bool {
    let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
    let mut owners = models.filter_map(|model| model.get("owned_by")?.as_str());
    let is_llama = endpoint.provider == "llama.cpp" || owners.any(|owner| owner == "llamacpp");
    let is_azure = endpoint.base.host_str().is_some_and(|host| host.ends_with(".azure.com"));
    let is_page = list.get("has_more") == Some(&Value::Bool(true));
    !(is_llama || is_azure || is_page || names.iter().any(|name| name.contains('*')))
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
    failure.advise("start it, or correct its base URL")
}

/// Returns the names in a list of models; `None` if the response is not such a list.
pub(crate) async fn model_names(response: Response) -> Option<Vec<String>> {
    names_of(&list_of(response).await?)
}

async fn list_of(response: Response) -> Option<Value> {
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
    serde_json::from_slice(&body).ok()
}

fn names_of(list: &Value) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?;
    models.iter().map(|model| Some(model.get("id")?.as_str()?.to_owned())).collect()
}

/// Returns whether `name` is the model `id`. The id may omit the tag `:latest`, and what stands before
/// the last slash, as in `models/gemini-3-pro`.
fn is_model(name: &str, id: &str) -> bool {
    let last = name.rsplit_once('/').map(|(_, last)| last);
    name == id || name.strip_suffix(":latest") == Some(id) || last == Some(id)
}

fn unknown_model(endpoint: &Endpoint, names: &[String]) -> Failure {
    let (provider, model) = (&endpoint.provider, &endpoint.model);
    let near = nearest_name(model, names.iter().map(String::as_str));
    let some = names.iter().take(LISTED).map(String::as_str);
    let some = some.filter(|name| Some(*name) != near).chain(near);
    let some: Vec<_> = some.map(|name| printable(name, 80)).collect();
    let more = if names.len() > some.len() { ", …" } else { "" };
    let (url, some) = (endpoint.display_url(), some.join(", "));
    let message = format!("{provider} at {url} has no model `{model}` (it has {some}{more})");
    let failure = Failure::new(FailureClass::Invalid, message);
    // A gateway may accept names that it does not list.
    let unlisted = "define the model in models.yml, if it accepts the name all the same";
    // A name of the server has words of others in it; the advice may not.
    match (near.filter(|near| printable(near, 80) == *near), provider.as_str()) {
        (Some(near), "ollama") => failure.advise(format!("try: --model {provider}/{near}")),
        (Some(near), _) => {
            failure.advise(format!("try: --model {provider}/{near} (or {unlisted})"))
        }
        (None, "ollama") => failure.advise(format!("try: ollama pull {model}")),
        (None, _) => failure.advise(unlisted),
    }
}

/// How many models of a server are named.
const LISTED: usize = 5;

#[cfg(test)]
mod tests;
