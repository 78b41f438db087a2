//! The port for the limits of provider accounts, which all sessions share.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::stream::BoxStream;
use protocol::{Failure, RunName};

use super::{AccountId, AccountLimits, FailureCause};

/// Admits requests within the limits of each provider account.
pub trait Gate: Send + Sync {
    /// Queues a request. The stream reports why it waits, and ends with [`GateEvent::Admitted`] or
    /// [`GateEvent::Refused`]. Dropping the stream removes the request from the queue. If the
    /// stream ends without either, the gate has crashed; calling this again reaches a new gate.
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent>;
}

/// A request that is to be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRequest {
    /// The account.
    pub account: AccountId,
    /// What the user allows on the account.
    pub limits: AccountLimits,
    /// Who asks.
    pub requester: Requester,
    /// How often the request has failed before.
    pub retries: u32,
    /// About how many tokens it will use.
    pub tokens: u64,
    /// Whether the request pauses before its next attempt: then it is not admitted, but only refused
    /// if an outage of the account lasts too long.
    pub is_paused: bool,
}

/// Who asks a model. Requests of a person are sent first, and runs take turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requester {
    /// A session with a person.
    Person,
    /// A task of a run.
    Run(RunName),
}

/// An event of a queued request.
#[derive(Debug)]
pub enum GateEvent {
    /// The request has to wait.
    Waiting(GateWait),
    /// From now on, what is known about the account holds for this process only, for this reason. One
    /// request of the account gets it, before it is admitted.
    Unshared(String),
    /// The request may be sent. No event follows.
    Admitted(Permit),
    /// The account answers nothing, and has not for long: asking again does not help now. No event
    /// follows.
    Refused(Failure),
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
    /// The account answers nothing at the moment. One request at a time finds out whether it does
    /// again.
    Outage {
        /// What happened to the last request.
        reason: String,
    },
    /// The limits per minute that the user has set are used up.
    Rate {
        /// How long the request waits at least.
        wait: Duration,
    },
}

/// The right to send one request. A permit that is dropped without a report counts as abandoned.
pub struct Permit {
    news: Option<Box<dyn FnMut(PermitNews) + Send>>,
    is_sent: bool,
}

/// What a request tells the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum PermitNews {
    /// The request was not sent, and never will be.
    NotSent,
    /// The provider begins to answer. Until something is left of the limits that it states, this time
    /// passes.
    Accepted(Option<Duration>),
    /// The request has ended.
    Ended(RequestOutcome),
}

/// The outcome of a request, as far as it matters for other requests of the account.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestOutcome {
    /// The request was answered.
    Answered {
        /// How many tokens it has used.
        tokens: u64,
    },
    /// The request failed.
    Failed {
        /// The failure.
        failure: Failure,
        /// Why, as far as the account is concerned.
        cause: FailureCause,
        /// How long the account has to pause, if at all.
        wait: Option<Duration>,
    },
    /// The request was dropped before it ended.
    Abandoned,
}

impl Permit {
    /// Returns a permit that calls `news` at most once with each kind of news, and last, once, with
    /// [`PermitNews::NotSent`] or [`PermitNews::Ended`].
    pub fn new(news: impl FnMut(PermitNews) + Send + 'static) -> Self {
        Self { news: Some(Box::new(news)), is_sent: false }
    }

    /// The request is sent.
    pub fn sent(&mut self) {
        self.is_sent = true;
    }

    /// The provider begins to answer, and nothing is left of its limits for this time.
    pub fn accepted(&mut self, wait: Option<Duration>) {
        if let Some(news) = &mut self.news {
            news(PermitNews::Accepted(wait));
        }
    }

    /// Gives the permit back to the gate and reports the result of the request.
    pub fn report(mut self, outcome: RequestOutcome) {
        self.finish(PermitNews::Ended(outcome));
    }

    fn finish(&mut self, last: PermitNews) {
        if let Some(mut news) = self.news.take() {
            news(last);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.finish(match self.is_sent {
            true => PermitNews::Ended(RequestOutcome::Abandoned),
            false => PermitNews::NotSent,
        });
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
