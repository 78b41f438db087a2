//! Who is told what happens in a session.

use protocol::SessionEvent;

/// Told what happens in a session, as it happens.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn event(&self, event: SessionEvent);

    /// The model says this, or a tool prints it. Comes often, in pieces of any size.
    fn words(&self, words: &str);

    /// The model has begun to call a tool.
    fn calling(&self, tool: &str);

    /// The request waits for this before it is sent.
    fn waiting(&self, what: &str);
}
