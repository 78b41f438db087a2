//! Cancelling work: how urgently it is to stop, and the token that carries that to running code.

use tokio_util::sync::CancellationToken;

/// How urgently work is to stop. A later level includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelLevel {
    /// What runs has the grace period to end by itself.
    Gently,
    /// What runs is killed.
    AtOnce,
}

/// Says to running code that it is to stop, and how urgently. Its clones are one.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    gently: CancellationToken,
    at_once: CancellationToken,
}

impl CancelToken {
    /// Cancels the work, and everything that holds a child of this token. The level only rises.
    pub fn cancel(&self, level: CancelLevel) {
        if level == CancelLevel::AtOnce {
            self.at_once.cancel(); // first, so that nobody who sees both begins a grace period
        }
        self.gently.cancel();
    }

    /// Returns how urgently the work is to stop; nothing if it may go on.
    #[must_use]
    pub fn level(&self) -> Option<CancelLevel> {
        if self.at_once.is_cancelled() {
            Some(CancelLevel::AtOnce)
        } else {
            self.gently.is_cancelled().then_some(CancelLevel::Gently)
        }
    }

    /// Returns whether the work is to stop, however urgently.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.gently.is_cancelled()
    }

    /// Waits until the work is to stop, however urgently.
    pub async fn cancelled(&self) {
        self.gently.cancelled().await;
    }

    /// Waits until the work is to stop at once.
    pub async fn cancelled_at_once(&self) {
        self.at_once.cancelled().await;
    }

    /// Returns a token that is cancelled with this one, and can be cancelled alone.
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
