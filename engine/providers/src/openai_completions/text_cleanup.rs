//! Separates what is not text from the text of an answer: some models write their thinking between tags,
//! or tokens of the template of the conversation.

use crate::endpoint::Endpoint;

/// Separates the texts of one answer, which come in pieces.
#[derive(Debug, Default)]
pub(super) struct TextCleanup {
    state: State,
    /// The end of what came, which is not whole yet.
    held: String,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CleanText {
    Text(String),
    Thinking(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// All is text.
    #[default]
    Text,
    /// The answer begins, perhaps with thinking.
    BeforeThinking,
    /// In the thinking.
    Thinking,
    /// Between the thinking and the text.
    AfterThinking,
    /// Tokens of the template are left out of the text.
    Templated,
}

/// The tags around thinking.
const TAGS: (&str, &str) = ("<think>", "</think>");

/// What begins and ends a token of a template, as in `<｜end▁of▁sentence｜>`.
const TOKEN: (&str, &str) = ("<｜", "｜>");

/// The maximum length of such a token, in bytes.
const LONGEST_TOKEN: usize = 80;

impl TextCleanup {
    /// Returns what separates the texts of the model of an endpoint.
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        let model = endpoint.model.to_ascii_lowercase();
        let is = |name: &str| endpoint.provider == name || model.contains(name);
        let state = if is("minimax") {
            State::BeforeThinking
        } else if is("deepseek") {
            State::Templated
        } else {
            State::Text
        };
        Self { state, held: String::new() }
    }

    /// Returns whether all that follows is text.
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Text && self.held.is_empty()
    }

    /// Returns the pieces in more of the text.
    pub(super) fn push(&mut self, text: &str) -> Vec<CleanText> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while let Some(piece) = self.next() {
            let (CleanText::Text(text) | CleanText::Thinking(text)) = &piece;
            if !text.is_empty() {
                pieces.push(piece);
            }
        }
        pieces
    }

    /// Returns the rest, because nothing follows.
    pub(super) fn finish(&mut self) -> Option<CleanText> {
        let rest = std::mem::take(&mut self.held);
        let piece = match self.state {
            State::Thinking => CleanText::Thinking(rest),
            State::AfterThinking => return None,
            State::Text | State::BeforeThinking | State::Templated => CleanText::Text(rest),
        };
        let (CleanText::Text(text) | CleanText::Thinking(text)) = &piece;
        (!text.is_empty()).then_some(piece)
    }

    /// Returns the next piece of what is held, which may be empty; `None` if more has to come first.
    fn next(&mut self) -> Option<CleanText> {
        if self.held.is_empty() {
            return None;
        }
        match self.state {
            State::Text => Some(CleanText::Text(std::mem::take(&mut self.held))),
            State::BeforeThinking => {
                let begun = self.held.trim_start();
                if let Some(rest) = begun.strip_prefix(TAGS.0) {
                    self.held = rest.to_owned();
                    self.state = State::Thinking;
                } else if TAGS.0.starts_with(begun) {
                    return None;
                } else {
                    self.state = State::Text;
                }
                Some(CleanText::Text(String::new()))
            }
            State::Thinking => {
                if let Some((thinking, rest)) = self.held.split_once(TAGS.1) {
                    let thinking = thinking.to_owned();
                    self.held = rest.to_owned();
                    self.state = State::AfterThinking;
                    return Some(CleanText::Thinking(thinking));
                }
                let whole = self.held.len() - open_end(&self.held, TAGS.1);
                self.take(whole).map(CleanText::Thinking)
            }
            State::AfterThinking => {
                self.held = self.held.trim_start().to_owned();
                if self.held.is_empty() {
                    return None;
                }
                self.state = State::Text;
                Some(CleanText::Text(std::mem::take(&mut self.held)))
            }
            State::Templated => self.next_templated(),
        }
    }

    fn next_templated(&mut self) -> Option<CleanText> {
        let Some(at) = self.held.find(TOKEN.0) else {
            let whole = self.held.len() - open_end(&self.held, TOKEN.0);
            return self.take(whole).map(CleanText::Text);
        };
        if at > 0 {
            return self.take(at).map(CleanText::Text);
        }
        match self.held.find(TOKEN.1).map(|end| end + TOKEN.1.len()) {
            Some(end) if end <= LONGEST_TOKEN => {
                self.held.drain(..end);
                Some(CleanText::Text(String::new()))
            }
            None if self.held.len() <= LONGEST_TOKEN => None,
            Some(_) | None => self.take(TOKEN.0.len()).map(CleanText::Text),
        }
    }

    /// Takes so many bytes of what is held; `None` if there is nothing to take.
    fn take(&mut self, bytes: usize) -> Option<String> {
        (bytes > 0).then(|| self.held.drain(..bytes).collect())
    }
}

/// Returns how many bytes at the end of a text may be the beginning of `word`.
fn open_end(text: &str, word: &str) -> usize {
    let starts = word.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    starts.rev().find(|at| text.ends_with(&word[..*at])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::test_support;

    /// Returns the text and the thinking in an answer that comes in these pieces.
    fn separated(model: &str, pieces: &[&str]) -> (String, String) {
        let model = model.to_owned();
        let endpoint = Endpoint { model, ..test_support::endpoint(Api::OpenAiCompletions) };
        let mut cleanup = TextCleanup::of(&endpoint);
        let mut all: Vec<CleanText> = pieces.iter().flat_map(|piece| cleanup.push(piece)).collect();
        all.extend(cleanup.finish());
        let (mut text, mut thinking) = (String::new(), String::new());
        for piece in all {
            match piece {
                CleanText::Text(more) => text += &more,
                CleanText::Thinking(more) => thinking += &more,
            }
        }
        (text, thinking)
    }

    /// Checks that the pieces in which an answer comes make no difference.
    fn check(model: &str, answer: &str, expected: (&str, &str)) {
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(separated(model, &[answer]), expected, "{model}: {answer}");
        let letters: Vec<String> = answer.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(separated(model, &letters), expected, "{model}: {answer}");
    }

    #[test]
    fn thinking_between_tags_at_the_beginning_is_thinking() {
        check("MiniMax-M2", "<think>hm < </thin</think>\n\nDone.", ("Done.", "hm < </thin"));
        check("MiniMax-M2", " \n<think>hm", ("", "hm"));
        check("MiniMax-M2", "Write <think>x</think>.", ("Write <think>x</think>.", ""));
        check("MiniMax-M2", "<thin ice", ("<thin ice", ""));
        check("MiniMax-M2", "<thi", ("<thi", ""));
        check("gpt-5", "<think>hm</think>", ("<think>hm</think>", ""));
    }

    #[test]
    fn tokens_of_a_template_are_left_out() {
        let end = "<｜end▁of▁sentence｜>";
        check("deepseek-chat", &format!("a{end}b{end}{end}"), ("ab", ""));
        check("deepseek-chat", "a < b <｜ c", ("a < b <｜ c", ""));
        let long = format!("<｜{}｜>", "x".repeat(LONGEST_TOKEN));
        check("deepseek-chat", &long, (&long, ""));
        check("other", end, (end, ""));
    }
}
