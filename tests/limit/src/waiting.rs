//! Waiting for what sends no event: files, processes, locks. No other test code may sleep.

use std::time::{Duration, Instant};

/// How long passes between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `holds` answers yes, and fails with `what` after `patience`.
///
/// # Panics
/// When the time is over.
pub fn eventually(patience: Duration, what: &str, holds: impl FnMut() -> bool) {
    assert!(within(patience, holds), "{what}: not within {patience:?}");
}

/// Waits until `holds` answers yes, and returns whether it did within `patience`.
#[must_use]
pub fn within(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}
