//! The entries of a session log, and the events of a running session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AssistantMessage, Failure, InputId, Message, Usage};

/// An input for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInput {
    /// The id of the input. A session adds an input with the same id only once.
    pub id: InputId,
    /// The text for the model.
    pub text: String,
}

/// One entry of a session log after its header. The log adds an id, a parent and a time to each
/// entry. Entries are serialized as in session files of version 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEntry {
    /// The start of a task's session.
    SessionInit {
        /// The system prompt.
        system_prompt: String,
        /// The prompt of the task.
        task: String,
        /// The names of the tools.
        tools: Vec<String>,
        /// The JSON Schema of the value that the session has to yield.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// The model changes: later answers come from the given model.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
    },
    /// A complete message.
    Message {
        /// The message.
        message: Message,
        /// The id of the input, if this is a user message. Other readers of the log ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_id: Option<InputId>,
    },
}

impl SessionEntry {
    /// Returns the usage of the entry, if it is an answer of a model.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Message { message: Message::Assistant(answer), .. } => Some(answer.usage),
            Self::SessionInit { .. } | Self::ModelChange { .. } | Self::Message { .. } => None,
        }
    }
}

/// An event of a running session. Most events are facts, for instance each complete message. The
/// others are deltas, which a reader may miss: a later fact contains the same information.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A tool could not be built. The session continues without it.
    ToolUnavailable {
        /// The name of the tool, or of the source of tools that failed.
        tool_name: String,
        /// The reason.
        error_message: String,
    },
    /// The session starts to work.
    AgentStart,
    /// An input was added to the log and is part of the next request.
    InputTaken {
        /// The input.
        input_id: InputId,
    },
    /// An input was discarded, because the work was aborted before it was added.
    InputDropped {
        /// The input.
        input_id: InputId,
    },
    /// The model changes: later requests go to the given model.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
    },
    /// A turn starts: the model is asked.
    TurnStart {
        /// The number of the turn in the session, from 1.
        turn: u32,
    },
    /// The request is sent again after a delay. The parts of the answer received so far are
    /// discarded.
    AutoRetryStart {
        /// The number of the retry, from 1. The number is 0 if the request has not been sent yet
        /// and waits because the provider refused a request of another session.
        attempt: u32,
        /// The delay in milliseconds.
        delay_ms: u64,
        /// The reason.
        error_message: String,
    },
    /// The request waits before it is sent. A delta.
    RequestWait {
        /// What the request waits for, in one line.
        reason: String,
    },
    /// More text of the answer. A delta.
    TextDelta {
        /// The text to append.
        text: String,
    },
    /// More thinking of the answer. A delta.
    ThinkingDelta {
        /// The text to append.
        text: String,
    },
    /// The model starts a tool call; the arguments are not known yet. A delta.
    ToolCallStart {
        /// The name of the tool.
        tool_name: String,
    },
    /// The model's answer is complete.
    MessageEnd {
        /// The answer.
        message: AssistantMessage,
    },
    /// A tool call starts.
    ToolExecutionStart {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The arguments of the call.
        args: Map<String, Value>,
    },
    /// The progress of a tool call. A delta.
    ToolExecutionUpdate {
        /// The id of the call.
        tool_call_id: String,
        /// The progress, in one line.
        line: String,
    },
    /// A tool call has ended.
    ToolExecutionEnd {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A turn has ended: the answer and the results of its tool calls are in the log.
    TurnEnd {
        /// The number of the turn in the session, from 1.
        turn: u32,
    },
    /// The session crashed and is restarted from its log. The parts of the answer received so far
    /// are discarded.
    SessionRestart {
        /// The reason.
        error_message: String,
    },
    /// The session has ended its work and is idle.
    AgentEnd {
        /// How the work ended.
        end: AgentEnd,
    },
}

impl SessionEvent {
    /// Returns whether the event is a delta, which may be merged with others or dropped.
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
    /// Merges the delta `next` into this one. Returns `next` if the two cannot be merged.
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

/// How a session, or another worker of a task, ended its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum AgentEnd {
    /// The worker yielded this value.
    Yielded(Value),
    /// The worker said that it cannot do the work, for this reason.
    GaveUp(String),
    /// The worker stopped without an acceptable yield; the text says what was wrong.
    Silent(String),
    /// The worker could not continue.
    Failed(Failure),
    /// The work was aborted.
    Aborted,
}
