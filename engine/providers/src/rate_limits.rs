//! What the headers of a response say about the limits of the account, as OpenAI and Anthropic word
//! them.

use std::time::Duration;

use engine::ports::{RateLimit, RateLimits};
use protocol::Timestamp;
use reqwest::header::HeaderMap;

/// The longest time until a limit is reset. A longer one is shortened to this.
const MAX_RESET: Duration = Duration::from_secs(400 * 24 * 3600);

/// Returns the limits in the headers of a response; `None` if there are none.
pub(crate) fn rate_limits(headers: &HeaderMap, now: Timestamp) -> Option<RateLimits> {
    let of = |what: &str| limit(headers, what, now);
    let limits = RateLimits {
        requests: of("requests"),
        tokens: of("tokens"),
        input_tokens: of("input-tokens"),
        output_tokens: of("output-tokens"),
    };
    (limits != RateLimits::default()).then_some(limits)
}

/// Returns how long it takes until every limit that is used up is reset, if the headers say so.
pub(crate) fn wait_for_limits(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let limits = rate_limits(headers, now)?;
    limits.all().filter(|limit| limit.remaining == 0).filter_map(|limit| limit.reset).max()
}

fn limit(headers: &HeaderMap, what: &str, now: Timestamp) -> Option<RateLimit> {
    let text = |name: String| headers.get(name.as_str())?.to_str().ok().map(str::trim);
    let number = |name: String| text(name)?.parse::<u64>().ok();
    let openai = || {
        Some(RateLimit {
            remaining: number(format!("x-ratelimit-remaining-{what}"))?,
            limit: number(format!("x-ratelimit-limit-{what}")),
            reset: text(format!("x-ratelimit-reset-{what}")).and_then(duration),
        })
    };
    let anthropic = || {
        Some(RateLimit {
            remaining: number(format!("anthropic-ratelimit-{what}-remaining"))?,
            limit: number(format!("anthropic-ratelimit-{what}-limit")),
            reset: text(format!("anthropic-ratelimit-{what}-reset"))
                .and_then(|time| until(time, now)),
        })
    };
    openai().or_else(anthropic)
}

/// Returns the time until an RFC 3339 timestamp.
fn until(time: &str, now: Timestamp) -> Option<Duration> {
    let time: Timestamp = serde_json::from_value(time.into()).ok()?;
    let left = time.as_millisecond().saturating_sub(now.as_millisecond()).max(0);
    Some(Duration::from_millis(u64::try_from(left).ok()?).min(MAX_RESET))
}

/// Parses a duration of numbers with units, such as `6m0s`, `1.5s` or `12ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.find(|it: char| it.is_ascii_alphabetic())?;
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * seconds).ok()?;
        total = total.saturating_add(part);
        rest = after;
    }
    (!text.is_empty()).then_some(total.min(MAX_RESET))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_headers_of_two_apis_give_the_same_data() {
        let now = Timestamp::from_millisecond(1_767_323_045_000);
        let openai = headers(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        let limits = rate_limits(&openai, now).unwrap();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let requests = RateLimit { remaining: 59, limit: Some(60), reset: seconds(1) };
        let tokens = RateLimit { remaining: 0, limit: None, reset: seconds(360) };
        let expected =
            RateLimits { requests: Some(requests), tokens: Some(tokens), ..RateLimits::default() };
        assert_eq!(limits, expected);
        assert_eq!(wait_for_limits(&openai, now), seconds(360));
        let anthropic = headers(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-01-02T03:04:35Z"),
            ("anthropic-ratelimit-output-tokens-remaining", "7"),
        ]);
        let limits = rate_limits(&anthropic, now).unwrap();
        assert_eq!(
            limits.requests,
            Some(RateLimit { remaining: 0, limit: Some(50), reset: seconds(30) })
        );
        assert_eq!(
            limits.output_tokens,
            Some(RateLimit { remaining: 7, limit: None, reset: None })
        );
        assert_eq!(wait_for_limits(&anthropic, now), seconds(30));
        assert_eq!(rate_limits(&HeaderMap::new(), now), None);
    }

    #[test]
    fn a_duration_is_read_whole_or_not_at_all() {
        let cases = [
            ("6m0s", Some(360_000)),
            ("1.5s", Some(1500)),
            ("12ms", Some(12)),
            ("1h2m3s", Some(3_723_000)),
            ("99999d", Some(400 * 86_400_000)),
            ("", None),
            ("7", None),
            ("soon", None),
            ("1e309s", None),
            ("-1s", None),
            ("1y", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text).map(|it| it.as_millis()), expected, "{text}");
        }
    }
}
