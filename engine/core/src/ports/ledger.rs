//! The port for the ledger, the durable record of all runs, and for the lock by which an engine
//! owns a run.

use std::any::Any;

use async_trait::async_trait;
use protocol::{Failure, FailureClass, LedgerEntry, RunName, RunSpec, Timestamp, error_chain};

use super::IsolationError;

/// Writes the ledger. Each process has one writer; several processes may share a ledger.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// Records a run with all its tasks queued. Returns its lock and its name, which is unique in
    /// the ledger. The record is durable when the future completes.
    ///
    /// The lock is taken before other processes can read the record. An unfinished run in the
    /// ledger whose lock is free therefore has no engine any more.
    async fn open_run(
        &self,
        run: &RunSpec,
        at: Timestamp,
        lock: LockRun,
    ) -> Result<(RunName, RunLock), LedgerError>;

    /// Records all entries or none, with one sync. They are durable when the future completes.
    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError>;
}

/// Why the ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct LedgerError {
    /// What was attempted, including the path of the ledger.
    pub what: String,
    /// The class of the failure: whether room ran out, or something else is wrong.
    pub class: FailureClass,
    /// The error of the database.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl LedgerError {
    /// Returns the failure of what cannot go on without the ledger.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.class, error_chain(self))
    }
}

/// The lock of one run. The engine holds it from before the run is in the ledger until the run is
/// over, so that a run is known to be running while its lock is held. Dropping it releases the
/// lock.
pub struct RunLock(Box<dyn Any + Send + Sync>);

impl RunLock {
    /// Wraps the value that the isolation adapter uses as a lock.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Box::new(held))
    }

    /// Returns the wrapped value, if it is a `T`.
    #[must_use]
    pub fn into_held<T: Any>(self) -> Option<T> {
        (self.0 as Box<dyn Any>).downcast().ok().map(|held| *held)
    }
}

impl std::fmt::Debug for RunLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunLock")
    }
}

type Take = dyn FnOnce(&RunName) -> Result<RunLock, IsolationError> + Send;

/// A function that takes the lock of a run as soon as the run has a name.
pub struct LockRun(Box<Take>);

impl LockRun {
    /// Wraps `take`. It must not block for long, because the ledger waits for it.
    pub fn new(
        take: impl FnOnce(&RunName) -> Result<RunLock, IsolationError> + Send + 'static,
    ) -> Self {
        Self(Box::new(take))
    }

    /// Returns a function that locks nothing, for a run that no engine runs.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new(|_| Ok(RunLock::new(())))
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// The folder of the run cannot be created or locked.
    pub fn take(self, run: &RunName) -> Result<RunLock, IsolationError> {
        (self.0)(run)
    }
}
