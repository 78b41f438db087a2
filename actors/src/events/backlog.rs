//! The unread events of one reader, and the policy that bounds them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use protocol::{Event, EventKind, EventScope, SessionEvent, TaskName, Timestamp};

#[cfg(test)]
mod tests;

/// How many unread events a reader may have before it counts as slow.
const UNREAD_PROGRESS_LIMIT: usize = 1024;

/// How many bytes of the session events of tasks, written as JSON, a reader may have unread. Events
/// beyond this limit are omitted; the session logs contain all messages.
const SESSION_BYTES: usize = 8 << 20;

/// How many bytes of deltas a reader may have unread. Each delta counts with the size of its JSON
/// and of an [`Event`].
const DELTA_BYTES: usize = 256 << 10;

type ScopeKey = Option<EventScope>;

/// The unread events of one reader, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    /// By the order of publication.
    unread: BTreeMap<u64, Unread>,
    published: u64,
    /// The key in `unread` of the latest progress of each task, if the reader was slow when it was
    /// published.
    progress: BTreeMap<(ScopeKey, TaskName), u64>,
    session_bytes: usize,
    delta_bytes: usize,
    /// The key in `unread` of the notice of each run about omitted session events.
    left_out: BTreeMap<ScopeKey, u64>,
    /// The number of each scope's last event.
    numbers: BTreeMap<ScopeKey, u64>,
    closed: bool,
}

#[derive(Clone, Debug)]
enum Unread {
    Event(Arc<Event>),
    /// An event of a task's session, with the bytes it counts for.
    SessionEvent(Arc<Event>, usize),
    /// A delta, with the bytes it counts for.
    Delta(Arc<Event>, usize),
    /// A number of session events was omitted.
    LeftOut {
        scope: ScopeKey,
        at: Timestamp,
        count: u64,
    },
}

impl Backlog {
    pub(super) fn push(&mut self, event: Arc<Event>) {
        match &event.kind {
            EventKind::TaskProgress { task, .. } if self.unread.len() >= UNREAD_PROGRESS_LIMIT => {
                let key = (event.scope.clone(), task.clone());
                let at = self.append(Unread::Event(event));
                if let Some(older) = self.progress.insert(key, at) {
                    self.unread.remove(&older);
                }
            }
            EventKind::SessionEvent { event: said, .. } if said.is_delta() => {
                self.push_delta(event);
            }
            EventKind::SessionEvent { task: Some(_), event: said } => {
                let bytes = size(said);
                if self.session_bytes + bytes > SESSION_BYTES {
                    return self.leave_out(&event);
                }
                self.session_bytes += bytes;
                self.append(Unread::SessionEvent(event, bytes));
            }
            _fact => {
                self.append(Unread::Event(event));
            }
        }
    }

    /// Returns the oldest unread event, numbered for this reader.
    pub(super) fn take(&mut self) -> Option<Arc<Event>> {
        let (at, unread) = self.unread.pop_first()?;
        let event = match unread {
            Unread::Event(event) => {
                if !self.progress.is_empty()
                    && let EventKind::TaskProgress { task, .. } = &event.kind
                {
                    let key = (event.scope.clone(), task.clone());
                    if self.progress.get(&key) == Some(&at) {
                        self.progress.remove(&key);
                    }
                }
                event
            }
            Unread::SessionEvent(event, bytes) => {
                self.session_bytes -= bytes;
                event
            }
            Unread::Delta(event, bytes) => {
                self.delta_bytes -= bytes;
                event
            }
            Unread::LeftOut { scope, at, count } => {
                self.left_out.remove(&scope);
                let kind = EventKind::Degraded {
                    from: "every event of the sessions".to_owned(),
                    to: format!("{count} of them are left out; the session logs have them"),
                    why: "they were not read as fast as they came".to_owned(),
                };
                Arc::new(Event { seq: 0, at, scope, kind })
            }
        };
        Some(self.number(event))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    fn append(&mut self, unread: Unread) -> u64 {
        self.published += 1;
        self.unread.insert(self.published, unread);
        self.published
    }

    /// Merges a delta with the event before it if possible, or appends it. Drops it if too many
    /// bytes are unread: a later event that is never dropped contains the same information.
    fn push_delta(&mut self, event: Arc<Event>) {
        if self.delta_bytes >= DELTA_BYTES {
            return;
        }
        if let Some(mut last) = self.unread.last_entry()
            && let Unread::Delta(earlier, counted) = last.get_mut()
            && merge(earlier, &event)
        {
            let bytes = delta_size(earlier);
            self.delta_bytes = self.delta_bytes - *counted + bytes;
            *counted = bytes;
            return;
        }
        let bytes = delta_size(&event);
        self.delta_bytes += bytes;
        self.append(Unread::Delta(event, bytes));
    }

    fn leave_out(&mut self, event: &Event) {
        if let Some(at) = self.left_out.get(&event.scope)
            && let Some(Unread::LeftOut { count, .. }) = self.unread.get_mut(at)
        {
            *count += 1;
            return;
        }
        let scope = event.scope.clone();
        let at = self.append(Unread::LeftOut { scope: scope.clone(), at: event.at, count: 1 });
        self.left_out.insert(scope, at);
    }

    /// Numbers the events of each scope without gaps, beginning with the number of the first one
    /// that is read. A reader that gets every event gets the numbers they were published with.
    fn number(&mut self, mut event: Arc<Event>) -> Arc<Event> {
        match self.numbers.get_mut(&event.scope) {
            Some(number) => {
                *number += 1;
                if event.seq != *number {
                    Arc::make_mut(&mut event).seq = *number;
                }
            }
            None => {
                self.numbers.insert(event.scope.clone(), event.seq);
            }
        }
        event
    }
}

/// Merges a delta into an earlier one of the same session. Returns whether that was possible.
fn merge(earlier: &mut Arc<Event>, next: &Event) -> bool {
    let EventKind::SessionEvent { task, event: delta } = &next.kind else { return false };
    if earlier.scope != next.scope {
        return false;
    }
    match &mut Arc::make_mut(earlier).kind {
        EventKind::SessionEvent { task: of, event } if of == task => {
            event.merge(delta.clone()).is_none()
        }
        _other => false,
    }
}

/// Returns how many bytes a delta counts for.
fn delta_size(event: &Event) -> usize {
    let EventKind::SessionEvent { event: delta, .. } = &event.kind else { return 0 };
    size_of::<Event>() + size(delta)
}

/// Returns how many bytes an event of a session takes as JSON.
fn size(event: &SessionEvent) -> usize {
    let mut counter = Counter(0);
    // Counting does not fail.
    let _counted = serde_json::to_writer(&mut counter, event);
    counter.0
}

struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
