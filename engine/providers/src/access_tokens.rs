//! The tokens of logins, which expire and are renewed while a run goes on.

use futures_util::future::BoxFuture;
use protocol::Failure;

/// The token of a login.
pub trait AccessTokens: Send + Sync {
    /// Returns a token that can be sent. One that has expired is renewed first, and so is one that
    /// the provider no longer accepts: `rejected`.
    ///
    /// The failure says why there is none, without any token.
    fn access(&self, rejected: Option<String>) -> BoxFuture<'_, Result<String, Failure>>;
}
