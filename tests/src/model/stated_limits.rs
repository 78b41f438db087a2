//! Limits that the server states in the headers of its answers, as the providers word them, by a clock
//! of its own.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use protocol::Timestamp;

use super::{Answer, Wire};

/// A limit of requests that is refilled steadily.
pub(super) struct StatedLimits {
    most: u32,
    window: Duration,
    /// How far the clock of the server is behind.
    behind: Duration,
    /// How many requests are left, and when that was so.
    left: f64,
    at: Instant,
    violations: Vec<String>,
}

/// The headers of an answer.
pub(super) type Headers = Vec<(&'static str, String)>;

impl StatedLimits {
    /// Allows `most` requests in each `window`.
    pub(super) fn new(most: u32, window: Duration, behind: Duration) -> Self {
        let (left, at) = (f64::from(most), Instant::now());
        Self { most, window, behind, left, at, violations: Vec::new() }
    }

    /// Takes one request. Returns what is said of the limit in its answer, or its refusal if nothing
    /// was left: that had been said.
    pub(super) fn take(&mut self, wire: Wire) -> Result<Headers, Answer> {
        let now = Instant::now();
        let passed = now.duration_since(self.at).as_secs_f64() / self.window.as_secs_f64();
        self.left = (self.left + passed * f64::from(self.most)).min(f64::from(self.most));
        self.at = now;
        if self.left < 1.0 {
            self.violations.push(format!("a request came when {} were left", self.left));
            return Err(Answer::error(429, "rate_limit_error", "Too many requests"));
        }
        self.left -= 1.0;
        Ok(self.headers(wire))
    }

    /// Returns who came although nothing was left, and forgets it.
    pub(super) fn take_violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    fn headers(&self, wire: Wire) -> Headers {
        let whole = (f64::from(self.most) - self.left) / f64::from(self.most);
        let reset = self.window.mul_f64(whole);
        let (most, left) = (self.most.to_string(), self.left.floor().to_string());
        match wire {
            Wire::Completions | Wire::Responses => vec![
                ("x-ratelimit-limit-requests", most),
                ("x-ratelimit-remaining-requests", left),
                ("x-ratelimit-reset-requests", format!("{:.3}s", reset.as_secs_f64())),
            ],
            Wire::Messages => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the epoch is over");
                let now = now.saturating_sub(self.behind);
                // Both are told in whole seconds.
                let until = (now + reset).as_millis().div_ceil(1000);
                vec![
                    ("date", http_date(now.as_secs())),
                    ("anthropic-ratelimit-requests-limit", most),
                    ("anthropic-ratelimit-requests-remaining", left),
                    ("anthropic-ratelimit-requests-reset", rfc_3339(until)),
                ]
            }
            // It states no limits.
            Wire::Gemini => Vec::new(),
        }
    }
}

/// Returns a time as `2026-01-02T03:04:05Z`.
fn rfc_3339(seconds: u128) -> String {
    let millis = i64::try_from(seconds * 1000).expect("it is a time of today");
    Timestamp::from_millisecond(millis).to_string().replace(".000Z", "Z")
}

/// Returns a time as `Fri, 02 Jan 2026 03:04:05 GMT`.
fn http_date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = rfc_3339(seconds.into());
    let weekday = DAYS[usize::try_from(seconds / 86_400 % 7).unwrap_or_default()];
    let month = text[5..7].parse::<usize>().expect("it is a number");
    let (year, day, clock) = (&text[..4], &text[8..10], &text[11..19]);
    format!("{weekday}, {day} {} {year} {clock} GMT", MONTHS[month - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_stated_as_each_provider_does_and_who_comes_too_early_is_noticed() {
        let hour = Duration::from_secs(3600);
        let mut limits = StatedLimits::new(2, hour, hour);
        let headers = limits.take(Wire::Completions).unwrap();
        assert_eq!(headers[1], ("x-ratelimit-remaining-requests", "1".to_owned()));
        assert!(headers[2].1.starts_with("1800.0"), "{headers:?}");
        let headers = limits.take(Wire::Messages).unwrap();
        assert_eq!(headers[2], ("anthropic-ratelimit-requests-remaining", "0".to_owned()));
        assert_eq!(limits.take_violations(), Vec::<String>::new());
        assert!(limits.take(Wire::Gemini).is_err());
        assert_eq!(limits.take_violations().len(), 1);
    }

    #[test]
    fn times_are_written_as_the_headers_want_them() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(rfc_3339(784_111_777), "1994-11-06T08:49:37Z");
    }
}
