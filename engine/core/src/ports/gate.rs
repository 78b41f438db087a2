//! The port for the limits of provider accounts, which all sessions share.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::stream::BoxStream;
use protocol::{Failure, SessionId};

use super::AccountId;

/// Admits requests within the limits of each provider account.
pub trait Gate: Send + Sync {
    /// Queues one request to `account`. The stream reports why the request waits, and ends with
    /// [`GateEvent::Admitted`]. Dropping the stream removes the request from the queue. If the
    /// stream ends without a permit, the gate has crashed; calling this again reaches a new gate.
    fn acquire(&self, account: &AccountId, session: SessionId) -> BoxStream<'static, GateEvent>;
}

/// An event of a queued request.
#[derive(Debug)]
pub enum GateEvent {
    /// The request has to wait.
    Waiting(GateWait),
    /// The request may be sent. No event follows.
    Admitted(Permit),
}

/// Why a request waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateWait {
    /// The account has reached its limit of concurrent requests.
    Busy {
        /// The limit.
        limit: NonZeroUsize,
    },
    /// The provider has asked for a pause.
    Paused {
        /// How long the request waits at least.
        wait: Duration,
        /// The message of the provider to the rejected request.
        reason: String,
    },
}

/// The right to send one request. A permit that is dropped without a report counts as abandoned.
pub struct Permit(Option<Box<dyn FnOnce(GateReport) + Send>>);

/// The result of a request, as far as it matters for other requests of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct GateReport {
    /// The outcome of the request.
    pub outcome: RequestOutcome,
    /// How long the account has to pause, if at all.
    pub wait: Option<Duration>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestOutcome {
    /// The request was answered.
    Answered,
    /// The request failed.
    Failed(Failure),
    /// The request was dropped before it ended.
    Abandoned,
}

impl Permit {
    /// Returns a permit that calls `report` exactly once.
    pub fn new(report: impl FnOnce(GateReport) + Send + 'static) -> Self {
        Self(Some(Box::new(report)))
    }

    /// Gives the permit back to the gate and reports the result of the request.
    pub fn report(mut self, report: GateReport) {
        self.finish(report);
    }

    fn finish(&mut self, report: GateReport) {
        if let Some(finish) = self.0.take() {
            finish(report);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.finish(GateReport { outcome: RequestOutcome::Abandoned, wait: None });
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
