//! The port for work that outlives the tool call that has begun it.

use futures_util::future::BoxFuture;

use super::CancelToken;

/// Runs work in the background of a session. It goes on when the call that has begun it has ended, and
/// ends with the task or session, before its workspace is sealed.
pub trait Background: Send + Sync {
    /// Returns a token that is cancelled when the task or session ends.
    fn stop(&self) -> CancelToken;

    /// Runs `work`.
    fn run(&self, work: BackgroundWork);
}

/// Work, and the text that the session gets as a follow-up when it has ended, if there is one.
pub type BackgroundWork = BoxFuture<'static, Option<String>>;
