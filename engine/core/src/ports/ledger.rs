//! The durable record of what runs did.

use async_trait::async_trait;
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};

use super::{LockRun, RunLock};

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
