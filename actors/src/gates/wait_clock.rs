//! Measures how long the requests of a task wait for the gates of accounts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::ports::{Gate, GateEvent, GateRequest, Timer as _};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use crate::tokio_timer::RuntimeTimer;

/// Counts the time in which a request of a task waits, which is not time of its work.
#[derive(Clone)]
pub(crate) struct WaitClock {
    timer: RuntimeTimer,
    waits: Arc<Mutex<Waits>>,
}

/// Waits that are shorter do not prolong a task.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Waits {
    /// How long the task was prolonged.
    granted: Duration,
    /// How many requests wait, and since when at least one does.
    waiting: usize,
    since: Duration,
    /// The time of the waits that have ended.
    ended: Duration,
}

impl WaitClock {
    pub(crate) fn start() -> Self {
        Self { timer: RuntimeTimer::start(), waits: Arc::default() }
    }

    /// Returns for how long a request has waited since this was called last, if at all.
    pub(crate) fn grant(&self) -> Option<Duration> {
        let waited = self.waited();
        let mut waits = self.lock();
        let more = waited.saturating_sub(waits.granted);
        if more < SHORTEST {
            return None;
        }
        waits.granted = waited;
        Some(more)
    }

    fn waited(&self) -> Duration {
        let waits = self.lock();
        let current = match waits.waiting {
            0 => Duration::ZERO,
            _ => self.timer.now().saturating_sub(waits.since),
        };
        waits.ended.saturating_add(current)
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Wait {
        let mut waits = self.lock();
        if waits.waiting == 0 {
            waits.since = self.timer.now();
        }
        waits.waiting += 1;
        Wait(self.clone())
    }
}

/// A request that waits until this is dropped.
struct Wait(WaitClock);

impl Drop for Wait {
    fn drop(&mut self) {
        let now = self.0.timer.now();
        let mut waits = self.0.lock();
        waits.waiting -= 1;
        if waits.waiting == 0 {
            waits.ended = waits.ended.saturating_add(now.saturating_sub(waits.since));
        }
    }
}

/// A gate that measures how long the requests of one task wait.
pub(crate) struct MeasuredGate {
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) clock: WaitClock,
}

impl Gate for MeasuredGate {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        let waits = (self.gate.acquire(request), self.clock.begin());
        // The last event ends the wait, and so does dropping the stream.
        let events = stream::unfold(Some(waits), |waits| async move {
            let (mut events, wait) = waits?;
            let event = events.next().await?;
            let next = match event {
                GateEvent::Waiting(_) => Some((events, wait)),
                GateEvent::Admitted(_) | GateEvent::Refused(_) => None,
            };
            Some((event, next))
        });
        events.boxed()
    }
}
