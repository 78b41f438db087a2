//! Classifies failures of requests: by the HTTP status first, and by the text of the error where the
//! status is missing or means many things.

use std::time::Duration;

use engine::ports::{AttemptFailure, FailureCause, key_phrase};
use protocol::{Failure, FailureClass, FailureDetail, Timestamp};
use reqwest::StatusCode;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::error_body::ErrorBody;
use crate::known_providers::{KnownProvider, Site};
use crate::printable::printable;
use crate::proxy::UsedProxy;
use crate::retry_after::retry_info;
use crate::trust::certificate_fault;

/// A request of at least this many bytes is taken as too large if it is refused without a message.
const LARGE: usize = 100 << 10;

/// A response that reports an error.
pub(crate) struct ErrorResponse<'a> {
    pub(crate) status: StatusCode,
    /// How long the provider asks to wait.
    pub(crate) wait: Option<Duration>,
    pub(crate) body: &'a str,
    /// The size of the request in bytes.
    pub(crate) request_bytes: usize,
}

/// Returns the failure of a response that reports an error.
pub(crate) fn refused(
    endpoint: &Endpoint,
    response: &ErrorResponse<'_>,
    now: Timestamp,
) -> AttemptFailure {
    if let (StatusCode::PROXY_AUTHENTICATION_REQUIRED, Some(proxy)) =
        (response.status, &endpoint.proxy)
    {
        return proxy.wants_password().into();
    }
    let words = ErrorBody::of(response.body);
    let said = endpoint.redact(&words.message, 400);
    let Classification { class, note } = classify(endpoint, response, &words);
    let status = status_line(response.status);
    let mut message = format!("{} answers {status}", endpoint.provider);
    for more in [&said, &note, &proxy_note(endpoint, response.status)] {
        if !more.is_empty() {
            message = format!("{message}: {more}");
        }
    }
    let mut failure = Failure::new(class, message);
    if let Some(wait) = response.wait.filter(|_| class == FailureClass::Quota) {
        let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(now.as_millisecond().saturating_add(wait));
        failure = failure.with(FailureDetail::Until { at });
    }
    if response.status == StatusCode::UNAUTHORIZED && class == FailureClass::Auth {
        failure = failure.with(FailureDetail::UnknownKey);
    }
    if note == NO_KEY {
        failure = failure.advise(format!("try: export {}=…", endpoint.variable));
    }
    let cause = match response.status.as_u16() {
        429 if class == FailureClass::Transient => FailureCause::RateLimit,
        529 if class == FailureClass::Transient => FailureCause::Overload,
        404 if class == FailureClass::Invalid => FailureCause::UnknownModel,
        400 if class == FailureClass::Invalid && words.contains_any(UNKNOWN_MODEL) => {
            FailureCause::UnknownModel
        }
        _ => FailureCause::Other,
    };
    AttemptFailure { failure, wait: response.wait, cause }
}

/// Returns the failure of an error that came in the middle of a stream.
pub(crate) fn in_stream(endpoint: &Endpoint, error: &Value, now: Timestamp) -> AttemptFailure {
    let body = error.to_string();
    let code = error.get("code").or_else(|| error.get("status"));
    let number = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let status = number.and_then(|it| StatusCode::from_u16(u16::try_from(it).ok()?).ok());
    let status = status.filter(|it| it.is_client_error() || it.is_server_error());
    let mut words =
        ["code", "type", "status"].into_iter().filter_map(|key| error.get(key)?.as_str());
    let status = status.or_else(|| words.find_map(status_of));
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let wait = retry_info(error);
    let response = ErrorResponse { status, wait, body: &body, request_bytes: 0 };
    refused(endpoint, &response, now)
}

/// Returns the HTTP status that an API sends with an error of this name when it has not begun to
/// answer.
fn status_of(name: &str) -> Option<StatusCode> {
    let status = match name {
        "invalid_request_error" | "invalid_prompt" | "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => {
            400
        }
        "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "model_not_found" | "NOT_FOUND" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => 429,
        "api_error" | "server_error" | "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        "timeout_error" | "DEADLINE_EXCEEDED" => 504,
        "overloaded_error" => 529,
        _ => return None,
    };
    StatusCode::from_u16(status).ok()
}

