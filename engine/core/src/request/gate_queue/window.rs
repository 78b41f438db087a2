//! How many requests of an account may be under way at the same time. As TCP's congestion window
//! (RFC 5681), the number is halved when the provider rejects requests, and grows while it accepts
//! them; after a pause it begins with one and doubles up to the last half.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// The window of one account.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// The limit of the settings.
    #[serde(skip)]
    most: Option<NonZeroUsize>,
    /// The limit that the answers of the provider have taught; `None` until it rejects a request.
    learned: Option<Learned>,
    /// Counts the halvings. A request that was admitted before one does not cause another.
    generation: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Learned {
    allowed: usize,
    /// Up to here each accepted request allows one more; above, a whole window of them does.
    threshold: usize,
    accepted: usize,
}

impl Window {
    pub(super) fn set_most(&mut self, most: Option<NonZeroUsize>) {
        self.most = most;
    }

    /// Returns whether the number depends on what the provider accepts.
    pub(super) fn is_learning(&self) -> bool {
        self.learned.is_some()
    }

    /// Returns the generation of requests that are admitted now.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns how many requests may be under way, if there is a limit.
    pub(super) fn limit(&self) -> Option<NonZeroUsize> {
        let learned = self.learned.and_then(|learned| NonZeroUsize::new(learned.allowed));
        match (self.most, learned) {
            (Some(most), Some(learned)) => Some(most.min(learned)),
            (most, learned) => most.or(learned),
        }
    }

    pub(super) fn has_room(&self, under_way: usize) -> bool {
        self.limit().is_none_or(|limit| under_way < limit.get())
    }

    /// The provider has accepted a request.
    pub(super) fn accepted(&mut self) {
        let Some(learned) = &mut self.learned else { return };
        learned.accepted = learned.accepted.saturating_add(1);
        if learned.allowed < learned.threshold || learned.accepted >= learned.allowed {
            learned.allowed = learned.allowed.saturating_add(1);
            learned.accepted = 0;
        }
        if self.most.is_some_and(|most| learned.allowed >= most.get()) {
            self.learned = None;
        }
    }

    /// The provider has rejected a request of `generation`, with `under_way` others beside it.
    /// Returns whether that was news.
    pub(super) fn rejected(&mut self, generation: u64, under_way: usize) -> bool {
        if generation < self.generation {
            return false;
        }
        self.generation = self.generation.saturating_add(1);
        let threshold = under_way.saturating_add(1).div_ceil(2).max(1);
        self.learned = Some(Learned { allowed: threshold, threshold, accepted: 0 });
        true
    }

    /// The account pauses: after that, one request finds out whether more are accepted.
    pub(super) fn begin_with_one(&mut self) {
        let threshold = match (self.learned, self.most) {
            (Some(learned), _) => learned.threshold,
            (None, Some(most)) => most.get(),
            (None, None) => usize::MAX,
        };
        self.learned = Some(Learned { allowed: 1, threshold, accepted: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(window: &Window) -> Option<usize> {
        window.limit().map(NonZeroUsize::get)
    }

    #[test]
    fn a_rejection_halves_the_window_once_for_all_that_were_admitted_before() {
        let mut window = Window::default();
        assert_eq!((limit(&window), window.has_room(1_000_000)), (None, true));
        let admitted = window.generation();
        assert!(window.rejected(admitted, 63));
        assert_eq!(limit(&window), Some(32));
        assert!(!window.rejected(admitted, 62));
        assert_eq!(limit(&window), Some(32));
        assert!(window.rejected(window.generation(), 0));
        assert_eq!(
            (limit(&window), window.has_room(0), window.has_room(1)),
            (Some(1), true, false)
        );
    }

    #[test]
    fn it_doubles_up_to_the_last_half_and_grows_by_one_per_window_then() {
        let mut window = Window::default();
        assert!(window.rejected(0, 15));
        window.begin_with_one();
        let mut sizes = Vec::new();
        for _ in 0..40 {
            window.accepted();
            sizes.push(limit(&window).unwrap());
        }
        assert_eq!(sizes[..7], [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((sizes[13], sizes[14], sizes[23], sizes[39]), (8, 9, 10, 11));
    }

    #[test]
    fn it_never_exceeds_the_limit_of_the_settings() {
        let mut window = Window { most: NonZeroUsize::new(3), ..Window::default() };
        assert_eq!(limit(&window), Some(3));
        window.begin_with_one();
        let sizes: Vec<_> =
            (0..5).map(|_| (window.accepted(), limit(&window).unwrap()).1).collect();
        assert_eq!(sizes, [2, 3, 3, 3, 3]);
    }
}
