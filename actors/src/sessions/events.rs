//! Carries the events of one session to everyone who reads them.
//!
//! Publishing never waits for a reader. What a slow reader has not read is bounded as far as deltas
//! go: they are merged, and beyond a limit dropped. Facts are never dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use protocol::SessionEvent;
use tokio::sync::Notify;

/// How many bytes of deltas a reader may have unread.
const DELTA_BYTES: usize = 256 << 10;

/// The events of a session for one reader, from the moment at which it began to listen.
///
/// Text and thinking come as deltas of a few hundredths of a second, and each message once more,
/// whole. Who reads slowly finds deltas merged, and may miss some.
#[derive(Debug)]
pub struct SessionEvents(Arc<Queue>);

impl SessionEvents {
    /// Waits for the next event. Nothing comes back when the session is closed.
    pub async fn recv(&mut self) -> Option<SessionEvent> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut unread = self.0.unread();
                if let Some(event) = unread.take() {
                    return Some(event);
                }
                if unread.closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}

#[derive(Debug, Default)]
struct Queue {
    unread: Mutex<Unread>,
    /// There is something to read, or nothing will ever be again.
    changed: Notify,
}

impl Queue {
    /// Held for the length of a push or a pop; nothing waits in it.
    fn unread(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Unread {
    events: VecDeque<SessionEvent>,
    delta_bytes: usize,
    closed: bool,
}

impl Unread {
    fn push(&mut self, event: &SessionEvent) {
        let bytes = delta_bytes(event);
        if self.delta_bytes + bytes > DELTA_BYTES {
            return; // only a delta has bytes
        }
        let rest = match self.events.back_mut() {
            Some(last) if bytes > 0 => {
                self.delta_bytes -= delta_bytes(last);
                let rest = last.merge(event.clone());
                self.delta_bytes += delta_bytes(last);
                rest
            }
            Some(_) | None => Some(event.clone()),
        };
        if let Some(event) = rest {
            self.delta_bytes += bytes;
            self.events.push_back(event);
        }
    }

    fn take(&mut self) -> Option<SessionEvent> {
        let event = self.events.pop_front()?;
        self.delta_bytes -= delta_bytes(&event);
        Some(event)
    }
}

/// Returns how many bytes a delta counts for: none where the event is a fact.
fn delta_bytes(event: &SessionEvent) -> usize {
    let text = match event {
        SessionEvent::TextDelta { text } | SessionEvent::ThinkingDelta { text } => text.len(),
        SessionEvent::RequestWait { reason } => reason.len(),
        SessionEvent::ToolCallStart { tool_name } => tool_name.len(),
        SessionEvent::ToolExecutionUpdate { tool_call_id, line } => tool_call_id.len() + line.len(),
        SessionEvent::ToolUnavailable { .. }
        | SessionEvent::AgentStart
        | SessionEvent::InputTaken { .. }
        | SessionEvent::InputDropped { .. }
        | SessionEvent::ModelChange { .. }
        | SessionEvent::TurnStart { .. }
        | SessionEvent::AutoRetryStart { .. }
        | SessionEvent::MessageEnd { .. }
        | SessionEvent::ToolExecutionStart { .. }
        | SessionEvent::ToolExecutionEnd { .. }
        | SessionEvent::TurnEnd { .. }
        | SessionEvent::SessionRestart { .. }
        | SessionEvent::AgentEnd { .. } => return 0,
    };
    // What an event costs whatever is in it.
    text + size_of::<SessionEvent>()
}

/// Where a session publishes. Its clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionEventHub(Arc<Mutex<Hub>>);

#[derive(Debug, Default)]
struct Hub {
    readers: Vec<Weak<Queue>>,
    closed: bool,
}

impl SessionEventHub {
    /// Publishes an event to everyone who reads.
    pub(crate) fn publish(&self, event: &SessionEvent) {
        // Who does not read any more has dropped its end.
        self.hub().readers.retain(|reader| {
            let Some(queue) = reader.upgrade() else { return false };
            queue.unread().push(event);
            queue.changed.notify_one();
            true
        });
    }

    /// Returns everything that is published from now on.
    pub(crate) fn subscribe(&self) -> SessionEvents {
        let queue = Arc::<Queue>::default();
        let mut hub = self.hub();
        queue.unread().closed = hub.closed;
        hub.readers.push(Arc::downgrade(&queue));
        SessionEvents(queue)
    }

    /// Ends what readers read, once they have read what there is.
    pub(crate) fn close(&self) {
        let mut hub = self.hub();
        hub.closed = true;
        for queue in hub.readers.drain(..).filter_map(|reader| reader.upgrade()) {
            queue.unread().closed = true;
            queue.changed.notify_one();
        }
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_stands_still_costs_no_more_than_the_facts() {
        let hub = SessionEventHub::default();
        let mut events = hub.subscribe();
        for turn in 1..=1_000 {
            hub.publish(&SessionEvent::TextDelta { text: "x".repeat(10_000) });
            hub.publish(&SessionEvent::TextDelta { text: "y".repeat(10_000) });
            hub.publish(&SessionEvent::TurnEnd { turn });
        }
        hub.close();
        let (mut bytes, mut turns, mut last) = (0, 0, String::new());
        while let Some(event) = events.recv().await {
            match event {
                SessionEvent::TextDelta { text } => {
                    bytes += text.len();
                    last = text;
                }
                SessionEvent::TurnEnd { turn } => {
                    turns += 1;
                    assert_eq!(turn, turns, "no fact is left out");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(turns, 1_000);
        assert!((200_000..=DELTA_BYTES).contains(&bytes), "{bytes}");
        assert!(last.starts_with('x') || last.starts_with('y'));
    }

    #[tokio::test]
    async fn deltas_that_are_not_read_yet_are_merged() {
        let hub = SessionEventHub::default();
        let mut events = hub.subscribe();
        for text in ["a", "b", "c"] {
            hub.publish(&SessionEvent::TextDelta { text: text.to_owned() });
        }
        let merged = SessionEvent::TextDelta { text: "abc".to_owned() };
        assert_eq!(events.recv().await, Some(merged));
        hub.close();
        assert_eq!(events.recv().await, None);
        assert_eq!(hub.subscribe().recv().await, None);
    }
}
