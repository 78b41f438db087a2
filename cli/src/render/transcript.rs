//! The transcript of a session for a person to read: prompts, thoughts, answers and tool calls.

use engine::session::for_model;
use protocol::{
    AssistantMessage, Message, Part, SessionEntry, StopReason, Timestamp, ToolCall, ToolResult,
    UserMessage,
};

use super::numbers::time_of_day;
use super::printable::{cut, visible_line};
use super::terminal::{Meaning, View};

mod tool_call;

pub use tool_call::call_summary;

/// The maximum number of lines shown of a prompt, a thought or an answer.
const TEXT_LINES: usize = 200;

/// Returns the transcript of a session as printable lines.
#[must_use]
pub fn transcript(entries: &[(Timestamp, &SessionEntry)], view: &View) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut before = None;
    for (at, entry) in transcript_entries(entries) {
        let calls = matches!(entry, TranscriptEntry::Call { .. });
        // A blank line separates two entries, unless both are tool calls.
        if before.is_some_and(|before| !(before && calls)) {
            lines.push(String::new());
        }
        before = Some(calls);
        lines.extend(entry_lines(at, &entry, view));
    }
    lines
}

fn entry_lines(at: Timestamp, entry: &TranscriptEntry<'_>, view: &View) -> Vec<String> {
    let words = |title: &str, text: &str, meaning: Meaning| {
        let time = view.palette.paint(Meaning::Aside, &time_of_day(at, &view.zone));
        let mut lines = vec![format!("{}  {time}", view.palette.paint(Meaning::Heading, title))];
        let words = excerpt(text, Excerpt::First(TEXT_LINES)).into_iter();
        let words = words.map(|line| view.palette.paint(meaning, &line));
        lines.extend(words.map(|line| format!("  {line}").trim_end().to_owned()));
        lines
    };
    match entry {
        TranscriptEntry::Prompt(text) => words("prompt", text, Meaning::Neutral),
        TranscriptEntry::Reminder(text) => words("reminder", text, Meaning::Kept),
        TranscriptEntry::Thought(text) => words("thinks", text, Meaning::Aside),
        TranscriptEntry::Said(text) => words("says", text, Meaning::Neutral),
        TranscriptEntry::Summary(text) => {
            words("summary of the messages before", text, Meaning::Aside)
        }
        TranscriptEntry::Left(text) => {
            words("summary of the branch that was left", text, Meaning::Aside)
        }
        TranscriptEntry::Told(text) => words("reads", text, Meaning::Neutral),
        TranscriptEntry::Model(model) => words("another model answers", model, Meaning::Kept),
        TranscriptEntry::Broken(why) => words("its answer is incomplete", why, Meaning::Bad),
        TranscriptEntry::Call { call, result } => {
            tool_call::tool_call_lines(call, *result, view.palette, view.room())
        }
    }
}

