//! The queue of requests to one provider account, as a state machine without I/O: it decides which
//! request may be sent, and when.
//!
//! A request is admitted when the account is not paused, has no outage, has room in its window of
//! concurrent requests and in its limits per minute, and it is the request's turn.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{Failure, FailureClass};

use crate::ports::{GateWait, Requester};

mod breaker;
mod messages;
mod rates;
mod turns;
mod window;

use breaker::{Breaker, MayAdmit, Role};
pub use messages::{GateEffect, GateEnd, GateInput, GatePolicy, Ticket};
pub use rates::MinuteLimits;
use rates::Rates;
use turns::{Departure, Turns};
use window::Window;

/// The longest pause that the provider did not ask for.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// The minimum extension of a pause of which the queue notifies waiting requests again. Requests
/// that the provider rejects at about the same time extend the pause many times by a little.
const MIN_CHANGE: Duration = Duration::from_secs(1);

/// The requests of one account: those that were admitted, and those that wait.
#[derive(Debug)]
pub struct GateQueue {
    policy: GatePolicy,
    window: Window,
    breaker: Breaker,
    rates: Rates,
    turns: Turns,
    under_way: BTreeMap<Ticket, Admitted>,
    waiting: BTreeMap<Ticket, Waiting>,
    /// The end of the current pause and the message of the provider.
    pause: Option<(Duration, String)>,
    /// The end of a pause of which all were notified.
    notified: Option<Duration>,
    /// The last pause that the provider did not ask for, since it accepted a request.
    backoff: Duration,
    wake: Option<Duration>,
}

#[derive(Debug)]
struct Admitted {
    generation: u64,
    role: Role,
    tokens: u64,
}

#[derive(Debug)]
struct Waiting {
    requester: Requester,
    retries: u32,
    tokens: u64,
}

/// Whether a request may be admitted now.
enum Admission {
    Now {
        role: Role,
    },
    At(Duration),
    /// When another one has ended.
    Later,
}

impl GateQueue {
    /// Returns an empty queue.
    #[must_use]
    pub fn new(policy: GatePolicy) -> Self {
        Self {
            window: Window::new(policy.concurrency),
            breaker: Breaker::new(policy.outage),
            rates: Rates::new(policy.per_minute),
            policy,
            turns: Turns::default(),
            under_way: BTreeMap::new(),
            waiting: BTreeMap::new(),
            pause: None,
            notified: None,
            backoff: Duration::ZERO,
            wake: None,
        }
    }

    /// Processes an input at the time `now` and returns the effects. All times are those of one
    /// timer, and never decrease.
    pub fn step(&mut self, input: GateInput, now: Duration) -> Vec<GateEffect> {
        let mut effects = Vec::new();
        let mut arrived = None;
        match input {
            GateInput::Arrived { ticket, requester, retries, tokens } => {
                self.turns.add(requester.clone(), retries, ticket);
                self.waiting.insert(ticket, Waiting { requester, retries, tokens });
                arrived = Some(ticket);
            }
            GateInput::NotSent(ticket) => {
                if let Some(admitted) = self.under_way.remove(&ticket) {
                    self.rates.not_begun(admitted.tokens);
                    self.breaker.ended(admitted.role, now);
                }
            }
            GateInput::Accepted(ticket) => {
                if self.under_way.contains_key(&ticket) {
                    self.window.accepted();
                    self.backoff = Duration::ZERO;
                }
            }
            GateInput::Ended(ticket, end) => {
                if let Some(admitted) = self.under_way.remove(&ticket) {
                    self.ended(&admitted, end, now);
                }
            }
            GateInput::Woken => self.wake = None,
        }
        self.admit(now, &mut effects);
        let told_all = self.notify_paused(now, &mut effects);
        let arrived = arrived.filter(|ticket| !told_all && self.waiting.contains_key(ticket));
        if let Some(ticket) = arrived {
            self.notify_arrived(ticket, now, &mut effects);
        }
        self.wake(now, &mut effects);
        effects
    }

    fn ended(&mut self, admitted: &Admitted, end: GateEnd, now: Duration) {
        match end {
            GateEnd::Answered { tokens, wait } => {
                self.breaker.answered();
                self.rates.used_more(tokens.saturating_sub(admitted.tokens), now);
                if let Some(wait) = wait {
                    self.pause(now, wait, "its limit is used up".to_owned());
                }
            }
            GateEnd::Rejected { wait, reason } => {
                // An account that counts is there.
                self.breaker.answered();
                let is_news = self.window.rejected(admitted.generation, self.under_way.len());
                match wait {
                    Some(wait) => self.pause(now, wait, reason),
                    None if is_news => {
                        let longer = self.backoff.saturating_mul(2).max(self.policy.backoff);
                        self.backoff = longer.min(LONGEST_BACKOFF);
                        self.pause(now, self.backoff, reason);
                    }
                    None => {}
                }
            }
            GateEnd::Failed { wait, reason } => {
                self.breaker.failed(admitted.role, &reason, now);
                if let Some(wait) = wait {
                    self.pause(now, wait, reason);
                }
            }
            GateEnd::Unrelated => self.breaker.ended(admitted.role, now),
        }
    }

