//! A reader of the state of a session.

use tokio::sync::watch;

use super::session_state::SessionState;

/// The state of a session for one reader, which follows what the session does.
///
/// A reader that is slow gets the newest state, not each one between.
#[derive(Debug)]
pub struct SessionStates(watch::Receiver<SessionState>);

impl SessionStates {
    pub(super) fn new(states: watch::Receiver<SessionState>) -> Self {
        Self(states)
    }

    /// Returns the state as it is now.
    #[must_use]
    pub fn current(&self) -> SessionState {
        self.0.borrow().clone()
    }

    /// Waits until the state is another one than the reader got last. Returns `None` when the session
    /// has closed.
    pub async fn changed(&mut self) -> Option<SessionState> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}
