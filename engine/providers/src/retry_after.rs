//! How long a provider asks to wait before the next request: in headers, as seconds, milliseconds or
//! a time, or in the body of an error.

use std::time::{Duration, UNIX_EPOCH};

use protocol::Timestamp;
use reqwest::header::{DATE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// The maximum wait. A longer wait that a server asks for is shortened to this.
const MAX_LEN: Duration = Duration::from_secs(400 * 24 * 3600);

/// The smallest number that is a Unix timestamp. Smaller numbers are seconds to wait.
const TIMESTAMP: f64 = 1e9;

/// Returns the time of the server that sent these headers, to which the times in them relate.
pub(crate) fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE)?.to_str().ok()?;
    Some(Timestamp::from_millisecond(http_date(date)?))
}

/// Returns how long the headers of a response ask to wait; `now` is the time of the server.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
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

/// Returns how long the body of a response asks to wait; `now` is the time of the server.
pub(crate) fn retry_after_in_body(body: &str, now: Timestamp) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get("error").or_else(|| body.get(0)?.get("error"))?;
    retry_info(error).or_else(|| passed_on(error, now))
}

/// Returns the delay in the details of Google's errors, for instance `34.5s`.
pub(crate) fn retry_info(error: &Value) -> Option<Duration> {
    let mut details = error.get("details")?.as_array()?.iter();
    let info = details.find(|detail| {
        detail.get("@type").and_then(Value::as_str).is_some_and(|it| it.ends_with(".RetryInfo"))
    })?;
    let seconds = info.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse::<f64>().ok()?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(MAX_LEN))
}

/// Returns how long the headers ask to wait that a gateway copied from the provider behind it.
fn passed_on(error: &Value, now: Timestamp) -> Option<Duration> {
    let headers = error.get("metadata")?.get("headers")?.as_object()?;
    let headers = headers.iter().filter_map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
    });
    retry_after(&headers.collect(), now)
}

/// Interprets a number: seconds to wait, or a Unix timestamp in seconds or milliseconds. A negative
/// number says nothing.
fn span(seconds: f64, now: Timestamp) -> Option<Duration> {
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    if seconds >= TIMESTAMP * 100.0 {
        return span(seconds / 1000.0, now);
    }
    #[expect(clippy::cast_possible_truncation, reason = "in milliseconds it is below 2^47")]
    if seconds >= TIMESTAMP {
        return until((seconds * 1000.0) as i64, now);
    }
    let span = Duration::try_from_secs_f64(seconds).ok()?;
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
        let cases: [(Headers, Option<u128>); 15] = [
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
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "-1"), ("x-ratelimit-reset", "9")], Some(9000)),
            (&[("retry-after", "nan")], None),
            (&[("retry-after", "1e300")], Some(34_560_000_000)),
        ];
        for (headers, expected) in cases {
            assert_eq!(waited(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_date_relates_to_the_clock_of_the_server() {
        let mut headers = HeaderMap::new();
        headers.insert("date", "Sun, 06 Nov 1994 08:50:00 GMT".parse().unwrap());
        headers.insert("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT".parse().unwrap());
        let then = server_time(&headers).unwrap();
        assert_eq!(retry_after(&headers, then), Some(Duration::from_secs(37)));
        assert_eq!(server_time(&HeaderMap::new()), None);
    }

    #[test]
    fn google_says_in_the_body_how_long_to_wait() {
        let now = Timestamp::from_millisecond(0);
        let body = |delay: &str| {
            let info = format!(
                r#"{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}"#
            );
            format!(r#"{{"error":{{"code":429,"details":[{{"@type":"x"}},{info}]}}}}"#)
        };
        assert_eq!(retry_after_in_body(&body("34.5s"), now), Some(Duration::from_millis(34_500)));
        let listed = format!("[{}]", body("2s"));
        assert_eq!(retry_after_in_body(&listed, now), Some(Duration::from_secs(2)));
        for odd in ["", "s", "-1s", "nans", "34"] {
            assert_eq!(retry_after_in_body(&body(odd), now), None, "{odd}");
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
