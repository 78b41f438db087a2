//! How long the engine waits for its parts when it closes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long nothing at all may happen before the closing gives up. What is left to do then (a
/// capture, a landing, the removal of a workspace) takes as long as there is of it, so that no
/// bound of its time as a whole would be safe; but each step of it is far shorter than this. Whoever
/// does not want to wait that long insists: the program ends at the third signal.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(600);

/// How long the executors may take: what they own was killed.
pub(crate) const EXECUTORS: Duration = Duration::from_secs(30);

/// How long the ledger may take for what is in its mailbox: one write that is under way and one for
/// the rest, each of which has a deadline of two minutes.
pub(crate) const LEDGER: Duration = Duration::from_secs(300);

/// Counts what happens in an engine, so that whoever waits for its end sees whether anything still
/// goes on. Its clones are one.
#[derive(Clone, Default)]
pub(crate) struct Activity(Arc<AtomicU64>);

impl Activity {
    /// Notes that something has happened.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how much has happened.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
