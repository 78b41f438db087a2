//! A ledger in memory.

use std::sync::Mutex;

use async_trait::async_trait;
use engine::ports::{LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use tokio::sync::Notify;

/// Remembers every entry; fails on demand.
#[derive(Default)]
pub struct FakeLedger(Mutex<Record>, Notify);

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
        self.0.lock().expect("no test panics with it").entries.clone()
    }

    /// Returns how many syncs the entries took.
    pub fn batches(&self) -> usize {
        self.0.lock().expect("no test panics with it").batches
    }

    /// Lets the entry with which a landing begins wait until [`FakeLedger::let_go`].
    pub fn hold_landings(&self) {
        self.0.lock().expect("no test panics with it").held =
            Some(|entry| matches!(entry, LedgerEntry::LandingStarted { .. }));
    }

    /// Lets the entry with which a session begins wait until [`FakeLedger::let_go`].
    pub fn hold_sessions(&self) {
        self.0.lock().expect("no test panics with it").held =
            Some(|entry| matches!(entry, LedgerEntry::SessionStarted { .. }));
    }

    /// Writes what waits.
    pub fn let_go(&self) {
        self.1.notify_one();
    }

    fn holds(&self, entries: &[(Timestamp, LedgerEntry)]) -> bool {
        let held = self.0.lock().expect("no test panics with it").held;
        held.is_some_and(|held| entries.iter().any(|(_, entry)| held(entry)))
    }

    /// Lets every write fail from now on.
    pub fn tear(&self) {
        self.0.lock().expect("no test panics with it").broken = Some(());
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
        let name = RunName::of(run.id, RunName::SHORTEST);
        let held = lock.take(&name).map_err(|error| LedgerError {
            what: "lock the run".to_owned(),
            source: Box::new(error),
        })?;
        Ok((name, held))
    }

    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError> {
        if self.holds(&entries) {
            self.1.notified().await;
        }
        let mut record = self.0.lock().expect("no test panics with it");
        if record.broken.is_some() {
            let source = "it was torn".into();
            return Err(LedgerError { what: "write the ledger".to_owned(), source });
        }
        record.batches += 1;
        record.entries.extend(entries.into_iter().map(|(_, entry)| entry));
        Ok(())
    }
}
