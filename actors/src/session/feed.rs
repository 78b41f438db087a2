//! What a model says, turned into lines that people can follow.

use std::sync::{Mutex, PoisonError};

use engine::agent::Listener;
use protocol::SessionEvent;

use super::SessionNews;
use crate::ask::Teller;

/// The most of a line that is kept.
const LONGEST: usize = 400;

/// Tells whole lines as they come, and events.
pub(super) struct Feed {
    news: Teller<SessionNews>,
    /// The line that is being said. Held for the length of an append; nothing waits in it.
    line: Mutex<String>,
}

impl Feed {
    pub(super) fn new(news: Teller<SessionNews>) -> Self {
        Self { news, line: Mutex::default() }
    }
}

impl Listener for Feed {
    fn event(&self, event: SessionEvent) {
        if let SessionEvent::TurnStart { .. } | SessionEvent::AutoRetryStart { .. } = event {
            self.line.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.news.tell(SessionNews::Event(Box::new(event)));
    }

    fn words(&self, words: &str) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut said = false;
        for (at, piece) in words.split('\n').enumerate() {
            if at > 0 {
                line.clear();
            }
            let room = LONGEST.saturating_sub(line.len());
            line.push_str(&piece[..piece.floor_char_boundary(room)]);
            said |= !piece.trim().is_empty();
        }
        if said && !line.trim().is_empty() {
            self.news.tell(SessionNews::Said(line.clone()));
        }
    }

    fn calling(&self, tool: &str) {
        self.news.tell(SessionNews::Said(format!("calls {tool}")));
    }

    fn waiting(&self, what: &str) {
        self.news.tell(SessionNews::Said(what.to_owned()));
    }
}
