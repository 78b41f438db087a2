//! Time: what it is, and waiting.

use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::Timestamp;

/// Tells the time of day. Durations are measured by a [`Timer`], whose time tests can pause.
pub trait Clock: Send + Sync {
    /// Returns the present time.
    fn now(&self) -> Timestamp;
}

/// Measures durations and waits.
pub trait Timer: Send + Sync {
    /// Returns how much time has passed since some fixed moment. Never goes back.
    fn now(&self) -> Duration;

    /// Waits for at least `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
