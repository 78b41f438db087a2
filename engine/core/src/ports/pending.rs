//! The port for actions that a tool leaves pending: its result shows what it would do, and the tool `resolve`
//! applies or discards it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{ToolContext, ToolOutcome};

/// What a tool would do. It is applied at most once.
#[async_trait]
pub trait PendingAction: Send + Sync {
    /// Returns the name of the tool that has left it.
    fn tool(&self) -> &str;

    /// Returns the paths that it changes, from the root of the working tree.
    fn paths(&self) -> Vec<String>;

    /// Returns the change as a unified diff that a person can judge it by: whole, or not at all.
    fn diff(&self) -> Option<String>;

    /// Does it, unless what it is about has changed since it was left.
    async fn apply(&self, context: &ToolContext) -> ToolOutcome;
}

/// The pending action of a session, of which there is at most one.
#[derive(Clone, Default)]
pub struct PendingSlot(Arc<Mutex<Option<Arc<dyn PendingAction>>>>);

impl PendingSlot {
    /// Leaves an action. It replaces the one before, which is discarded.
    pub fn leave(&self, action: Arc<dyn PendingAction>) {
        *self.lock() = Some(action);
    }

    /// Returns the action, which stays.
    #[must_use]
    pub fn get(&self) -> Option<Arc<dyn PendingAction>> {
        self.lock().clone()
    }

    /// Takes the action out.
    #[must_use]
    pub fn take(&self) -> Option<Arc<dyn PendingAction>> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<dyn PendingAction>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
