//! Who may send a request through one provider account, and when: a pure state machine.

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
    /// How many requests may be under way at a time; any number without it.
    pub concurrency: Option<NonZeroUsize>,
    /// Over how long the requests are jitter_span that waited for the end of a pause.
    pub jitter_span: Duration,
}

impl From<&RequestPolicy> for GatePolicy {
    fn from(policy: &RequestPolicy) -> Self {
        Self { concurrency: policy.concurrency, jitter_span: policy.retry.base_delay / 2 }
    }
}

/// Identifies a request in the queue. Tickets are given in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What happens to a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum GateInput {
    /// A request arrives.
    Arrived(Ticket, SessionId),
    /// A request that was admitted has ended.
    Ended,
    /// A request that was admitted has ended, and the account must not be asked for this time.
    Paused {
        /// How long.
        wait: Duration,
        /// What the provider said.
        reason: String,
    },
    /// The time of a [`GateEffect::WakeAt`] has come.
    Woken,
}

/// What a queue has to have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateEffect {
    /// The request may be sent.
    Admit(Ticket),
    /// The request is notified what it waits for.
    Notify(Ticket, GateWait),
    /// [`GateInput::Woken`] is to come at this time.
    WakeAt(Duration),
}

/// The requests of one account: how many are under way, and which wait.
#[derive(Debug)]
pub struct GateQueue {
    policy: GatePolicy,
    under_way: usize,
    /// Until when the account must not be asked, and what the provider said.
    pause: Option<(Duration, String)>,
    waiting: BTreeMap<Ticket, Waiting>,
    /// The waiting requests in the order in which they may be sent, each with its earliest time.
    order: BTreeSet<(Duration, Ticket)>,
    wake: Option<Duration>,
}

#[derive(Debug)]
struct Waiting {
    session: SessionId,
    earliest: Duration,
    /// The earliest time that it was notified.
    notified: Option<Duration>,
}

/// A pause that grows by less is not notified again: many requests are often turned away together.
const MIN_CHANGE: Duration = Duration::from_secs(1);

impl GateQueue {
    /// Returns a queue without requests.
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

    /// Takes what has happened at `now`, and returns what is to be done. Times are those of one
    /// timer and never go back.
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

    /// Returns when a request of `session` may be sent that arrives now.
    fn earliest(&self, session: SessionId, now: Duration) -> Duration {
        match &self.pause {
            Some((until, _)) if *until > now => {
                *until + jitter(self.policy.jitter_span, session, 0)
            }
            Some(_) | None => now,
        }
    }

    /// Has nothing sent before `until`. A pause that is shorter than the present one is none.
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

    /// Tells a request that was not admitted when it arrived what it waits for.
    fn notify_arrived(&mut self, ticket: Ticket, now: Duration, effects: &mut Vec<GateEffect>) {
        let Some(waiting) = self.waiting.get(&ticket) else { return };
        if waiting.earliest > now {
            self.notify_paused(now, effects);
        } else if let Some(limit) = self.policy.concurrency {
            effects.push(GateEffect::Notify(ticket, GateWait::Busy { limit }));
        }
    }

    /// Tells the requests that wait for the end of a pause how long that is, if they do not know.
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
        // Without room the end of a request comes first, and looks again.
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
