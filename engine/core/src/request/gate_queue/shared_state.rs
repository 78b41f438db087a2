//! What the engines of a user share about one account: its state, and what each engine uses of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::breaker::Breaker;
use super::rates::Rates;
use super::window::Window;
use crate::ports::AccountId;

/// How long after its last sign a member that waits may still hold up others.
const ABSENT: Duration = Duration::from_millis(500);

/// No time in a state lies further ahead.
const FURTHEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// The state of one account. All times are those of one clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SharedState {
    /// The account, for people.
    pub(super) account: Option<AccountId>,
    pub(super) window: Window,
    pub(super) breaker: Breaker,
    pub(super) rates: Rates,
    /// The current pause, or the last one.
    pub(super) pause: Option<Pause>,
    /// The last pause that the provider did not ask for, since it accepted a request.
    pub(super) backoff: Duration,
    /// How many requests may be under way, for people.
    pub(super) limit: Option<usize>,
    /// Counts the turns of the members.
    turns: u64,
    /// Those that use the account at the moment.
    pub(super) members: BTreeMap<String, Member>,
}

/// A pause of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pause {
    pub(super) until: Duration,
    /// The message of the provider.
    pub(super) reason: String,
}

/// What one member uses of the account.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) under_way: usize,
    pub(super) waiting: usize,
    /// Whether a person is the next to be served.
    pub(super) is_person: bool,
    /// When it had a turn last, by the count of turns.
    pub(super) turn: u64,
    /// When it has shown last that it is there.
    pub(super) seen: Duration,
}

impl SharedState {
    /// Returns the state in `bytes`; `None` if there is none that can be used.
    pub(super) fn parse(bytes: &[u8], now: Duration) -> Option<Self> {
        let state: Self = serde_json::from_slice(bytes).ok()?;
        let latest = now.saturating_add(FURTHEST);
        let times = state.breaker.times().chain(state.rates.times());
        let times = times.chain(state.pause.as_ref().map(|pause| pause.until));
        let times = times.chain(state.members.values().map(|member| member.seen));
        let is_sane = times.chain([state.backoff]).all(|time| time <= latest);
        is_sane.then_some(state)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns how many requests of members other than `me` are under way.
    pub(super) fn others_under_way(&self, me: &str) -> usize {
        let others = self.members.iter().filter(|(name, _)| *name != me);
        others.fold(0, |sum, (_, member)| sum.saturating_add(member.under_way))
    }

    /// Returns whether `me`, which has so many requests under way and whose next is one of a person
    /// or not, may go before all others that wait: a person goes first, then who has the least under
    /// way, then who has waited longest for a turn.
    pub(super) fn is_turn_of(&self, me: &str, own: &Member, now: Duration) -> bool {
        let rank = |member: &Member| (!member.is_person, member.under_way, member.turn);
        let turn = self.members.get(me).map_or(0, |member| member.turn);
        let (person, under_way, _) = rank(own);
        let mine = ((person, under_way, turn), me);
        let others = self.members.iter().filter(|(name, member)| {
            *name != me && member.waiting > 0 && member.seen.saturating_add(ABSENT) > now
        });
        others.map(|(name, member)| (rank(member), name.as_str())).all(|other| mine < other)
    }

    /// Notes that `me` has a turn.
    pub(super) fn take_turn(&mut self, me: &str) {
        self.turns = self.turns.saturating_add(1);
        self.members.entry(me.to_owned()).or_default().turn = self.turns;
    }

    /// Notes what `me` uses.
    pub(super) fn note(&mut self, me: &str, own: Member, now: Duration) {
        let turn = self.members.get(me).map_or(0, |member| member.turn);
        if own.under_way == 0 && own.waiting == 0 {
            self.members.remove(me);
        } else {
            self.members.insert(me.to_owned(), Member { turn, seen: now, ..own });
        }
    }

    /// Removes the members that are gone. Returns whether that has freed anything.
    pub(super) fn remove_gone(
        &mut self,
        me: &str,
        is_there: &dyn Fn(&str) -> bool,
        now: Duration,
    ) -> bool {
        let before = self.members.len();
        self.members.retain(|name, _| name == me || is_there(name));
        let prober = self.breaker.prober().filter(|name| *name != me && !is_there(name));
        let probed = prober.is_some();
        if probed {
            self.breaker.probe_lost(now);
        }
        probed || self.members.len() < before
    }
}
