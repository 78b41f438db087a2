//! The port of session logs: opens and writes them on threads for blocking work.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs};
use engine::session::{MovePreview, Moved, SessionMove, SessionTree};
use group_log::LockedFile;
use protocol::{EntryId, SessionEntry, Timestamp};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task;

use super::blobs::BlobFolder;
use super::error::LogCause;
use super::loaded::{Keep, Loaded, load};
use super::log_writer::{Addition, LogWriter, is_alone, write_alone};
use super::open::{Durability, LogOptions, Opened};
use super::writer_pool::{WriteRequest, WriterPool};

/// How long opening waits for the lock of a log. The process that holds the lock may be waiting for
/// a slow sync.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Session logs, each in a file of its own.
///
/// A log is locked while it is open. A log that is open alone is written on the thread that asks for
/// it, by [`block_in_place`](task::block_in_place) where the runtime has several; those of many
/// sessions on threads of their own, which share their syncs. A message is durable once `append` has returned. Other entries
/// are synced together with the next message. Until then they survive the end of the process, but
/// not a power failure.
#[derive(Clone)]
pub struct SessionLogFiles {
    options: LogOptions,
    writers: WriterPool,
}

/// An open session log.
struct SessionLogFile {
    path: PathBuf,
    options: LogOptions,
    queue: Sender<WriteRequest>,
    writing: Arc<Mutex<LogWriter>>,
}

impl SessionLogFiles {
    /// Returns the port of session logs.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        let (lock_timeout, durability) = (LOCK_TIMEOUT, Durability::EachMessage);
        let options = LogOptions { faults, blobs: None, lock_timeout, durability };
        Self { options, writers: WriterPool::default() }
    }

    /// Returns the port with a place in which what is too large for a log is kept whole.
    #[must_use]
    pub fn with_blobs(self, blobs: BlobFolder) -> Self {
        Self { options: LogOptions { blobs: Some(blobs), ..self.options }, ..self }
    }

    /// Returns the port with another moment at which messages are durable.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { options: LogOptions { durability, ..self.options }, ..self }
    }

    /// Returns the port with another time to wait for the lock of a log.
    #[must_use]
    pub fn with_lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { options: LogOptions { lock_timeout, ..self.options }, ..self }
    }
}

#[async_trait]
impl SessionLogs for SessionLogFiles {
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let (place, options) = (path.to_owned(), self.options.clone());
        let writers = self.writers.clone();
        let opened = blocking(move || {
            // It comes first, because it restores what a power cut has taken from the log.
            let journal = writers.journal_of(&place);
            let opened = options.open(&place, &header)?;
            Ok(Opened { writer: LogWriter { journal, ..opened.writer }, ..opened })
        })
        .await;
        let opened = opened.map_err(|trouble| trouble.to_error("open", path))?;
        let Opened { session, context, damage, writer } = opened;
        let queue = self.writers.queue_for(path);
        let queue = queue.map_err(|error| LogCause::from(error).to_error("open", path))?;
        let log = SessionLogFile {
            path: path.to_owned(),
            options: self.options.clone(),
            queue,
            writing: Arc::new(Mutex::new(writer)),
        };
        Ok(OpenedLog { session, context, damage, log: Box::new(log) })
    }
}

#[async_trait]
impl SessionLog for SessionLogFile {
    async fn append(
        &mut self,
        at: Timestamp,
        entry: SessionEntry,
    ) -> Result<EntryId, SessionLogError> {
        self.add(at, Addition::Entry(entry)).await
    }

    async fn preview(&mut self, target: Option<EntryId>) -> Result<MovePreview, SessionLogError> {
        let (path, blobs) = (self.path.clone(), self.options.blobs.clone());
        let read = blocking(move || match File::open(&path) {
            Ok(file) => match load(file, Keep::Entries)? {
                Loaded::Session(mut session) => {
                    Ok(session.preview(target.as_ref(), blobs.as_ref())?)
                }
                Loaded::Empty | Loaded::Other => Err(LogCause::Replaced),
            },
            // Nothing was said yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let empty = SessionTree::<()>::default();
                Ok(MovePreview::of(&empty, target.as_ref(), |_place| None)?)
            }
            Err(error) => Err(error.into()),
        });
        read.await.map_err(|trouble| trouble.to_error("read", &self.path))
    }

    async fn go_to(&mut self, at: Timestamp, to: SessionMove) -> Result<Moved, SessionLogError> {
        let entry = self.add(at, Addition::Move(to)).await?;
        let (path, blobs) = (self.path.clone(), self.options.blobs.clone());
        let read = blocking(move || match load(File::open(&path)?, Keep::Entries)? {
            Loaded::Session(mut session) => Ok(session.context(blobs.as_ref())),
            Loaded::Empty | Loaded::Other => Err(LogCause::Replaced),
        });
        let context = read.await.map_err(|trouble| trouble.to_error("read", &self.path))?;
        Ok(Moved { entry, context })
    }
}

impl SessionLogFile {
    async fn add(&self, at: Timestamp, addition: Addition) -> Result<EntryId, SessionLogError> {
        let appended = if can_block() && is_alone(&self.writing) {
            // Nobody shares the sync, so that another thread would only add its start.
            task::block_in_place(|| write_alone(&self.writing, &self.options.faults, at, &addition))
        } else {
            self.send(at, addition).await
        };
        appended.map_err(|trouble| trouble.to_error("write", &self.path))
    }

    /// Lets a writing thread write an entry, and waits for it.
    async fn send(&self, at: Timestamp, addition: Addition) -> Result<EntryId, LogCause> {
        let (writing, faults) = (Arc::clone(&self.writing), self.options.faults.clone());
        let (done, waiting) = oneshot::channel();
        // If the writing thread has ended, `send` returns the request. Dropping the request drops
        // `done`, and `waiting` then yields an error.
        drop(self.queue.send(WriteRequest { writing, faults, at, addition, done }));
        match waiting.await {
            Ok(Ok(appended)) => appended,
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(_gone) => Err(LogCause::Ending),
        }
    }
}

/// Returns whether the runtime has other threads for its tasks while this one blocks.
fn can_block() -> bool {
    Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Returns whether a process has the log at `path` open to write it.
///
/// The lock is taken for a moment, which a session that begins just then could take for another
/// writer. Whoever asks does so when nothing was written for a while.
///
/// # Errors
/// The log does not exist, or cannot be read.
pub fn is_log_open(path: &Path) -> io::Result<bool> {
    match LockedFile::try_lock_shared(File::open(path)?) {
        Ok(_lock) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
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