/// An entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
enum TranscriptEntry<'a> {
    /// The prompt of the session.
    Prompt(String),
    /// A later message of the user: a reminder.
    Reminder(String),
    /// A thought of the model.
    Thought(&'a str),
    /// An answer of the model.
    Said(&'a str),
    /// A tool call.
    Call { call: &'a ToolCall, result: Option<&'a ToolResult> },
    /// What stands for the older part of the conversation.
    Summary(&'a str),
    /// The summary of a branch that was left.
    Left(&'a str),
    /// What the model reads of something else, such as a command that the user ran.
    Told(String),
    /// The model that answers from here on.
    Model(&'a str),
    /// An answer that is incomplete, with the reason.
    Broken(String),
}

/// Returns the transcript entries of a session, each with its time.
fn transcript_entries<'a>(
    entries: &[(Timestamp, &'a SessionEntry)],
) -> Vec<(Timestamp, TranscriptEntry<'a>)> {
    let mut transcript_entries = Vec::new();
    let mut asked = None;
    // What comes after the prompt of a task are reminders; without a task, a user asks.
    let is_task = entries.iter().any(|(_, it)| matches!(it, SessionEntry::SessionInit { .. }));
    for (place, (at, entry)) in entries.iter().enumerate() {
        match entry {
            SessionEntry::SessionInit { task, .. } => asked = Some((*at, task)),
            // The first one only says what the head of the log says.
            SessionEntry::ModelChange { model, .. } if !transcript_entries.is_empty() => {
                transcript_entries.push((*at, TranscriptEntry::Model(model)));
            }
            SessionEntry::Compaction { summary, .. } => {
                transcript_entries.push((*at, TranscriptEntry::Summary(summary)));
            }
            SessionEntry::BranchSummary { summary, .. } if !summary.is_empty() => {
                transcript_entries.push((*at, TranscriptEntry::Left(summary)));
            }
            SessionEntry::CustomMessage { content, display: true, .. } => {
                let told = UserMessage::new(content.clone(), *at).text();
                transcript_entries.push((*at, TranscriptEntry::Told(told)));
            }
            SessionEntry::Message { message, .. } if message.as_model().is_none() => {
                if let Some(Message::User(told)) = for_model(message) {
                    transcript_entries.push((*at, TranscriptEntry::Told(told.text())));
                }
            }
            _other => {}
        }
        match entry.model_message() {
            Some(Message::User(said)) => {
                let first = !transcript_entries
                    .iter()
                    .any(|(_, entry)| matches!(entry, TranscriptEntry::Prompt(_)));
                let is_prompt = first || !is_task;
                let entry =
                    if is_prompt { TranscriptEntry::Prompt } else { TranscriptEntry::Reminder };
                transcript_entries.push((*at, entry(said.text())));
            }
            Some(Message::Assistant(answer)) => {
                let lines = answer_entries(answer, &entries[place + 1..]);
                transcript_entries.extend(lines.into_iter().map(|entry| (*at, entry)));
            }
            // A tool result is displayed together with its call.
            Some(Message::ToolResult(_)) | None => {}
        }
    }
    if let (Some((at, task)), true) = (asked, transcript_entries.is_empty()) {
        transcript_entries.push((at, TranscriptEntry::Prompt(task.clone())));
    }
    transcript_entries
}

/// Returns the transcript entries of an answer; `after` has the results of its calls.
fn answer_entries<'a>(
    answer: &'a AssistantMessage,
    after: &[(Timestamp, &'a SessionEntry)],
) -> Vec<TranscriptEntry<'a>> {
    let mut transcript_entries = Vec::new();
    for part in &answer.content {
        match part {
            Part::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                transcript_entries.push(TranscriptEntry::Thought(thinking));
            }
            Part::Text { text, .. } if !text.trim().is_empty() => {
                transcript_entries.push(TranscriptEntry::Said(text))
            }
            Part::Thinking { .. }
            | Part::RedactedThinking { .. }
            | Part::ServerTool { .. }
            | Part::Text { .. } => {}
            Part::ToolCall(call) => {
                let after = after.iter().filter_map(|(_, entry)| entry.model_message());
                let result = result_of(call, after);
                transcript_entries.push(TranscriptEntry::Call { call, result });
            }
        }
    }
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => {}
        StopReason::Length => transcript_entries
            .push(TranscriptEntry::Broken("it was too long and was cut off".into())),
        StopReason::Error | StopReason::Aborted => {
            let why = answer.error_message.as_deref().unwrap_or("it was stopped");
            transcript_entries.push(TranscriptEntry::Broken(why.to_owned()));
        }
    }
    transcript_entries
}

/// Returns the result of a call, if there is one before the next answer. `after` are the messages that
/// follow the call.
pub fn result_of<'a>(
    call: &ToolCall,
    after: impl Iterator<Item = &'a Message>,
) -> Option<&'a ToolResult> {
    let until = after.take_while(|message| !matches!(message, Message::Assistant(_)));
    let mut results = until.filter_map(|message| match message {
        Message::ToolResult(result) => Some(result),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results.find(|result| result.tool_call_id == call.id)
}

/// The maximum width of a line, in columns.
const WIDEST: usize = 2_000;

/// Which lines of a long text are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excerpt {
    /// The first lines, up to this many.
    First(usize),
    /// The last lines, up to this many.
    Last(usize),
}

/// Returns the first or last lines of a text, and a line that counts the others.
pub(super) fn excerpt(text: &str, part: Excerpt) -> Vec<String> {
    let text = text.trim_end();
    let all = text.lines().count();
    let shown = |line: &str| cut(&visible_line(line), WIDEST);
    match part {
        Excerpt::First(count) if all > count => {
            let mut lines: Vec<_> = text.lines().take(count).map(shown).collect();
            lines.push(more(all - count));
            lines
        }
        Excerpt::Last(count) if all > count => {
            let mut lines = vec![more(all - count)];
            lines.extend(text.lines().skip(all - count).map(shown));
            lines
        }
        Excerpt::First(_) | Excerpt::Last(_) => text.lines().map(shown).collect(),
    }
}

fn more(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("… {count} more line{plural}")
}

#[cfg(test)]
mod tests;
