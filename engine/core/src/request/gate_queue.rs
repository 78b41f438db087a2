//! The queue of requests to one provider account, as a state machine without I/O: it decides which
//! request may be sent, and when.
//!
//! A request is admitted when the account is not paused, has no outage, has room in its window of
//! concurrent requests and in its limits per minute, and it is the request's turn. The state of the
//! account may be shared with the queues of other engines; what waits here is only ours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::{Failure, FailureClass, FailureDetail};

use crate::ports::Requester;

mod breaker;
mod messages;
mod notices;
mod rates;
mod report;
mod shared_state;
mod turns;
mod unlimited;
mod window;

use breaker::{MayAdmit, Role};
pub use messages::{GateEffect, GateEnd, GateInput, GatePolicy, Ticket};
pub use report::{GateHold, GateReport};
use shared_state::{Member, Pause, SharedState};
use turns::{Departure, Turns};

/// The longest pause that the provider did not ask for.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// After which time a queue looks again at what another engine holds it up with.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The requests of one account: those that were admitted, and those that wait.
#[derive(Debug)]
pub struct GateQueue {
    policy: GatePolicy,
    /// The name of this queue among those that share the account.
    member: String,
    shared: SharedState,
    turns: Turns,
    under_way: BTreeMap<Ticket, Admitted>,
    waiting: BTreeMap<Ticket, Waiting>,
    /// The requests that have failed and come again later.
    paused: BTreeMap<Ticket, Requester>,
    /// The end of a pause of which all were notified.
    notified: Option<Duration>,
    wake: Option<Duration>,
    /// The runs whose requests were refused because of an outage that goes on.
    refused: BTreeSet<Requester>,
    /// When something was last answered; zero before that.
    last_answer: Duration,
}

#[derive(Debug)]
struct Admitted {
    generation: u64,
    role: Role,
    tokens: u64,
    at: Duration,
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
    /// When another one of this queue has ended.
    Later,
}

/// What is shared about an account, and whether another member is still there.
type Shared<'a> = (&'a [u8], &'a dyn Fn(&str) -> bool);

impl GateQueue {
    /// Returns an empty queue of an account that nobody else uses.
    #[must_use]
    pub fn new(policy: GatePolicy) -> Self {
        let mut queue = Self {
            policy,
            member: String::new(),
            shared: SharedState::default(),
            turns: Turns::default(),
            under_way: BTreeMap::new(),
            waiting: BTreeMap::new(),
            paused: BTreeMap::new(),
            notified: None,
            wake: None,
            refused: BTreeSet::new(),
            last_answer: Duration::ZERO,
        };
        queue.apply_policy();
        queue
    }

    /// Processes an input at the time `now` and returns the effects. All times are those of one
    /// timer, and never decrease.
    pub fn step(&mut self, input: GateInput, now: Duration) -> Vec<GateEffect> {
        let mut effects = Vec::new();
        let arrived = self.take(input, now);
        self.admit(now, &mut effects);
        let told_all = self.notify_paused(now, &mut effects);
        let arrived = arrived.filter(|ticket| !told_all && self.waiting.contains_key(ticket));
        if let Some(ticket) = arrived {
            self.notify_arrived(ticket, now, &mut effects);
        }
        self.wake(now, &mut effects);
        effects
    }

    /// Processes inputs as `member` of those that share the account. `bytes` is what they share, and
    /// `is_there` returns whether another member is still there. Returns the effects and what is
    /// shared now.
    pub fn step_shared(
        &mut self,
        inputs: Vec<GateInput>,
        member: &str,
        (bytes, is_there): Shared<'_>,
        now: Duration,
    ) -> (Vec<GateEffect>, Vec<u8>) {
        member.clone_into(&mut self.member);
        if let Some(shared) = SharedState::parse(bytes, now) {
            self.shared = shared;
            self.apply_policy();
        }
        let mut effects = Vec::new();
        for input in inputs {
            effects.extend(self.step(input, now));
        }
        if !self.waiting.is_empty() && self.shared.remove_gone(member, is_there, now) {
            self.admit(now, &mut effects);
            self.wake(now, &mut effects);
        }
        self.shared.note(member, self.own_use(), now);
        self.shared.limit = self.shared.window.limit().map(std::num::NonZeroUsize::get);
        (effects, self.shared.to_bytes())
    }

    /// Forgets the others that share the account: what they do is not known any more.
    pub fn forget_others(&mut self, now: Duration) {
        let _freed = self.shared.remove_gone(&self.member, &|_| false, now);
    }

    /// Returns whether the queue would ignore that a request was accepted.
    #[must_use]
    pub fn ignores_acceptance(&self) -> bool {
        !self.shared.window.is_learning() && self.shared.backoff.is_zero()
    }

