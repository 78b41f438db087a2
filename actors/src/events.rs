//! Carries events from the runs and sessions that cause them to their readers.
//!
//! Publishing never waits for a reader: each reader has its own queue. A stalled reader costs memory
//! in proportion to the number of tasks, not to the time: see [`Events`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use protocol::{Event, EventKind, EventScope};
use tokio::sync::Notify;

use crate::shutdown_limits::ActivityCounter;

mod backlog;

use backlog::Backlog;

/// The events of an engine, or of one of its sessions, for one reader, in the order in which each
/// run and session published them.
///
/// A reader that keeps up gets every event. For a slow reader, the queue merges the deltas of a
/// session, such as parts of a model's answer, and drops deltas beyond 256 KiB. It keeps only the
/// latest unread `task_progress` of each task, and at most 8 MiB of the `session_event`s of tasks;
/// a `degraded` event in their place reports how many were dropped. The queue never drops any other
/// event. Events are numbered when they are read, so their numbers have no gaps.
#[derive(Debug)]
pub struct Events {
    queue: Arc<Queue>,
    bus: Weak<Bus>,
    filter: EventFilter,
}

/// Which events a reader reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventFilter {
    All,
    /// Those of all runs, without those of the sessions of their tasks.
    Runs,
    Scope(EventScope),
}

impl EventFilter {
    fn passes(&self, event: &Event) -> bool {
        match self {
            Self::All => true,
            Self::Runs => {
                event.run().is_some() && !matches!(event.kind, EventKind::SessionEvent { .. })
            }
            Self::Scope(scope) => event.scope.as_ref() == Some(scope),
        }
    }
}

impl Events {
    /// Waits for the next event. Returns `None` when the engine or session has closed.
    pub async fn recv(&mut self) -> Option<Arc<Event>> {
        loop {
            let changed = self.queue.changed.notified();
            {
                let mut backlog = self.queue.backlog();
                if let Some(event) = backlog.take() {
                    return Some(event);
                }
                if backlog.is_closed() {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Returns the next unread event, without waiting.
    pub fn take(&mut self) -> Option<Arc<Event>> {
        self.queue.backlog().take()
    }

    /// Returns whether all published events were read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.backlog().is_empty()
    }

    /// Returns another reader, which has every event before it that this one has.
    #[must_use]
    pub fn another(&self) -> Self {
        let filter = self.filter.clone();
        let Some(bus) = self.bus.upgrade() else {
            let queue = Arc::new(Queue::of(self.queue.backlog().clone()));
            return Self { queue, bus: Weak::new(), filter };
        };
        // While the readers are locked, no event is published.
        let mut readers = bus.readers();
        let queue = Arc::new(Queue::of(self.queue.backlog().clone()));
        readers.push(Reader { queue: Arc::downgrade(&queue), filter: filter.clone() });
        Self { queue, bus: Weak::clone(&self.bus), filter }
    }

    /// Returns a closed reader without events, for an engine that has closed.
    pub(crate) fn ended() -> Self {
        let queue = Queue::default();
        queue.backlog().close();
        Self { queue: Arc::new(queue), bus: Weak::new(), filter: EventFilter::All }
    }
}

/// The unread events of one reader.
#[derive(Debug, Default)]
struct Queue {
    backlog: Mutex<Backlog>,
    /// Notified when an event is added and when the queue ends.
    changed: Notify,
}

impl Queue {
    fn of(backlog: Backlog) -> Self {
        Self { backlog: Mutex::new(backlog), changed: Notify::new() }
    }

    /// Locks the backlog. Callers hold the lock for one push or pop only and never wait inside.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.backlog().close();
        self.changed.notify_one();
    }
}

/// The event bus of an engine. Clones share one bus; when the last is dropped, readers see the end.
#[derive(Clone)]
pub(crate) struct EventBus(Arc<Bus>);

#[derive(Debug)]
struct Bus {
    activity: ActivityCounter,
    readers: Mutex<Vec<Reader>>,
}

#[derive(Debug)]
struct Reader {
    queue: Weak<Queue>,
    filter: EventFilter,
}

impl EventBus {
    pub(crate) fn new(activity: ActivityCounter) -> Self {
        Self(Arc::new(Bus { activity, readers: Mutex::default() }))
    }

    /// Publishes an event to all readers whose filter it passes.
    pub(crate) fn publish(&self, event: Event) {
        self.0.activity.note();
        let event = Arc::new(event);
        // A reader that was dropped has dropped its queue; it is removed here.
        self.0.readers().retain(|reader| {
            let Some(queue) = reader.queue.upgrade() else { return false };
            if reader.filter.passes(&event) {
                queue.backlog().push(Arc::clone(&event));
                queue.changed.notify_one();
            }
            true
        });
    }

    /// Returns a reader of the events that pass a filter, from now on. One of a scope ends when that is closed.
    pub(crate) fn subscribe(&self, filter: EventFilter) -> Events {
        let queue = Arc::<Queue>::default();
        self.0.readers().push(Reader { queue: Arc::downgrade(&queue), filter: filter.clone() });
        Events { queue, bus: Arc::downgrade(&self.0), filter }
    }

    /// Closes a scope: its readers see the end after the events that are unread.
    pub(crate) fn close(&self, scope: &EventScope) {
        self.0.readers().retain(|reader| {
            let closed = matches!(&reader.filter, EventFilter::Scope(of) if of == scope);
            if closed && let Some(queue) = reader.queue.upgrade() {
                queue.close();
            }
            !closed
        });
    }
}

impl Bus {
    fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        for queue in self.readers().iter().filter_map(|reader| reader.queue.upgrade()) {
            queue.close();
        }
    }
}
