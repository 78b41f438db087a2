//! Writes session logs on a pool of threads. A thread writes all waiting entries, then syncs their
//! files. After the first error of a log, nothing more is written to it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use engine::fault::Faults;
use protocol::{SessionEntry, Timestamp};
use tokio::sync::oneshot;

use super::error::LogCause;
use super::line::{self, EntryIds};

/// An open and locked log. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LogWriter {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) ids: EntryIds,
    /// The id of the last entry.
    pub(super) leaf: Option<String>,
    /// Whether the name of the file is durable.
    pub(super) name: Name,
    /// The first error; nothing is written after it.
    pub(super) failed: Option<LogCause>,
}

/// Whether the directory entry of a log survives a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Durable,
    Fresh,
}

/// The step that has to follow the writing of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// No step: the entry is synced with the next message.
    Nothing,
    /// The file has to be synced.
    Sync,
}

impl LogWriter {
    /// Writes an entry.
    pub(super) fn write(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<Due, LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        self.add(faults, at, entry).map_err(|trouble| self.fail(trouble))
    }

    fn add(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<Due, LogCause> {
        faults.failpoint("session.append")?;
        let id = self.ids.next();
        let line = line::entry(&id, self.leaf.as_deref(), at, entry)?;
        self.file.write_all(&line)?;
        self.leaf = Some(id);
        Ok(match entry {
            SessionEntry::Message { .. } => Due::Sync,
            SessionEntry::SessionInit { .. } | SessionEntry::ModelChange { .. } => Due::Nothing,
        })
    }

    /// Syncs the content of the file, but not its name.
    pub(super) fn sync(&mut self, faults: &Faults) -> Result<(), LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        let synced = faults.failpoint("session.sync").and_then(|()| self.file.sync_data());
        synced.map_err(|error| self.fail(error.into()))
    }

    /// Returns the folders that have to be synced to make the name of the file durable.
    pub(super) fn fresh_folders(&self) -> Vec<PathBuf> {
        match self.name {
            Name::Durable => Vec::new(),
            Name::Fresh => {
                let folders = self.path.ancestors().skip(1).take(2);
                folders
                    .filter(|folder| !folder.as_os_str().is_empty())
                    .map(Path::to_owned)
                    .collect()
            }
        }
    }

    /// Records that the name of the file is durable.
    pub(super) fn set_name_durable(&mut self) {
        self.name = Name::Durable;
    }

    /// Stores the first error of the log, and returns it.
    pub(super) fn fail(&mut self, trouble: LogCause) -> LogCause {
        tracing::error!(path = %self.path.display(), %trouble, "a session log was not written");
        self.failed = Some(trouble.clone());
        trouble
    }
}

/// The number of threads: enough that one slow sync does not delay all sessions.
const THREADS: usize = 4;

/// The most entries in one batch.
const MAX_BATCH: usize = 256;

/// The request to write one entry.
pub(super) struct WriteRequest {
    pub(super) writing: Arc<Mutex<LogWriter>>,
    pub(super) faults: Faults,
    pub(super) at: Timestamp,
    pub(super) entry: SessionEntry,
    pub(super) done: oneshot::Sender<WriteResult>,
}

/// The result of a request: the result of writing, or a panic to resume in the session.
pub(super) type WriteResult = Result<Result<(), LogCause>, Box<dyn Any + Send>>;

/// A handle to the pool of writing threads. A thread starts when a log first needs its queue, and
/// ends when all handles and queues are dropped.
#[derive(Clone, Default)]
pub(super) struct WriterPool(Arc<[OnceLock<Sender<WriteRequest>>; THREADS]>);

impl WriterPool {
    /// Returns the queue of the thread that writes the log at `path`. The same path always gets the
    /// same thread, so that the entries of a log keep their order.
    pub(super) fn queue_for(&self, path: &Path) -> io::Result<Sender<WriteRequest>> {
        let bytes = path.as_os_str().as_encoded_bytes().iter();
        let sum =
            bytes.fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        let place = &self.0[sum % THREADS];
        if let Some(queue) = place.get() {
            return Ok(queue.clone());
        }
        let (sender, queue) = mpsc::channel();
        let builder = thread::Builder::new().name("session-logs".to_owned());
        builder.spawn(move || work(&queue))?;
        // If a concurrent call has set the queue first, this sender is dropped, which ends the
        // thread that was just started.
        Ok(place.get_or_init(|| sender).clone())
    }
}

fn work(queue: &Receiver<WriteRequest>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH
            && let Ok(next) = queue.try_recv()
        {
            batch.push(next);
        }
        write_batch(batch);
    }
}

/// Writes a batch of entries, and then syncs their files and folders.
fn write_batch(batch: Vec<WriteRequest>) {
    let written: Vec<_> = batch.iter().map(write_entry).collect();
    let mut folders = BTreeMap::new();
    for (request, written) in batch.into_iter().zip(written) {
        let done = match written {
            Ok(Ok(Due::Sync)) => catch_panic(|| sync(&request, &mut folders)),
            Ok(Ok(Due::Nothing)) => Ok(Ok(())),
            Ok(Err(trouble)) => Ok(Err(trouble)),
            Err(panic) => Err(panic),
        };
        // This reference to the log is dropped before the session is notified: the session may
        // then close the log, and its lock must be released.
        drop(request.writing);
        let _stopped = request.done.send(done);
    }
}

fn write_entry(request: &WriteRequest) -> Result<Result<Due, LogCause>, Box<dyn Any + Send>> {
    catch_panic(|| locked(&request.writing).write(&request.faults, request.at, &request.entry))
}

/// Runs a step for one session, and returns its panic as an error. The panic is resumed in that
/// session only. `AssertUnwindSafe` is sound here, because a step that panics leaves no partial
/// state behind that another session could take for a success.
fn catch_panic<T>(step: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    panic::catch_unwind(AssertUnwindSafe(step))
}

fn locked(writing: &Arc<Mutex<LogWriter>>) -> std::sync::MutexGuard<'_, LogWriter> {
    writing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs a log, and the folders above it if its name is not durable yet.
fn sync(
    request: &WriteRequest,
    folders: &mut BTreeMap<PathBuf, Result<(), LogCause>>,
) -> Result<(), LogCause> {
    let mut writing = locked(&request.writing);
    writing.sync(&request.faults)?;
    for folder in writing.fresh_folders() {
        let synced = folders.entry(folder).or_insert_with_key(|folder| {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(LogCause::from)
        });
        synced.clone().map_err(|trouble| writing.fail(trouble))?;
    }
    writing.set_name_durable();
    Ok(())
}
