//! The result of a call of a server, bounded for the model.

use std::sync::Arc;

use engine::ports::{Artifacts, McpResult, ToolOutcome, ToolOutput};
use protocol::{Content, is_unseen};

/// How many bytes of the beginning and of the end of a longer text the model is shown.
const HEAD_BYTES: usize = 30 << 10;
const TAIL_BYTES: usize = 20 << 10;

/// The maximum number of images, and of bytes of one in base64.
const MAX_IMAGES: usize = 10;
const MAX_IMAGE_BYTES: usize = 8 << 20;

/// Returns the outcome of a call. A text that is too long is kept as a file, whose name the model gets.
pub(super) async fn outcome(
    result: McpResult,
    tool: &str,
    artifacts: &Arc<dyn Artifacts>,
) -> ToolOutcome {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in result.content {
        match block {
            Content::Text { text } => texts.push(printable(&text)),
            Content::Image { data, mime_type } => {
                match data.len() > MAX_IMAGE_BYTES || images.len() == MAX_IMAGES {
                    true => texts.push(format!("[an image of {} bytes is left out]", data.len())),
                    false => images.push(Content::Image { data, mime_type }),
                }
            }
        }
    }
    if let (Some(structured), true) = (&result.structured, texts.is_empty() && images.is_empty()) {
        texts.push(structured.to_string());
    }
    let text = texts.join("\n\n");
    let mut content = Vec::new();
    if !text.trim().is_empty() {
        content.push(Content::text(bounded(text, tool, artifacts).await));
    } else if images.is_empty() {
        content.push(Content::text("(no output)"));
    }
    content.extend(images);
    let output = ToolOutput { content, details: None };
    match result.is_error {
        true => ToolOutcome::Failed(output),
        false => ToolOutcome::Output(output),
    }
}

async fn bounded(text: String, tool: &str, artifacts: &Arc<dyn Artifacts>) -> String {
    if text.len() <= HEAD_BYTES + TAIL_BYTES {
        return text;
    }
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL_BYTES)..];
    let left_out = text.len() - head.len() - tail.len();
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let artifact = artifacts.reserve(tool).await;
    let whole = match artifacts.write(&artifact, text).await {
        Ok(()) => format!("the whole result is {}: read parts of it with `read`", artifact.uri()),
        Err(error) => format!("they cannot be kept: {error}"),
    };
    format!("{head}\n\n[{left_out} bytes are left out; {whole}]\n\n{tail}")
}

/// Returns a text with U+FFFD for each character that cannot be seen.
fn printable(text: &str) -> String {
    let is_shown = |letter: char| matches!(letter, '\n' | '\t') || !is_unseen(letter);
    let text = text.replace("\r\n", "\n");
    match text.chars().all(is_shown) {
        true => text,
        false => {
            text.chars().map(|letter| if is_shown(letter) { letter } else { '\u{fffd}' }).collect()
        }
    }
}
