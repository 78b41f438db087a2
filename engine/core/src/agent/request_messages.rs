//! The messages of a request: the conversation, as the user of the session changes it for the model,
//! with attachments as blocks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use protocol::{AgentEnd, Failure, FailureClass, Message};

use super::context::AgentContext;
use crate::session::attachment_block;

/// Returns the messages for the model.
pub(super) async fn request_messages(
    context: &AgentContext<'_>,
    messages: Vec<Arc<Message>>,
) -> Result<Vec<Arc<Message>>, AgentEnd> {
    let messages = match &context.request_hooks.transformer {
        None => messages,
        Some(transformer) => {
            let changed = AssertUnwindSafe(transformer.transform(messages)).catch_unwind();
            let changed = context.unless_aborted(changed).await.ok_or(AgentEnd::Aborted)?;
            let changed = changed.unwrap_or_else(|_panic| Err("it crashed".to_owned()));
            changed.map_err(|why| {
                let what = format!("the messages of a request could not be transformed: {why}");
                AgentEnd::Failed(Failure::new(FailureClass::Invalid, what))
            })?
        }
    };
    Ok(messages.into_iter().map(with_attachments).collect())
}

/// Turns the attachments of a message into blocks of its content.
fn with_attachments(message: Arc<Message>) -> Arc<Message> {
    match &*message {
        Message::User(said) if !said.attachments.is_empty() => {
            let mut said = said.clone();
            said.content.extend(said.attachments.drain(..).filter_map(attachment_block));
            Arc::new(Message::User(said))
        }
        Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) => message,
    }
}
