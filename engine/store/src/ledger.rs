//! Implements the port of the ledger: sends requests to the writer thread, and waits until their
//! entries are durable.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use tokio::sync::oneshot;

use crate::connection;
use crate::error::LedgerCause;
use crate::reader::Reader;
use crate::writer::{self, Request};

/// The ledger, open for writing. Requests that wait at the same time share one sync.
///
/// Dropping it waits for pending requests.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    requests: Option<Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl Ledger {
    /// Opens the ledger at `path`. Creates the file and the folders above it, readable by this user
    /// only, and migrates an older file.
    ///
    /// # Errors
    /// The file cannot be created or read, is not a ledger, or was written by a newer version.
    pub fn open(path: impl Into<PathBuf>, faults: Faults) -> Result<Self, LedgerError> {
        let path = path.into();
        let failed = |cause: LedgerCause| cause.to_error("open", &path);
        let connection = connection::writable(&path).map_err(failed)?;
        let (requests, asked) = mpsc::channel();
        let writer = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || {
                let commits = writer::run(connection, &faults, &asked);
                tracing::debug!(commits, "the ledger is closed");
            })
            .map_err(|error| failed(LedgerCause::File(Arc::new(error))))?;
        Ok(Self { path, requests: Some(requests), writer: Some(writer) })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a reader of the same ledger.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader::open(&self.path)
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, LedgerCause>>) -> Request,
    ) -> Result<T, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.as_ref().is_some_and(|asked| asked.send(request(reply)).is_ok());
        let answer = if sent {
            answer.await.unwrap_or(Err(LedgerCause::Ended))
        } else {
            Err(LedgerCause::Ended)
        };
        answer.map_err(|cause| cause.to_error("write", &self.path))
    }
}

#[async_trait]
impl LedgerStore for Ledger {
    async fn open_run(
        &self,
        run: &RunSpec,
        at: Timestamp,
        lock: LockRun,
    ) -> Result<(RunName, RunLock), LedgerError> {
        let (run, lock) = (Box::new(run.clone()), Mutex::new(Some(lock)));
        self.ask(|reply| Request::Open { run, at, lock, reply }).await
    }

    async fn append(&self, entries: Vec<(Timestamp, LedgerEntry)>) -> Result<(), LedgerError> {
        self.ask(|reply| Request::Append { entries, reply }).await
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

#[cfg(test)]
mod tests;
