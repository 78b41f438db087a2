//! Waiting for what sends no event: files, processes, locks. No other test code may sleep.

use std::time::{Duration, Instant};

use crate::yardstick::slowdown;

/// How long passes between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `holds` returns true. After `limit`, which is later on a busy machine, it fails with
/// `what`.
///
/// # Panics
/// When the time is over.
#[track_caller]
pub fn eventually(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let more = || limit.mul_f64(slowdown()).saturating_sub(limit);
    assert!(within(limit, &mut holds) || within(more(), holds), "{what}: not within {limit:?}");
}

/// Checks that something took at most `limit`, which is longer on a busy machine. For limits that
/// are several times as long as what a quiet machine takes.
///
/// # Panics
/// If it took longer.
#[track_caller]
pub fn took_at_most(took: Duration, limit: Duration, what: impl std::fmt::Display) {
    if took > limit {
        let slowdown = slowdown();
        assert!(took <= limit.mul_f64(slowdown), "{took:?} of {limit:?} × {slowdown:.1}: {what}");
    }
}

/// Waits until `holds` returns true, and returns whether it did within `patience`.
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
