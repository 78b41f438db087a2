//! Who is told what happens in a session.

use protocol::SessionEvent;

/// Told what happens in a session, as it happens.
pub trait Listener: Send + Sync {
    /// Something happened. Deltas come often, and of any size.
    fn event(&self, event: SessionEvent);
}
