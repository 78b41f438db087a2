//! The prompts that were typed before: gone through with Up and Down, and searched with Ctrl-R.

/// The prompts that were typed before, and the place in them.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The prompts, the newest first.
    prompts: Vec<String>,
    /// Which of them is in the editor.
    at: Option<usize>,
    /// What was typed before the first of them came into the editor.
    draft: String,
    /// What is searched for.
    query: Option<String>,
}

impl History {
    pub(super) fn new(prompts: Vec<String>) -> Self {
        Self { prompts, ..Self::default() }
    }

    /// Adds a prompt, unless it repeats the newest one.
    pub(super) fn add(&mut self, prompt: &str) {
        let prompt = prompt.trim();
        if !prompt.is_empty() && self.prompts.first().is_none_or(|newest| newest != prompt) {
            self.prompts.insert(0, prompt.to_owned());
        }
        self.leave();
    }

    /// What was typed is edited: the next step begins at the newest prompt.
    pub(super) fn leave(&mut self) {
        (self.at, self.query) = (None, None);
    }

    /// Returns the prompt before the one in the editor, if there is one.
    pub(super) fn older(&mut self, typed: &str) -> Option<&str> {
        let next = self.at.map_or(0, |at| at + 1);
        let prompt = self.prompts.get(next)?;
        if self.at.is_none() {
            typed.clone_into(&mut self.draft);
        }
        self.at = Some(next);
        Some(prompt)
    }

    /// Returns the prompt after the one in the editor; behind the newest one, what was typed.
    pub(super) fn newer(&mut self) -> Option<&str> {
        match self.at? {
            0 => {
                self.at = None;
                Some(&self.draft)
            }
            at => {
                self.at = Some(at - 1);
                self.prompts.get(at - 1).map(String::as_str)
            }
        }
    }

    /// Returns what is searched for, while that is typed.
    pub(super) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Begins to search, or finds the next older prompt.
    pub(super) fn search(&mut self, typed: &str) -> Option<&str> {
        match &self.query {
            None => {
                typed.clone_into(&mut self.draft);
                (self.query, self.at) = (Some(String::new()), None);
                None
            }
            Some(_) => {
                let from = self.at.map_or(0, |at| at + 1);
                self.find(from)
            }
        }
    }

    /// Changes what is searched for: adds a character, or removes the last one.
    pub(super) fn change_query(&mut self, letter: Option<char>) -> Option<&str> {
        let query = self.query.as_mut()?;
        match letter {
            Some(letter) => query.push(letter),
            None => drop(query.pop()),
        }
        self.find(0)
    }

    /// Ends the search, and returns what was typed before it.
    pub(super) fn cancel_search(&mut self) -> &str {
        self.leave();
        &self.draft
    }

    fn find(&mut self, from: usize) -> Option<&str> {
        let query = self.query.as_ref()?.to_lowercase();
        let found = self.prompts.iter().skip(from);
        let found = found.map(|prompt| prompt.to_lowercase().contains(&query));
        let at = from + found.into_iter().position(|is_it| is_it)?;
        self.at = Some(at);
        self.prompts.get(at).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        History::new(["three", "two words", "one"].map(str::to_owned).into())
    }

    #[test]
    fn up_and_down_go_through_the_prompts_and_back_to_what_was_typed() {
        let mut history = history();
        assert_eq!(history.newer(), None);
        assert_eq!(history.older("typed"), Some("three"));
        assert_eq!(history.older("three"), Some("two words"));
        assert_eq!(history.older("two words"), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer(), Some("two words"));
        assert_eq!(history.newer(), Some("three"));
        assert_eq!(history.newer(), Some("typed"));
        history.add("four");
        history.add("four ");
        assert_eq!(history.older(""), Some("four"));
        assert_eq!(history.older(""), Some("three"));
    }

    #[test]
    fn a_search_finds_the_newest_prompt_with_the_text_and_then_older_ones() {
        let mut history = history();
        assert_eq!(history.search("typed"), None);
        assert_eq!(history.change_query(Some('O')), Some("two words"));
        assert_eq!(history.search(""), Some("one"));
        assert_eq!(history.search(""), None);
        assert_eq!(history.change_query(Some('w')), None);
        assert_eq!(history.query(), Some("Ow"));
        assert_eq!(history.change_query(None), Some("two words"));
        assert_eq!(history.cancel_search(), "typed");
        assert_eq!(history.query(), None);
    }
}
