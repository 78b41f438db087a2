//! The lines of a session log, and what a session says while it runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AssistantMessage, Message, Usage};

/// One entry of a session log after its header. Its identity, its parent and its time are the
/// log's. The names on the wire are those of session files of version 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEntry {
    /// What the session of a task began with.
    SessionInit {
        /// What the model is told before everything else.
        system_prompt: String,
        /// What it is asked to do.
        task: String,
        /// The tools it has.
        tools: Vec<String>,
        /// The JSON Schema of what it has to yield.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// From here on another model answers.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
    },
    /// A message, complete.
    Message {
        /// The message.
        message: Message,
    },
}

impl SessionEntry {
    /// Returns what a model used for it; nothing where none was asked.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Message { message: Message::Assistant(answer) } => Some(answer.usage),
            Self::SessionInit { .. } | Self::ModelChange { .. } | Self::Message { .. } => None,
        }
    }
}

/// What happens in a session, told as it happens. Each message is told once, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A tool could not be built. The session goes on without it.
    ToolUnavailable {
        /// The tool, or what would have supplied it.
        tool_name: String,
        /// Why.
        error_message: String,
    },
    /// The model is asked.
    TurnStart {
        /// Counts the turns of the session from 1.
        turn: u32,
    },
    /// The provider is asked again after a while.
    AutoRetryStart {
        /// Counts the retries from 1; 0 where the provider is asked for the first time, and is to
        /// be left alone because of what it told another session.
        attempt: u32,
        /// How long it waits before, in milliseconds.
        delay_ms: u64,
        /// Why.
        error_message: String,
    },
    /// The model's answer is complete.
    MessageEnd {
        /// The answer.
        message: AssistantMessage,
    },
    /// A tool begins.
    ToolExecutionStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What it is called with.
        args: Map<String, Value>,
    },
    /// A tool has ended.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// The turn's answer and all results of its calls are in the log.
    TurnEnd {
        /// Counts the turns of the session from 1.
        turn: u32,
    },
}
