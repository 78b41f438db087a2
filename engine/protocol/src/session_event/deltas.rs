//! Which events of a session are deltas, and how deltas are merged.

use super::SessionEvent;

impl SessionEvent {
    /// Returns whether the event is a delta, which may be merged with others or dropped.
    #[must_use]
    pub fn is_delta(&self) -> bool {
        match self {
            Self::RequestWait { .. }
            | Self::TextStart { .. }
            | Self::TextDelta { .. }
            | Self::TextEnd { .. }
            | Self::ThinkingStart { .. }
            | Self::ThinkingDelta { .. }
            | Self::ThinkingEnd { .. }
            | Self::ToolcallStart { .. }
            | Self::ToolcallDelta { .. }
            | Self::ToolcallEnd { .. }
            | Self::ToolExecutionUpdate { .. } => true,
            Self::ToolUnavailable { .. }
            | Self::Notice { .. }
            | Self::AgentStart
            | Self::InputQueued { .. }
            | Self::InputTaken { .. }
            | Self::InputDropped { .. }
            | Self::ModelChange { .. }
            | Self::ThinkingLevelChange { .. }
            | Self::TurnStart { .. }
            | Self::MessageStart { .. }
            | Self::MessageEnd { .. }
            | Self::AutoRetryStart { .. }
            | Self::AutoRetryEnd { .. }
            | Self::RetryFallbackApplied { .. }
            | Self::RetryFallbackSucceeded { .. }
            | Self::CompactionStart { .. }
            | Self::CompactionEnd { .. }
            | Self::SessionTree { .. }
            | Self::EntryAppended { .. }
            | Self::ToolExecutionStart { .. }
            | Self::ToolCallRefused { .. }
            | Self::QuestionAsked { .. }
            | Self::QuestionClosed { .. }
            | Self::ToolExecutionEnd { .. }
            | Self::TurnEnd { .. }
            | Self::SessionRestart { .. }
            | Self::AgentEnd { .. } => false,
        }
    }

    /// Merges the delta `next` into this one. Returns `next` if the two cannot be merged.
    pub fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (
                Self::TextDelta { content_index, delta },
                Self::TextDelta { content_index: other, delta: more },
            )
            | (
                Self::ThinkingDelta { content_index, delta },
                Self::ThinkingDelta { content_index: other, delta: more },
            )
            | (
                Self::ToolcallDelta { content_index, delta },
                Self::ToolcallDelta { content_index: other, delta: more },
            ) if *content_index == other => {
                delta.push_str(&more);
                None
            }
            (
                Self::ToolExecutionUpdate { tool_call_id, line },
                Self::ToolExecutionUpdate { tool_call_id: other, line: newer },
            ) if *tool_call_id == other => {
                *line = newer;
                None
            }
            (wait @ Self::RequestWait { .. }, newer @ Self::RequestWait { .. }) => {
                *wait = newer;
                None
            }
            (_, next) => Some(next),
        }
    }
}
