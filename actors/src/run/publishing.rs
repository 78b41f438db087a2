//! Publishes the events of a run.

use protocol::{Event, EventKind, EventScope, SessionEvent};

use super::state::RunState;

impl RunState {
    /// Publishes a notice of a landing. A run that lands several times tells each fallback once.
    pub(super) fn publish_landing_notice(&mut self, kind: EventKind) {
        if matches!(kind, EventKind::Degraded { .. }) {
            if self.degraded.contains(&kind) {
                return;
            }
            self.degraded.push(kind.clone());
        }
        self.publish(kind);
    }

    /// Announces that something else is asked in place of a model or key, once in a run.
    pub(super) fn publish_fallback(&mut self, event: &EventKind) {
        let EventKind::SessionEvent {
            event: SessionEvent::RetryFallbackApplied { from, to, error_message },
            ..
        } = event
        else {
            return;
        };
        if self.fallbacks.insert((from.clone(), to.clone())) {
            self.publish(EventKind::Degraded {
                from: from.clone(),
                to: format!("{to} is asked in its place"),
                why: error_message.clone(),
            });
        }
    }

    pub(super) fn publish(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: self.arguments.deps.clock.now(),
            scope: Some(EventScope::Run(self.arguments.name.clone())),
            kind,
        };
        self.arguments.events.publish(event);
    }
}
