//! Notices that an account answers nothing at the moment: then one request at a time is let through to
//! see whether it does again, and after a while all others fail.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How many failures in a row make an outage.
const MANY: u32 = 3;

/// The time between two probes: from the first, which doubles, to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The breaker of one account.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Breaker {
    /// How long an outage may last until everything that waits fails; never if absent.
    #[serde(skip)]
    limit: Option<Duration>,
    failures: u32,
    /// When the first of the failures in a row was.
    since: Option<Duration>,
    /// Since when nothing was answered, as the error of a request that waited says.
    silent: Option<Duration>,
    /// The message of the last one.
    reason: String,
    state: State,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// Requests are admitted.
    #[default]
    Closed,
    /// One request at a time is admitted, the next one at this time.
    Open { next: Duration, pause: Duration },
    /// A probe of this member is under way.
    Probing { pause: Duration, by: String },
}

/// Why a request was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It was its turn.
    Usual,
    /// It finds out whether the account answers again.
    Probe,
}

/// Whether a request may be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MayAdmit {
    Yes,
    /// It may, as the only one, to see whether the account answers again.
    AsProbe,
    /// Not before this time.
    NotBefore(Duration),
    /// Not before the probe under way has ended.
    NotYet,
}

impl Breaker {
    pub(super) fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// Returns all times and spans in it.
    pub(super) fn times(&self) -> impl Iterator<Item = Duration> {
        let state = match &self.state {
            State::Closed => [None, None],
            State::Open { next, pause } => [Some(*next), Some(*pause)],
            State::Probing { pause, .. } => [Some(*pause), None],
        };
        state.into_iter().chain([self.since, self.silent]).flatten()
    }

