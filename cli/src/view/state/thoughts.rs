//! What the model thinks: the last line of it while it thinks, and then one line, or all of it.

use super::ViewState;
use crate::view::entry::{Entry, Shown};

/// What the model thinks, and thought last.
#[derive(Clone, Debug)]
pub(in crate::view) struct Thoughts {
    /// What the model thinks at the moment.
    pub(in crate::view) now: Option<String>,
    last: Option<String>,
    shown: Shown,
}

impl Default for Thoughts {
    fn default() -> Self {
        Self { now: None, last: None, shown: Shown::OneLine }
    }
}

impl ViewState {
    /// The model does not think any more: prints what it thought.
    pub(super) fn end_thought(&mut self) {
        let thought = self.thoughts.now.take().filter(|thought| !thought.trim().is_empty());
        let Some(thought) = thought else { return };
        self.print(Entry::Thought(thought.clone(), self.thoughts.shown));
        self.thoughts.last = Some(thought);
    }

    /// Changes how much is printed of thoughts from now on. The last one is printed whole now, if only
    /// one line of it was.
    pub(super) fn toggle_thoughts(&mut self) {
        let (shown, hint) = match self.thoughts.shown {
            Shown::OneLine => (Shown::Whole, "thoughts are printed whole; Ctrl-T for one line"),
            Shown::Whole => (Shown::OneLine, "thoughts are printed as one line"),
        };
        self.thoughts.shown = shown;
        self.hint = Some(hint.to_owned());
        if let (Shown::Whole, Some(last)) = (shown, self.thoughts.last.take()) {
            self.print(Entry::Thought(last, Shown::Whole));
        }
    }
}
