//! The policy for requests: retries, deadlines and fallbacks, and the estimate of usage that a
//! provider does not report.

use std::num::NonZeroUsize;
use std::time::Duration;

use protocol::{Failure, FailureClass, FailureDetail, SessionId, Timestamp, Usage};

use crate::ports::{AttemptFailure, FailureCause, ModelLocation};

/// The policy for requests to models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    /// The policy for retries.
    pub retry: RetryPolicy,
    /// The deadlines for remote providers.
    pub watchdog: Watchdog,
    /// The deadlines for providers on this machine.
    pub local_watchdog: Watchdog,
    /// The maximum number of concurrent requests of one account; unlimited if absent.
    pub concurrency: Option<NonZeroUsize>,
    /// How long an account may answer nothing until all requests that wait for it fail; without end
    /// if absent.
    pub outage: Option<Duration>,
    /// When a model that could not be had is asked again in place of its fallback.
    pub revert: FallbackRevert,
}

/// When a model that could not be had is asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackRevert {
    /// At the beginning of a turn, when the provider has said that it can be had again, else after some
    /// minutes.
    #[default]
    CooldownExpiry,
    /// Never: the fallback stays.
    Never,
}

/// How long an account may answer nothing, unless something else is set.
const OUTAGE: Duration = Duration::from_secs(45);

impl Default for RequestPolicy {
    fn default() -> Self {
        let watchdog = Watchdog::default();
        Self {
            retry: RetryPolicy::default(),
            watchdog,
            local_watchdog: Watchdog { first_event: Watchdog::LOCAL_FIRST_EVENT, ..watchdog },
            concurrency: None,
            outage: Some(OUTAGE),
            revert: FallbackRevert::default(),
        }
    }
}

impl RequestPolicy {
    /// Returns the deadlines for a provider at this location.
    pub(super) fn watchdog(&self, location: ModelLocation) -> Watchdog {
        match location {
            ModelLocation::Local => self.local_watchdog,
            ModelLocation::Remote => self.watchdog,
        }
    }
}

/// The policy for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of retries, those after rate limits included.
    pub max_retries: u32,
    /// The delay before the first retry. It doubles with each retry, and a random part of up to
    /// half is added, so that rejected sessions do not retry at the same time.
    pub base_delay: Duration,
    /// The maximum delay, without the random part. If a provider asks for a longer delay, there is
    /// no retry, unless it asks because of a limit of the account.
    pub max_delay: Duration,
    /// How long a limit of the account is waited for at most.
    pub quota_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 4,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
            quota_wait: Duration::from_secs(6 * 3600),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay before a retry, whose number starts at 1. It is never shorter than the
    /// provider asks for.
    fn delay(&self, session: SessionId, retry: u32, asked: Option<Duration>) -> Duration {
        let doublings = retry.saturating_sub(1).min(30);
        let own = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        own.max(asked.unwrap_or_default()) + jitter(own / 2, session, retry)
    }

    /// Returns the longest delay that a provider may ask for after such a failure.
    fn longest(&self, cause: FailureCause) -> Duration {
        match cause {
            FailureCause::RateLimit => self.quota_wait.max(self.max_delay),
            FailureCause::Overload
            | FailureCause::Outage
            | FailureCause::UnknownModel
            | FailureCause::Other => self.max_delay,
        }
    }

    /// Returns how long the whole account pauses after a failure, if the provider asks for a pause
    /// that is not too long.
    pub(super) fn pause(&self, failed: &AttemptFailure) -> Option<Duration> {
        let transient = failed.failure.class == FailureClass::Transient;
        failed.wait.filter(|wait| transient && *wait <= self.longest(failed.cause))
    }

    /// Turns a rate limit into a quota failure if the provider asks for a delay that is too long, and
    /// a quota failure into a rate limit if it does not. Other failures with such a delay get the time
    /// of the next attempt as a detail.
    pub(super) fn classify_wait(&self, failed: AttemptFailure, now: Timestamp) -> AttemptFailure {
        if failed.failure.class == FailureClass::Quota
            && failed.wait.is_some_and(|wait| wait <= self.longest(FailureCause::RateLimit))
        {
            let failure = Failure { class: FailureClass::Transient, ..failed.failure };
            return AttemptFailure { failure, cause: FailureCause::RateLimit, ..failed };
        }
        let far = failed.wait.filter(|wait| *wait > self.longest(failed.cause));
        let Some(wait) = far.filter(|_| failed.failure.class == FailureClass::Transient) else {
            return failed;
        };
        let class = match failed.cause {
            FailureCause::RateLimit => FailureClass::Quota,
            FailureCause::Overload
            | FailureCause::Outage
            | FailureCause::UnknownModel
            | FailureCause::Other => FailureClass::Transient,
        };
        let seconds = wait.as_secs();
        let message = format!("{} (it asks to wait {seconds} s)", failed.failure.message);
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(now.as_millisecond().saturating_add(millis));
        let failure = Failure::new(class, message).with(FailureDetail::Until { at });
        AttemptFailure { failure, wait: Some(wait), cause: FailureCause::Other }
    }
}

