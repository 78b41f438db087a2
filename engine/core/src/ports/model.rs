//! Having a model answer.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use protocol::{AssistantMessage, Failure, Message, ModelRoute, SessionId};

use super::ToolDeclaration;

/// Knows where models are had.
pub trait Models: Send + Sync {
    /// Returns what answers for a model. Sends nothing.
    ///
    /// # Errors
    /// Why it cannot be asked: an unknown provider, no key, a script that cannot be read.
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure>;
}

/// Answers for one model.
pub trait Provider: Send + Sync {
    /// Asks the model. The stream ends with [`ModelEvent::Ended`] or [`ModelEvent::Failed`], and
    /// nothing follows; dropping it gives the answer up. What may work a moment later is tried
    /// again by the provider itself.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// An answer as it comes.
pub type ModelStream = Pin<Box<dyn Stream<Item = ModelEvent> + Send>>;

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The session that asks.
    pub session: SessionId,
    /// What the model is told before everything else.
    pub system: Arc<str>,
    /// The conversation so far. Every call in it has its result.
    pub messages: Vec<Arc<Message>>,
    /// What it may call.
    pub tools: Arc<[ToolDeclaration]>,
    /// Whether it has to call something.
    pub choice: ToolChoice,
}

/// Whether a model has to call a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Free,
    /// This one.
    Force(String),
}

/// A piece of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More words for the user.
    Text(String),
    /// More words for itself.
    Thinking(String),
    /// It begins to call this tool; with which arguments is told at the end.
    Calling(String),
    /// What came so far is void: the provider asks again.
    Retrying {
        /// Counts the attempts from 1.
        attempt: u32,
        /// How long it waits before.
        after: Duration,
        /// Why.
        why: Failure,
    },
    /// The whole answer.
    Ended(AssistantMessage),
    /// There will be no whole answer.
    Failed {
        /// Why.
        failure: Failure,
        /// What came of it; its stop reason is an error.
        partial: AssistantMessage,
    },
}
