//! Checks the result of the demo: working tree, ledger, captures, session logs and events must agree
//! with each other and with what each task had to do.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::{CaptureRef, FailureClass, Landed, Message, Outcome, Part, TaskName, ToolCall};
use serde_json::Value;
use store::TaskRow;

use super::sample_repository::Sample;
use super::tickets::{Change, ExpectedEnd, Ticket};

/// Returns every difference from the expected result, one sentence each.
#[must_use]
pub fn disagreements(sample: &Sample, evidence: &[TaskEvidence]) -> Vec<String> {
    let mut found = Vec::new();
    let nonces: Vec<&str> = sample.tickets().map(|(_, nonce)| nonce).collect();
    for ((ticket, nonce), seen) in sample.tickets().zip(evidence) {
        let mut wrong = |fault: String| found.push(format!("task {}: {fault}", ticket.name));
        if seen.endings != 1 {
            wrong(format!("its end was announced {} times", seen.endings));
        }
        check_tree(ticket, nonce, seen, &mut wrong);
        check_ledger(ticket, nonce, seen, &mut wrong);
        check_capture(ticket, nonce, &nonces, seen, &mut wrong);
        match &seen.session {
            Ok(messages) => check_session_log(ticket, nonce, messages, &mut wrong),
            Err(why) => wrong(format!("what was said in its session is lost: {why}")),
        }
    }
    if evidence.len() != nonces.len() {
        found.push(format!("{} tasks were found of {}", evidence.len(), nonces.len()));
    }
    found
}

/// Checks that the working tree contains the task's change if it has to land, and not otherwise.
fn check_tree(ticket: &Ticket, nonce: &str, seen: &TaskEvidence, wrong: &mut dyn FnMut(String)) {
    match (ticket.expected.lands(), seen.file.contains(nonce)) {
        (true, false) => wrong(format!("{} has not its number {nonce}", ticket.file)),
        (false, true) => {
            wrong(format!("{} has its number {nonce}, which was not to land", ticket.file));
        }
        (true, true) | (false, false) => {}
    }
}

/// Checks that the ledger has the outcome, the yield and the landing of the task.
fn check_ledger(ticket: &Ticket, nonce: &str, seen: &TaskEvidence, wrong: &mut dyn FnMut(String)) {
    let Some(row) = &seen.row else { return wrong("the ledger does not know it".to_owned()) };
    match (ticket.expected, row.report.as_ref().map(|report| &report.outcome)) {
        (
            ExpectedEnd::Lands | ExpectedEnd::LandsAfterReminder | ExpectedEnd::ConflictsWith(_),
            Some(Outcome::Done { value }),
        ) => {
            let yielded = value.get("ticket").and_then(Value::as_str);
            if yielded != Some(nonce) {
                wrong(format!("it yielded {value} instead of its number {nonce}"));
            }
        }
        (ExpectedEnd::GivesUp(why), Some(Outcome::Failed { failure })) => {
            if (failure.class, failure.message.as_str()) != (FailureClass::GaveUp, why) {
                wrong(format!(
                    "it failed as {} and not as gave_up: {}",
                    failure.class, failure.message
                ));
            }
        }
        (_, Some(other)) => {
            wrong(format!("the ledger has an end that it must not have: {other:?}"))
        }
        (_, None) => wrong("the ledger does not know how it ended".to_owned()),
    }
    if row.report.as_ref().and_then(|report| report.usage).is_none_or(|usage| usage.tokens() == 0) {
        wrong("the ledger does not know what its model used".to_owned());
    }
    let landing = match (ticket.expected, &row.landing) {
        (
            ExpectedEnd::Lands | ExpectedEnd::LandsAfterReminder,
            Some(Landed::Landed { branch: None, .. }),
        )
        | (ExpectedEnd::GivesUp(_), None) => true,
        (ExpectedEnd::ConflictsWith(other), Some(Landed::Conflicted { conflicts })) => {
            let named = |with: &protocol::TaskName| with.as_str() == other;
            conflicts.len() == 1
                && conflicts[0].path.to_string() == ticket.file
                && conflicts[0].with.as_ref().is_some_and(named)
        }
        _ => false,
    };
    if !landing {
        wrong(format!("the ledger has a landing that it must not have: {:?}", row.landing));
    }
}

/// Checks that the captured work adds the number of its own ticket, and of no other ticket.
fn check_capture(
    ticket: &Ticket,
    nonce: &str,
    nonces: &[&str],
    seen: &TaskEvidence,
    wrong: &mut dyn FnMut(String),
) {
    let patch = match &seen.patch {
        Ok(patch) => patch,
        Err(why) => return wrong(format!("its work is not in the task store: {why}")),
    };
    let adds =
        |nonce: &str| patch.lines().any(|line| line.starts_with('+') && line.contains(nonce));
    if !adds(nonce) {
        wrong(format!("what was captured of it does not add its number {nonce}"));
    }
    if nonces.iter().any(|other| *other != nonce && adds(other)) {
        wrong("what was captured of it adds the number of another task".to_owned());
    }
    if !patch.contains(ticket.file) {
        wrong(format!("what was captured of it does not change {}", ticket.file));
    }
}

