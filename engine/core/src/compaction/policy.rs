//! When a conversation is compacted, and how much room it has then.

/// The policy for compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionPolicy {
    /// Whether the session compacts by itself, or only when it is asked to.
    pub trigger: Trigger,
    /// The number of tokens from which it does.
    pub threshold: Threshold,
    /// How many tokens of the window stay free for answers.
    pub reserve: u64,
    /// How many tokens of the newest messages are kept as they are.
    pub keep_recent: u64,
}

/// Who begins a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The session itself, or its user.
    Automatic,
    /// Its user only.
    Manual,
}

/// The number of tokens from which a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// What the reserve leaves of the window of the model.
    Reserve,
    /// This part of the window, in percent.
    Percent(u8),
    /// This number, or the window if it is smaller.
    Tokens(u64),
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            trigger: Trigger::Automatic,
            threshold: Threshold::Reserve,
            reserve: 16_384,
            keep_recent: 20_000,
        }
    }
}

impl CompactionPolicy {
    /// Returns how many tokens a conversation may have before it is compacted; `None` if that is
    /// not known, because the window of the model is not.
    #[must_use]
    pub fn threshold(&self, window: Option<u64>) -> Option<u64> {
        let threshold = match (self.threshold, window) {
            (Threshold::Tokens(tokens), None) => tokens,
            (Threshold::Tokens(tokens), Some(window)) => tokens.min(window.saturating_sub(1)),
            (Threshold::Reserve | Threshold::Percent(_), None) => return None,
            (Threshold::Percent(percent), Some(window)) => {
                share(window, u64::from(percent.clamp(1, 99)))
            }
            (Threshold::Reserve, Some(window)) => {
                // A small window would have nothing left beside a reserve for a large one.
                window - share(window, 15).max(self.reserve.min(window / 2))
            }
        };
        Some(threshold)
    }

    /// Returns whether a conversation of so many tokens is to be compacted before the next request.
    #[must_use]
    pub fn is_due(&self, tokens: u64, window: Option<u64>) -> bool {
        match self.trigger {
            Trigger::Manual => false,
            Trigger::Automatic => self.threshold(window).is_some_and(|most| tokens > most),
        }
    }

    /// Returns how many tokens there is room for after a compaction of a request that has `tokens` of
    /// them, `fixed` of which are not messages, and did not fit.
    #[must_use]
    pub fn room_after_overflow(&self, tokens: u64, fixed: u64, window: Option<u64>) -> u64 {
        let half = fixed.saturating_add(tokens.saturating_sub(fixed) / 2);
        self.threshold(window).map_or(half, |most| most.min(half))
    }
}

fn share(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(threshold: Threshold) -> CompactionPolicy {
        CompactionPolicy { threshold, ..CompactionPolicy::default() }
    }

    #[test]
    fn the_threshold_is_what_the_settings_say_and_below_the_window() {
        let cases = [
            (Threshold::Reserve, Some(200_000), Some(170_000)),
            (Threshold::Reserve, Some(64_000), Some(47_616)),
            (Threshold::Reserve, Some(8_192), Some(4_096)),
            (Threshold::Reserve, None, None),
            (Threshold::Percent(80), Some(100_000), Some(80_000)),
            (Threshold::Percent(0), Some(100_000), Some(1_000)),
            (Threshold::Percent(200), Some(100_000), Some(99_000)),
            (Threshold::Percent(80), None, None),
            (Threshold::Tokens(50_000), None, Some(50_000)),
            (Threshold::Tokens(50_000), Some(32_000), Some(31_999)),
            (Threshold::Reserve, Some(u64::MAX), Some(u64::MAX - share(u64::MAX, 15))),
        ];
        for (threshold, window, expected) in cases {
            assert_eq!(policy(threshold).threshold(window), expected, "{threshold:?} {window:?}");
        }
    }

    #[test]
    fn it_is_due_above_the_threshold_and_never_if_it_is_switched_off() {
        let on = policy(Threshold::Tokens(100));
        assert!(!on.is_due(100, None) && on.is_due(101, None));
        let off = CompactionPolicy { trigger: Trigger::Manual, ..on };
        assert!(!off.is_due(u64::MAX, Some(1)));
        assert!(!policy(Threshold::Reserve).is_due(u64::MAX, None), "nobody knows the window");
    }

    #[test]
    fn messages_that_did_not_fit_get_half_of_their_room_or_less() {
        assert_eq!(policy(Threshold::Reserve).room_after_overflow(1_000, 0, None), 500);
        assert_eq!(policy(Threshold::Reserve).room_after_overflow(8_000, 6_000, None), 7_000);
        assert_eq!(policy(Threshold::Tokens(100)).room_after_overflow(1_000, 0, None), 100);
    }
}
