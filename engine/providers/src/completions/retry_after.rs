//! How long a provider asks to be left alone.

use std::time::Duration;

use protocol::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// More than this is not meant.
const LONGEST: Duration = Duration::from_secs(400 * 24 * 3600);

/// Numbers of seconds from here on are points in time.
const POINT: f64 = 1e9;

/// Returns how long the headers of an answer ask to be waited.
pub(crate) fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let after = || match text("retry-after")?.parse::<f64>() {
        Ok(seconds) => span(seconds, now),
        Err(_) => until(date(text("retry-after")?)?, now),
    };
    number("retry-after-ms")
        .and_then(|millis| span(millis / 1000.0, now))
        .or_else(after)
        .or_else(|| number("x-ratelimit-reset-ms").and_then(|millis| span(millis / 1000.0, now)))
        .or_else(|| number("x-ratelimit-reset").and_then(|seconds| span(seconds, now)))
}

/// Returns how long the body of an answer asks to be waited: who passes the error of another on
/// puts the headers in there.
pub(crate) fn wait_told(body: &str, now: Timestamp) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let told = body.get("error")?.get("metadata")?.get("headers")?.as_object()?;
    let headers = told.iter().filter_map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
    });
    wait(&headers.collect(), now)
}

/// Reads seconds from now, or since 1970, or milliseconds since then.
fn span(seconds: f64, now: Timestamp) -> Option<Duration> {
    if !seconds.is_finite() {
        return None;
    }
    if seconds >= POINT * 100.0 {
        return span(seconds / 1000.0, now);
    }
    #[expect(clippy::cast_possible_truncation, reason = "in milliseconds it is below 2^47")]
    if seconds >= POINT {
        return until((seconds * 1000.0) as i64, now);
    }
    let span = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
    Some(span.min(LONGEST))
}

fn until(millisecond: i64, now: Timestamp) -> Option<Duration> {
    let left = millisecond.saturating_sub(now.as_millisecond()).max(0);
    Some(Duration::from_millis(u64::try_from(left).ok()?).min(LONGEST))
}

/// Reads a date of HTTP, for instance `Sun, 06 Nov 1994 08:49:37 GMT`, in milliseconds since 1970.
fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_weekday, rest) = text.split_once(", ")?;
    let words: Vec<_> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = words[..] else { return None };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    let number = |text: &str, most: i64| text.parse().ok().filter(|it| (0..=most).contains(it));
    let (day, year) = (number(day, 31)?, number(year, 9999)?);
    let times: Vec<_> = time.split(':').map(|part| number(part, 60)).collect::<Option<_>>()?;
    let [hour, minute, second] = times[..] else { return None };
    // Days since 1970 in a calendar whose year begins in March.
    let month = i64::try_from(month).ok()?;
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + of_year - 719_468;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
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
        wait(&map, now).map(|wait| wait.as_millis())
    }

    #[test]
    fn every_way_to_ask_for_patience_is_understood() {
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
        assert_eq!(wait_told(body, now), Some(Duration::from_secs(10)));
        for body in ["", "[]", r#"{"error":"x"}"#, r#"{"error":{"metadata":{"headers":{}}}}"#] {
            assert_eq!(wait_told(body, now), None);
        }
    }

    #[test]
    fn dates_are_read_exactly_or_not_at_all() {
        let cases = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777_000)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199_000)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200_000)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ];
        for (text, expected) in cases {
            assert_eq!(date(text), expected, "{text}");
        }
    }
}
