//! What the actor of a server publishes.

use std::sync::Arc;

use engine::mcp::ServerPhase;
use engine::ports::{McpConnection, McpOffer};

/// What a server is at this moment.
#[derive(Clone, Default)]
pub(super) struct ServerSnapshot {
    pub(super) phase: ServerPhase,
    /// The connection, if it is ready, and its number.
    pub(super) connection: Option<(u64, Arc<dyn McpConnection>)>,
    /// What it offers, or offered when it was last used.
    pub(super) offer: Option<Arc<McpOffer>>,
    /// Why it has failed the last time, if it is not ready since.
    pub(super) error: Option<Arc<str>>,
    /// The number of changes of the offer.
    pub(super) version: u64,
}
