//! A ledger in memory.

use std::sync::Mutex;

use async_trait::async_trait;
use engine::ports::{LedgerError, LedgerStore};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};

/// Remembers every entry; fails on demand.
#[derive(Default)]
pub struct FakeLedger(Mutex<Record>);

#[derive(Default)]
struct Record {
    entries: Vec<LedgerEntry>,
    batches: usize,
    broken: Option<()>,
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

    /// Lets every write fail from now on.
    pub fn tear(&self) {
        self.0.lock().expect("no test panics with it").broken = Some(());
    }
}

#[async_trait]
impl LedgerStore for FakeLedger {
    async fn open_run(&self, run: &RunSpec, _at: Timestamp) -> Result<RunName, LedgerError> {
        Ok(RunName::of(run.id, RunName::SHORTEST))
    }

    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError> {
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
