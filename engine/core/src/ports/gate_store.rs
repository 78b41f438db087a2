//! The port for what the engines of a user share about provider accounts.

use std::time::Duration;

use async_trait::async_trait;

use super::AccountId;

/// Keeps what the engines of a user share about provider accounts. It is for the moment only and
/// need not be durable.
#[async_trait]
pub trait GateStore: Send + Sync {
    /// Runs a step that may block for a moment where it holds up nobody. If it panics, it is dropped.
    async fn run(&self, step: Box<dyn FnOnce() + Send>);

    /// Joins the engines that use an account. Blocks for a moment.
    ///
    /// # Errors
    /// Nothing can be shared, for instance because a folder cannot be written.
    fn join(&self, account: &AccountId) -> Result<Box<dyn SharedAccount>, GateStoreError>;
}

/// The membership of one gate among those that use an account. It ends when it is dropped, or with
/// its process.
pub trait SharedAccount: Send {
    /// Returns the name of this member, which no other has or had.
    fn member(&self) -> &str;

    /// Returns the time by a clock that all members have in common. It never decreases.
    fn now(&self) -> Duration;

    /// Calls `change` once with the shared bytes, which nobody else changes meanwhile, and keeps what
    /// it returns. There are no bytes at first. Blocks for a moment.
    ///
    /// # Errors
    /// The bytes cannot be read or written, or another member does not let go of them. `change` may
    /// have been called.
    fn update(&mut self, change: &mut Change<'_>) -> Result<(), GateStoreError>;
}

/// A change of the shared bytes. The second argument returns whether a member is still there.
pub type Change<'a> = dyn FnMut(&[u8], &dyn Fn(&str) -> bool) -> Vec<u8> + 'a;

/// Why nothing can be shared about an account, as a fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateStoreError(pub String);
