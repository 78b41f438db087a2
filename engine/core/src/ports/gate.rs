//! The limits of provider accounts, which all sessions share.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::stream::BoxStream;
use protocol::{Failure, SessionId};

use super::AccountId;

/// Admits requests to provider accounts within the limits of each.
pub trait Gate: Send + Sync {
    /// Queues for one request to `account`. The stream says what is waited for, then ends with
    /// [`GateEvent::Admitted`]. Dropping it leaves the queue. A stream that ends without a permit
    /// means that the gate has crashed; queueing again reaches a new one.
    fn acquire(&self, account: &AccountId, session: SessionId) -> BoxStream<'static, GateEvent>;
}

/// What a request learns in the queue of a gate.
#[derive(Debug)]
pub enum GateEvent {
    /// The request has to wait.
    Waiting(GateWait),
    /// The request may be sent. Nothing follows.
    Admitted(Permit),
}

/// What a request in the queue of a gate waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateWait {
    /// The account has as many requests under way as it may have.
    Busy {
        /// How many it may have.
        limit: NonZeroUsize,
    },
    /// The provider has asked not to be asked for a while.
    Paused {
        /// How long this request waits, at least.
        wait: Duration,
        /// What the provider said to the request that it turned away.
        reason: String,
    },
}

/// The right to send one request. Dropping it without a report gives it back as abandoned.
pub struct Permit(Option<Box<dyn FnOnce(GateReport) + Send>>);

/// How a request went, as far as it matters for other requests of the same account.
#[derive(Clone, Debug, PartialEq)]
pub struct GateReport {
    /// What became of the request.
    pub outcome: RequestOutcome,
    /// How long the account must not be asked.
    pub wait: Option<Duration>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestOutcome {
    /// It was answered.
    Answered,
    /// It failed.
    Failed(Failure),
    /// It was given up before its end.
    Abandoned,
}

impl Permit {
    /// Returns a permit whose report is given to `report`, exactly once.
    pub fn new(report: impl FnOnce(GateReport) + Send + 'static) -> Self {
        Self(Some(Box::new(report)))
    }

    /// Gives the permit back and reports how the request went.
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
