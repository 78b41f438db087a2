//! What the user of a session does with its requests.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::Message;

use crate::ports::ModelRequest;

/// Changes the messages of each request. The conversation and its log stay as they are.
#[async_trait]
pub trait MessageTransformer: Send + Sync {
    /// Returns the messages for the model. They still have their attachments.
    ///
    /// # Errors
    /// The request is not sent, and the work fails with this text.
    async fn transform(&self, messages: Vec<Arc<Message>>) -> Result<Vec<Arc<Message>>, String>;
}

/// Receives each request before it is sent.
pub type RequestListener = Arc<dyn Fn(&ModelRequest) + Send + Sync>;

/// What the user of a session does with its requests.
#[derive(Clone, Default)]
pub struct RequestHooks {
    /// Changes the messages of each request.
    pub transformer: Option<Arc<dyn MessageTransformer>>,
    /// Receives each request before it is sent, to find out what a model was told.
    pub listener: Option<RequestListener>,
}
