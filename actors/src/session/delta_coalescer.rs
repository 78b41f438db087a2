//! Merges the deltas of a session, such as parts of a model's answer, before they are published.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::agent::Listener;
use protocol::SessionEvent;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::messaging::Notifier;

/// The longest time that a delta waits to be merged.
const MERGE_INTERVAL: Duration = Duration::from_millis(50);

/// Passes events on in their order. Text that arrives within [`MERGE_INTERVAL`] is merged into one delta.
pub(super) struct DeltaCoalescer {
    events: Notifier<SessionEvent>,
    pending: Mutex<Pending>,
    /// Notified when a delta begins to wait.
    waiting: Notify,
}

#[derive(Default)]
struct Pending {
    delta: Option<SessionEvent>,
    /// When the last delta was passed on.
    passed: Option<Instant>,
}

impl DeltaCoalescer {
    pub(super) fn new(events: Notifier<SessionEvent>) -> Self {
        Self { events, pending: Mutex::default(), waiting: Notify::new() }
    }

    /// Passes on a waiting delta when [`MERGE_INTERVAL`] has passed since the delta before it. Works only
    /// while the future is polled, and never completes.
    pub(super) async fn keep_pace(&self) -> Infallible {
        loop {
            self.waiting.notified().await;
            let due = self.pending().passed.map(|passed| passed + MERGE_INTERVAL);
            if let Some(due) = due {
                tokio::time::sleep_until(due).await;
            }
            let mut pending = self.pending();
            self.flush(&mut pending);
        }
    }

    /// Locks the pending delta. Callers hold the lock for one append or cast and never wait inside.
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, pending: &mut Pending) {
        if let Some(delta) = pending.delta.take() {
            pending.passed = Some(Instant::now());
            self.events.notify(delta);
        }
    }

    fn delta(&self, delta: SessionEvent) {
        let mut pending = self.pending();
        let rest = match &mut pending.delta {
            Some(waiting) => waiting.merge(delta),
            None => Some(delta),
        };
        if let Some(rest) = rest {
            self.flush(&mut pending);
            pending.delta = Some(rest);
        }
        match pending.passed {
            Some(passed) if passed.elapsed() < MERGE_INTERVAL => self.waiting.notify_one(),
            Some(_) | None => self.flush(&mut pending),
        }
    }
}

impl Listener for DeltaCoalescer {
    fn event(&self, event: SessionEvent) {
        if event.is_delta() {
            return self.delta(event);
        }
        let mut pending = self.pending();
        self.flush(&mut pending);
        self.events.notify(event);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn text(text: &str) -> SessionEvent {
        SessionEvent::TextDelta { content_index: 0, delta: text.to_owned() }
    }

    fn coalescer() -> (DeltaCoalescer, Arc<Mutex<Vec<SessionEvent>>>) {
        let passed = Arc::<Mutex<Vec<_>>>::default();
        let events = Arc::clone(&passed);
        let events = Notifier::new(move |event| events.lock().unwrap().push(event));
        (DeltaCoalescer::new(events), passed)
    }

    #[test(start_paused = true)]
    async fn deltas_of_a_moment_are_one_and_none_is_lost() {
        let (deltas, passed) = coalescer();
        let said = async {
            for number in 0..1_000 {
                deltas.event(text(&format!("{number} ")));
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            tokio::time::advance(MERGE_INTERVAL).await;
        };
        tokio::select! {
            never = deltas.keep_pace() => match never {},
            () = said => {}
        }
        let passed = passed.lock().unwrap();
        assert!((15..=25).contains(&passed.len()), "{}", passed.len());
        let whole = passed.iter().cloned().reduce(|mut whole, more| {
            assert_eq!(whole.merge(more), None);
            whole
        });
        let expected: String = (0..1_000).map(|number| format!("{number} ")).collect();
        assert_eq!(whole, Some(text(&expected)));
    }

    #[test(start_paused = true)]
    async fn a_fact_stands_behind_every_delta_that_came_before_it() {
        let (deltas, passed) = coalescer();
        let thinking = SessionEvent::ThinkingDelta { content_index: 1, delta: "hm".to_owned() };
        let fact = SessionEvent::TurnEnd { turn: 1 };
        for event in [text("a"), text("b"), text("c"), thinking.clone(), fact.clone()] {
            deltas.event(event);
        }
        assert_eq!(*passed.lock().unwrap(), [text("a"), text("bc"), thinking, fact]);
    }
}
