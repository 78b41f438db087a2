//! The report about an account: who uses it how much, and what holds up requests.

use std::time::Duration;

use super::breaker::MayAdmit;
use super::shared_state::SharedState;
use crate::ports::AccountId;

/// What is shared about an account, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateReport {
    /// The account.
    pub account: AccountId,
    /// How many engines use it.
    pub engines: usize,
    /// How many requests are under way.
    pub under_way: usize,
    /// How many may be under way; unlimited if absent.
    pub limit: Option<usize>,
    /// How many wait.
    pub waiting: usize,
    /// What holds up every request.
    pub hold: Option<GateHold>,
}

/// What holds up the requests of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateHold {
    /// For how long; until a request under way has ended if absent.
    pub wait: Option<Duration>,
    /// Why.
    pub reason: String,
}

impl GateReport {
    /// Returns the report of an account in the bytes that engines share; `None` if there is none.
    /// `is_there` returns whether a member is still there.
    #[must_use]
    pub fn read(bytes: &[u8], is_there: &dyn Fn(&str) -> bool, now: Duration) -> Option<Self> {
        let mut state = SharedState::parse(bytes, now)?;
        let account = state.account.take()?;
        let _freed = state.remove_gone("", is_there, now);
        let sum = |counts: &mut dyn Iterator<Item = usize>| counts.fold(0, usize::saturating_add);
        let members = &state.members;
        Some(Self {
            account,
            engines: members.len(),
            under_way: sum(&mut members.values().map(|member| member.under_way)),
            waiting: sum(&mut members.values().map(|member| member.waiting)),
            limit: state.limit,
            hold: hold(&state, now),
        })
    }
}

fn hold(state: &SharedState, now: Duration) -> Option<GateHold> {
    if let Some(pause) = state.pause.as_ref().filter(|pause| pause.until > now) {
        return Some(GateHold { wait: Some(pause.until - now), reason: pause.reason.clone() });
    }
    let reason = state.breaker.reason()?.to_owned();
    let wait = match state.breaker.may_admit(now) {
        MayAdmit::NotBefore(at) => Some(at.saturating_sub(now)),
        MayAdmit::Yes | MayAdmit::AsProbe | MayAdmit::NotYet => None,
    };
    Some(GateHold { wait, reason: format!("nothing is answered: {reason}") })
}
