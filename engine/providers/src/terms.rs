//! On what terms a provider is asked: how often, how long apart, and how long it may say nothing.

use std::time::Duration;

use protocol::SessionId;

use crate::piece::{Pace, Trouble};
use crate::spread::moment;

/// When a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often, after the first time. One that only has too many requests at the moment is asked
    /// again at least 30 times, unless this is 0.
    pub max_retries: u32,
    /// How long it is left alone the first time; twice as long each time after. Each time is up to
    /// half as long again, so that sessions that were sent away together come back one by one.
    pub base_delay: Duration,
    /// The longest it is left alone, but for that half. A provider that asks for more is not asked
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
    pub(crate) fn delay(
        &self,
        session: SessionId,
        retry: u32,
        asked: Option<Duration>,
    ) -> Duration {
        let doublings = retry.saturating_sub(1).min(30);
        let own = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        own.max(asked.unwrap_or_default()) + moment(own / 2, session, retry)
    }

    /// Returns how often it is asked again after troubles like this one.
    pub(crate) fn retries(&self, trouble: &Trouble) -> u32 {
        match trouble.pace {
            Pace::TooFast if self.max_retries > 0 => self.max_retries.max(LIMITED_RETRIES),
            Pace::TooFast | Pace::Any => self.max_retries,
        }
    }
}

/// How long a provider may say nothing. Zero means for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Until its first word.
    pub first_event: Duration,
    /// Between two words.
    pub idle: Duration,
}

impl Watchdog {
    /// How long the first word of a model may take on the user's own machine, where it may have to
    /// be loaded, and thirty other sessions have to be answered first. Who is sent away and asks
    /// again is last again.
    pub const NEAR: Duration = Duration::from_secs(15 * 60);
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { first_event: Duration::from_secs(100), idle: Duration::from_secs(120) }
    }
}

/// How persistently a provider is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) retry: RetryPolicy,
    pub(crate) watchdog: Watchdog,
}
