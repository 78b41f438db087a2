//! What is typed while a list, or another session, is not there yet: it is for these, and waits.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Effect, SessionRequest, ViewState};

/// The most keys and pastes that wait. More are left out.
const MOST: usize = 10_000;

/// What was typed, oldest first, and what it waits for.
#[derive(Debug, Default)]
pub(super) struct HeldKeys {
    waiting: VecDeque<Typed>,
    /// Whether a list is asked for.
    is_listing: bool,
}

#[derive(Debug)]
enum Typed {
    Key(KeyEvent),
    Paste(String),
}

impl ViewState {
    /// Asks for a list. What is typed from now on is for the list.
    pub(super) fn ask_for_list(&mut self, request: SessionRequest) -> Vec<Effect> {
        self.held.is_listing = true;
        vec![Effect::Session(request)]
    }

    /// The list is there, or there will be none.
    pub(in crate::view) fn listed(&mut self) {
        self.held.is_listing = false;
    }

    fn is_held(&self) -> bool {
        self.held.is_listing || self.is_switching
    }

    /// Returns whether a key has to wait. Esc and Ctrl-C take back what waits.
    pub(super) fn holds(&mut self, key: &KeyEvent) -> bool {
        if !self.is_held() {
            return false;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Esc, _) => self.held.waiting.clear(),
            (KeyCode::Char('c'), true) => {
                self.held.waiting.clear();
                return false;
            }
            (KeyCode::Char('z' | 'l'), true) => return false,
            _ => self.hold(Typed::Key(*key)),
        }
        true
    }

    /// Returns whether a paste has to wait.
    pub(super) fn holds_paste(&mut self, text: &str) -> bool {
        let is_held = self.is_held();
        if is_held {
            self.hold(Typed::Paste(text.to_owned()));
        }
        is_held
    }

    fn hold(&mut self, typed: Typed) {
        if self.held.waiting.len() < MOST {
            self.held.waiting.push_back(typed);
        }
    }

    /// Applies what waits, as soon as it has not to wait any more.
    pub(in crate::view) fn release(&mut self, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        while !self.is_held() {
            match self.held.waiting.pop_front() {
                Some(Typed::Key(key)) => effects.extend(self.key(key, now)),
                Some(Typed::Paste(text)) => self.paste(&text),
                None => break,
            }
        }
        effects
    }
}
