//! When a provider is asked again, how long it may be silent, and what an answer is estimated to have used.

use std::num::NonZeroUsize;
use std::time::Duration;

use protocol::{Failure, FailureClass, FailureDetail, SessionId, Timestamp, Usage};

use crate::ports::{AttemptFailure, FailureCause, ModelLocation};

/// How requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    /// When a provider is asked again.
    pub retry: RetryPolicy,
    /// How long a provider may be silent.
    pub watchdog: Watchdog,
    /// How long a provider on this machine may be silent.
    pub local_watchdog: Watchdog,
    /// How many requests of one account may be under way at a time; any number without it.
    pub concurrency: Option<NonZeroUsize>,
}

impl Default for RequestPolicy {
    fn default() -> Self {
        let watchdog = Watchdog::default();
        Self {
            retry: RetryPolicy::default(),
            watchdog,
            local_watchdog: Watchdog { first_event: Watchdog::LOCAL_FIRST_EVENT, ..watchdog },
            concurrency: None,
        }
    }
}

impl RequestPolicy {
    /// Returns how long a provider may be silent whose model runs there.
    pub(super) fn watchdog(&self, location: ModelLocation) -> Watchdog {
        match location {
            ModelLocation::Local => self.local_watchdog,
            ModelLocation::Remote => self.watchdog,
        }
    }
}

/// When a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often, after the first time. One that only has too many requests at the moment is asked
    /// again at least 30 times, unless this is 0.
    pub max_retries: u32,
    /// How long is waited the first time; twice as long each time after. Each time is up to half
    /// as long again, so that sessions that were turned away together come back one by one.
    pub base_delay: Duration,
    /// The longest that is waited, but for that half. A provider that asks for more is not asked
    /// again.
    pub max_delay: Duration,
}

/// How often a provider that has too many requests is asked again, at least. Many sessions share
/// what it can do, and each is turned away many times before its turn has come.
const LIMITED_RETRIES: u32 = 30;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns how long a session waits before the given retry, counted from 1. That is never
    /// less than the provider asks for.
    fn delay(&self, session: SessionId, retry: u32, asked: Option<Duration>) -> Duration {
        let doublings = retry.saturating_sub(1).min(30);
        let own = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        own.max(asked.unwrap_or_default()) + jitter(own / 2, session, retry)
    }

    /// Returns how long the account must not be asked after such a failure, if that is known and
    /// short enough to be waited.
    pub(super) fn pause(&self, failed: &AttemptFailure) -> Option<Duration> {
        let transient = failed.failure.class == FailureClass::Transient;
        failed.wait.filter(|wait| transient && *wait <= self.max_delay)
    }

    /// Returns a failure that names a wait too long to be waited as what it then is: a rate limit
    /// that far away is a quota.
    pub(super) fn classify_wait(&self, failed: AttemptFailure, now: Timestamp) -> AttemptFailure {
        let far = failed.wait.filter(|wait| *wait > self.max_delay);
        let Some(wait) = far.filter(|_| failed.failure.class == FailureClass::Transient) else {
            return failed;
        };
        let class = match failed.cause {
            FailureCause::RateLimit => FailureClass::Quota,
            FailureCause::Other => FailureClass::Transient,
        };
        let seconds = wait.as_secs();
        let message = format!("{} (it asks to wait {seconds} s)", failed.failure.message);
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(now.as_millisecond().saturating_add(millis));
        let failure = Failure::new(class, message).with(FailureDetail::Until { at });
        AttemptFailure { failure, wait: Some(wait), cause: FailureCause::Other }
    }
}

/// Counts the retries of one request, and decides about the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retries {
    /// How many there were because of rate limits.
    limited: u32,
    /// How many there were for other reasons.
    other: u32,
}

/// What is done after an attempt that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RetryDecision {
    /// The provider is asked again after this time.
    Retry(Duration),
    /// The request has failed.
    GiveUp(Failure),
}

impl Retries {
    /// Returns how many there were.
    pub(super) fn count(self) -> u32 {
        self.limited + self.other
    }

    /// Decides what is done after an attempt of `session` that failed.
    pub(super) fn decide(
        &mut self,
        policy: &RetryPolicy,
        session: SessionId,
        failed: &AttemptFailure,
    ) -> RetryDecision {
        // Having waited for a rate limit does not use up the retries for other reasons.
        let (tried, most) = match failed.cause {
            FailureCause::RateLimit if policy.max_retries > 0 => {
                (&mut self.limited, policy.max_retries.max(LIMITED_RETRIES))
            }
            FailureCause::RateLimit => (&mut self.limited, 0),
            FailureCause::Other => (&mut self.other, policy.max_retries),
        };
        let patient = failed.wait.is_none_or(|wait| wait <= policy.max_delay);
        if failed.failure.class == FailureClass::Transient && *tried < most && patient {
            *tried += 1;
            return RetryDecision::Retry(policy.delay(session, self.count(), failed.wait));
        }
        RetryDecision::GiveUp(self.with_attempt_count(failed.failure.clone()))
    }

    /// Says how often the provider was asked, where asking again has not helped.
    fn with_attempt_count(self, failure: Failure) -> Failure {
        if self.count() == 0 || failure.class != FailureClass::Transient {
            return failure;
        }
        let times = self.count().saturating_add(1);
        Failure { message: format!("{}; it was asked {times} times", failure.message), ..failure }
    }
}

