//! The messages of a request: the conversation, with attachments as blocks.

use std::sync::Arc;

use protocol::Message;

use crate::session::attachment_block;

/// Returns the messages for the model.
pub(super) fn request_messages(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    messages.into_iter().map(with_attachments).collect()
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
