//! Whether a session log shows that a task of the demo went as it has to: the number was read by a
//! tool before the model said it, written by an edit, and yielded.

use protocol::{Message, Part, ToolCall};

use super::tickets::{Change, Fate, Ticket};

/// Tells `wrong` everything in the log of a task that is not as it has to be.
pub(super) fn disagreements(
    ticket: &Ticket,
    nonce: &str,
    said: &[Message],
    wrong: &mut dyn FnMut(String),
) {
    let first = said.iter().find(|message| holds(message, nonce));
    if !matches!(first, Some(Message::ToolResult(result)) if result.tool_name == "read") {
        wrong("its number was not first said by the tool that read its ticket".to_owned());
    }
    let tool = match ticket.change {
        Change::Replace { .. } => "edit",
        Change::Write(_) => "write",
    };
    if !calls(said).any(|call| call.name == tool && well(said, call) && names(call, nonce)) {
        wrong(format!("no call of {tool} wrote its number"));
    }
    let last = calls(said).last().filter(|call| call.name == "yield");
    let says = match ticket.fate {
        Fate::Lands | Fate::LandsAfterReminder | Fate::ConflictsWith(_) => nonce,
        Fate::GivesUp(why) => why,
    };
    if !last.is_some_and(|call| names(call, says)) {
        wrong("its log does not end with its yield".to_owned());
    }
    let reminded = said.iter().filter(|message| match message {
        Message::User(said) => said.text().starts_with("Reminder "),
        Message::Assistant(_) | Message::ToolResult(_) => false,
    });
    let (reminded, expected) =
        (reminded.count(), usize::from(ticket.fate == Fate::LandsAfterReminder));
    if reminded != expected {
        wrong(format!("it was reminded {reminded} times and not {expected}"));
    }
}

fn calls(said: &[Message]) -> impl Iterator<Item = &ToolCall> {
    said.iter().flat_map(|message| match message {
        Message::Assistant(answer) => answer.calls().collect(),
        Message::User(_) | Message::ToolResult(_) => Vec::new(),
    })
}

/// Returns whether a call has a result, and a good one.
fn well(said: &[Message], call: &ToolCall) -> bool {
    said.iter().any(|message| match message {
        Message::ToolResult(result) => result.tool_call_id == call.id && !result.is_error,
        Message::User(_) | Message::Assistant(_) => false,
    })
}

fn holds(message: &Message, word: &str) -> bool {
    match message {
        Message::User(said) => said.text().contains(word),
        Message::ToolResult(result) => result.text().contains(word),
        Message::Assistant(answer) => answer.content.iter().any(|part| match part {
            Part::Text { text } => text.contains(word),
            Part::Thinking { thinking } => thinking.contains(word),
            Part::ToolCall(call) => names(call, word),
        }),
    }
}

fn names(call: &ToolCall, word: &str) -> bool {
    call.arguments.values().any(|value| value.to_string().contains(word))
}
