//! What decides what the model says in one conversation.

use std::collections::VecDeque;

use super::{Answer, Asked};

/// Says what the model answers in one conversation.
pub trait Script: Send {
    /// Returns the answer to the next request. What it panics with becomes a violation.
    fn next(&mut self, asked: &Asked) -> Answer;
}

impl<F: FnMut(&Asked) -> Answer + Send> Script for F {
    fn next(&mut self, asked: &Asked) -> Answer {
        self(asked)
    }
}

/// Returns a script that gives these answers one after the other, and then says nothing more.
#[must_use]
pub fn steps(answers: Vec<Answer>) -> impl Script {
    let mut answers = VecDeque::from(answers);
    move |_: &Asked| answers.pop_front().unwrap_or_else(Answer::nothing)
}

/// Returns the words in a prompt by which the model knows which conversation it is in.
#[must_use]
pub fn marker(talk: &str) -> String {
    format!("[[{talk}]]")
}

/// Returns the conversation that a prompt is the beginning of.
pub(super) fn talk_of(prompt: &str) -> Option<&str> {
    let (_before, rest) = prompt.split_once("[[")?;
    Some(rest.split_once("]]")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_found_by_its_marker() {
        assert_eq!(talk_of(&format!("Do it. {} Now.", marker("t-1"))), Some("t-1"));
        assert_eq!(talk_of("Do it."), None);
    }
}
