//! Session logs as the engine sees them: what blocks is done on threads that may.

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs};
use protocol::{SessionEntry, Timestamp};
use tokio::sync::oneshot;
use tokio::task;

use super::open::open;
use super::scribes::{Job, Scribes};
use super::trouble::Trouble;
use super::writing::Writing;

/// How long one who opens a log waits for one who is at it. A disk can take its time over a sync.
const PATIENCE: Duration = Duration::from_secs(10);

/// Session logs, each a file of its own.
///
/// A log is locked while it is open. A message is durable when it was appended; the few entries
/// that are no messages are with the first message after them, and survive the end of the process
/// at once.
#[derive(Clone)]
pub struct SessionLogFiles {
    faults: Faults,
    patience: Duration,
    scribes: Scribes,
}

/// One of them, open.
struct SessionLogFile {
    path: PathBuf,
    faults: Faults,
    scribe: Sender<Job>,
    writing: Arc<Mutex<Writing>>,
}

impl SessionLogFiles {
    /// Returns the means to open session logs.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        Self { faults, patience: PATIENCE, scribes: Scribes::default() }
    }

    #[cfg(test)]
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

#[async_trait]
impl SessionLogs for SessionLogFiles {
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let (place, patience) = (path.to_owned(), self.patience);
        let opened = blocking(move || open(&place, &header, patience)).await;
        let opened = opened.map_err(|trouble| trouble.to_error("open", path))?;
        let scribe = self.scribes.of(path);
        let scribe = scribe.map_err(|error| Trouble::from(error).to_error("open", path))?;
        let log = SessionLogFile {
            path: path.to_owned(),
            faults: self.faults.clone(),
            scribe,
            writing: Arc::new(Mutex::new(opened.writing)),
        };
        let (session, messages, model) = (opened.session, opened.messages, opened.model);
        Ok(OpenedLog { session, messages, model, log: Box::new(log) })
    }
}

#[async_trait]
impl SessionLog for SessionLogFile {
    async fn append(&mut self, at: Timestamp, entry: SessionEntry) -> Result<(), SessionLogError> {
        let (writing, faults) = (Arc::clone(&self.writing), self.faults.clone());
        let (done, waiting) = oneshot::channel();
        // A scribe that is gone gives the job back: dropped, it is the answer.
        drop(self.scribe.send(Job { writing, faults, at, entry, done }));
        let appended = match waiting.await {
            Ok(Ok(appended)) => appended,
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(_gone) => Err(Trouble::Ending),
        };
        appended.map_err(|trouble| trouble.to_error("write", &self.path))
    }
}

/// Does what blocks. It is done to its end even when nobody waits for it any more; its panics are
/// the caller's.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    match task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => panic::resume_unwind(panic),
            Err(_cancelled) => Err(Trouble::Ending),
        },
    }
}
