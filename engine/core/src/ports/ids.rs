//! The ids of what comes into being while the engine runs.

use protocol::{LandingId, SessionId};

/// Makes ids that never repeat. Those of runs and tasks come with their specs.
pub trait Ids: Send + Sync {
    /// Returns the id of a new landing.
    fn landing(&self) -> LandingId;

    /// Returns the id of a new session.
    fn session(&self) -> SessionId;
}