/// Returns whether another route may succeed where one has failed like this for good.
pub(super) fn allows_fallback(class: FailureClass) -> bool {
    match class {
        FailureClass::Transient | FailureClass::Quota | FailureClass::Auth => true,
        FailureClass::Refused
        | FailureClass::Overflow
        | FailureClass::Invalid
        | FailureClass::Contract
        | FailureClass::GaveUp
        | FailureClass::Proof
        | FailureClass::Poison
        | FailureClass::Timeout
        | FailureClass::Command
        | FailureClass::Workspace
        | FailureClass::Resources
        | FailureClass::Dependency
        | FailureClass::Crashed
        | FailureClass::Budget => false,
    }
}

/// How long a provider may be silent. Zero means for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Until its first event.
    pub first_event: Duration,
    /// Between two events.
    pub idle: Duration,
}

impl Watchdog {
    /// How long the first event of a model may take on the user's own machine, where it may have
    /// to be loaded, and thirty other sessions have to be answered first. Whoever is turned away
    /// and asks again is last again.
    pub const LOCAL_FIRST_EVENT: Duration = Duration::from_secs(15 * 60);
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { first_event: Duration::from_secs(100), idle: Duration::from_secs(120) }
    }
}

/// How many different delays there are within a span.
const STEPS: u32 = 1024;

/// Returns a delay within `span`, in whole milliseconds: for one session and attempt always the
/// same, and unlike those of others.
pub(super) fn jitter(span: Duration, session: SessionId, attempt: u32) -> Duration {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in session.as_bytes().iter().chain(&attempt.to_le_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The last bytes have reached few of the bits yet.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let at = mixed >> 54;
    let millis = span.as_millis() * u128::from(at) / u128::from(STEPS);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// How many bytes a token has, about.
const BYTES: usize = 4;

/// Returns about how many tokens so many bytes are.
#[must_use]
pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES)).unwrap_or(u64::MAX)
}

/// Returns about what was used when so many bytes were read and written. Its cost is not known.
pub(super) fn estimated_usage(read: usize, written: usize) -> Usage {
    Usage {
        input: estimated_tokens(read),
        output: estimated_tokens(written),
        cost: None,
        ..Usage::ZERO
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn limited(seconds: u64) -> AttemptFailure {
        let failed = AttemptFailure::new(FailureClass::Transient, "slow down");
        let wait = Some(Duration::from_secs(seconds));
        AttemptFailure { wait, cause: FailureCause::RateLimit, ..failed }
    }

    #[test]
    fn only_a_wait_that_is_far_away_changes_what_a_failure_is() {
        let policy = RetryPolicy::default();
        let now = Timestamp::from_millisecond(1_000);
        assert_eq!(policy.classify_wait(limited(60), now), limited(60));
        assert_eq!(policy.pause(&limited(60)), Some(Duration::from_secs(60)));
        let far = policy.classify_wait(limited(61), now);
        let at = Timestamp::from_millisecond(62_000);
        let expected = Failure::new(FailureClass::Quota, "slow down (it asks to wait 61 s)");
        assert_eq!(far.failure, expected.with(FailureDetail::Until { at }));
        assert_eq!((far.cause, policy.pause(&far)), (FailureCause::Other, None));
        let busy = AttemptFailure { cause: FailureCause::Other, ..limited(61) };
        assert_eq!(policy.classify_wait(busy, now).failure.class, FailureClass::Transient);
        let refused = AttemptFailure::new(FailureClass::Refused, "no");
        let refused = AttemptFailure { wait: Some(Duration::from_secs(1)), ..refused };
        assert_eq!(
            (policy.pause(&refused), policy.classify_wait(refused.clone(), now)),
            (None, refused)
        );
    }

    #[test]
    fn a_model_on_this_machine_has_more_time_until_its_first_event() {
        let policy = RequestPolicy::default();
        let first = |location| policy.watchdog(location).first_event;
        assert_eq!(first(ModelLocation::Local), Duration::from_secs(900));
        assert_eq!(first(ModelLocation::Remote), Duration::from_secs(100));
    }

    #[test]
    fn the_jitter_of_one_session_stays_the_same_and_that_of_many_is_all_over_the_span() {
        let session: SessionId = "session_0190a7c0de7b7c10a51f2b3c4d5e6f70".parse().unwrap();
        let span = Duration::from_secs(10);
        let delays: Vec<_> =
            (1..=3).map(|attempt| jitter(span, session, attempt).as_millis()).collect();
        assert_eq!(delays, [2949, 4003, 4169]);
        assert_eq!(jitter(Duration::ZERO, session, 1), Duration::ZERO);
        for attempt in 1..=3 {
            let many = (0..400).map(|_| jitter(span, SessionId::generate(), attempt).as_secs());
            assert_eq!(many.collect::<BTreeSet<_>>(), (0..10).collect());
        }
    }

    #[test]
    fn four_bytes_are_a_token_whose_cost_is_not_known() {
        let expected = Usage { input: 250, output: 1, cache_read: 0, cache_write: 0, cost: None };
        assert_eq!(estimated_usage(1000, 1), expected);
        assert_eq!(estimated_usage(usize::MAX, 0).input, 1 << 62);
    }
}