/// Counts the retries of one request and decides about the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retries(u32);

/// The decision after a failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RetryDecision {
    /// Retry after this delay.
    Retry(Duration),
    /// Give up: the request has failed.
    GiveUp(Failure),
}

impl Retries {
    /// Returns the number of retries.
    pub(super) fn count(self) -> u32 {
        self.0
    }

    /// Decides what happens after a failed attempt of `session`.
    pub(super) fn decide(
        &mut self,
        policy: &RetryPolicy,
        session: SessionId,
        failed: &AttemptFailure,
    ) -> RetryDecision {
        let is_patient = failed.wait.is_none_or(|wait| wait <= policy.longest(failed.cause));
        let may_pass = failed.failure.class == FailureClass::Transient && is_patient;
        if may_pass && failed.cause != FailureCause::Outage && self.0 < policy.max_retries {
            self.0 += 1;
            // After a rate limit the request waits at the gate, with all others of the account.
            return RetryDecision::Retry(match failed.cause {
                FailureCause::RateLimit => Duration::ZERO,
                FailureCause::Overload
                | FailureCause::Outage
                | FailureCause::UnknownModel
                | FailureCause::Other => policy.delay(session, self.0, failed.wait),
            });
        }
        let failure = failed.failure.clone();
        RetryDecision::GiveUp(match failed.cause {
            // The last attempt was not made.
            FailureCause::Outage => failure,
            FailureCause::RateLimit
            | FailureCause::Overload
            | FailureCause::UnknownModel
            | FailureCause::Other => self.with_attempt_count(failure),
        })
    }

    /// Adds the number of attempts to the message of a failure that was retried.
    fn with_attempt_count(self, failure: Failure) -> Failure {
        if self.count() == 0 || failure.class != FailureClass::Transient {
            return failure;
        }
        let times = self.count().saturating_add(1);
        Failure { message: format!("{}; it was asked {times} times", failure.message), ..failure }
    }
}

/// Returns whether a fallback may succeed after a failure of this class.
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

/// The deadlines for the events of a provider. Zero means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// The deadline for the first event.
    pub first_event: Duration,
    /// The deadline for each further event after the one before.
    pub idle: Duration,
}

impl Watchdog {
    /// The deadline for the first event of a model on the user's machine. The model may have to be
    /// loaded, and may have to answer some thirty other sessions first.
    pub const LOCAL_FIRST_EVENT: Duration = Duration::from_secs(15 * 60);
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { first_event: Duration::from_secs(100), idle: Duration::from_secs(120) }
    }
}

/// The number of different delays within a span.
const STEPS: u32 = 1024;

/// Returns a delay shorter than `span`, in whole milliseconds. It is a hash of the session and the
/// attempt, so that it is reproducible but differs between sessions.
pub(super) fn jitter(span: Duration, session: SessionId, attempt: u32) -> Duration {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in session.as_bytes().iter().chain(&attempt.to_le_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The FNV hash spreads the last bytes over few bits. This step spreads them over all bits.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let at = mixed >> 54;
    let millis = span.as_millis() * u128::from(at) / u128::from(STEPS);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// The approximate number of bytes of a token.
const BYTES: usize = 4;

/// Returns the estimated number of tokens in a text of this length.
#[must_use]
pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES)).unwrap_or(u64::MAX)
}

/// Returns the estimated usage for this number of bytes. Its cost is unknown.
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
        assert_eq!(policy.classify_wait(limited(21_600), now), limited(21_600));
        assert_eq!(policy.pause(&limited(21_600)), Some(Duration::from_secs(21_600)));
        let mut spent = limited(3_600);
        spent.failure.class = FailureClass::Quota;
        spent.cause = FailureCause::Other;
        assert_eq!(policy.classify_wait(spent, now), limited(3_600), "it begins again");
        let far = policy.classify_wait(limited(21_601), now);
        let at = Timestamp::from_millisecond(21_602_000);
        let expected = Failure::new(FailureClass::Quota, "slow down (it asks to wait 21601 s)");
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
        let expected = Usage { input: 250, output: 1, cost: None, ..Usage::ZERO };
        assert_eq!(estimated_usage(1000, 1), expected);
        assert_eq!(estimated_usage(usize::MAX, 0).input, 1 << 62);
    }
}