/// Returns the failure of an answer that is neither a stream of events nor JSON.
pub(crate) fn not_a_stream(endpoint: &Endpoint, kind: &str, beginning: &str) -> AttemptFailure {
    let what = if kind.is_empty() { "no stream".to_owned() } else { endpoint.redact(kind, 60) };
    let message = format!(
        "{} answers with {what} instead of a stream of events: `{}`",
        endpoint.provider,
        endpoint.redact(beginning, 200),
    );
    let advice = format!("is the base URL {} right?", endpoint.display_url());
    Failure::new(FailureClass::Invalid, message).advise(advice).into()
}

/// Returns the failure of a request that got no answer, or whose answer was lost.
pub(crate) fn unreachable(endpoint: &Endpoint, error: reqwest::Error) -> Failure {
    let (connecting, late) = (error.is_connect(), error.is_timeout());
    let causes = causes(error);
    let root = endpoint.redact(causes.last().map_or("", String::as_str), 200);
    let certificate = causes.iter().any(|cause| cause.contains("certificate"));
    let (provider, shown) = (&endpoint.provider, endpoint.display_url());
    if certificate {
        let fault = certificate_fault(&root);
        let message = format!("{provider} at {shown} cannot be trusted: {}", fault.message);
        return Failure { message, ..fault };
    }
    if connecting && let Some(proxy) = &endpoint.proxy {
        return proxy.fault(&endpoint.base, &causes);
    }
    let what = match (connecting, late) {
        (true, true) => format!("{provider} at {shown} did not take the connection in time"),
        (true, false) => {
            let site = KnownProvider::find(provider).map(|known| known.site);
            let what = format!("{provider} at {shown} cannot be reached: {root}");
            let failure = Failure::new(FailureClass::Transient, what);
            return match site {
                Some(Site::Local { start }) => failure.advise(format!("start it with `{start}`")),
                Some(Site::Hosted { .. }) | None => failure,
            };
        }
        (false, true) => format!("{provider} did not answer in time"),
        (false, false) => format!("the connection to {provider} was lost: {root}"),
    };
    Failure::new(FailureClass::Transient, what)
}

/// Returns why a request that needs no key got no answer, as a fragment. `proxy` is the proxy that it
/// went through.
pub(crate) fn lost_because(error: reqwest::Error, proxy: Option<&UsedProxy>) -> String {
    let (connecting, url) = (error.is_connect(), error.url().cloned());
    let causes = causes(error);
    let root = causes.last().map_or("", String::as_str);
    let text = match (proxy, &url) {
        _ if causes.iter().any(|cause| cause.contains("certificate")) => {
            certificate_fault(root).message
        }
        (Some(proxy), Some(url)) if connecting => proxy.fault(url, &causes).message,
        _ => root.to_owned(),
    };
    printable(&text, 400)
}

/// Returns the texts of an error and of those behind it.
fn causes(error: reqwest::Error) -> Vec<String> {
    let error = error.without_url();
    let first: &dyn std::error::Error = &error;
    let all = std::iter::successors(Some(first), |error| error.source());
    all.map(|error| without_os_code(&error.to_string())).collect()
}

/// Removes the number of a system error, because the message also has its name.
fn without_os_code(message: &str) -> String {
    message.split(" (os error ").next().unwrap_or_default().to_owned()
}

struct Classification {
    class: FailureClass,
    /// What to add to the text of the provider.
    note: String,
}

impl Classification {
    fn without_note(class: FailureClass) -> Self {
        Self { class, note: String::new() }
    }
}

