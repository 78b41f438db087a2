//! How many requests and tokens of an account may be begun within a minute.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ports::MinuteLimits;

/// The time within which the limits hold.
const MINUTE: Duration = Duration::from_secs(60);

/// Requests within one second are counted together, and for as long as if all were its last.
const BUCKET: Duration = Duration::from_secs(1);

/// What was begun within the last minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rates {
    #[serde(skip)]
    limits: MinuteLimits,
    buckets: VecDeque<Bucket>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bucket {
    begin: Duration,
    requests: u32,
    tokens: u64,
}

impl Rates {
    pub(super) fn set_limits(&mut self, limits: MinuteLimits) {
        self.limits = limits;
    }

    pub(super) fn are_limited(&self) -> bool {
        self.limits != MinuteLimits::default()
    }

    /// Returns the times in it.
    pub(super) fn times(&self) -> impl Iterator<Item = Duration> {
        self.buckets.iter().map(|bucket| bucket.begin)
    }

    /// Returns when a request of about so many tokens may begin: now, if not later.
    pub(super) fn earliest(&mut self, tokens: u64, now: Duration) -> Duration {
        while self.buckets.front().is_some_and(|bucket| bucket.ends() <= now) {
            self.buckets.pop_front();
        }
        let mut requests: u32 =
            self.buckets.iter().map(|bucket| bucket.requests).fold(0, u32::saturating_add);
        let mut sum: u64 =
            self.buckets.iter().map(|bucket| bucket.tokens).fold(0, u64::saturating_add);
        let fits = |requests: u32, sum: u64| {
            let MinuteLimits { requests: most, tokens: most_tokens } = self.limits;
            most.is_none_or(|most| requests < most.get())
                // A request that is larger than the limit by itself goes alone.
                && most_tokens.is_none_or(|most| sum == 0 || sum.saturating_add(tokens) <= most.get())
        };
        let mut earliest = now;
        for bucket in &self.buckets {
            if fits(requests, sum) {
                break;
            }
            requests = requests.saturating_sub(bucket.requests);
            sum = sum.saturating_sub(bucket.tokens);
            earliest = bucket.ends();
        }
        earliest
    }

    /// A request of about so many tokens begins.
    pub(super) fn begun(&mut self, tokens: u64, now: Duration) {
        if !self.are_limited() {
            return;
        }
        match self.buckets.back_mut() {
            Some(bucket) if now < bucket.begin.saturating_add(BUCKET) => {
                bucket.requests = bucket.requests.saturating_add(1);
                bucket.tokens = bucket.tokens.saturating_add(tokens);
            }
            _ => self.buckets.push_back(Bucket { begin: now, requests: 1, tokens }),
        }
    }

    /// A request of so many tokens that has just begun was not sent.
    pub(super) fn not_begun(&mut self, tokens: u64) {
        if let Some(bucket) = self.buckets.back_mut() {
            bucket.requests = bucket.requests.saturating_sub(1);
            bucket.tokens = bucket.tokens.saturating_sub(tokens);
        }
    }

    /// A request has used so many tokens more than was expected of it.
    pub(super) fn used_more(&mut self, tokens: u64, now: Duration) {
        if tokens > 0 && self.limits.tokens.is_some() {
            match self.buckets.back_mut() {
                Some(bucket) if now < bucket.begin.saturating_add(BUCKET) => {
                    bucket.tokens = bucket.tokens.saturating_add(tokens);
                }
                _ => self.buckets.push_back(Bucket { begin: now, requests: 0, tokens }),
            }
        }
    }
}

impl Bucket {
    /// Returns when the bucket no longer counts.
    fn ends(&self) -> Duration {
        self.begin.saturating_add(BUCKET + MINUTE)
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64};

    use proptest::prelude::*;

    use super::*;

    fn rates(requests: Option<u32>, tokens: Option<u64>) -> Rates {
        let requests = requests.and_then(NonZeroU32::new);
        let limits = MinuteLimits { requests, tokens: tokens.and_then(NonZeroU64::new) };
        Rates { limits, ..Rates::default() }
    }

    #[test]
    fn without_limits_nothing_waits_and_nothing_is_kept() {
        let mut rates = rates(None, None);
        for _ in 0..1_000 {
            assert_eq!(rates.earliest(1_000_000, Duration::ZERO), Duration::ZERO);
            rates.begun(1_000_000, Duration::ZERO);
        }
        assert!(rates.buckets.is_empty());
    }

    #[test]
    fn a_request_larger_than_the_limit_goes_alone() {
        let mut rates = rates(None, Some(100));
        assert_eq!(rates.earliest(500, Duration::ZERO), Duration::ZERO);
        rates.begun(500, Duration::ZERO);
        assert_eq!(rates.earliest(1, Duration::ZERO), Duration::from_secs(61));
        rates.used_more(100, Duration::from_secs(30));
        assert_eq!(rates.earliest(1, Duration::from_secs(30)), Duration::from_secs(91));
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_the_limits(
            most in 1_u32..20,
            most_tokens in 100_u64..2_000,
            wishes in proptest::collection::vec((0_u64..100, 0_u64..20_000), 1..100),
        ) {
            let mut rates = rates(Some(most), Some(most_tokens));
            let (mut now, mut begun) = (Duration::ZERO, Vec::new());
            for (tokens, pause) in wishes {
                now += Duration::from_millis(pause);
                now = now.max(rates.earliest(tokens, now));
                prop_assert_eq!(rates.earliest(tokens, now), now);
                rates.begun(tokens, now);
                begun.push((now, tokens));
            }
            for (at, _) in &begun {
                let within = begun.iter().filter(|(other, _)| *other >= *at && *other < *at + MINUTE);
                let (count, sum) = within.fold((0, 0), |(count, sum), (_, t)| (count + 1, sum + t));
                prop_assert!(count <= most && sum <= most_tokens, "{count} {sum}");
            }
            prop_assert!(rates.buckets.len() <= 62);
        }
    }
}
