//! The inputs of a session.

use serde::{Deserialize, Serialize};

use crate::{Attachment, InputId, MentionedFile};

/// An input for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInput {
    /// The id of the input. A session adds an input with the same id only once.
    pub id: InputId,
    /// The text for the model.
    pub text: String,
    /// Files that come with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Files that the text names. They follow it in the conversation, as one message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<MentionedFile>,
}

impl UserInput {
    /// Returns an input without files.
    pub fn new(id: InputId, text: impl Into<String>) -> Self {
        Self { id, text: text.into(), attachments: Vec::new(), mentions: Vec::new() }
    }
}
