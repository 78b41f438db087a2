//! The ports for time and ids, which tests replace to make runs reproducible.

use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{LandingId, SessionId, Timestamp};

/// Returns the time of day. To measure durations, use a [`Timer`], whose time tests can pause.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Measures and waits for durations.
pub trait Timer: Send + Sync {
    /// Returns the time since some fixed moment. It never decreases.
    fn now(&self) -> Duration;

    /// Waits for at least `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// Generates unique ids. The ids of runs and tasks are part of their specifications.
pub trait Ids: Send + Sync {
    /// Returns the id of a new landing.
    fn landing(&self) -> LandingId;

    /// Returns the id of a new session.
    fn session(&self) -> SessionId;
}
