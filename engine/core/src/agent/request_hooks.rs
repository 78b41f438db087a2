//! What the user of a session does with its requests.

use std::sync::Arc;

use crate::ports::ModelRequest;

/// Receives each request before it is sent.
pub type RequestListener = Arc<dyn Fn(&ModelRequest) + Send + Sync>;

/// What the user of a session does with its requests.
#[derive(Clone, Default)]
pub struct RequestHooks {
    /// Receives each request before it is sent, to find out what a model was told.
    pub listener: Option<RequestListener>,
}
