//! The port by which a tool call waits for something that is not the work of its session.

use async_trait::async_trait;
use futures_util::future::BoxFuture;

/// Lets a session wait.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Waits for `work`. Meanwhile the time limit of the session's task stands still, and others use its
    /// permit. Returns when `work` has ended and the task has a permit again.
    async fn during(&self, work: BoxFuture<'_, ()>);
}
