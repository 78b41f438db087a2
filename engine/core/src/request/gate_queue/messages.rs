//! The inputs and outputs of the queue of an account.

use std::num::NonZeroUsize;
use std::time::Duration;

use protocol::Failure;

use crate::ports::{AccountId, GateWait, MinuteLimits, Requester};
use crate::request::RequestPolicy;

/// The limits of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatePolicy {
    /// The account, for people.
    pub account: Option<AccountId>,
    /// The maximum number of concurrent requests; unlimited if absent.
    pub concurrency: Option<NonZeroUsize>,
    /// What may begin within a minute.
    pub per_minute: MinuteLimits,
    /// How long the account pauses when the provider rejects requests without saying for how long.
    /// It doubles with each rejection up to the acceptance of a request, but not beyond half a
    /// minute.
    pub backoff: Duration,
    /// How long the account may answer nothing until all requests that wait fail; without end if
    /// absent.
    pub outage: Option<Duration>,
}

impl From<&RequestPolicy> for GatePolicy {
    fn from(policy: &RequestPolicy) -> Self {
        Self {
            account: None,
            concurrency: policy.concurrency,
            per_minute: MinuteLimits::default(),
            backoff: policy.retry.base_delay / 2,
            outage: policy.outage,
        }
    }
}

/// Identifies a request in the queue. Later requests have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// An input to the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum GateInput {
    /// A request has arrived.
    Arrived {
        /// The request.
        ticket: Ticket,
        /// Who asks.
        requester: Requester,
        /// How often it has failed before.
        retries: u32,
        /// About how many tokens it will use.
        tokens: u64,
    },
    /// A request that has failed pauses before its next attempt. It arrives, or is withdrawn, later.
    Paused {
        /// The request.
        ticket: Ticket,
        /// Who asks.
        requester: Requester,
    },
    /// An admitted request was given up before it was sent.
    NotSent(Ticket),
    /// A waiting request was given up, or a paused one pauses no more.
    Withdrawn(Ticket),
    /// The provider has accepted an admitted request: it begins to answer. Until something is left of
    /// the limits that it has stated, this time passes.
    Accepted(Ticket, Option<Duration>),
    /// An admitted request has ended.
    Ended(Ticket, GateEnd),
    /// The time of a [`GateEffect::WakeAt`] has come. If it has not, the queue asks once more.
    Woken(Duration),
}

/// How a request ended, as far as it matters for the account.
#[derive(Clone, Debug, PartialEq)]
pub enum GateEnd {
    /// It was answered.
    Answered {
        /// How many tokens it has used.
        tokens: u64,
    },
    /// The provider has rejected it because there are too many.
    Rejected {
        /// How long the provider asks to wait.
        wait: Option<Duration>,
        /// Its message.
        reason: String,
    },
    /// The provider has no capacity for it at the moment.
    Overloaded {
        /// How long the provider asks to wait.
        wait: Option<Duration>,
        /// Its message.
        reason: String,
    },
    /// It failed in a way that has nothing to do with the request.
    Failed {
        /// How long the provider asks to wait.
        wait: Option<Duration>,
        /// What happened.
        reason: String,
    },
    /// It ended in a way that says nothing about the account.
    Unrelated,
}

/// An effect that the queue asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum GateEffect {
    /// Admit the request; it may be sent.
    Admit(Ticket),
    /// Fail the request: the account has answered nothing for too long.
    Refuse(Ticket, Failure),
    /// Tell the request why it waits.
    Notify(Ticket, GateWait),
    /// Send [`GateInput::Woken`] with this time when it has come.
    WakeAt(Duration),
}
