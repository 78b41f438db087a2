//! The port of session logs: opens and writes them on threads for blocking work.

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

use super::error::LogCause;
use super::log_writer::{LogWriter, WriteRequest, WriterPool};
use super::open::{Opened, open};

/// How long opening waits for the lock of a log. The process that holds the lock may be waiting for
/// a slow sync.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Session logs, each in a file of its own.
///
/// A log is locked while it is open. A message is durable once `append` has returned. Other entries
/// are synced together with the next message. Until then they survive the end of the process, but
/// not a power failure.
#[derive(Clone)]
pub struct SessionLogFiles {
    faults: Faults,
    lock_timeout: Duration,
    writers: WriterPool,
}

/// An open session log.
struct SessionLogFile {
    path: PathBuf,
    faults: Faults,
    queue: Sender<WriteRequest>,
    writing: Arc<Mutex<LogWriter>>,
}

impl SessionLogFiles {
    /// Returns the port of session logs.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        Self { faults, lock_timeout: LOCK_TIMEOUT, writers: WriterPool::default() }
    }

    #[cfg(test)]
    pub(super) fn with_lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }
}

#[async_trait]
impl SessionLogs for SessionLogFiles {
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let (place, lock_timeout) = (path.to_owned(), self.lock_timeout);
        let writers = self.writers.clone();
        let opened = blocking(move || {
            // It comes first, because it restores what a power cut has taken from the log.
            let journal = writers.journal_of(&place);
            let opened = open(&place, &header, lock_timeout)?;
            Ok(Opened { writer: LogWriter { journal, ..opened.writer }, ..opened })
        })
        .await;
        let opened = opened.map_err(|trouble| trouble.to_error("open", path))?;
        let queue = self.writers.queue_for(path);
        let queue = queue.map_err(|error| LogCause::from(error).to_error("open", path))?;
        let log = SessionLogFile {
            path: path.to_owned(),
            faults: self.faults.clone(),
            queue,
            writing: Arc::new(Mutex::new(opened.writer)),
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
        // If the writing thread has ended, `send` returns the request. Dropping the request drops
        // `done`, and `waiting` then yields an error.
        drop(self.queue.send(WriteRequest { writing, faults, at, entry, done }));
        let appended = match waiting.await {
            Ok(Ok(appended)) => appended,
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(_gone) => Err(LogCause::Ending),
        };
        appended.map_err(|trouble| trouble.to_error("write", &self.path))
    }
}

/// Runs blocking work. The work completes even if the caller drops the future. A panic of the work
/// is resumed in the caller.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LogCause> + Send + 'static,
) -> Result<T, LogCause> {
    match task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => panic::resume_unwind(panic),
            Err(_cancelled) => Err(LogCause::Ending),
        },
    }
}
