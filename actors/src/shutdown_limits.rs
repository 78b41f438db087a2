//! The deadlines of a shutdown, and the activity it watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a shutdown may go without any activity before it gives up. A capture, a landing or the
/// removal of a workspace takes as long as its size demands, so the shutdown as a whole has no
/// deadline; but each step is far shorter than this. A third signal ends the program at once.
pub(crate) const STALL_LIMIT: Duration = Duration::from_secs(600);

/// The deadline of the services, whose servers end side by side within a second.
pub(crate) const SERVICES: Duration = Duration::from_secs(5);

/// The deadline of the executors, whose processes were killed before.
pub(crate) const EXECUTORS: Duration = Duration::from_secs(30);

/// The deadline of the ledger: one write under way and one for the rest of its mailbox, two minutes
/// each.
pub(crate) const LEDGER: Duration = Duration::from_secs(300);

/// Counts the activity of an engine, so that a shutdown can tell progress from a hang. Clones share
/// one counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActivityCounter(Arc<AtomicU64>);

impl ActivityCounter {
    /// Counts one step.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of steps so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
