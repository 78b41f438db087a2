//! A conversation as the text that a model is asked to sum up.

use std::sync::Arc;

use protocol::{Content, Message, Part};

use crate::request::estimated_tokens;

/// How long the parts of messages are at most, in bytes: the first size with which all fits.
const SIZES: [usize; 5] = [16_000, 4_000, 1_000, 300, 100];

/// Returns the messages as text of at most `most` tokens. Long parts are cut in their middle; if that
/// is not enough, messages in the middle are left out. The text says both.
pub(super) fn transcript(messages: &[Arc<Message>], most: u64) -> String {
    let most = usize::try_from(most.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    for size in SIZES {
        pieces = messages.iter().map(|message| piece(message, size)).collect();
        if length(&pieces) <= most {
            break;
        }
    }
    if length(&pieces) > most {
        leave_out(&mut pieces, most);
    }
    pieces.concat()
}

fn length(pieces: &[String]) -> usize {
    pieces.iter().map(String::len).sum()
}

/// Leaves out pieces after the first quarter of what there is room for.
fn leave_out(pieces: &mut Vec<String>, most: usize) {
    let fitting = |lengths: &mut dyn Iterator<Item = usize>, room: usize| {
        let mut sum = 0;
        lengths
            .take_while(|length| {
                sum += length;
                sum <= room
            })
            .count()
    };
    let head = fitting(&mut pieces.iter().map(String::len), most / 4);
    let rest = &pieces[head..];
    let tail = fitting(&mut rest.iter().rev().map(String::len), most / 2);
    let left = rest.len() - tail;
    let notice = format!("[{left} messages are left out here]\n\n");
    pieces.splice(head..head + left, [notice]);
}

fn piece(message: &Message, size: usize) -> String {
    match message {
        Message::User(user) => format!("[User]: {}\n\n", content(&user.content, size)),
        Message::ToolResult(result) => {
            let kind = if result.is_error { "Tool error" } else { "Tool result" };
            format!("[{kind}]: {}\n\n", content(&result.content, size))
        }
        Message::Assistant(answer) => answer.content.iter().map(|it| part(it, size)).collect(),
    }
}

fn part(part: &Part, size: usize) -> String {
    match part {
        Part::Text { text, .. } => format!("[Assistant]: {}\n\n", cut(text, size)),
        Part::Thinking { thinking, .. } if thinking.trim().is_empty() => String::new(),
        Part::Thinking { thinking, .. } => {
            format!("[Assistant thinking]: {}\n\n", cut(thinking, size))
        }
        Part::RedactedThinking { .. } | Part::ServerTool { .. } => String::new(),
        Part::ToolCall(call) => {
            let arguments = match &call.malformed {
                Some(malformed) => malformed.clone(),
                None => serde_json::Value::Object(call.arguments.clone()).to_string(),
            };
            format!("[Assistant tool call]: {} {}\n\n", cut(&call.name, 64), cut(&arguments, size))
        }
    }
}

fn content(content: &[Content], size: usize) -> String {
    let texts = content.iter().map(|content| match content {
        Content::Text { text } => text.as_str(),
        Content::Image { .. } => "[an image]",
    });
    cut(&texts.collect::<Vec<_>>().join("\n"), size)
}

/// Returns a text of at most about `size` bytes. What stands in its middle is left out.
pub(super) fn cut(text: &str, size: usize) -> String {
    if text.len() <= size {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(size / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - size / 4);
    let left = estimated_tokens(tail - head);
    format!("{}\n[… about {left} tokens are left out …]\n{}", &text[..head], &text[tail..])
}
