//! Measures how long a task waits for others: its requests for the gates of accounts, its questions for a person.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Gate, GateEvent, GateRequest, Timer as _};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::tokio_timer::RuntimeTimer;

/// Counts the time in which a request or a question of a task waits, which is not time of its work. It
/// belongs to the task, and is reported by its [`Waits`].
pub(crate) struct WaitClock {
    timer: RuntimeTimer,
    /// Made with the first [`Waits`]: a command has none.
    changes: Option<(UnboundedSender<WaitChange>, UnboundedReceiver<WaitChange>)>,
    /// How long the task was prolonged.
    granted: Duration,
    /// How many of them wait, and since when at least one does.
    waiting: usize,
    since: Duration,
    /// The time of the waits that have ended.
    ended: Duration,
}

/// Waits that are shorter do not prolong a task.
const SHORTEST: Duration = Duration::from_millis(1);

/// One begins or ceases to wait, at this time.
enum WaitChange {
    Begins(Duration),
    Ends(Duration),
}

impl WaitClock {
    pub(crate) fn start() -> Self {
        Self {
            timer: RuntimeTimer::start(),
            changes: None,
            granted: Duration::ZERO,
            waiting: 0,
            since: Duration::ZERO,
            ended: Duration::ZERO,
        }
    }

    /// Returns a gate that tells this clock how long requests wait.
    pub(crate) fn measured(&mut self, gate: Arc<dyn Gate>) -> MeasuredGate {
        MeasuredGate { gate, waits: self.waits() }
    }

    /// Returns what tells this clock how long something waits.
    pub(crate) fn waits(&mut self) -> Waits {
        let (sender, _) = self.changes.get_or_insert_with(unbounded_channel);
        Waits { timer: self.timer, sender: sender.clone() }
    }

    /// Returns for how long something has waited since this was called last, if at all.
    pub(crate) fn grant(&mut self) -> Option<Duration> {
        let next = |changes: &mut Option<(_, UnboundedReceiver<WaitChange>)>| {
            changes.as_mut().and_then(|(_, changes)| changes.try_recv().ok())
        };
        while let Some(change) = next(&mut self.changes) {
            self.count(&change);
        }
        let current = match self.waiting {
            0 => Duration::ZERO,
            _ => self.timer.now().saturating_sub(self.since),
        };
        let waited = self.ended.saturating_add(current);
        let more = waited.saturating_sub(self.granted);
        if more < SHORTEST {
            return None;
        }
        self.granted = waited;
        Some(more)
    }

    /// Returns how much of a time since the clock has started [`Self::grant`] has not granted.
    pub(crate) fn without_granted(&self, time: Duration) -> Duration {
        time.saturating_sub(self.granted)
    }

    fn count(&mut self, change: &WaitChange) {
        match change {
            WaitChange::Begins(at) => {
                if self.waiting == 0 {
                    self.since = *at;
                }
                self.waiting += 1;
            }
            WaitChange::Ends(at) => {
                self.waiting = self.waiting.saturating_sub(1);
                if self.waiting == 0 {
                    self.ended = self.ended.saturating_add(at.saturating_sub(self.since));
                }
            }
        }
    }
}

/// A gate that measures how long the requests of one task wait.
pub(crate) struct MeasuredGate {
    gate: Arc<dyn Gate>,
    waits: Waits,
}

/// Tells the clock of a task how long something waits.
#[derive(Clone)]
pub(crate) struct Waits {
    timer: RuntimeTimer,
    sender: UnboundedSender<WaitChange>,
}

/// Something that waits until this is dropped.
pub(crate) struct Wait(Waits);

impl Waits {
    pub(crate) fn begin(&self) -> Wait {
        let _over = self.sender.send(WaitChange::Begins(self.timer.now())); // the task may be gone
        Wait(self.clone())
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Waits { timer, sender } = &self.0;
        let _over = sender.send(WaitChange::Ends(timer.now())); // the task may be gone
    }
}

impl Gate for MeasuredGate {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        // The pause before another attempt is part of the task's own time.
        if request.is_paused {
            return self.gate.acquire(request);
        }
        let waits = (self.gate.acquire(request), self.waits.begin());
        // The last event ends the wait, and so does dropping the stream.
        let events = stream::unfold(Some(waits), |waits| async move {
            let (mut events, wait) = waits?;
            let event = events.next().await?;
            let next = match event {
                GateEvent::Waiting(_) | GateEvent::Unshared(_) => Some((events, wait)),
                GateEvent::Admitted(_) | GateEvent::Refused(_) => None,
            };
            Some((event, next))
        });
        events.boxed()
    }
}
