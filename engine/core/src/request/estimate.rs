//! How many tokens a request will use, before it is sent.

use std::io;

use protocol::{Content, Message, Part, ToolCall};
use serde_json::{Map, Value};

use super::policy::estimated_tokens;
use crate::ports::ModelRequest;

/// Returns about how many tokens a request will use: what the last one used, which the conversation
/// repeats, and what was said since.
pub(super) fn estimated_request(request: &ModelRequest) -> u64 {
    let mut bytes = 0_usize;
    for message in request.messages.iter().rev() {
        if let Message::Assistant(answer) = message.as_ref()
            && answer.usage.tokens() > 0
        {
            return answer.usage.tokens().saturating_add(estimated_tokens(bytes));
        }
        bytes = bytes.saturating_add(size(message));
    }
    estimated_tokens(bytes.saturating_add(request.system.len()))
}

/// Returns about how many tokens a message has for a model.
#[must_use]
pub fn message_tokens(message: &Message) -> u64 {
    estimated_tokens(size(message))
}

fn size(message: &Message) -> usize {
    let content = |content: &[Content]| {
        let sizes = content.iter().map(|content| match content {
            Content::Text { text } => text.len(),
            // However many bytes it has, a model sees it in about this many tokens.
            Content::Image { .. } => IMAGE,
        });
        sizes.fold(0, usize::saturating_add)
    };
    match message {
        Message::User(user) => content(&user.content),
        Message::ToolResult(result) => content(&result.content),
        Message::Assistant(answer) => {
            let sizes = answer.content.iter().map(|part| match part {
                Part::Text { text, .. } => text.len(),
                Part::Thinking { thinking, .. } => thinking.len(),
                Part::RedactedThinking { data } => data.len(),
                Part::ServerTool { block } => json_size(block),
                Part::ToolCall(call) => call_size(call),
            });
            sizes.fold(0, usize::saturating_add)
        }
    }
}

fn call_size(call: &ToolCall) -> usize {
    call.name.len().saturating_add(json_size(&call.arguments)).saturating_add(CALL)
}

fn json_size(fields: &Map<String, Value>) -> usize {
    let mut json = Counted(0);
    let _infallible = serde_json::to_writer(&mut json, fields);
    json.0
}

/// Counts what is written to it.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of an image, in bytes of text.
const IMAGE: usize = 4_800;

/// The size of what a call has beside its name and arguments, in bytes of text.
const CALL: usize = 100;
