//! The lock that says that the engine of a run is alive.

use std::any::Any;

use protocol::RunName;

use super::IsolationError;

/// The lock of one run, held by its engine from before the ledger knows the run until it is over.
/// Whether it is held decides whether the run is still going on; no clock does. Dropping it
/// releases it.
pub struct RunLock(Box<dyn Any + Send>);

impl RunLock {
    /// Wraps what the isolation adapter holds.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }

    /// Returns what the adapter holds, if it is a `T`.
    #[must_use]
    pub fn into_held<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|held| *held)
    }
}

impl std::fmt::Debug for RunLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunLock")
    }
}

type Take = dyn FnOnce(&RunName) -> Result<RunLock, IsolationError> + Send;

/// Takes the lock of a run as soon as its name is chosen.
pub struct LockRun(Box<Take>);

impl LockRun {
    /// Locks a run as `take` does, which must not block for long: the ledger waits for it.
    pub fn new(
        take: impl FnOnce(&RunName) -> Result<RunLock, IsolationError> + Send + 'static,
    ) -> Self {
        Self(Box::new(take))
    }

    /// Locks nothing, for a record that no engine works at.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new(|_| Ok(RunLock::new(())))
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// The run's folder cannot be made or locked.
    pub fn take(self, run: &RunName) -> Result<RunLock, IsolationError> {
        (self.0)(run)
    }
}
