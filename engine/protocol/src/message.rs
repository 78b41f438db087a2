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
    },
    /// Thinking of the model.
    Thinking {
        /// The text.
        thinking: String,
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

impl AssistantMessage {
    /// Returns the tool calls of the answer in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } => None,
        })
    }

    /// Returns the text for the user; its parts are joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Thinking { .. } | Part::ToolCall(_) => None,
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
    let texts = content.iter().map(|Content::Text { text }| text.as_str());
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
        };
        let assistant = Message::Assistant(AssistantMessage {
            content: vec![Part::Thinking { thinking: "hm".to_owned() }, Part::ToolCall(call)],
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
}
