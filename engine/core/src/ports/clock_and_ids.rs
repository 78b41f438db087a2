//! Time and fresh ids: what must not depend on the machine when a run is replayed.

use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{LandingId, SessionId, Timestamp};

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

/// Makes ids that never repeat. Those of runs and tasks come with their specs.
pub trait Ids: Send + Sync {
    /// Returns the id of a new landing.
    fn landing(&self) -> LandingId;

    /// Returns the id of a new session.
    fn session(&self) -> SessionId;
}