/// How many `task_finished` events each task had.
pub type EndCounts = BTreeMap<TaskName, usize>;

/// The sources of evidence. Errors are messages that say what cannot be read.
pub struct EvidenceSources<'a> {
    /// The tasks' rows in the ledger.
    pub rows: &'a [TaskRow],
    /// How many `task_finished` events each task had.
    pub endings: &'a EndCounts,
    /// Reads captured work as a patch.
    pub patch: &'a dyn Fn(&CaptureRef) -> Result<Vec<u8>, String>,
    /// Reads the messages of a task's session.
    pub session: &'a dyn Fn(&str) -> Result<Vec<Message>, String>,
}

/// The evidence of one task.
#[derive(Clone, Debug)]
pub struct TaskEvidence {
    /// Its row in the ledger.
    pub row: Option<TaskRow>,
    /// Its captured work as a patch, or why it cannot be read.
    pub patch: Result<String, String>,
    /// The contents of its file in the user's tree.
    pub file: String,
    /// The messages of its session, or why they cannot be read.
    pub session: Result<Vec<Message>, String>,
    /// How many `task_finished` events the task had.
    pub endings: usize,
}

/// Collects the evidence of each task, in the order of their declaration.
#[must_use]
pub fn collect_evidence(sample: &Sample, found: &EvidenceSources<'_>) -> Vec<TaskEvidence> {
    let one = |name: &str, file: &str| {
        let row = found.rows.iter().find(|row| row.name.as_str() == name);
        let captured = row.and_then(|row| row.captured.as_ref());
        let patch = match captured {
            Some(captured) => (found.patch)(&captured.capture),
            None => Err("the ledger knows no capture".to_owned()),
        };
        let ended = found.endings.iter().find(|(task, _)| task.as_str() == name);
        TaskEvidence {
            row: row.cloned(),
            patch: patch.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            file: content(&sample.root().join(file)),
            session: (found.session)(name),
            endings: ended.map_or(0, |(_, count)| *count),
        }
    };
    sample.tickets().map(|(ticket, _)| one(ticket.name, ticket.file)).collect()
}

/// Returns the contents of a file, or an empty string if it cannot be read.
fn content(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks the session log of a task: the first message with the ticket's number is a result of the
/// tool `read`, a later tool call wrote the number, and the log ends with the expected yield.
fn check_session_log(
    ticket: &Ticket,
    nonce: &str,
    messages: &[Message],
    wrong: &mut dyn FnMut(String),
) {
    let first = messages.iter().find(|message| holds(message, nonce));
    if !matches!(first, Some(Message::ToolResult(result)) if result.tool_name == "read") {
        wrong("its number was not first said by the tool that read its ticket".to_owned());
    }
    let tool = match ticket.change {
        Change::Replace { .. } => "edit",
        Change::Write(_) => "write",
    };
    if !calls(messages)
        .any(|call| call.name == tool && succeeded(messages, call) && names(call, nonce))
    {
        wrong(format!("no call of {tool} wrote its number"));
    }
    let last = calls(messages).last().filter(|call| call.name == "yield");
    let says = match ticket.expected {
        ExpectedEnd::Lands | ExpectedEnd::LandsAfterReminder | ExpectedEnd::ConflictsWith(_) => {
            nonce
        }
        ExpectedEnd::GivesUp(why) => why,
    };
    if !last.is_some_and(|call| names(call, says)) {
        wrong("its log does not end with its yield".to_owned());
    }
    let reminded = messages.iter().filter(|message| match message {
        Message::User(messages) => messages.text().starts_with("Reminder "),
        Message::Assistant(_) | Message::ToolResult(_) => false,
    });
    let (reminded, expected) =
        (reminded.count(), usize::from(ticket.expected == ExpectedEnd::LandsAfterReminder));
    if reminded != expected {
        wrong(format!("it was reminded {reminded} times and not {expected}"));
    }
}

fn calls(messages: &[Message]) -> impl Iterator<Item = &ToolCall> {
    messages.iter().flat_map(|message| match message {
        Message::Assistant(answer) => answer.calls().collect(),
        Message::User(_) | Message::ToolResult(_) => Vec::new(),
    })
}

/// Returns whether a call has a result that is not an error.
fn succeeded(messages: &[Message], call: &ToolCall) -> bool {
    messages.iter().any(|message| match message {
        Message::ToolResult(result) => result.tool_call_id == call.id && !result.is_error,
        Message::User(_) | Message::Assistant(_) => false,
    })
}

fn holds(message: &Message, word: &str) -> bool {
    match message {
        Message::User(messages) => messages.text().contains(word),
        Message::ToolResult(result) => result.text().contains(word),
        Message::Assistant(answer) => answer.content.iter().any(|part| match part {
            Part::Text { text, .. } => text.contains(word),
            Part::Thinking { thinking, .. } => thinking.contains(word),
            Part::RedactedThinking { .. } | Part::ServerTool { .. } => false,
            Part::ToolCall(call) => names(call, word),
        }),
    }
}

fn names(call: &ToolCall, word: &str) -> bool {
    call.arguments.values().any(|value| value.to_string().contains(word))
}

#[cfg(test)]
mod tests;