    /// Returns whether no request is under way and none waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.waiting.is_empty() && self.paused.is_empty()
    }

    fn apply_policy(&mut self) {
        self.shared.account.clone_from(&self.policy.account);
        self.shared.window.set_most(self.policy.concurrency);
        self.shared.breaker.set_limit(self.policy.outage);
        self.shared.rates.set_limits(self.policy.per_minute);
    }

    /// Takes down an input. Returns the request that arrived.
    fn take(&mut self, input: GateInput, now: Duration) -> Option<Ticket> {
        match input {
            GateInput::Arrived { ticket, requester, retries, tokens } => {
                if self.waiting.is_empty() && retries == 0 && !self.refused.contains(&requester) {
                    self.shared.breaker.begin_anew(now);
                }
                self.turns.add(requester.clone(), retries, ticket);
                self.waiting.insert(ticket, Waiting { requester, retries, tokens });
                return Some(ticket);
            }
            GateInput::Paused { ticket, requester } => {
                self.paused.insert(ticket, requester);
            }
            GateInput::Withdrawn(ticket) => {
                self.paused.remove(&ticket);
                self.leave(ticket, Departure::GivenUp);
            }
            GateInput::NotSent(ticket) => {
                if let Some(admitted) = self.under_way.remove(&ticket) {
                    self.shared.rates.not_begun(admitted.tokens);
                    self.shared.breaker.ended(admitted.role, now);
                }
            }
            GateInput::Accepted(ticket, wait) => {
                if self.under_way.contains_key(&ticket) {
                    self.shared.window.accepted();
                    self.shared.backoff = Duration::ZERO;
                    if let Some(wait) = wait {
                        self.hold(now, wait, "its limit is used up");
                    }
                }
            }
            GateInput::Ended(ticket, end) => {
                if let Some(admitted) = self.under_way.remove(&ticket) {
                    self.ended(&admitted, end, now);
                }
            }
            // That of an earlier request to be woken changes nothing.
            GateInput::Woken(at) => self.wake = self.wake.filter(|wake| *wake > now && *wake != at),
        }
        None
    }

    fn ended(&mut self, admitted: &Admitted, end: GateEnd, now: Duration) {
        let under_way = self.under_way_in_all();
        match end {
            GateEnd::Answered { tokens } => {
                self.answered(now);
                self.refused.clear();
                self.shared.rates.used_more(tokens.saturating_sub(admitted.tokens), now);
            }
            GateEnd::Rejected { wait, reason } => {
                self.answered(now); // an account that counts is there
                let is_news = self.shared.window.rejected(admitted.generation, under_way);
                // A time that is over says nothing about the next one.
                match wait.filter(|wait| !wait.is_zero()) {
                    Some(wait) => self.pause(now, wait, &reason),
                    None if is_news => {
                        let longer = self.shared.backoff.saturating_mul(2);
                        self.shared.backoff = longer.max(self.policy.backoff).min(LONGEST_BACKOFF);
                        self.pause(now, self.shared.backoff, &reason);
                    }
                    None => {}
                }
            }
            GateEnd::Overloaded { wait, reason } => {
                let _is_news = self.shared.window.rejected(admitted.generation, under_way);
                self.failed(admitted, wait, &reason, now);
            }
            GateEnd::Failed { wait, reason } => self.failed(admitted, wait, &reason, now),
            GateEnd::Unrelated => self.shared.breaker.ended(admitted.role, now),
        }
    }

    fn answered(&mut self, now: Duration) {
        self.shared.breaker.answered();
        self.last_answer = now;
    }

    fn failed(&mut self, request: &Admitted, wait: Option<Duration>, reason: &str, now: Duration) {
        let silent_since = request.at.max(self.last_answer);
        self.shared.breaker.failed(request.role, reason, silent_since, now);
        if let Some(wait) = wait {
            self.pause(now, wait, reason);
        }
    }

    /// Pauses the account, and begins with one request after that.
    fn pause(&mut self, now: Duration, wait: Duration, reason: &str) {
        if self.hold(now, wait, reason) {
            self.shared.window.begin_with_one();
        }
    }

    /// Pauses the account, unless it is already paused for longer. Returns whether it did.
    fn hold(&mut self, now: Duration, wait: Duration, reason: &str) -> bool {
        let until = now.saturating_add(wait);
        let known = self.shared.pause.as_ref().is_some_and(|before| before.until >= until);
        if wait.is_zero() || known {
            return false;
        }
        self.shared.pause = Some(Pause { until, reason: reason.to_owned() });
        true
    }

    fn paused_until(&self, now: Duration) -> Option<Duration> {
        self.shared.pause.as_ref().map(|pause| pause.until).filter(|until| *until > now)
    }

    fn under_way_in_all(&self) -> usize {
        self.under_way.len().saturating_add(self.shared.others_under_way(&self.member))
    }

    fn own_use(&self) -> Member {
        let next = self.turns.next().and_then(|ticket| self.waiting.get(&ticket));
        Member {
            under_way: self.under_way.len(),
            waiting: self.waiting.len(),
            is_person: next.is_some_and(|next| next.requester == Requester::Person),
            ..Member::default()
        }
    }

    /// Returns when a request of about so many tokens may be admitted, if it is its turn.
    fn admission(&mut self, tokens: u64, now: Duration) -> Admission {
        if let Some(until) = self.paused_until(now) {
            return Admission::At(until);
        }
        let is_alone = self.shared.others_under_way(&self.member) == 0;
        let role = match self.shared.breaker.may_admit(now) {
            MayAdmit::Yes if self.shared.window.has_room(self.under_way_in_all()) => Role::Usual,
            // The end of a request of another engine wakes nobody here.
            MayAdmit::Yes | MayAdmit::NotYet if !is_alone => return at_next_look(now),
            MayAdmit::Yes | MayAdmit::NotYet => return Admission::Later,
            // Those that hang do not hold up the probe.
            MayAdmit::AsProbe => Role::Probe,
            MayAdmit::NotBefore(at) => return Admission::At(at),
        };
        let is_limited = role == Role::Probe
            || self.shared.window.limit().is_some()
            || self.shared.rates.are_limited();
        match self.shared.rates.earliest(tokens, now) {
            at if at > now => Admission::At(at),
            _ if is_limited && !self.shared.is_turn_of(&self.member, &self.own_use(), now) => {
                at_next_look(now)
            }
            _ => Admission::Now { role },
        }
    }

    fn admit(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        if let Some(lasted) = self.shared.breaker.is_over_limit(now) {
            self.refuse_all(lasted, effects);
        }
        while let Some(ticket) = self.turns.next() {
            let tokens = self.waiting.get(&ticket).map_or(0, |waiting| waiting.tokens);
            let Admission::Now { role } = self.admission(tokens, now) else { break };
            if role == Role::Probe {
                self.shared.breaker.probe_admitted(&self.member);
            }
            self.shared.take_turn(&self.member);
            self.shared.rates.begun(tokens, now);
            self.leave(ticket, Departure::Served);
            let generation = self.shared.window.generation();
            self.under_way.insert(ticket, Admitted { generation, role, tokens, at: now });
            effects.push(GateEffect::Admit(ticket));
        }
    }

    /// Refuses all requests that wait or pause, because of an outage that has lasted so long.
    fn refuse_all(&mut self, lasted: Duration, effects: &mut Vec<GateEffect>) {
        let seconds = lasted.as_secs();
        let reason = self.shared.breaker.reason().unwrap_or_default();
        let message = format!("nothing was answered for {seconds} s: {reason}");
        let failure = Failure::new(FailureClass::Transient, message);
        let failure = failure.with(FailureDetail::Outage { seconds });
        let mut requesters = Vec::new();
        for ticket in self.turns.all().collect::<Vec<_>>() {
            requesters.extend(self.waiting.get(&ticket).map(|waiting| waiting.requester.clone()));
            self.leave(ticket, Departure::GivenUp);
            effects.push(GateEffect::Refuse(ticket, failure.clone()));
        }
        for (ticket, requester) in std::mem::take(&mut self.paused) {
            requesters.push(requester);
            effects.push(GateEffect::Refuse(ticket, failure.clone()));
        }
        self.refused.extend(requesters.into_iter().filter(|who| *who != Requester::Person));
    }

    /// Removes a request from those that wait.
    fn leave(&mut self, ticket: Ticket, departure: Departure) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            self.turns.remove(&waiting.requester, waiting.retries, ticket, departure);
        }
    }

    fn wake(&mut self, now: Duration, effects: &mut Vec<GateEffect>) {
        let next = self.turns.next();
        if next.is_none() && self.paused.is_empty() {
            return;
        }
        let tokens = next.and_then(|next| self.waiting.get(&next)).map(|waiting| waiting.tokens);
        let admission = match tokens.map(|tokens| self.admission(tokens, now)) {
            Some(Admission::At(at)) => Some(at),
            // At the limit of concurrent requests, the end of a request wakes the queue.
            Some(Admission::Now { .. } | Admission::Later) | None => None,
        };
        let ends_waiting = self.shared.breaker.ends_waiting_at();
        let at = [admission, ends_waiting].into_iter().flatten().min();
        let Some(at) = at.filter(|at| *at > now) else { return };
        if self.wake.is_none_or(|wake| at < wake) {
            self.wake = Some(at);
            effects.push(GateEffect::WakeAt(at));
        }
    }
}

/// Another engine holds it up, and does not say for how long.
fn at_next_look(now: Duration) -> Admission {
    Admission::At(now.saturating_add(LOOK_AGAIN))
}

#[cfg(test)]
mod tests;
