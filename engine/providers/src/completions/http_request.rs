//! Sends one HTTP request for an answer, classifies its failure, and reads how long the server asks
//! to wait.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use engine::ports::{AttemptFailure, Clock};
use protocol::{FailureClass, Timestamp};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use serde_json::Value;

use super::failure::{self, ErrorResponse};
use crate::endpoint::Endpoint;
use crate::usage::Price;

/// The maximum number of bytes that are read of an error response.
const LONGEST_ERROR: usize = 64 << 10;

/// One request for an answer.
pub(crate) struct ChatRequest {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) price: Option<Price>,
    pub(crate) body: Bytes,
}

impl ChatRequest {
    /// Sends the request and returns the successful response.
    pub(crate) async fn send(&self) -> Result<Response, AttemptFailure> {
        let url = self.endpoint.url(&["chat", "completions"]);
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(self.body.clone());
        if let Some(key) = &self.endpoint.key {
            let header = key.header().ok_or_else(|| {
                let what = format!("{} holds letters no key has", self.endpoint.variable);
                AttemptFailure::new(FailureClass::Auth, what)
            })?;
            request = request.header(AUTHORIZATION, header);
        }
        let response = request.send().await.map_err(|error| self.connection_lost(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(response)
    }

    async fn refused(&self, mut response: Response) -> AttemptFailure {
        let status = response.status();
        let now = self.clock.now();
        let in_headers = retry_after(response.headers(), now);
        let mut body = Vec::new();
        while body.len() < LONGEST_ERROR {
            // An error whose body cannot be read is classified by its status.
            let Ok(Some(chunk)) = response.chunk().await else { break };
            body.extend_from_slice(&chunk);
        }
        body.truncate(LONGEST_ERROR);
        let body = String::from_utf8_lossy(&body);
        let wait = in_headers.or_else(|| retry_after_in_body(&body, now));
        let request_bytes = self.body.len();
        let response = ErrorResponse { status, wait, body: &body, request_bytes };
        failure::refused(&self.endpoint, &response, now)
    }

    /// Returns the failure of a lost connection.
    pub(crate) fn connection_lost(&self, error: reqwest::Error) -> AttemptFailure {
        failure::unreachable(&self.endpoint, error).into()
    }

    /// Returns the failure of an answer that ended in the middle.
    pub(crate) fn incomplete(&self) -> AttemptFailure {
        let what = format!("the answer of {} ended in the middle", self.endpoint.provider);
        AttemptFailure::new(FailureClass::Transient, what)
    }
}

/// The maximum wait. A longer wait that a server asks for is shortened to this.
const MAX_LEN: Duration = Duration::from_secs(400 * 24 * 3600);

/// The smallest number that is a Unix timestamp. Smaller numbers are seconds to wait.
const TIMESTAMP: f64 = 1e9;

/// Returns how long the headers of a response ask to wait.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let after = || match text("retry-after")?.parse::<f64>() {
        Ok(seconds) => span(seconds, now),
        Err(_) => until(http_date(text("retry-after")?)?, now),
    };
    number("retry-after-ms")
        .and_then(|millis| span(millis / 1000.0, now))
        .or_else(after)
        .or_else(|| number("x-ratelimit-reset-ms").and_then(|millis| span(millis / 1000.0, now)))
        .or_else(|| number("x-ratelimit-reset").and_then(|seconds| span(seconds, now)))
}

/// Returns how long the body of a response asks to wait. Gateways copy the response headers of the
/// provider behind them into the body.
fn retry_after_in_body(body: &str, now: Timestamp) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let headers = body.get("error")?.get("metadata")?.get("headers")?.as_object()?;
    let headers = headers.iter().filter_map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
    });
    retry_after(&headers.collect(), now)
}

/// Interprets a number: seconds to wait, or a Unix timestamp in seconds or milliseconds.
fn span(seconds: f64, now: Timestamp) -> Option<Duration> {
    if !seconds.is_finite() {
        return None;
    }
    if seconds >= TIMESTAMP * 100.0 {
        return span(seconds / 1000.0, now);
    }
    #[expect(clippy::cast_possible_truncation, reason = "in milliseconds it is below 2^47")]
    if seconds >= TIMESTAMP {
        return until((seconds * 1000.0) as i64, now);
    }
    let span = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
    Some(span.min(MAX_LEN))
}

fn until(millisecond: i64, now: Timestamp) -> Option<Duration> {
    let left = millisecond.saturating_sub(now.as_millisecond()).max(0);
    Some(Duration::from_millis(u64::try_from(left).ok()?).min(MAX_LEN))
}

/// Parses an HTTP date, for instance `Sun, 06 Nov 1994 08:49:37 GMT`, in milliseconds since 1970.
fn http_date(text: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    fn waited(headers: Headers) -> Option<u128> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let now = Timestamp::from_millisecond(784_111_777_000);
        retry_after(&map, now).map(|wait| wait.as_millis())
    }

    #[test]
    fn every_header_that_asks_to_wait_is_understood() {
        let cases: [(Headers, Option<u128>); 13] = [
            (&[], None),
            (&[("retry-after", "2")], Some(2000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(60_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "soon"), ("x-ratelimit-reset", "9")], Some(9000)),
            (&[("retry-after", "7"), ("retry-after-ms", "1500")], Some(1500)),
            (&[("x-ratelimit-reset-ms", "250")], Some(250)),
            (&[("x-ratelimit-reset", "1784111777")], Some(34_560_000_000)),
            (&[("x-ratelimit-reset", "1784111777000")], Some(34_560_000_000)),
            (&[("retry-after", "-3")], Some(0)),
            (&[("retry-after", "nan")], None),
            (&[("retry-after", "1e300")], Some(34_560_000_000)),
        ];
        for (headers, expected) in cases {
            assert_eq!(waited(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn who_passes_an_error_on_may_put_the_headers_into_it() {
        let now = Timestamp::from_millisecond(1_741_305_590_000);
        let body =
            r#"{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1741305600000","b c":1}}}}"#;
        assert_eq!(retry_after_in_body(body, now), Some(Duration::from_secs(10)));
        for body in ["", "[]", r#"{"error":"x"}"#, r#"{"error":{"metadata":{"headers":{}}}}"#] {
            assert_eq!(retry_after_in_body(body, now), None);
        }
    }

    #[test]
    fn dates_are_read_exactly_or_not_at_all() {
        let cases = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777_000)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199_000)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200_000)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777_000)),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ];
        for (text, expected) in cases {
            assert_eq!(http_date(text), expected, "{text}");
        }
    }
}
