//! Classifies failures of requests: by the HTTP status first, and by the text of the error where the
//! status is missing or means many things.

use std::time::Duration;

use engine::ports::{AttemptFailure, FailureCause, key_phrase};
use protocol::{Failure, FailureClass, FailureDetail, Timestamp};
use reqwest::StatusCode;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::retry_after::retry_info;

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
    let words = ErrorBody::of(response.body);
    let said = endpoint.redact(&words.message, 400);
    let Classification { class, note } = classify(endpoint, response, &words);
    let status = status_line(response.status);
    let mut message = format!("{} answers {status}", endpoint.provider);
    for more in [said, note] {
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
        "{} answers with {what} instead of a stream of events: `{}`; is the base URL {} right?",
        endpoint.provider,
        endpoint.redact(beginning, 200),
        endpoint.display_url(),
    );
    AttemptFailure::new(FailureClass::Invalid, message)
}

/// Returns the failure of a request that got no answer, or whose answer was lost.
pub(crate) fn unreachable(endpoint: &Endpoint, error: reqwest::Error) -> Failure {
    let (connecting, late) = (error.is_connect(), error.is_timeout());
    let causes = causes(error);
    let root = endpoint.redact(causes.last().map_or("", String::as_str), 200);
    let certificate = causes.iter().any(|cause| cause.contains("certificate"));
    let (provider, shown) = (&endpoint.provider, endpoint.display_url());
    if certificate {
        let why = certificate_fault(&root);
        let what = format!("{provider} at {shown} cannot be trusted: {why}");
        return Failure::new(FailureClass::Invalid, what);
    }
    let what = match (connecting, late) {
        (true, true) => format!("{provider} at {shown} did not take the connection in time"),
        (true, false) => format!("{provider} at {shown} cannot be reached: {root}"),
        (false, true) => format!("{provider} did not answer in time"),
        (false, false) => format!("the connection to {provider} was lost: {root}"),
    };
    Failure::new(FailureClass::Transient, what)
}

/// Returns what is wrong with a certificate, by the text of an error.
fn certificate_fault(error: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    if says(&["UnknownIssuer"]) {
        "its certificate is from an authority that is not known here; try: SSL_CERT_FILE=FILE, with the \
         certificate of that authority"
    } else if says(&["Expired", "expired"]) {
        "its certificate has expired"
    } else if says(&["NotValidYet", "not valid yet"]) {
        "its certificate is not valid yet"
    } else if says(&["NotValidForName", "not valid for name"]) {
        "its certificate is that of another name"
    } else {
        "its certificate is not valid"
    }
}

/// Returns why a request that needs no key got no answer, as a fragment.
pub(crate) fn lost_because(error: reqwest::Error) -> String {
    crate::printable::printable(causes(error).last().map_or("", String::as_str), 200)
}

/// Returns the texts of an error and of those behind it.
fn causes(error: reqwest::Error) -> Vec<String> {
    let error = error.without_url();
    let first: &dyn std::error::Error = &error;
    std::iter::successors(Some(first), |error| error.source()).map(ToString::to_string).collect()
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

fn key_note(endpoint: &Endpoint) -> String {
    let variable = &endpoint.variable;
    if endpoint.key.is_some() {
        format!("{} is not accepted", key_phrase(variable))
    } else {
        format!("it needs an API key: set {variable}")
    }
}

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
    } else if variable.contains(' ') {
        format!("it needs an API key, and gets none because of {variable}")
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

/// The text of an error response.
struct ErrorBody {
    /// The human-readable message.
    message: String,
    /// All of the text, in lower case.
    all: String,
}

impl ErrorBody {
    fn of(body: &str) -> Self {
        let all = body.to_ascii_lowercase();
        let json: Option<Value> = serde_json::from_str(body).ok();
        let message = match &json {
            Some(json) => message(json).unwrap_or_else(|| json.to_string()),
            None if all.contains("<html") || all.contains("<!doctype") => title(body, &all),
            None => body.to_owned(),
        };
        Self { message: message.trim().to_owned(), all }
    }

    fn contains_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.all.contains(text))
    }

    /// Recognises `input token count (9) exceeds the maximum` and `exceeds the limit of 9`.
    fn exceeds_limit(&self) -> bool {
        let count = self.all.find("input token count");
        let counted = count.is_some_and(|at| self.all[at..].contains("exceeds the maximum"));
        let limit = self.all.split("exceeds the limit of ").nth(1);
        counted || limit.is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    }
}

/// Returns the human-readable message of an error body, if the body has a known structure.
fn message(json: &Value) -> Option<String> {
    let error = json.get("error").unwrap_or(json);
    // Some providers wrap the error in a list.
    let error = json.get(0).and_then(|first| first.get("error")).unwrap_or(error);
    let detail = error.get("metadata").and_then(|it| it.get("raw")).and_then(Value::as_str);
    let texts = [Some(error), error.get("message"), error.get("detail"), json.get("message")];
    let text = texts.into_iter().flatten().find_map(Value::as_str)?;
    Some(match detail {
        Some(detail) => format!("{text} ({detail})"),
        None => text.to_owned(),
    })
}

/// Returns the title of an HTML page.
fn title(body: &str, lower: &str) -> String {
    let begin = lower.find("<title>").map(|at| at + "<title>".len());
    let end = begin.and_then(|begin| lower[begin..].find("</title>").map(|at| begin + at));
    let title = begin.zip(end).and_then(|(begin, end)| body.get(begin..end));
    title.unwrap_or("a page of HTML").to_owned()
}

fn status_line(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

#[cfg(test)]
mod tests;
