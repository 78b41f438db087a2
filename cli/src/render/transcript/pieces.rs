//! A session's entries as what a person would tell of it: what was asked, thought, said and done.

use protocol::{
    AssistantMessage, Message, Part, SessionEntry, StopReason, Timestamp, ToolCall, ToolResult,
};

/// Something worth telling.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// What the session was asked to do.
    Prompt(String),
    /// What it was told later.
    Reminder(String),
    /// What the model said to itself.
    Thought(&'a str),
    /// What it said.
    Said(&'a str),
    /// What it had a tool do.
    Call { call: &'a ToolCall, result: Option<&'a ToolResult> },
    /// An answer of it was not had whole.
    Broken(String),
}

/// Returns what there is to tell of a session, each with its time.
pub(super) fn pieces<'a>(entries: &[(Timestamp, &'a SessionEntry)]) -> Vec<(Timestamp, Piece<'a>)> {
    let mut pieces = Vec::new();
    let mut asked = None;
    for (place, (at, entry)) in entries.iter().enumerate() {
        match entry {
            SessionEntry::SessionInit { task, .. } => asked = Some((*at, task)),
            SessionEntry::ModelChange { .. } => {}
            SessionEntry::Message { message: Message::User(said), .. } => {
                let first = !pieces.iter().any(|(_, piece)| matches!(piece, Piece::Prompt(_)));
                let piece = if first { Piece::Prompt } else { Piece::Reminder };
                pieces.push((*at, piece(said.text())));
            }
            SessionEntry::Message { message: Message::Assistant(answer), .. } => {
                let told = told(answer, &entries[place + 1..]);
                pieces.extend(told.into_iter().map(|piece| (*at, piece)));
            }
            // They are told with their calls.
            SessionEntry::Message { message: Message::ToolResult(_), .. } => {}
        }
    }
    if let (Some((at, task)), true) = (asked, pieces.is_empty()) {
        pieces.push((at, Piece::Prompt(task.clone())));
    }
    pieces
}

/// Returns what there is to tell of an answer, given what followed it.
fn told<'a>(
    answer: &'a AssistantMessage,
    after: &[(Timestamp, &'a SessionEntry)],
) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for part in &answer.content {
        match part {
            Part::Thinking { thinking } if !thinking.trim().is_empty() => {
                pieces.push(Piece::Thought(thinking));
            }
            Part::Text { text } if !text.trim().is_empty() => pieces.push(Piece::Said(text)),
            Part::Thinking { .. } | Part::Text { .. } => {}
            Part::ToolCall(call) => {
                pieces.push(Piece::Call { call, result: result_of(call, after) });
            }
        }
    }
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => {}
        StopReason::Length => pieces.push(Piece::Broken("it was too long and was cut off".into())),
        StopReason::Error | StopReason::Aborted => {
            let why = answer.error_message.as_deref().unwrap_or("it was stopped");
            pieces.push(Piece::Broken(why.to_owned()));
        }
    }
    pieces
}

/// Returns what a call was answered, before the model spoke again.
fn result_of<'a>(
    call: &ToolCall,
    after: &[(Timestamp, &'a SessionEntry)],
) -> Option<&'a ToolResult> {
    let messages = after.iter().filter_map(|(_, entry)| match entry {
        SessionEntry::Message { message, .. } => Some(message),
        SessionEntry::SessionInit { .. } | SessionEntry::ModelChange { .. } => None,
    });
    let until = messages.take_while(|message| !matches!(message, Message::Assistant(_)));
    let mut results = until.filter_map(|message| match message {
        Message::ToolResult(result) => Some(result),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results.find(|result| result.tool_call_id == call.id)
}
