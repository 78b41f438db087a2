//! The messages that models read and write: of the user, the model and the tools. They are serialized
//! as in session files of version 3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message_blocks::{Block, blocks};
use crate::timestamp::{millis, optional_millis};
use crate::usage::v3;
use crate::{Timestamp, Usage};

/// A message that a model reads or writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A message of the user, or of the engine on the user's behalf.
    User(UserMessage),
    /// An answer of the model.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    ToolResult(ToolResult),
}

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    /// The user, or the engine on the user's behalf.
    User,
    /// A model.
    Assistant,
    /// A tool.
    ToolResult,
}

/// A message to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// The content of the message.
    #[serde(deserialize_with = "blocks")]
    pub content: Vec<Content>,
    /// Files that the user has attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Whether the engine made the message, and no user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// On whose behalf the message was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The time of the message.
    #[serde(with = "millis")]
    #[schemars(with = "i64")]
    pub timestamp: Timestamp,
}

/// On whose behalf a message was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Attribution {
    /// The user's.
    User,
    /// The agent's.
    Agent,
}

/// A file that a user has attached to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The id of the attachment.
    pub id: String,
    /// How a model gets it.
    #[serde(rename = "type")]
    pub kind: AttachmentKind,
    /// The name of the file.
    pub file_name: String,
    /// The media type, for instance `image/png`.
    pub mime_type: String,
    /// The size of the file in bytes.
    pub size: u64,
    /// The bytes of the file, in base64.
    pub content: String,
    /// The text of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_text: Option<String>,
    /// A small image for people, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// How a model gets an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentKind {
    /// As an image.
    Image,
    /// As the text of a document.
    Document,
}

/// A part of a user message or a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The bytes of the image, in base64.
        data: String,
        /// The media type, for instance `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order in which the model sent them.
    #[serde(deserialize_with = "blocks")]
    pub content: Vec<Part>,
    /// The name of the wire API through which the answer came, for instance `openai-completions`.
    pub api: String,
    /// The provider of the model.
    pub provider: String,
    /// The name of the model at its provider.
    pub model: String,
    /// The tokens and money that the answer used.
    #[serde(with = "v3")]
    #[schemars(with = "v3::Written")]
    pub usage: Usage,
    /// Why the answer ended.
    pub stop_reason: StopReason,
    /// The error, if the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The time at which the answer was complete.
    #[serde(with = "millis")]
    #[schemars(with = "i64")]
    pub timestamp: Timestamp,
}

/// A part of an answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
        /// What identifies the text to its model: opaque, and sent back to it as it came.
        #[serde(default, rename = "textSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Thinking of the model.
    Thinking {
        /// The text. It may be empty beside a signature.
        thinking: String,
        /// What proves the thinking to its model: opaque, and sent back to it as it came.
        #[serde(default, rename = "thinkingSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Thinking that only its model can read.
    RedactedThinking {
        /// The encrypted thinking, sent back to its model as it came.
        data: String,
    },
    /// A use of a tool that the provider runs itself, or its result.
    ServerTool {
        /// The block of the provider: opaque, and sent back to the model as it came.
        block: Map<String, Value>,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// A tool call that the model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call. It is unique in its session.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments; empty if the model did not send a JSON object.
    pub arguments: Map<String, Value>,
    /// The arguments as the model sent them, if they are not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// What proves the thinking before the call to its model: opaque, and sent back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

impl ToolCall {
    /// Returns a call with these arguments.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Self {
        let (id, name) = (id.into(), name.into());
        Self { id, name, arguments, malformed: None, thought_signature: None }
    }
}

/// Why an answer of the model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model had finished.
    Stop,
    /// The answer reached the maximum length.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The request failed before the answer was complete.
    Error,
    /// The request was aborted.
    Aborted,
}

/// The result of a tool call. Every call has exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// The content that the model reads.
    #[serde(deserialize_with = "blocks")]
    pub content: Vec<Content>,
    /// Structured data for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// When the content was replaced by a notice, to make room for more.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub pruned_at: Option<Timestamp>,
    /// The time of the result.
    #[serde(with = "millis")]
    #[schemars(with = "i64")]
    pub timestamp: Timestamp,
}

impl Message {
    /// Returns a user message with this text.
    pub fn user(text: impl Into<String>, at: Timestamp) -> Self {
        Self::User(UserMessage::new(vec![Content::text(text)], at))
    }

    /// Returns whose message it is.
    #[must_use]
    pub fn role(&self) -> MessageRole {
        match self {
            Self::User(_) => MessageRole::User,
            Self::Assistant(_) => MessageRole::Assistant,
            Self::ToolResult(_) => MessageRole::ToolResult,
        }
    }
}

impl Block for Content {
    const KINDS: &'static [&'static str] = &["text", "image"];

    fn from_text(text: String) -> Self {
        Self::Text { text }
    }
}

impl Block for Part {
    const KINDS: &'static [&'static str] =
        &["text", "thinking", "redactedThinking", "serverTool", "toolCall"];

    fn from_text(text: String) -> Self {
        Self::text(text)
    }
}

impl Content {
    /// Returns text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text; empty for an image.
    #[must_use]
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text { text } => text,
            Self::Image { .. } => "",
        }
    }
}

impl Part {
    /// Returns text without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), signature: None }
    }

    /// Returns thinking without a signature.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking { thinking: thinking.into(), signature: None }
    }
}

impl AssistantMessage {
    /// Returns the tool calls of the answer in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::RedactedThinking { .. }
            | Part::ServerTool { .. } => None,
        })
    }

    /// Returns whether the model has paused: it has said something, or used a tool of its provider, and goes
    /// on with it when it is asked again. Where it calls tools, it waits for their results instead.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let said = self.content.iter().any(|part| match part {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::ServerTool { .. } => true,
            Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::ToolCall(_) => false,
        });
        self.stop_reason == StopReason::ToolUse && said && self.calls().next().is_none()
    }

    /// Returns the text for the user; its parts are joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Thinking { .. }
            | Part::RedactedThinking { .. }
            | Part::ServerTool { .. }
            | Part::ToolCall(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl UserMessage {
    /// Returns a message of the user without attachments.
    #[must_use]
    pub fn new(content: Vec<Content>, timestamp: Timestamp) -> Self {
        let (attachments, synthetic, attribution) = (Vec::new(), false, None);
        Self { content, attachments, synthetic, attribution, timestamp }
    }

    /// Returns the text of the message; its parts are joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

impl ToolResult {
    /// Returns the text of the result; its parts are joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

fn joined(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
