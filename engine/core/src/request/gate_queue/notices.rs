//! Tells waiting requests why they wait.

use std::time::Duration;

use super::{GateEffect, GateQueue, Ticket};
use crate::ports::GateWait;

/// The minimum extension of a pause of which the queue notifies waiting requests again. Requests
/// that the provider rejects at about the same time extend the pause many times by a little.
const MIN_CHANGE: Duration = Duration::from_secs(1);

impl GateQueue {
    /// Notifies a request that was not admitted on arrival.
    pub(super) fn notify_arrived(
        &mut self,
        ticket: Ticket,
        now: Duration,
        effects: &mut Vec<GateEffect>,
    ) {
        let tokens = self.waiting.get(&ticket).map_or(0, |waiting| waiting.tokens);
        let has_room = self.shared.window.has_room(self.under_way_in_all());
        let wait = if let Some(wait) = self.paused(now) {
            wait
        } else if let Some(reason) = self.shared.breaker.reason() {
            GateWait::Outage { reason: reason.to_owned() }
        } else if let Some(limit) = self.shared.window.limit().filter(|_| !has_room) {
            GateWait::Busy { limit }
        } else {
            match self.shared.rates.earliest(tokens, now) {
                at if at > now => GateWait::Rate { wait: at - now },
                // It waits for the turns of others, which were told why.
                _ => return,
            }
        };
        effects.push(GateEffect::Notify(ticket, wait));
    }

    fn paused(&self, now: Duration) -> Option<GateWait> {
        let pause = self.shared.pause.as_ref().filter(|pause| pause.until > now)?;
        Some(GateWait::Paused { wait: pause.until - now, reason: pause.reason.clone() })
    }

    /// Notifies all requests that wait of a new pause, or of one that has become much longer. Returns
    /// whether it did.
    pub(super) fn notify_paused(&mut self, now: Duration, effects: &mut Vec<GateEffect>) -> bool {
        let Some((until, wait)) = self.paused_until(now).zip(self.paused(now)) else {
            return false;
        };
        let known = |notified: Duration| until < notified.saturating_add(MIN_CHANGE);
        if self.notified.is_some_and(known) {
            return false;
        }
        self.notified = Some(until);
        let all = self.waiting.keys().map(|ticket| GateEffect::Notify(*ticket, wait.clone()));
        effects.extend(all);
        true
    }
}
