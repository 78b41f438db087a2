//! The runs of one repository: their ledger, and the work that was captured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use engine::landing::LedgerWriter;
use engine::ports::{Clock, IsolationError, LedgerError, LedgerStore};
use isolation::{CapturedWork, Captures};
use protocol::{LedgerEntry, RunName};
use store::{GateFiles, Reader};

use crate::app_context::{AppContext, isolation_places};

/// Finds the process of an engine, by the root of a repository and the name of a run over it.
pub type EngineOf = dyn Fn(&Path, &RunName) -> Option<u32> + Send + Sync;

/// The runs of one repository.
#[derive(Clone)]
pub struct RepositoryRuns {
    /// The canonical root of the repository.
    pub root: PathBuf,
    /// Writes the ledger.
    pub ledger: Arc<dyn LedgerStore>,
    /// Reads the ledger.
    pub reader: Arc<Reader>,
    /// The work in the repository's task store.
    pub captured: Arc<dyn CapturedWork>,
    /// Returns the id of the process whose engine does a run over the repository at a root, if it is known.
    pub engine_of: Arc<EngineOf>,
    /// What engines share about provider accounts.
    pub gates: GateFiles,
    /// Where the logs and outputs of tasks are kept.
    pub artifacts: PathBuf,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

impl RepositoryRuns {
    /// Returns the runs of the repository at `root`, a canonical path. The repository need not exist any
    /// more.
    #[must_use]
    pub fn of(app: &AppContext, root: PathBuf) -> Self {
        let isolation = isolation_places(&app.places);
        let captured = Captures::of(&root, &isolation);
        Self {
            root,
            ledger: Arc::clone(&app.ledger) as Arc<_>,
            reader: Arc::new(app.ledger.reader()),
            captured: Arc::new(captured),
            engine_of: Arc::new(move |root, run| isolation.engine_of(root, run)),
            gates: GateFiles::new(app.places.gates()),
            artifacts: app.places.all_artifacts(),
            clock: Arc::clone(&app.clock),
        }
    }

    /// Records entries in the ledger, durably.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn record(&self, entries: Vec<LedgerEntry>) -> Result<(), LedgerError> {
        let now = self.clock.now();
        let entries = entries.into_iter().map(|entry| (now, entry)).collect();
        self.ledger.append(entries).await
    }
}

#[async_trait]
impl LedgerWriter for RepositoryRuns {
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError> {
        self.ledger.append(vec![(self.clock.now(), entry)]).await
    }
}

/// Why the work of a run cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A run that was there a moment ago is not in the ledger any more.
    #[error("the ledger has lost run {0}")]
    LostRun(RunName),
    /// The run has not ended.
    #[error("run {0} is still running")]
    StillRunning(RunName),
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The task store or the repository cannot be read or written.
    #[error(transparent)]
    Captures(#[from] IsolationError),
}
