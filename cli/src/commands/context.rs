//! What the commands that look at runs and captured work have to do with.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{Clock, IsolationError, LedgerStore};
use protocol::{CaptureRef, LedgerEntry, RunName};
use store::Reader;

use crate::boot::{Equipment, isolation_places};
use crate::error::Error;
use crate::render::{Typing, View};

/// Captured work, for those who look at it or throw it away.
pub trait CapturedWork: Send + Sync {
    /// Returns the work as a patch that `git apply` takes.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>, IsolationError>;

    /// Forgets the work. Succeeds if it is already gone.
    ///
    /// # Errors
    /// It cannot be forgotten.
    fn remove(&self, run: &RunName, capture: &CaptureRef) -> Result<(), IsolationError>;
}

impl CapturedWork for isolation::Captures {
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>, IsolationError> {
        self.diff(capture, &isolation::PathFilter::Everything)
    }

    fn remove(&self, run: &RunName, capture: &CaptureRef) -> Result<(), IsolationError> {
        self.remove(run, capture)
    }
}

/// One repository and the record of what was done in it.
#[derive(Clone)]
pub struct Context {
    /// The canonical root of the repository.
    pub root: PathBuf,
    /// Writes the ledger.
    pub ledger: Arc<dyn LedgerStore>,
    /// Reads the ledger.
    pub reader: Arc<Reader>,
    /// The work in the repository's task store.
    pub captured: Arc<dyn CapturedWork>,
    /// Where the logs and outputs of tasks are kept.
    pub artifacts: PathBuf,
    /// Tells the time of day.
    pub clock: Arc<dyn Clock>,
    /// What is shown where.
    pub view: View,
    /// How the commands that we print have to be typed.
    pub typing: Typing,
}

impl Context {
    /// Returns what is needed to look at runs over a repository and at their work.
    #[must_use]
    pub fn of(equipment: &Equipment, root: PathBuf, view: View, typing: Typing) -> Self {
        let places = isolation_places(&equipment.places);
        let captured = isolation::Captures::of(&root, &places);
        Self {
            root,
            ledger: Arc::clone(&equipment.ledger) as Arc<_>,
            reader: Arc::new(equipment.ledger.reader()),
            captured: Arc::new(captured),
            artifacts: equipment.places.all_artifacts(),
            clock: Arc::clone(&equipment.clock),
            view,
            typing,
        }
    }

    /// Writes down what happened, durably.
    pub(super) async fn record(&self, entries: Vec<LedgerEntry>) -> Result<(), Error> {
        let now = self.clock.now();
        let entries = entries.into_iter().map(|entry| (now, entry)).collect();
        Ok(self.ledger.append(entries).await?)
    }
}

/// Where a command writes its results.
pub type Out<'a> = &'a mut (dyn Write + Send);

/// Writes lines of results.
pub(super) fn say(out: Out<'_>, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}