    /// Returns whether no request has failed since the last one that was answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.failures == 0 && self.state == State::Closed
    }

    pub(super) fn may_admit(&self, now: Duration) -> MayAdmit {
        match self.state {
            State::Closed => MayAdmit::Yes,
            State::Open { next, .. } if next <= now => MayAdmit::AsProbe,
            State::Open { next, .. } => MayAdmit::NotBefore(next),
            State::Probing { .. } => MayAdmit::NotYet,
        }
    }

    /// The probe of [`MayAdmit::AsProbe`] was admitted, as a request of this member.
    pub(super) fn probe_admitted(&mut self, by: &str) {
        if let State::Open { pause, .. } = self.state {
            self.state = State::Probing { pause, by: by.to_owned() };
        }
    }

    /// Returns the member whose probe is under way.
    pub(super) fn prober(&self) -> Option<&str> {
        match &self.state {
            State::Probing { by, .. } => Some(by),
            State::Closed | State::Open { .. } => None,
        }
    }

    /// The member whose probe was under way is gone.
    pub(super) fn probe_lost(&mut self, now: Duration) {
        self.ended(Role::Probe, now);
    }

    /// Somebody asks who has not waited in vain yet: if the outage has lasted too long, this request
    /// finds out whether it goes on, and the time begins anew for all that come meanwhile.
    pub(super) fn begin_anew(&mut self, now: Duration) {
        if self.is_over_limit(now).is_none() {
            return;
        }
        (self.since, self.silent) = (Some(now), Some(now));
        if let State::Open { .. } = self.state {
            self.state = State::Open { next: now, pause: FIRST_PAUSE };
        }
    }

    /// A request was answered.
    pub(super) fn answered(&mut self) {
        (self.failures, self.since, self.silent) = (0, None, None);
        self.state = State::Closed;
    }

    /// A request has failed in a way that says nothing about the request. Since `sent` nothing else
    /// was answered either.
    pub(super) fn failed(&mut self, role: Role, reason: &str, sent: Duration, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        self.since.get_or_insert(now);
        self.silent.get_or_insert(sent);
        reason.clone_into(&mut self.reason);
        self.state = match std::mem::take(&mut self.state) {
            State::Closed if self.failures >= MANY => {
                State::Open { next: now.saturating_add(FIRST_PAUSE), pause: FIRST_PAUSE }
            }
            State::Probing { pause, .. } if role == Role::Probe => {
                let pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                State::Open { next: now.saturating_add(pause), pause }
            }
            state => state,
        };
    }

    /// A request ended without telling anything about the account: it was given up, or failed by
    /// itself.
    pub(super) fn ended(&mut self, role: Role, now: Duration) {
        if let State::Probing { pause, .. } = self.state
            && role == Role::Probe
        {
            self.state = State::Open { next: now, pause };
        }
    }

    /// Returns the message of the last failure if there is an outage.
    pub(super) fn reason(&self) -> Option<&str> {
        (self.state != State::Closed).then_some(self.reason.as_str())
    }

    /// Returns when everything that waits fails if the outage goes on.
    pub(super) fn ends_waiting_at(&self) -> Option<Duration> {
        let since = self.since.filter(|_| self.state != State::Closed)?;
        Some(since.saturating_add(self.limit?))
    }

    /// Returns for how long nothing was answered if the outage lasts too long.
    pub(super) fn is_over_limit(&self, now: Duration) -> Option<Duration> {
        let at = self.ends_waiting_at()?;
        let silent = self.silent.or(self.since)?;
        (at <= now).then(|| now.saturating_sub(silent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn failures_in_a_row_open_it_and_an_answer_closes_it() {
        let mut breaker = Breaker { limit: Some(s(45)), ..Breaker::default() };
        breaker.failed(Role::Usual, "a", s(0), s(0));
        breaker.failed(Role::Usual, "b", s(1), s(1));
        breaker.answered();
        breaker.failed(Role::Usual, "c", s(2), s(2));
        breaker.failed(Role::Usual, "d", s(3), s(3));
        assert_eq!((breaker.may_admit(s(3)), breaker.reason()), (MayAdmit::Yes, None));
        breaker.failed(Role::Usual, "e", s(4), s(4));
        assert_eq!(
            (breaker.may_admit(s(4)), breaker.reason()),
            (MayAdmit::NotBefore(s(5)), Some("e"))
        );
        assert_eq!(breaker.may_admit(s(5)), MayAdmit::AsProbe);
        breaker.answered(); // that of a request from before
        assert_eq!(breaker.may_admit(s(5)), MayAdmit::Yes);
    }

    #[test]
    fn one_probe_at_a_time_and_less_and_less_often() {
        let mut breaker = Breaker { limit: Some(s(45)), ..Breaker::default() };
        for _ in 0..32 {
            breaker.failed(Role::Usual, "down", s(10), s(10));
        }
        let (mut now, mut pauses) = (s(11), Vec::new());
        for _ in 0..5 {
            assert_eq!(breaker.may_admit(now), MayAdmit::AsProbe);
            breaker.probe_admitted("a");
            assert_eq!(breaker.may_admit(now), MayAdmit::NotYet);
            breaker.failed(Role::Usual, "an old one", now, now);
            assert_eq!(breaker.may_admit(now), MayAdmit::NotYet);
            breaker.failed(Role::Probe, "down", now, now);
            let MayAdmit::NotBefore(next) = breaker.may_admit(now) else { panic!() };
            pauses.push((next - now).as_secs());
            now = next;
        }
        assert_eq!(pauses, [2, 4, 8, 8, 8]);
        breaker.probe_admitted("a");
        breaker.ended(Role::Probe, now);
        assert_eq!(breaker.may_admit(now), MayAdmit::AsProbe, "the probe has told nothing");
    }

    #[test]
    fn an_outage_whose_limit_is_over_begins_anew_with_a_probe() {
        let mut breaker = Breaker { limit: Some(s(45)), ..Breaker::default() };
        (0..3).for_each(|at| breaker.failed(Role::Usual, "down", s(at), s(at)));
        breaker.probe_admitted("a");
        breaker.failed(Role::Probe, "down", s(44), s(44));
        breaker.begin_anew(s(44));
        assert_eq!(breaker.ends_waiting_at(), Some(s(45)), "its time is not over");
        breaker.begin_anew(s(45));
        assert_eq!(
            (breaker.may_admit(s(45)), breaker.ends_waiting_at()),
            (MayAdmit::AsProbe, Some(s(90)))
        );
        breaker.probe_admitted("a");
        breaker.begin_anew(s(100));
        assert_eq!(
            (breaker.may_admit(s(100)), breaker.ends_waiting_at()),
            (MayAdmit::NotYet, Some(s(145)))
        );
    }

    #[test]
    fn an_outage_that_lasts_too_long_is_over_its_limit_until_something_is_answered() {
        let mut breaker = Breaker { limit: Some(s(45)), ..Breaker::default() };
        for at in 0..3 {
            breaker.failed(Role::Usual, "down", s(at), s(at));
        }
        assert_eq!((breaker.ends_waiting_at(), breaker.is_over_limit(s(44))), (Some(s(45)), None));
        assert_eq!(breaker.is_over_limit(s(50)), Some(s(50)));
        // The time begins with the first failure, and the silence when that request was sent.
        let mut slow = Breaker { limit: Some(s(45)), ..Breaker::default() };
        (0..3).for_each(|at| slow.failed(Role::Usual, "silent", s(at), s(120 + at)));
        assert_eq!((slow.is_over_limit(s(164)), slow.is_over_limit(s(165))), (None, Some(s(165))));
        slow.begin_anew(s(170));
        assert_eq!(slow.is_over_limit(s(215)), Some(s(45)), "who asks later has waited since then");
        breaker.answered();
        assert_eq!((breaker.ends_waiting_at(), breaker.is_over_limit(s(60))), (None, None));
        let mut patient = Breaker::default();
        (0..9).for_each(|at| patient.failed(Role::Usual, "down", s(at), s(at)));
        assert_eq!(patient.is_over_limit(s(10_000)), None);
    }
}
