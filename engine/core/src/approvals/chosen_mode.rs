//! The approval mode that a person has changed to in a session.

use std::sync::{Arc, Mutex, PoisonError};

use protocol::ApprovalMode;

/// The approval mode that a person has changed to, if any. Its clones are the same: a client keeps one, and the
/// tools of a session have another. The rules stay.
#[derive(Clone, Debug, Default)]
pub struct ChosenMode(Arc<Mutex<Option<ApprovalMode>>>);

impl ChosenMode {
    /// Changes the mode, from the next call on.
    pub fn set(&self, mode: ApprovalMode) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(mode);
    }

    /// Returns the mode; `None` if it was not changed.
    #[must_use]
    pub fn get(&self) -> Option<ApprovalMode> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
