//! What the last answer of a model says about what comes next: nothing, more of the answer, or a call
//! that the model has written as text, because its server does not read calls.

use std::sync::Arc;

use protocol::Message;

use super::conversation::Conversation;

/// How often in a row a model may pause and go on.
const MAX_PAUSES: usize = 20;

impl Conversation {
    /// Returns whether the model has no message to answer: the conversation is empty, or its last
    /// message is an answer of the model that is not paused.
    #[must_use]
    pub fn awaits_input(&self) -> bool {
        let is_answer = |said: &Arc<Message>| matches!(**said, Message::Assistant(_));
        let is_paused = |said: &Arc<Message>| match &**said {
            Message::Assistant(answer) => answer.is_paused(),
            Message::User(_) | Message::ToolResult(_) => false,
        };
        let pauses = self.messages.iter().rev().take_while(|said| is_paused(said)).count();
        self.messages.last().is_none_or(is_answer) && !(1..=MAX_PAUSES).contains(&pauses)
    }

    /// Returns what is wrong with the last message if it is an answer with a call in its text.
    pub(super) fn call_as_text(&self) -> Option<String> {
        match self.messages.last().map(AsRef::as_ref) {
            Some(Message::Assistant(answer)) => call_as_text(&answer.text()),
            Some(Message::User(_) | Message::ToolResult(_)) | None => None,
        }
    }
}

/// What begins a line of a call that is written as text, in the templates of models.
const MARKERS: [&str; 11] = [
    "<tool_call>",
    "<tool_calls>",
    "<function=",
    "<function_call>",
    "<|tool_call>",
    "<|tool_call|>",
    "<|python_tag|>",
    "<|tool_calls_section_begin|>",
    "<｜tool▁calls▁begin｜>",
    "<minimax:tool_call>",
    "[TOOL_CALLS]",
];

/// Returns what is wrong with an answer without calls whose text has one.
fn call_as_text(text: &str) -> Option<String> {
    let begins = |line: &str| MARKERS.into_iter().find(|marker| line.starts_with(marker));
    let marker = text.lines().find_map(|line| begins(line.trim_start()))?;
    Some(format!(
        "it wrote a call as text (`{marker}`); its server does not read calls: llama.cpp \
         reads them with --jinja, vLLM with --enable-auto-tool-choice and --tool-call-parser PARSER"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_a_text_is_known_by_how_its_line_begins() {
        for text in [
            "<tool_call>\n{\"name\": \"yield\"}\n</tool_call>",
            "I look.\n  <function=read>",
            "[TOOL_CALLS][{\"name\": \"read\"}]",
            "<｜tool▁calls▁begin｜>",
        ] {
            let what = call_as_text(text).unwrap_or_default();
            assert!(what.contains("--jinja") && what.contains("--tool-call-parser"), "{text}");
        }
        for text in ["", "done", "The template has `<tool_call>` in it."] {
            assert_eq!(call_as_text(text), None, "{text}");
        }
    }
}
