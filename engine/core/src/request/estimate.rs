//! How many tokens a request will use, before it is sent.

use protocol::{Content, Message, Part};

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
                Part::ToolCall(_) => CALL,
            });
            sizes.fold(0, usize::saturating_add)
        }
    }
}

/// The size of an image, in bytes of text.
const IMAGE: usize = 6_000;

/// The size of a call, in bytes of text.
const CALL: usize = 200;
