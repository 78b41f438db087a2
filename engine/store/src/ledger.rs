//! The ledger as the engine sees it: asks the writing thread, and waits until it is durable.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use tokio::sync::oneshot;

use crate::cause::Cause;
use crate::connection;
use crate::reader::Reader;
use crate::writer::{self, Request};

/// The ledger, open for writing. Requests that wait at the same time share one sync.
///
/// Dropping it waits for what is being written.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    requests: Option<Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl Ledger {
    /// Opens the ledger at `path`. Makes the file and the folders that lead to it where they are
    /// missing, readable by this user only, and brings an older file to the present version.
    ///
    /// # Errors
    /// The file cannot be made or read, is no ledger, or was written by a newer version.
    pub fn open(path: impl Into<PathBuf>, faults: Faults) -> Result<Self, LedgerError> {
        let path = path.into();
        let failed = |cause: Cause| cause.to_error("open", &path);
        let connection = connection::writable(&path).map_err(failed)?;
        let (requests, asked) = mpsc::channel();
        let writer = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer::write(connection, &faults, &asked))
            .map_err(|error| failed(Cause::File(Arc::new(error))))?;
        Ok(Self { path, requests: Some(requests), writer: Some(writer) })
    }

    /// Returns where the ledger is.
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
        request: impl FnOnce(oneshot::Sender<Result<T, Cause>>) -> Request,
    ) -> Result<T, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.as_ref().is_some_and(|asked| asked.send(request(reply)).is_ok());
        let answer =
            if sent { answer.await.unwrap_or(Err(Cause::Ended)) } else { Err(Cause::Ended) };
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