fn classify(
    endpoint: &Endpoint,
    response: &ErrorResponse<'_>,
    words: &ErrorBody,
) -> Classification {
    let status = response.status.as_u16();
    // An error in the middle of a stream has no status of its own and is taken for a 500.
    if matches!(status, 400 | 403 | 422 | 500) && words.contains_any(FILTERED) {
        return Classification::without_note(FailureClass::Refused);
    }
    if status == 400 && words.contains_any(UNKNOWN_KEY) {
        return Classification { class: FailureClass::Auth, note: key_note(endpoint) };
    }
    // No key helps there, nor any other request.
    if matches!(status, 400 | 403) && words.contains_any(ELSEWHERE) {
        return Classification::without_note(FailureClass::Auth);
    }
    // The model called a tool in a way that the provider could not read; it may do better.
    if status == 400 && words.contains_any(&["tool_use_failed"]) {
        return Classification::without_note(FailureClass::Transient);
    }
    if status != 429 && words.contains_any(TOOLLESS) {
        let note = format!("{} cannot call tools, which agents need", endpoint.model);
        return Classification { class: FailureClass::Invalid, note };
    }
    if status != 429 && is_overflow(response, words) {
        return Classification::without_note(FailureClass::Overflow);
    }
    // Google words a limit per minute like one that is used up, and says when it is over.
    let passes = status == 429 && response.wait.is_some() && words.contains_any(&["retryinfo"]);
    let passes = passes && !words.contains_any(&["perday"]);
    let spent = matches!(status, 400 | 403 | 429 | 500) && words.contains_any(SPENT);
    if status == 402 || (spent && !passes) {
        return Classification::without_note(FailureClass::Quota);
    }
    match status {
        401 => Classification { class: FailureClass::Auth, note: key_note(endpoint) },
        // The key is known, and is not allowed to do this: another one may be.
        403 => Classification { class: FailureClass::Auth, note: permission_note(endpoint) },
        408 | 409 | 425 | 429 | 500..=599 => Classification::without_note(FailureClass::Transient),
        404 => {
            let (model, shown) = (&endpoint.model, endpoint.display_url());
            let note = format!("it has no model `{model}`, or the base URL {shown} is wrong");
            Classification { class: FailureClass::Invalid, note }
        }
        300..=399 => {
            let note = format!("the base URL {} leads elsewhere", endpoint.display_url());
            Classification { class: FailureClass::Invalid, note }
        }
        // 400 and 422 among them: what is asked is not understood.
        _ => Classification::without_note(FailureClass::Invalid),
    }
}

/// Returns through which proxy an answer came that may be the proxy's own: over plain HTTP it can answer
/// in place of the server.
fn proxy_note(endpoint: &Endpoint, status: StatusCode) -> String {
    let proxy = endpoint.proxy.as_ref().filter(|_| endpoint.base.scheme() == "http");
    let proxy = proxy.filter(|_| matches!(status.as_u16(), 403 | 502..=504));
    proxy.map(|proxy| format!("it came through {proxy}")).unwrap_or_default()
}

fn key_note(endpoint: &Endpoint) -> String {
    let variable = &endpoint.variable;
    if endpoint.key.is_some() {
        format!("{} is not accepted", key_phrase(variable))
    } else if variable.contains(' ') {
        format!("it needs an API key, and {variable} says to send none")
    } else {
        NO_KEY.to_owned()
    }
}

/// There is no API key, and a variable could hold it.
const NO_KEY: &str = "it needs an API key";

fn permission_note(endpoint: &Endpoint) -> String {
    if endpoint.key.is_some() {
        format!("{} does not allow this", key_phrase(&endpoint.variable))
    } else {
        key_note(endpoint)
    }
}

fn is_overflow(response: &ErrorResponse<'_>, words: &ErrorBody) -> bool {
    let silent = words.message.is_empty() && response.request_bytes >= LARGE;
    let status = response.status.as_u16();
    status == 413
        || (status == 400 && silent)
        || words.contains_any(OVERFLOWING)
        || words.exceeds_limit()
}

/// It is asked from a place where it is not offered.
const ELSEWHERE: &[&str] = &[
    "unsupported_country",
    "location is not supported",
    "not available in your country",
    "not available in your region",
];

const FILTERED: &[&str] = &[
    "content_filter",
    "content management policy",
    "responsibleaipolicy",
    "moderation",
    "flagged",
    "violates usage guidelines",
];

const TOOLLESS: &[&str] = &[
    "does not support tools",
    "not support tool use",
    "support tool use",
    "tool use is not supported",
    "does not support function",
    "tools is not supported",
    "tools are not supported",
    "--enable-auto-tool-choice",
    "requires --jinja",
    "param requires --jinja",
];

const UNKNOWN_KEY: &[&str] =
    &["incorrect api key", "invalid api key", "api key not valid", "invalid_api_key"];

const UNKNOWN_MODEL: &[&str] = &["model_not_found", "unknown model", "is not a valid model id"];

const SPENT: &[&str] = &[
    "insufficient_quota",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "credit balance",
    "out of credits",
    "exceeded your current quota",
    "billing_hard_limit",
    "key limit exceeded",
    "have any credits",
    "reached your specified api usage limits",
];

const OVERFLOWING: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "exceeds the context window",
    "exceeds the available context size",
    "exceeds the maximum size",
    "exceeds context window",
    "maximum prompt length is",
    "maximum context length",
    "reduce the length of the messages",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "context_length_exceeded",
    "model_context_window_exceeded",
    "too many tokens",
    "token limit exceeded",
    "request_too_large",
    "payload too large",
    "entity too large",
];

fn status_line(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

#[cfg(test)]
mod tests;
