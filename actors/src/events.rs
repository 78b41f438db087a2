//! Carries events from the runs that cause them to everyone who reads them.
//!
//! Publishing never waits for a reader, and each reader has a queue of its own. A reader that stands
//! still costs memory in proportion to the tasks of the runs, not to the time: see [`Events`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use protocol::Event;
use tokio::sync::Notify;

use crate::closing::Activity;

mod backlog;

use backlog::Backlog;

/// The events of an engine for one reader, in the order in which each run saw them.
///
/// A reader that keeps up gets every event. For one that does not, only the latest unread
/// `task_progress` of each task is kept, and of the `session_event`s no more than some megabytes:
/// how many are left out is said by a `degraded` in their place. Every other event is a fact, and no
/// fact is ever left out. Events are numbered as they are read, so that there are no gaps.
#[derive(Debug)]
pub struct Events(Arc<Queue>);

impl Events {
    /// Waits for the next event. Nothing comes back when the engine has closed.
    pub async fn recv(&mut self) -> Option<Arc<Event>> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut backlog = self.0.backlog();
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

    /// Returns the next event if it is there already.
    pub fn take(&mut self) -> Option<Arc<Event>> {
        self.0.backlog().take()
    }

    /// Returns whether every event that there is has been read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.backlog().is_empty()
    }

    /// Returns the events of an engine that has closed.
    pub(crate) fn ended() -> Self {
        let queue = Queue::default();
        queue.backlog().close();
        Self(Arc::new(queue))
    }
}

/// The unread events of one reader.
#[derive(Debug, Default)]
struct Queue {
    backlog: Mutex<Backlog>,
    /// There is something to read, or nothing will ever be again.
    changed: Notify,
}

impl Queue {
    /// Held for the length of a push or a pop; nothing waits in it.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where runs publish. Its clones are one; when the last is gone, readers are told the end.
#[derive(Clone)]
pub(crate) struct EventBus(Arc<Bus>);

struct Bus {
    activity: Activity,
    readers: Mutex<Vec<Weak<Queue>>>,
}

impl EventBus {
    pub(crate) fn new(activity: Activity) -> Self {
        Self(Arc::new(Bus { activity, readers: Mutex::default() }))
    }

    /// Publishes an event to everyone who reads.
    pub(crate) fn publish(&self, event: Event) {
        self.0.activity.note();
        let event = Arc::new(event);
        // Who does not read any more has dropped its end.
        self.0.readers().retain(|reader| {
            let Some(queue) = reader.upgrade() else { return false };
            queue.backlog().push(Arc::clone(&event));
            queue.changed.notify_one();
            true
        });
    }

    /// Returns everything that is published from now on.
    pub(crate) fn subscribe(&self) -> Events {
        let queue = Arc::<Queue>::default();
        self.0.readers().push(Arc::downgrade(&queue));
        Events(queue)
    }
}

impl Bus {
    fn readers(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        for queue in self.readers().iter().filter_map(Weak::upgrade) {
            queue.backlog().close();
            queue.changed.notify_one();
        }
    }
}
