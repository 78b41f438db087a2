//! The queue of requests to one provider account, as a state machine without I/O: it decides which
//! request may be sent, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::time::Duration;

use protocol::SessionId;

use super::policy::RequestPolicy;
use super::policy::jitter;
use crate::ports::GateWait;

/// The limits of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatePolicy {
    /// The maximum number of concurrent requests; unlimited if absent.
    pub concurrency: Option<NonZeroUsize>,
    /// The requests that waited for the end of a pause are spread over this time.
    pub jitter_span: Duration,
}

impl From<&RequestPolicy> for GatePolicy {
    fn from(policy: &RequestPolicy) -> Self {
        Self { concurrency: policy.concurrency, jitter_span: policy.retry.base_delay / 2 }
    }
}

/// Identifies a request in the queue. Later requests have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// An input to the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum GateInput {
    /// A request has arrived.
    Arrived(Ticket, SessionId),
    /// An admitted request has ended.
    Ended,
    /// An admitted request has ended, and the provider asks for a pause of the account.
    Paused {
        /// The length of the pause.
        wait: Duration,
        /// The message of the provider.
        reason: String,
    },
    /// The time of a [`GateEffect::WakeAt`] has come.
    Woken,
}

/// An effect that the queue asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateEffect {
    /// Admit the request; it may be sent.
    Admit(Ticket),
    /// Tell the request why it waits.
    Notify(Ticket, GateWait),
    /// Send [`GateInput::Woken`] at this time.
    WakeAt(Duration),
}

/// The requests of one account: the number of admitted ones, and those that wait.
#[derive(Debug)]
pub struct GateQueue {
    policy: GatePolicy,
    under_way: usize,
    /// The end of the current pause and the message of the provider.
    pause: Option<(Duration, String)>,
    waiting: BTreeMap<Ticket, Waiting>,
    /// The waiting requests, sorted by the earliest time at which each may be admitted.
    order: BTreeSet<(Duration, Ticket)>,
    wake: Option<Duration>,
}

#[derive(Debug)]
struct Waiting {
    session: SessionId,
    earliest: Duration,
    /// The earliest time that was last reported to the request.
    notified: Option<Duration>,
}

/// The minimum extension of a pause of which the queue notifies waiting requests again. Requests
/// that the provider rejects at about the same time extend the pause many times by a little.
const MIN_CHANGE: Duration = Duration::from_secs(1);

impl GateQueue {
    /// Returns an empty queue.
    #[must_use]
    pub fn new(policy: GatePolicy) -> Self {
        Self {
            policy,
            under_way: 0,
            pause: None,
            waiting: BTreeMap::new(),
            order: BTreeSet::new(),
            wake: None,
        }
    }

    /// Processes an input at the time `now` and returns the effects. All times are those of one
    /// timer, and never decrease.
    pub fn step(&mut self, input: GateInput, now: Duration) -> Vec<GateEffect> {
        let mut effects = Vec::new();
        match input {
            GateInput::Arrived(ticket, session) => {
                let earliest = self.earliest(session, now);
                self.waiting.insert(ticket, Waiting { session, earliest, notified: None });
                self.order.insert((earliest, ticket));
                self.admit(now, &mut effects);
                self.notify_arrived(ticket, now, &mut effects);
            }
            GateInput::Ended => {
                self.under_way = self.under_way.saturating_sub(1);
                self.admit(now, &mut effects);
            }
            GateInput::Paused { wait, reason } => {
                self.under_way = self.under_way.saturating_sub(1);
                self.pause(now.saturating_add(wait), reason);
                self.admit(now, &mut effects);
                self.notify_paused(now, &mut effects);
            }
            GateInput::Woken => {
                self.wake = None;
                self.admit(now, &mut effects);
            }
        }
        self.wake(now, &mut effects);
        effects
    }

    /// Returns the earliest time at which a request of `session` that arrives now may be admitted.
    fn earliest(&self, session: SessionId, now: Duration) -> Duration {
        match &self.pause {
            Some((until, _)) if *until > now => {
                *until + jitter(self.policy.jitter_span, session, 0)
            }
            Some(_) | None => now,
        }
    }

    /// Extends the pause to `until`, if it does not already last longer.
    fn pause(&mut self, until: Duration, reason: String) {
        if self.pause.as_ref().is_some_and(|(before, _)| *before >= until) {
            return;
        }
        self.pause = Some((until, reason));
        self.order.clear();
        for (ticket, waiting) in &mut self.waiting {
            let earliest = until + jitter(self.policy.jitter_span, waiting.session, 0);
            waiting.earliest = waiting.earliest.max(earliest);
            self.order.insert((waiting.earliest, *ticket));
        }
    }

    fn has_room(&self) -> bool {
        self.policy.concurrency.is_none_or(|most| self.under_way < most.get())
    }

    fn admit(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        while self.has_room()
            && let Some((_, ticket)) = self.order.first().copied().filter(|(at, _)| *at <= now)
        {
            self.order.pop_first();
            self.waiting.remove(&ticket);
            self.under_way += 1;
            effects.push(GateEffect::Admit(ticket));
        }
    }

    /// Notifies a request that was not admitted on arrival.
    fn notify_arrived(&mut self, ticket: Ticket, now: Duration, effects: &mut Vec<GateEffect>) {
        let Some(waiting) = self.waiting.get(&ticket) else { return };
        if waiting.earliest > now {
            self.notify_paused(now, effects);
        } else if let Some(limit) = self.policy.concurrency {
            effects.push(GateEffect::Notify(ticket, GateWait::Busy { limit }));
        }
    }

    /// Notifies the requests that wait for the end of a pause and were not notified of that end.
    fn notify_paused(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        let Some((_, reason)) = &self.pause else { return };
        for (ticket, waiting) in &mut self.waiting {
            let known =
                waiting.notified.is_some_and(|notified| waiting.earliest < notified + MIN_CHANGE);
            if waiting.earliest > now && !known {
                waiting.notified = Some(waiting.earliest);
                let (wait, reason) = (waiting.earliest - now, reason.clone());
                effects.push(GateEffect::Notify(*ticket, GateWait::Paused { wait, reason }));
            }
        }
    }

    fn wake(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        // At the limit of concurrent requests, the end of a request wakes the queue.
        let first = self.order.first().map(|(at, _)| *at).filter(|at| *at > now);
        let Some(at) = first.filter(|_| self.has_room()) else { return };
        if self.wake.is_none_or(|wake| at < wake) {
            self.wake = Some(at);
            effects.push(GateEffect::WakeAt(at));
        }
    }
}

#[cfg(test)]
mod tests;
