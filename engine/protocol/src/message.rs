//! What is said in a session: the messages of user, model and tools, as the session log keeps
//! them. The names on the wire are those of session files of version 3.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::timestamp::millis;
use crate::usage::v3;
use crate::{Timestamp, Usage};

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Said by who wants something done, or by the engine on their behalf.
    User(UserMessage),
    /// Said by the model.
    Assistant(AssistantMessage),
    /// What a tool answered to one call of the model.
    ToolResult(ToolResult),
}

/// What is asked of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// What is said.
    pub content: Vec<Content>,
    /// When.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A piece of what a user or a tool says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// What it said and called, in its own order.
    pub content: Vec<Part>,
    /// The wire format it was had through, for instance `openai-completions`.
    pub api: String,
    /// The provider it was had from.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// What it cost.
    #[serde(with = "v3")]
    pub usage: Usage,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// When it was complete.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

/// A piece of what a model says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Words for the user.
    Text {
        /// The words.
        text: String,
    },
    /// Words for itself.
    Thinking {
        /// The words.
        thinking: String,
    },
    /// A wish to have a tool called.
    ToolCall(ToolCall),
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Identifies the call in its session.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with; empty when what the model sent is no JSON object.
    pub arguments: Map<String, Value>,
    /// What the model sent as arguments, where it is no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// Why an answer of the model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// It has said what it wanted to say.
    Stop,
    /// It, or we, had no room for more.
    Length,
    /// It waits for its tool calls.
    ToolUse,
    /// It could not be had whole.
    Error,
    /// It was stopped.
    Aborted,
}

/// What a tool answered. Every call has exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call it answers.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// What the model reads.
    pub content: Vec<Content>,
    /// What a program reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// When.
    #[serde(with = "millis")]
    pub timestamp: Timestamp,
}

impl Message {
    /// Returns a message of the user that says `text`.
    pub fn user(text: impl Into<String>, at: Timestamp) -> Self {
        Self::User(UserMessage { content: vec![Content::text(text)], timestamp: at })
    }
}

impl Content {
    /// Returns words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl AssistantMessage {
    /// Returns its calls, in its own order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } => None,
        })
    }

    /// Returns its words for the user, joined.
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
    /// Returns its words, joined.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

impl ToolResult {
    /// Returns its words, joined.
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
