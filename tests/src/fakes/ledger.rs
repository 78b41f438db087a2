//! A ledger in memory, which folds its entries.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use engine::ports::{LedgerError, LedgerStore, LockRun, RunLock};
use engine::run::{RunRecord, totals};
use protocol::{FailureClass, LedgerEntry, RunId, RunName, RunSpec, TaskId, Timestamp};
use tokio::sync::Notify;

use super::{Failpoints, Step, Trace};

/// Remembers every entry; fails on demand.
#[derive(Default)]
pub struct FakeLedger {
    record: Mutex<Record>,
    released: Notify,
    /// The steps `open_run` and `append`.
    pub failpoints: Failpoints,
    pub(super) trace: Trace,
}

#[derive(Default)]
struct Record {
    entries: Vec<LedgerEntry>,
    /// Each run as the fold of its entries.
    runs: BTreeMap<RunId, RunRecord>,
    /// The run of each task.
    tasks: BTreeMap<TaskId, RunId>,
    slow: Option<()>,
    forgetful: Option<()>,
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

    /// Returns a run as the fold of its entries.
    pub fn run(&self, id: RunId) -> Option<RunRecord> {
        self.record.lock().expect("no test panics with it").runs.get(&id).cloned()
    }

    /// Keeps nothing from now on, as a ledger on a disk keeps nothing in memory: what the engine needs
    /// of it can be measured.
    pub fn forget(&self) {
        self.record.lock().expect("no test panics with it").forgetful = Some(());
    }

    /// Lets every write take so long from now on that a caller who does not wait for it is ahead of it.
    pub fn slow_down(&self) {
        self.record.lock().expect("no test panics with it").slow = Some(());
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

impl Record {
    /// Folds an entry. What a run says of itself at its end has to be what its entries come to.
    fn fold(&mut self, entry: &LedgerEntry) {
        let run = match entry {
            LedgerEntry::SessionStarted { task, .. }
            | LedgerEntry::TaskCaptured { task, .. }
            | LedgerEntry::TaskUsed { task, .. }
            | LedgerEntry::TaskFinished { task, .. }
            | LedgerEntry::TaskDiscarded { task }
            | LedgerEntry::ResolverFailed { task, .. }
            | LedgerEntry::TaskCollected { task } => self.tasks.get(task).copied(),
            LedgerEntry::TaskStarted { run, .. }
            | LedgerEntry::WorkVerified { run, .. }
            | LedgerEntry::LandingStarted { run, .. }
            | LedgerEntry::LandingFinished { run, .. }
            | LedgerEntry::RunFinished { run, .. }
            | LedgerEntry::RunWithdrawn { run }
            | LedgerEntry::RunInterrupted { run } => Some(*run),
        };
        let run = run.and_then(|run| self.runs.get_mut(&run));
        let run = run.expect("an entry concerns a run that was opened");
        if let LedgerEntry::RunFinished { totals: said, .. } = entry {
            assert_eq!(*said, totals(run, said.ms), "what a run comes to is in its entries");
        }
        run.apply(entry);
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
            class: FailureClass::Crashed,
            source: Box::new(error),
        })?;
        let mut record = self.record.lock().expect("no test panics with it");
        if record.forgetful.is_some() {
            return Ok((name, held));
        }
        record.tasks.extend(run.tasks.iter().map(|task| (task.id, run.id)));
        record.runs.insert(run.id, RunRecord::opened(name.clone(), run.clone()));
        Ok((name, held))
    }

    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError> {
        self.failpoints.reach("append").await;
        if self.holds(&entries) {
            self.released.notified().await;
        }
        let slow = self.record.lock().expect("no test panics with it").slow;
        for _ in slow.iter().cycle().take(100) {
            tokio::task::yield_now().await;
        }
        let mut record = self.record.lock().expect("no test panics with it");
        if record.broken.is_some() {
            let (what, source) = ("write the ledger".to_owned(), "it was torn".into());
            return Err(LedgerError { what, class: FailureClass::Crashed, source });
        }
        record.batches += 1;
        if record.forgetful.is_some() {
            return Ok(());
        }
        for (_, entry) in entries {
            record.fold(&entry);
            self.trace.note(Step::Wrote(Box::new(entry.clone())));
            record.entries.push(entry);
        }
        Ok(())
    }
}
