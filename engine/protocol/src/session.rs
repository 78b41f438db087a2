//! The lines of a session log, and what a session says while it runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AssistantMessage, Failure, InputId, Message, Usage};

/// A text that somebody gives a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInput {
    /// Identifies it in the session: who sends it again does not say it twice.
    pub id: InputId,
    /// What the model reads.
    pub text: String,
}

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
        /// The input that it says, where it is the message of a user. Other programs skip it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_id: Option<InputId>,
    },
}

impl SessionEntry {
    /// Returns what a model used for it; nothing where none was asked.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Message { message: Message::Assistant(answer), .. } => Some(answer.usage),
            Self::SessionInit { .. } | Self::ModelChange { .. } | Self::Message { .. } => None,
        }
    }
}

/// What happens in a session. Most are facts: each message comes once, whole. The others are deltas:
/// whoever misses one loses nothing that a later fact does not say.
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
    /// The session begins to work.
    AgentStart,
    /// An input is in the log, and the next request has it.
    InputTaken {
        /// Which.
        input_id: InputId,
    },
    /// An input was still waiting when the work was aborted, and is not said.
    InputDropped {
        /// Which.
        input_id: InputId,
    },
    /// From the next request on another model answers.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
    },
    /// The model is asked.
    TurnStart {
        /// Counts the turns of the session from 1.
        turn: u32,
    },
    /// The provider is asked again after a while. What the answer held so far is void.
    AutoRetryStart {
        /// Counts the retries from 1; 0 where the provider is asked for the first time, and is to
        /// be left alone because of what it told another session.
        attempt: u32,
        /// How long it waits before, in milliseconds.
        delay_ms: u64,
        /// Why.
        error_message: String,
    },
    /// The request waits before it is sent. A delta.
    RequestWait {
        /// For what, in one line.
        reason: String,
    },
    /// More of the answer's text. A delta.
    TextDelta {
        /// The text that is added.
        text: String,
    },
    /// More of the answer's thinking. A delta.
    ThinkingDelta {
        /// The text that is added.
        text: String,
    },
    /// The model begins to call a tool; with which arguments is known at the end. A delta.
    ToolCallStart {
        /// The tool.
        tool_name: String,
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
    /// A tool says how it goes. A delta.
    ToolExecutionUpdate {
        /// The call.
        tool_call_id: String,
        /// What it says, in one line.
        line: String,
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
    /// The session crashed and is started again from its log. What the answer held so far is void.
    SessionRestart {
        /// Why.
        error_message: String,
    },
    /// The session has nothing more to do, for this reason.
    AgentEnd {
        /// How the work ended.
        end: AgentEnd,
    },
}

impl SessionEvent {
    /// Returns whether the event is a delta: it may be merged with others, or left out.
    #[must_use]
    pub fn is_delta(&self) -> bool {
        match self {
            Self::RequestWait { .. }
            | Self::TextDelta { .. }
            | Self::ThinkingDelta { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolExecutionUpdate { .. } => true,
            Self::ToolUnavailable { .. }
            | Self::AgentStart
            | Self::InputTaken { .. }
            | Self::InputDropped { .. }
            | Self::ModelChange { .. }
            | Self::TurnStart { .. }
            | Self::AutoRetryStart { .. }
            | Self::MessageEnd { .. }
            | Self::ToolExecutionStart { .. }
            | Self::ToolExecutionEnd { .. }
            | Self::TurnEnd { .. }
            | Self::SessionRestart { .. }
            | Self::AgentEnd { .. } => false,
        }
    }
}

impl SessionEvent {
    /// Adds a delta that came next to this one. Returns it where they cannot be one.
    pub fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::TextDelta { text }, Self::TextDelta { text: more })
            | (Self::ThinkingDelta { text }, Self::ThinkingDelta { text: more }) => {
                text.push_str(&more);
                None
            }
            (
                Self::ToolExecutionUpdate { tool_call_id, line },
                Self::ToolExecutionUpdate { tool_call_id: other, line: newer },
            ) if *tool_call_id == other => {
                *line = newer;
                None
            }
            (Self::RequestWait { reason }, Self::RequestWait { reason: newer }) => {
                *reason = newer;
                None
            }
            (_, next) => Some(next),
        }
    }
}

/// How a session's work on what it was given ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum AgentEnd {
    /// The model yielded this.
    Yielded(Value),
    /// The model said that it cannot, for this reason.
    GaveUp(String),
    /// The model stopped without a yield; this is what one has to say about that.
    Silent(String),
    /// It could not go on.
    Failed(Failure),
    /// Someone aborted it.
    Aborted,
}
