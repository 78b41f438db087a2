//! Taking back what was asked and has not been done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says that something which was asked is not wanted any more. Its clones are one.
#[derive(Clone, Debug, Default)]
pub struct Withdrawal(Arc<AtomicBool>);

impl Withdrawal {
    /// Takes back what was asked. What has begun to change anything is still seen through.
    pub fn withdraw(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether what was asked is not wanted any more.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
