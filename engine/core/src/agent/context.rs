//! The dependencies of the agent loop.

use std::pin::pin;

use futures_util::future::{Either, select};
use protocol::{Message, MessageRole, SessionEvent};

use super::inputs::{Inputs, Model};
use super::limits::Limits;
use super::request_hooks::RequestHooks;
use crate::compaction::{BranchSummaryPolicy, CompactionPolicy};
use crate::ports::{CancelToken, SessionLogError, ToolRunner};

use protocol::AgentEnd;

/// The dependencies of the agent loop.
pub struct AgentContext<'a> {
    /// The model to ask. An input of the session may replace it.
    pub model: Model,
    /// Runs the tool calls.
    pub tools: &'a dyn ToolRunner,
    /// The inputs that users send while the loop runs.
    pub inputs: &'a dyn Inputs,
    /// Receives the events of the session.
    pub listener: &'a dyn Listener,
    /// The limits on turns and tokens.
    pub limits: Limits,
    /// When the conversation is compacted.
    pub compaction: CompactionPolicy,
    /// How branches are summed up that the session leaves.
    pub branch_summary: BranchSummaryPolicy,
    /// What the user of the session does with its requests.
    pub request_hooks: RequestHooks,
    /// Aborts the work. The conversation in the log stays as it is.
    pub abort: CancelToken,
}

impl AgentContext<'_> {
    /// Waits for `work`. Returns `None` and drops `work` if the loop is aborted first.
    pub(super) async fn unless_aborted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(self.abort.cancelled()), pin!(work)).await {
            Either::Left(((), _dropped)) => None,
            Either::Right((done, _cancelled)) => Some(done),
        }
    }
}

impl From<SessionLogError> for AgentEnd {
    fn from(error: SessionLogError) -> Self {
        Self::Failed(error.to_failure())
    }
}

/// Receives the events of a session as they happen.
pub trait Listener: Send + Sync {
    /// Handles an event. Deltas are frequent and may have any size.
    fn event(&self, event: SessionEvent);
}

/// Announces a message that is complete.
pub(super) fn announce(listener: &dyn Listener, message: &Message) {
    let role = message.role();
    debug_assert_ne!(role, MessageRole::Assistant, "an answer arrives in blocks");
    listener.event(SessionEvent::MessageStart { role, answer: None });
    listener.event(SessionEvent::MessageEnd { message: message.clone() });
}
