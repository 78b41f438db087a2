//! The state of a session, computed from its events.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use engine::agent::QueueModes;
use engine::prompt::SystemPrompt;
use protocol::{
    AgentEnd, Message, ModelRoute, SessionEvent, SessionId, StopReason, ThinkingLevel, Usage,
};

use crate::session::SessionSpec;

/// The state of a session at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionState {
    /// The session.
    pub id: SessionId,
    /// The folder in which it works, in place.
    pub folder: PathBuf,
    /// The model, from the next request on.
    pub model: ModelRoute,
    /// How much the model thinks; the default of the model if absent.
    pub thinking_level: Option<ThinkingLevel>,
    /// What the system prompt is made of, from the next request on.
    pub system: Arc<SystemPrompt>,
    /// The names of those of its tools that the model may use, from the next request on; all if absent.
    pub tools: Option<Arc<BTreeSet<String>>>,
    /// How waiting inputs are given out.
    pub modes: QueueModes,
    /// Whether the session works.
    pub is_streaming: bool,
    /// Whether the conversation is being compacted.
    pub is_compacting: bool,
    /// The ids of the tool calls under way.
    pub pending_tool_calls: BTreeSet<String>,
    /// The texts of the prompts that wait, oldest first.
    pub prompts: Vec<String>,
    /// The texts of the steering inputs that wait, oldest first.
    pub steering: Vec<String>,
    /// The texts of the follow-ups that wait, oldest first.
    pub follow_ups: Vec<String>,
    /// The number of messages of the conversation.
    pub messages: usize,
    /// The tokens and money that the session has used.
    pub usage: Usage,
    /// Why the last work failed, if it did.
    pub error: Option<String>,
}

impl SessionState {
    /// Returns the state of a session that was just opened.
    pub(super) fn new(id: SessionId, spec: &SessionSpec, messages: usize, usage: Usage) -> Self {
        Self {
            id,
            folder: spec.folder.clone(),
            model: spec.model.clone(),
            thinking_level: spec.model.thinking,
            system: Arc::clone(&spec.system),
            tools: None,
            modes: spec.modes,
            is_streaming: false,
            is_compacting: false,
            pending_tool_calls: BTreeSet::new(),
            prompts: Vec::new(),
            steering: Vec::new(),
            follow_ups: Vec::new(),
            messages,
            usage,
            error: None,
        }
    }

    /// Returns whether nothing works in the session and no input waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let waits = [&self.prompts, &self.steering, &self.follow_ups];
        !self.is_streaming && !self.is_compacting && waits.iter().all(|texts| texts.is_empty())
    }

    /// Applies an event of the session.
    pub(super) fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::AgentStart => (self.is_streaming, self.error) = (true, None),
            SessionEvent::MessageEnd { message } => self.add(message),
            SessionEvent::ToolExecutionStart { tool_call_id, .. } => {
                self.pending_tool_calls.insert(tool_call_id.clone());
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.pending_tool_calls.remove(tool_call_id);
            }
            SessionEvent::SessionTree { messages, .. }
            | SessionEvent::EntryAppended { messages, .. } => self.messages = *messages,
            SessionEvent::CompactionStart { .. } => self.is_compacting = true,
            SessionEvent::CompactionEnd { .. } => self.is_compacting = false,
            SessionEvent::SessionRestart { .. } => {
                self.pending_tool_calls.clear();
                self.is_compacting = false;
            }
            SessionEvent::AgentEnd { end } => {
                self.is_streaming = false;
                self.error = match end {
                    AgentEnd::Failed(failure) => Some(failure.message.clone()),
                    AgentEnd::Yielded(_)
                    | AgentEnd::GaveUp(_)
                    | AgentEnd::Silent(_)
                    | AgentEnd::Aborted => None,
                };
            }
            _other => {}
        }
    }

    fn add(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            self.usage = self.usage + answer.usage;
            if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                return; // it is in the log, and no part of the conversation
            }
        }
        self.messages += 1;
    }
}
