//! Answers of a model that say nothing to the user.

use protocol::{AssistantMessage, Part, StopReason};

use super::printable::visible_text;

/// Returns why an answer has no text that can be seen; `None` if it has one.
#[must_use]
pub fn empty_answer(answer: &AssistantMessage) -> Option<&'static str> {
    if !visible_text(&answer.text()).trim().is_empty() {
        return None;
    }
    let has_thought = answer
        .content
        .iter()
        .any(|part| matches!(part, Part::Thinking { .. } | Part::RedactedThinking { .. }));
    Some(match (answer.stop_reason, has_thought) {
        (StopReason::Length, true) => "it reached the limit of output while the model was thinking",
        (StopReason::Length, false) => "it reached the limit of output before its first word",
        (StopReason::ToolUse, _) => "the model paused before its first word",
        (_, true) => "the model sent thinking and no text",
        (_, false) => "the model sent no text",
    })
}

#[cfg(test)]
mod tests {
    use protocol::{Timestamp, Usage};

    use super::*;

    #[test]
    fn an_answer_without_a_word_says_why_and_one_that_was_cut_after_a_word_is_an_answer() {
        let answer = |content: &[Part], stop_reason| AssistantMessage {
            content: content.to_vec(),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: Usage::ZERO,
            stop_reason,
            error_message: None,
            timestamp: Timestamp::from_millisecond(0),
        };
        let (stop, length) = (StopReason::Stop, StopReason::Length);
        let (thought, word) = (|| Part::thinking("hm"), || Part::text("yes"));
        for (content, reason, why) in [
            (&[][..], stop, Some("the model sent no text")),
            (&[Part::text(" \n")], stop, Some("the model sent no text")),
            (&[Part::text("\u{1b}[2J")], stop, Some("the model sent no text")),
            (&[thought()], stop, Some("the model sent thinking")),
            (
                &[thought()],
                length,
                Some("it reached the limit of output while the model was thinking"),
            ),
            (&[], length, Some("it reached the limit of output before")),
            (&[thought()], StopReason::ToolUse, Some("the model paused before")),
            (&[], StopReason::ToolUse, Some("the model paused before")),
            (&[thought(), word()], stop, None),
            (&[word()], length, None),
        ] {
            let found = empty_answer(&answer(content, reason));
            let is_it = found.zip(why).is_some_and(|(found, why)| found.starts_with(why));
            assert!(is_it || (found, why) == (None, None), "{content:?} {reason:?}: {found:?}");
        }
    }
}
