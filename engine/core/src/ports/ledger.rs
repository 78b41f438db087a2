//! The ledger: durable entries of runs, and the lock by which an engine owns a run.

use std::any::Any;

use async_trait::async_trait;
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};

use super::IsolationError;

/// Keeps the record. One writer in a process; several processes may share one ledger.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// Records a run with all its tasks queued, and returns the name it got, which is unique in
    /// the ledger, and its lock. Durable when it returns.
    ///
    /// The lock is taken when the name is chosen and before anybody else can read the record: a
    /// run in the ledger that is not over and whose lock is free has no engine any more.
    async fn open_run(
        &self,
        run: &RunSpec,
        at: Timestamp,
        lock: LockRun,
    ) -> Result<(RunName, RunLock), LedgerError>;

    /// Records transitions, all or none of them, with one sync. Durable when it returns.
    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError>;
}

/// Why the ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct LedgerError {
    /// What was attempted, with the ledger's path.
    pub what: String,
    /// What the database said.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

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
