//! A ledger in memory.

use std::sync::Mutex;

use async_trait::async_trait;
use engine::ports::{LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use tokio::sync::Notify;

use super::Failpoints;

/// Remembers every entry; fails on demand.
#[derive(Default)]
pub struct FakeLedger {
    record: Mutex<Record>,
    released: Notify,
    /// The steps `open_run` and `append`.
    pub failpoints: Failpoints,
}

#[derive(Default)]
struct Record {
    entries: Vec<LedgerEntry>,
    batches: usize,
    broken: Option<()>,
    /// The entries that have to wait.
    held: Option<fn(&LedgerEntry) -> bool>,
}

impl FakeLedger {
    /// Returns every entry, in the order in which it was written.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        self.record.lock().expect("no test panics with it").entries.clone()
    }

    /// Returns how many syncs the entries took.
    pub fn batches(&self) -> usize {
        self.record.lock().expect("no test panics with it").batches
    }

    /// Lets the entry with which a landing begins wait until [`FakeLedger::let_go`].
    pub fn hold_landings(&self) {
        self.record.lock().expect("no test panics with it").held =
            Some(|entry| matches!(entry, LedgerEntry::LandingStarted { .. }));
    }

    /// Lets the entry with which a session begins wait until [`FakeLedger::let_go`].
    pub fn hold_sessions(&self) {
        self.record.lock().expect("no test panics with it").held =
            Some(|entry| matches!(entry, LedgerEntry::SessionStarted { .. }));
    }

    /// Writes what waits.
    pub fn let_go(&self) {
        self.released.notify_one();
    }

    fn holds(&self, entries: &[(Timestamp, LedgerEntry)]) -> bool {
        let held = self.record.lock().expect("no test panics with it").held;
        held.is_some_and(|held| entries.iter().any(|(_, entry)| held(entry)))
    }

    /// Lets every write fail from now on.
    pub fn tear(&self) {
        self.record.lock().expect("no test panics with it").broken = Some(());
    }
}

#[async_trait]
impl LedgerStore for FakeLedger {
    async fn open_run(
        &self,
        run: &RunSpec,
        _at: Timestamp,
        lock: LockRun,
    ) -> Result<(RunName, RunLock), LedgerError> {
        self.failpoints.reach("open_run").await;
        let name = RunName::of(run.id, RunName::SHORTEST);
        let held = lock.take(&name).map_err(|error| LedgerError {
            what: "lock the run".to_owned(),
            source: Box::new(error),
        })?;
        Ok((name, held))
    }

    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError> {
        self.failpoints.reach("append").await;
        if self.holds(&entries) {
            self.released.notified().await;
        }
        let mut record = self.record.lock().expect("no test panics with it");
        if record.broken.is_some() {
            let source = "it was torn".into();
            return Err(LedgerError { what: "write the ledger".to_owned(), source });
        }
        record.batches += 1;
        record.entries.extend(entries.into_iter().map(|(_, entry)| entry));
        Ok(())
    }
}
