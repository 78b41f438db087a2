//! The events of a running session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::timestamp::millis;
use crate::{AccountWait, Content, Failure, InputId, Question, QuestionId};
use crate::{Message, MessageRole, ThinkingLevel, Timestamp};

mod deltas;

/// An event of a running session. Most events are facts, for instance each complete message. The
/// others are deltas, which a reader may miss: a later fact contains the same information.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A tool could not be built. The session continues without it.
    ToolUnavailable {
        /// The name of the tool, or of the source of tools that failed.
        tool_name: String,
        /// The reason.
        error_message: String,
    },
    /// Something that the user should know.
    Notice {
        /// The text, in one line.
        message: String,
    },
    /// The session starts to work.
    AgentStart,
    /// An input waits in the queue of the session.
    InputQueued {
        /// The input.
        input_id: InputId,
        /// When the model gets it.
        queue: QueueKind,
        /// Its text.
        text: String,
    },
    /// An input is in the log and part of the next request. Its message follows, unless the log had it
    /// already: an input is said once.
    InputTaken {
        /// The input.
        input_id: InputId,
    },
    /// An input was discarded before it was added: the work was aborted, or the input was taken back.
    InputDropped {
        /// The input.
        input_id: InputId,
    },
    /// The model changes: later requests go to the given model.
    ModelChange {
        /// `PROVIDER/ID`.
        model: String,
    },
    /// How much the model thinks changes, beginning with the next request.
    ThinkingLevelChange {
        /// The new level.
        thinking_level: ThinkingLevel,
    },
    /// A turn starts. The inputs that it begins with follow, then the model is asked.
    TurnStart {
        /// The number of the turn in the session, from 1.
        turn: u32,
    },
    /// A message starts. [`Self::MessageEnd`] follows with the whole message.
    MessageStart {
        /// Whose message it is.
        role: MessageRole,
        /// What answers, if the message is an answer of a model. It arrives in blocks; every other
        /// message is complete already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<AnswerStart>,
    },
    /// A block of text starts. A delta.
    TextStart {
        /// The index of the block in the message.
        content_index: usize,
    },
    /// More text of a block. A delta.
    TextDelta {
        /// The index of the block in the message.
        content_index: usize,
        /// The text to append.
        delta: String,
    },
    /// A block of text is complete. A delta.
    TextEnd {
        /// The index of the block in the message.
        content_index: usize,
    },
    /// A block of thinking starts. A delta.
    ThinkingStart {
        /// The index of the block in the message.
        content_index: usize,
    },
    /// More thinking of a block. A delta.
    ThinkingDelta {
        /// The index of the block in the message.
        content_index: usize,
        /// The text to append.
        delta: String,
    },
    /// A block of thinking is complete. A delta.
    ThinkingEnd {
        /// The index of the block in the message.
        content_index: usize,
    },
    /// A tool call starts; its arguments follow. A delta.
    ToolcallStart {
        /// The index of the call in the message.
        content_index: usize,
        /// The id of the call as far as the model has sent it. That of the whole message counts.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
    },
    /// More arguments of a tool call. A delta.
    ToolcallDelta {
        /// The index of the call in the message.
        content_index: usize,
        /// The JSON text to append.
        delta: String,
    },
    /// A tool call is complete. A delta.
    ToolcallEnd {
        /// The index of the call in the message.
        content_index: usize,
    },
    /// A message is complete. If its stop reason is an error and [`Self::AutoRetryStart`] or
    /// [`Self::RetryFallbackApplied`] follows, it is part of no conversation: it is what had come of
    /// an answer that is asked for again.
    MessageEnd {
        /// The message.
        message: Message,
    },
    /// The request waits before it is sent. A delta.
    RequestWait {
        /// What the request waits for, in one line.
        reason: String,
        /// The account that it waits for.
        waits_for: AccountWait,
    },
    /// The request is sent again after a delay.
    AutoRetryStart {
        /// The number of the retry, from 1. The number is 0 if the request has not been sent yet
        /// and waits because the provider refused a request of another session.
        attempt: u32,
        /// How often the request is sent again at most.
        max_attempts: u32,
        /// The delay in milliseconds.
        delay_ms: u64,
        /// The reason.
        error_message: String,
        /// The account that it waits for, if all requests of the account wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_for: Option<AccountWait>,
    },
    /// The retries of a request have ended: it was answered, it failed for good, or it was aborted.
    AutoRetryEnd {
        /// Whether the request was answered.
        success: bool,
        /// The number of the last retry.
        attempt: u32,
        /// Why the request was not answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// A model cannot be had, or not with its key, and another model or key is asked in its place.
    RetryFallbackApplied {
        /// The model, `PROVIDER/ID`, or the key if only that changes.
        from: String,
        /// What is asked instead, likewise.
        to: String,
        /// Why the first cannot be had.
        error_message: String,
    },
    /// The model that was asked in place of another one, or with another key, has answered.
    RetryFallbackSucceeded {
        /// The model that answered: `PROVIDER/ID`.
        model: String,
    },
    /// The conversation is being compacted.
    CompactionStart {
        /// Why it is compacted.
        reason: CompactionReason,
    },
    /// A compaction has ended.
    CompactionEnd {
        /// Why the conversation was compacted.
        reason: CompactionReason,
        /// What stands for the older part of the conversation now. Absent if it was aborted or failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult>,
        /// Whether it was aborted.
        aborted: bool,
        /// Whether the request that did not fit is sent again.
        will_retry: bool,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The session goes on from another entry of its log.
    SessionTree {
        /// The entry from which it goes on; absent before all entries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_leaf_id: Option<String>,
        /// The entry from which it went on before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_leaf_id: Option<String>,
        /// The entry with the summary of the branch that was left, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary_entry_id: Option<String>,
        /// The number of messages of the conversation.
        messages: usize,
    },
    /// An entry was appended that is neither an input nor part of an answer.
    EntryAppended {
        /// The entry.
        entry_id: String,
        /// The number of messages of the conversation.
        messages: usize,
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
    /// A tool call was refused: a rule denies it, or it has to be asked about and the answer was no, or nobody
    /// can answer. Its end follows.
    ToolCallRefused {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// Why, as the model reads it.
        reason: String,
    },
    /// A person is asked something, and the call waits for the answer.
    QuestionAsked {
        /// The question.
        question: Question,
    },
    /// A question was answered, or is not asked any more.
    QuestionClosed {
        /// The question.
        question_id: QuestionId,
        /// The id of the choice; absent if there was no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choice_id: Option<String>,
    },
    /// A tool call has ended. Its result follows as a message when every call of the answer has ended.
    ToolExecutionEnd {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The result; absent in the events of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolExecutionResult>,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A turn has ended: the answer and the results of its tool calls are in the log.
    TurnEnd {
        /// The number of the turn in the session, from 1.
        turn: u32,
    },
    /// The session crashed and is restarted from its log. Whatever was under way has ended.
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

/// When the model gets a queued input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// When the session is idle.
    Prompt,
    /// With the next request.
    Steering,
    /// When the model stops.
    FollowUp,
}

/// What is known of an answer of a model when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerStart {
    /// The name of the wire API.
    pub api: String,
    /// The provider of the model.
    pub provider: String,
    /// The name of the model at its provider.
    pub model: String,
    /// The time at which the answer started.
    #[serde(with = "millis")]
    #[schemars(with = "i64")]
    pub timestamp: Timestamp,
}

/// Why a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The user asked for it.
    Manual,
    /// The conversation is near the limit of the model.
    Threshold,
    /// A request did not fit into the context of the model.
    Overflow,
}

/// What stands for the older part of a conversation after its compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The summary.
    pub summary: String,
    /// The id of the first entry of the log that is kept as it is.
    pub first_kept_entry_id: String,
    /// How many tokens the conversation had before.
    pub tokens_before: u64,
    /// Structured data for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExecutionResult {
    /// The content that the model reads.
    pub content: Vec<Content>,
    /// Structured data for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// How a session, or another worker of a task, ended its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
