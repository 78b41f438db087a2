//! The messages of a session as models read them.

use std::fmt::Write as _;

use crate::ports::ARTIFACT_SCHEME;
use protocol::{
    Attachment, AttachmentKind, BashExecution, Content, FileMention, Message, PythonExecution,
    SessionMessage, SkippedReason, StopReason, Timestamp, UserMessage,
};

/// Returns a message as models read it; `None` if they do not: answers that failed or were aborted,
/// commands that the user excluded, and messages with an unknown role.
#[must_use]
pub fn for_model(message: &SessionMessage) -> Option<Message> {
    match message {
        SessionMessage::Model(Message::User(said)) => Some(Message::User(with_attachments(said))),
        SessionMessage::Model(Message::Assistant(answer)) => match answer.stop_reason {
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                Some(Message::Assistant(answer.clone()))
            }
            StopReason::Error | StopReason::Aborted => None,
        },
        SessionMessage::Model(Message::ToolResult(result)) => {
            Some(Message::ToolResult(result.clone()))
        }
        SessionMessage::Developer(said) => Some(Message::User(with_attachments(said))),
        SessionMessage::BashExecution(ran) => bash(ran),
        SessionMessage::PythonExecution(ran) => python(ran),
        SessionMessage::Custom(custom) => {
            Some(Message::User(UserMessage::new(custom.content.clone(), custom.timestamp)))
        }
        SessionMessage::BranchSummary(summary) => {
            let what = "The conversation went on from an earlier point. What was done on the \
                        branch that was left:";
            Some(summed(what, &summary.summary, summary.timestamp))
        }
        SessionMessage::CompactionSummary(summary) => {
            let what = "The conversation so far was too long. This summary stands for its \
                        beginning:";
            Some(summed(what, &summary.summary, summary.timestamp))
        }
        SessionMessage::FileMention(mention) => Some(files(mention)),
        SessionMessage::Unknown(_) => None,
    }
}

/// Returns a user message whose attachments are part of its content.
fn with_attachments(said: &UserMessage) -> UserMessage {
    let mut said = said.clone();
    said.content.extend(said.attachments.drain(..).filter_map(attachment_block));
    said
}

/// Returns the block of an attachment. A document without text has none.
#[must_use]
pub fn attachment_block(attachment: Attachment) -> Option<Content> {
    let Attachment { kind, file_name, mime_type, content, extracted_text, .. } = attachment;
    match kind {
        AttachmentKind::Image => Some(Content::Image { data: content, mime_type }),
        AttachmentKind::Document => {
            extracted_text.map(|text| Content::text(format!("[Document: {file_name}]\n{text}")))
        }
    }
}

fn summed(what: &str, summary: &str, at: Timestamp) -> Message {
    Message::user(format!("{what}\n\n<summary>\n{summary}\n</summary>"), at)
}

fn bash(ran: &BashExecution) -> Option<Message> {
    if ran.exclude_from_context {
        return None;
    }
    let end = if ran.cancelled { End::Cancelled } else { End::Exited(ran.exit_code) };
    let mut text = execution(&ran.command, &ran.output, end);
    if let (true, Some(path)) = (ran.truncated, &ran.full_output_path) {
        // A path outside of the workspace would lead nowhere.
        let _infallible = match artifact_number(path) {
            Some(number) => {
                write!(text, "\n\n[Output truncated. Full output: {ARTIFACT_SCHEME}{number}]")
            }
            None => write!(text, "\n\n[Output truncated]"),
        };
    }
    Some(Message::user(text, ran.timestamp))
}

/// Returns the number of the artifact at `path`; `None` if another program has written the file.
fn artifact_number(path: &str) -> Option<u64> {
    let (_folder, name) = path.rsplit_once('/')?;
    let (number, tool) = name.strip_suffix(".log")?.split_once('.')?;
    number.parse().ok().filter(|_| !tool.is_empty())
}

fn python(ran: &PythonExecution) -> Option<Message> {
    if ran.exclude_from_context {
        return None;
    }
    let end = if ran.cancelled { End::Cancelled } else { End::Exited(ran.exit_code) };
    let text = execution(&ran.code, &ran.output, end);
    Some(Message::user(text, ran.timestamp))
}

/// How what the user ran ended.
#[derive(Clone, Copy)]
enum End {
    Cancelled,
    Exited(Option<i64>),
}

/// Returns what the user ran and what came of it.
fn execution(what: &str, output: &str, end: End) -> String {
    let output = output.trim_end();
    let mut text = format!("Ran `{what}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        // A longer fence than any in the output ends it for certain.
        let longest = output.split(|char| char != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _infallible = write!(text, "{fence}\n{output}\n{fence}");
    }
    match end {
        End::Cancelled => text.push_str("\n\n(command cancelled)"),
        End::Exited(Some(code)) if code != 0 => {
            let _infallible = write!(text, "\n\nCommand exited with code {code}");
        }
        End::Exited(_) => {}
    }
    text
}

fn files(mention: &FileMention) -> Message {
    let mut text = "<system-reminder>\n".to_owned();
    let mut images = Vec::new();
    for file in &mention.files {
        let content = match (file.skipped_reason, &file.image) {
            (Some(SkippedReason::TooLarge), _) => "(too large to be shown)",
            (None, Some(image)) => {
                images.push(image.clone());
                "(an image, below)"
            }
            (None, None) => &file.content,
        };
        let path = file.path.replace('"', "&quot;");
        let _infallible = writeln!(text, "<file path=\"{path}\">\n{content}\n</file>");
    }
    text.push_str("</system-reminder>");
    let content = std::iter::once(Content::text(text)).chain(images).collect();
    Message::User(UserMessage::new(content, mention.timestamp))
}

#[cfg(test)]
mod tests;
