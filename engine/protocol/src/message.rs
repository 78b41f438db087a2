//! The messages of a session between user, model and tools. They are serialized as in session files
//! of version 3.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::timestamp::millis;
use crate::usage::v3;
use crate::{Timestamp, Usage};

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A message of the user, or of the engine on the user's behalf.
    User(UserMessage),
    /// An answer of the model.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    ToolResult(ToolResult),
}

/// A message to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// The content of the message.
    pub content: Vec<Content>,
    /// The time of the message.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A part of a user message or a tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order in which the model sent them.
    pub content: Vec<Part>,
    /// The name of the wire API through which the answer came, for instance `openai-completions`.
    pub api: String,
    /// The provider of the model.
    pub provider: String,
    /// The name of the model at its provider.
    pub model: String,
    /// The tokens and money that the answer used.
    #[serde(with = "v3")]
    pub usage: Usage,
    /// Why the answer ended.
    pub stop_reason: StopReason,
    /// The error, if the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The time at which the answer was complete.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A part of an answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// A tool call that the model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Why an answer of the model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// The content that the model reads.
    pub content: Vec<Content>,
    /// Structured data for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The time of the result.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

impl Message {
    /// Returns a user message with this text.
    pub fn user(text: impl Into<String>, at: Timestamp) -> Self {
        Self::User(UserMessage { content: vec![Content::text(text)], timestamp: at })
    }
}

impl Content {
    /// Returns text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
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
            Part::Text { .. } | Part::Thinking { .. } | Part::RedactedThinking { .. } => None,
        })
    }

    /// Returns the text for the user; its parts are joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::ToolCall(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl UserMessage {
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
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_written_as_session_files_of_version_3_have_them() {
        let at = Timestamp::from_millisecond(1_767_323_045_678);
        let call = ToolCall {
            id: "call_1".to_owned(),
            name: "read".to_owned(),
            arguments: json!({ "path": "a" }).as_object().unwrap().clone(),
            malformed: None,
            thought_signature: None,
        };
        let assistant = Message::Assistant(AssistantMessage {
            content: vec![Part::thinking("hm"), Part::ToolCall(call)],
            api: "offline".to_owned(),
            provider: "offline".to_owned(),
            model: "demo".to_owned(),
            usage: Usage { input: 60, output: 5, cache_read: 40, cache_write: 0, cost: None },
            stop_reason: StopReason::ToolUse,
            error_message: None,
            timestamp: at,
        });
        let written = serde_json::to_value(&assistant).unwrap();
        assert_eq!(
            written,
            json!({
                "role": "assistant",
                "content": [
                    { "type": "thinking", "thinking": "hm" },
                    { "type": "toolCall", "id": "call_1", "name": "read", "arguments": { "path": "a" } },
                ],
                "api": "offline", "provider": "offline", "model": "demo",
                "usage": { "input": 60, "output": 5, "cacheRead": 40, "cacheWrite": 0, "totalTokens": 105 },
                "stopReason": "toolUse",
                "timestamp": 1_767_323_045_678_i64,
            })
        );
        assert_eq!(serde_json::from_value::<Message>(written).unwrap(), assistant);
        let result = Message::ToolResult(ToolResult {
            tool_call_id: "call_1".to_owned(),
            tool_name: "read".to_owned(),
            content: vec![Content::text("b")],
            details: None,
            is_error: false,
            timestamp: at,
        });
        let written = serde_json::to_value(&result).unwrap();
        assert_eq!(written["role"], "toolResult");
        assert_eq!(written["toolCallId"], "call_1");
        assert_eq!(serde_json::from_value::<Message>(written).unwrap(), result);
    }

    #[test]
    fn signatures_images_and_redacted_thinking_are_written_and_read_again_as_they_came() {
        let parts = [
            (
                Part::Text { text: "a".to_owned(), signature: Some("msg_1".to_owned()) },
                json!({ "type": "text", "text": "a", "textSignature": "msg_1" }),
            ),
            (
                Part::Thinking { thinking: String::new(), signature: Some("s+/=".to_owned()) },
                json!({ "type": "thinking", "thinking": "", "thinkingSignature": "s+/=" }),
            ),
            (
                Part::RedactedThinking { data: "d".to_owned() },
                json!({ "type": "redactedThinking", "data": "d" }),
            ),
            (
                Part::ToolCall(ToolCall {
                    id: "c".to_owned(),
                    name: "read".to_owned(),
                    arguments: Map::new(),
                    malformed: None,
                    thought_signature: Some("t".to_owned()),
                }),
                json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": {}, "thoughtSignature": "t" }),
            ),
        ];
        for (part, expected) in parts {
            let written = serde_json::to_value(&part).unwrap();
            assert_eq!(written, expected);
            assert_eq!(serde_json::from_value::<Part>(written).unwrap(), part);
        }
        let image = Content::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
        let written = serde_json::to_value(&image).unwrap();
        assert_eq!(written, json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }));
        assert_eq!(serde_json::from_value::<Content>(written).unwrap(), image);
    }
}
