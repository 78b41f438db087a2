//! Who speaks: makes messages that say which model, had from where, answered when.

use std::sync::Arc;

use engine::ports::Clock;
use protocol::{AssistantMessage, ModelRoute, Part, StopReason, Timestamp, Usage};

use crate::piece::Whole;

/// One model, as its messages name it.
#[derive(Clone)]
pub(crate) struct Voice {
    pub(crate) api: &'static str,
    pub(crate) route: ModelRoute,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Voice {
    /// Returns the present time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the message of a whole answer.
    pub(crate) fn message(&self, whole: Whole, usage: Usage) -> AssistantMessage {
        AssistantMessage {
            content: whole.content,
            api: self.api.to_owned(),
            provider: self.route.provider.clone(),
            model: self.route.id.clone(),
            usage,
            stop_reason: whole.stop_reason,
            error_message: None,
            timestamp: self.clock.now(),
        }
    }

    /// Returns the message of what came of an answer before it failed.
    pub(crate) fn partial(&self, content: Vec<Part>, usage: Usage, why: &str) -> AssistantMessage {
        let whole = Whole { content, stop_reason: StopReason::Error };
        AssistantMessage { error_message: Some(why.to_owned()), ..self.message(whole, usage) }
    }
}
