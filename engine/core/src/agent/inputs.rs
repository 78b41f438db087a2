//! What users give a session while it works.

use async_trait::async_trait;
use protocol::{ModelRoute, UserInput};

use crate::ports::ToolChoice;
use crate::request::ModelClient;

/// Hands the loop what users have given its session. What was handed out does not come again.
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Returns what counts from the next request on.
    async fn before_request(&self) -> Boundary;

    /// Returns what is to be said to a model that would stop now; nothing if it may stop.
    async fn before_stop(&self) -> Option<UserInput>;
}

/// What counts from a request on.
#[derive(Default)]
pub struct Boundary {
    /// Another model.
    pub model: Option<Model>,
    /// What is said to the model before it is asked.
    pub steering: Vec<UserInput>,
}

/// A model, and what answers for it.
#[derive(Clone)]
pub struct Model {
    /// Which model.
    pub route: ModelRoute,
    /// Asks it.
    pub client: ModelClient,
}

/// An input that begins work, and how free the model is in its first answer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is said.
    pub input: UserInput,
    /// Whether the model has to call something.
    pub choice: ToolChoice,
}

impl Prompt {
    /// Returns a prompt that leaves the model free.
    #[must_use]
    pub fn free(input: UserInput) -> Self {
        Self { input, choice: ToolChoice::Free }
    }
}