    /// Pauses the account, unless it is already paused for longer.
    fn pause(&mut self, now: Duration, wait: Duration, reason: String) {
        let until = now.saturating_add(wait);
        if wait.is_zero() || self.pause.as_ref().is_some_and(|(before, _)| *before >= until) {
            return;
        }
        self.pause = Some((until, reason));
        self.window.begin_with_one();
    }

    fn paused_until(&self, now: Duration) -> Option<Duration> {
        self.pause.as_ref().map(|(until, _)| *until).filter(|until| *until > now)
    }

    /// Returns when a request of about so many tokens may be admitted, if it is its turn.
    fn admission(&mut self, tokens: u64, now: Duration) -> Admission {
        if let Some(until) = self.paused_until(now) {
            return Admission::At(until);
        }
        let role = match self.breaker.may_admit(now) {
            MayAdmit::Yes if self.window.has_room(self.under_way.len()) => Role::Usual,
            MayAdmit::Yes | MayAdmit::NotYet => return Admission::Later,
            // Those that hang do not hold up the probe.
            MayAdmit::AsProbe => Role::Probe,
            MayAdmit::NotBefore(at) => return Admission::At(at),
        };
        match self.rates.earliest(tokens, now) {
            at if at > now => Admission::At(at),
            _ => Admission::Now { role },
        }
    }

    fn admit(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        while let Some(ticket) = self.turns.next() {
            let tokens = self.waiting.get(&ticket).map_or(0, |waiting| waiting.tokens);
            let Admission::Now { role } = self.admission(tokens, now) else { break };
            if role == Role::Probe {
                self.breaker.probe_admitted();
            }
            self.rates.begun(tokens, now);
            self.leave(ticket, Departure::Served);
            let generation = self.window.generation();
            self.under_way.insert(ticket, Admitted { generation, role, tokens });
            effects.push(GateEffect::Admit(ticket));
        }
        if let Some(lasted) = self.breaker.is_over_limit(now) {
            let (seconds, reason) = (lasted.as_secs(), self.breaker.reason().unwrap_or_default());
            let message = format!("nothing was answered for {seconds} s: {reason}");
            let failure = Failure::new(FailureClass::Transient, message);
            for ticket in self.turns.all().collect::<Vec<_>>() {
                self.leave(ticket, Departure::GivenUp);
                effects.push(GateEffect::Refuse(ticket, failure.clone()));
            }
        }
    }

    /// Removes a request from those that wait.
    fn leave(&mut self, ticket: Ticket, departure: Departure) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            self.turns.remove(&waiting.requester, waiting.retries, ticket, departure);
        }
    }

    /// Notifies a request that was not admitted on arrival.
    fn notify_arrived(&mut self, ticket: Ticket, now: Duration, effects: &mut Vec<GateEffect>) {
        let tokens = self.waiting.get(&ticket).map_or(0, |waiting| waiting.tokens);
        let has_room = self.window.has_room(self.under_way.len());
        let wait = if let Some(wait) = self.paused(now) {
            wait
        } else if let Some(reason) = self.breaker.reason() {
            GateWait::Outage { reason: reason.to_owned() }
        } else if let Some(limit) = self.window.limit().filter(|_| !has_room) {
            GateWait::Busy { limit }
        } else {
            match self.rates.earliest(tokens, now) {
                at if at > now => GateWait::Rate { wait: at - now },
                // It waits for the turns of others, which were told why.
                _ => return,
            }
        };
        effects.push(GateEffect::Notify(ticket, wait));
    }

    fn paused(&self, now: Duration) -> Option<GateWait> {
        let (until, reason) = self.pause.as_ref().filter(|(until, _)| *until > now)?;
        Some(GateWait::Paused { wait: *until - now, reason: reason.clone() })
    }

    /// Notifies all requests that wait of a new pause, or of one that has become much longer. Returns
    /// whether it did.
    fn notify_paused(&mut self, now: Duration, effects: &mut Vec<GateEffect>) -> bool {
        let Some((until, wait)) = self.paused_until(now).zip(self.paused(now)) else {
            return false;
        };
        if self.notified.is_some_and(|notified| until < notified + MIN_CHANGE) {
            return false;
        }
        self.notified = Some(until);
        let all = self.waiting.keys().map(|ticket| GateEffect::Notify(*ticket, wait.clone()));
        effects.extend(all);
        true
    }

    fn wake(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        let Some(next) = self.turns.next() else { return };
        let tokens = self.waiting.get(&next).map_or(0, |waiting| waiting.tokens);
        let admission = match self.admission(tokens, now) {
            Admission::At(at) => Some(at),
            // At the limit of concurrent requests, the end of a request wakes the queue.
            Admission::Now { .. } | Admission::Later => None,
        };
        let at = [admission, self.breaker.ends_waiting_at()].into_iter().flatten().min();
        let Some(at) = at.filter(|at| *at > now) else { return };
        if self.wake.is_none_or(|wake| at < wake) {
            self.wake = Some(at);
            effects.push(GateEffect::WakeAt(at));
        }
    }
}

#[cfg(test)]
mod tests;
