//! Cancellation: a token with two levels of urgency.

use tokio_util::sync::CancellationToken;

/// How urgently work has to stop. Each level includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelLevel {
    /// The work has the grace period to end by itself.
    Gently,
    /// The work is killed.
    AtOnce,
}

/// Tells running code to stop. All clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    gently: CancellationToken,
    at_once: CancellationToken,
}

impl CancelToken {
    /// Cancels the work at this level, and everything that holds a child of this token. The level
    /// never decreases.
    pub fn cancel(&self, level: CancelLevel) {
        if level == CancelLevel::AtOnce {
            // `at_once` is cancelled first, so that no observer of both begins a grace period.
            self.at_once.cancel();
        }
        self.gently.cancel();
    }

    /// Returns the level at which the work is cancelled, if it is.
    #[must_use]
    pub fn level(&self) -> Option<CancelLevel> {
        if self.at_once.is_cancelled() {
            Some(CancelLevel::AtOnce)
        } else {
            self.gently.is_cancelled().then_some(CancelLevel::Gently)
        }
    }

    /// Returns whether the work is cancelled at any level.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.gently.is_cancelled()
    }

    /// Waits until the work is cancelled at any level.
    pub async fn cancelled(&self) {
        self.gently.cancelled().await;
    }

    /// Waits until the work is cancelled at once.
    pub async fn cancelled_at_once(&self) {
        self.at_once.cancelled().await;
    }

    /// Returns a child token. It is cancelled with this one, but can also be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { gently: self.gently.child_token(), at_once: self.at_once.child_token() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_only_rises_and_a_child_is_cancelled_with_its_parent() {
        let parent = CancelToken::default();
        let (child, alone) = (parent.child(), parent.child());
        alone.cancel(CancelLevel::Gently);
        assert_eq!((parent.level(), child.level()), (None, None));
        for level in [CancelLevel::Gently, CancelLevel::AtOnce, CancelLevel::AtOnce] {
            parent.cancel(level);
            assert_eq!((parent.level(), child.level()), (Some(level), Some(level)));
        }
        parent.cancel(CancelLevel::Gently);
        assert_eq!(alone.level(), Some(CancelLevel::AtOnce));
        assert!(parent.is_cancelled());
    }
}
