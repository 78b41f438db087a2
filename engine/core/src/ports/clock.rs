//! The time of day.

use protocol::Timestamp;

/// Tells the time of day. Durations are measured with the runtime's clock, which tests can pause.
pub trait Clock: Send + Sync {
    /// Returns the present time.
    fn now(&self) -> Timestamp;
}
