//! The dependencies of the agent loop.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use protocol::{Message, MessageRole, SessionEvent, ToolCall, quote};

use super::inputs::{Inputs, Model};
use super::limits::Limits;
use super::request_hooks::RequestHooks;
use crate::compaction::{BranchSummaryPolicy, CompactionPolicy};
use crate::mcp::{FIND_TOOLS, PREFIX};
use crate::ports::{CancelToken, SessionLogError, ToolDeclaration, ToolRunner};

use protocol::AgentEnd;

/// The dependencies of the agent loop.
pub struct AgentContext<'a> {
    /// The model to ask. An input of the session may replace it.
    pub model: Model,
    /// Runs the tool calls.
    pub tools: &'a dyn ToolRunner,
    /// The names of the tools that the model may use; all of them if absent. An input of the session
    /// may replace it.
    pub only: Option<Arc<BTreeSet<String>>>,
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

    /// Returns the declarations of the tools that the model may use.
    pub(super) fn declarations(&self) -> Arc<[ToolDeclaration]> {
        let declared = self.tools.declarations();
        match &self.only {
            None => declared,
            Some(only) => {
                declared.iter().filter(|tool| only.contains(&tool.name)).cloned().collect()
            }
        }
    }

    /// Returns what the model reads of a call whose tool it may not use.
    pub(super) fn refusal(&self, call: &ToolCall) -> Option<String> {
        let only = self.only.as_ref()?;
        let declared = self.tools.declarations();
        // A name in another case is taken where no tool has the name as it is.
        let is_exact = declared.iter().any(|tool| tool.name == call.name);
        let is_meant = |tool: &&ToolDeclaration| match is_exact {
            true => tool.name == call.name,
            false => tool.name.eq_ignore_ascii_case(&call.name),
        };
        let mut meant = declared.iter().filter(is_meant).peekable();
        // Tools of servers are not all declared, and can be called by those who may find them.
        let is_unseen = meant.peek().is_none() && call.name.starts_with(PREFIX);
        let is_hidden = is_unseen && !only.contains(&call.name) && !only.contains(FIND_TOOLS);
        (is_hidden || meant.any(|tool| !only.contains(&tool.name))).then(|| {
            let allowed = self.declarations();
            let names: Vec<_> = allowed.iter().map(|tool| tool.name.as_str()).collect();
            let (name, names) = (quote(&call.name), names.join(", "));
            format!("Tool {name} not found. The tools there are: {names}")
        })
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
