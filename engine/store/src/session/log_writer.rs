//! Writes session logs on a pool of threads. A thread writes all waiting entries to their files, and
//! makes them durable together, in the journal of their folder. After the first error of a log,
//! nothing more is written to it.

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
use engine::session::{EntryIds, SessionMove, SessionTree};
use group_log::copy;
use protocol::{EntryId, SessionEntry, Timestamp};
use tokio::sync::oneshot;

use super::blobs::BlobFolder;
use super::error::LogCause;
use super::journal::{Appended, Journals, SessionJournal};
use super::line;
use super::open::{Durability, create};

/// An open and locked log. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LogWriter {
    pub(super) path: PathBuf,
    /// The file; `None` until something is worth to be kept. Until then, what is written waits in
    /// `kept`.
    pub(super) file: Option<File>,
    pub(super) ids: EntryIds,
    /// The entries, without what they say.
    pub(super) tree: SessionTree<()>,
    /// How its entries become durable.
    pub(super) kept: Kept,
    /// Whether the name of the file is durable.
    pub(super) name: FileName,
    /// The journal; `None` until the log is in use, and where there can be none.
    pub(super) journal: Option<Arc<SessionJournal>>,
    /// Where large content is kept whole; `None` where it is only cut.
    pub(super) blobs: Option<BlobFolder>,
    /// When its messages are synced.
    pub(super) durability: Durability,
    /// The first error; nothing is written after it.
    pub(super) failed: Option<LogCause>,
}

/// How the entries of a log become durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The file may hold what no sync has made durable, and the name of the file may not be durable:
    /// both are synced once.
    Unsynced,
    /// All of the file is durable but these last bytes.
    UpTo { durable: u64, rest: String },
}

/// Whether the name of a file is durable in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileName {
    /// A power cut may take it.
    Unsynced,
    /// It is there to stay.
    Durable,
}

/// What is added to a log.
#[derive(Clone, Debug)]
pub(super) enum Addition {
    /// An entry after the last one.
    Entry(SessionEntry),
    /// A move to another entry.
    Move(SessionMove),
}

/// The step that has to follow the writing of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// No step: the entry is synced with the next message.
    Nothing,
    /// The file has to be synced.
    Sync,
}

impl Due {
    fn after(entry: &SessionEntry) -> Self {
        match entry {
            SessionEntry::Message { .. }
            | SessionEntry::CustomMessage { .. }
            | SessionEntry::Compaction { .. }
            | SessionEntry::BranchSummary { .. }
            | SessionEntry::Leaf {} => Self::Sync,
            SessionEntry::SessionInit { .. }
            | SessionEntry::ModelChange { .. }
            | SessionEntry::ThinkingLevelChange { .. }
            | SessionEntry::ServiceTierChange { .. }
            | SessionEntry::Custom { .. }
            | SessionEntry::Label { .. }
            | SessionEntry::ModeChange { .. }
            | SessionEntry::TtsrInjection { .. }
            | SessionEntry::McpToolSelection { .. }
            | SessionEntry::SessionInfo { .. }
            | SessionEntry::TitleChange { .. }
            | SessionEntry::Unknown(_) => Self::Nothing,
        }
    }
}

impl LogWriter {
    /// Writes an entry. Returns its id.
    pub(super) fn write(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        addition: &Addition,
    ) -> Result<(EntryId, Due), LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        let moved;
        let entry = match addition {
            Addition::Entry(entry) => entry,
            Addition::Move(to) => {
                moved = to.clone().begin(&mut self.tree)?;
                &moved
            }
        };
        self.add(faults, at, entry).map_err(|trouble| self.fail(trouble))
    }

    fn add(
        &mut self,
        faults: &Faults,
        at: Timestamp,
        entry: &SessionEntry,
    ) -> Result<(EntryId, Due), LogCause> {
        faults.failpoint("session.append")?;
        let id = self.ids.generate();
        let line = line::entry(&id, self.tree.leaf_id(), at, entry, self.blobs.as_ref())?;
        // A line is JSON, which is UTF-8.
        let line = String::from_utf8_lossy(&line);
        let due = Due::after(entry);
        if let Kept::UpTo { rest, .. } = &mut self.kept {
            rest.push_str(&line);
        }
        match (&mut self.file, &self.kept) {
            (Some(file), _) => file.write_all(line.as_bytes())?,
            (None, Kept::UpTo { rest, .. }) if due == Due::Sync => {
                let file = self.file.insert(create(&self.path)?);
                file.write_all(rest.as_bytes())?;
            }
            (None, Kept::UpTo { .. } | Kept::Unsynced) => {}
        }
        self.tree.append(id.clone(), at, ());
        if self.durability == Durability::Written && self.file.is_some() {
            // Nobody waits for a sync, so nothing is kept for one.
            self.kept = Kept::Unsynced;
            return Ok((id, Due::Nothing));
        }
        Ok((id, due))
    }

    /// Returns what has to be written to the journal, with the journal; `None` if the file has to be
    /// synced instead: a log that is open alone shares its syncs with no other.
    fn take_unjournaled(
        &mut self,
        faults: &Faults,
    ) -> Result<Option<(Arc<SessionJournal>, Appended)>, LogCause> {
        if let Some(trouble) = &self.failed {
            return Err(trouble.clone());
        }
        faults.failpoint("session.sync").map_err(|error| self.fail(error.into()))?;
        let (Kept::UpTo { durable, rest }, Some(journal)) = (&mut self.kept, &self.journal) else {
            return Ok(None);
        };
        if Arc::strong_count(journal) <= ALONE {
            return Ok(None);
        }
        let (offset, lines) = (*durable, std::mem::take(rest));
        *durable += lines.len() as u64;
        let log = journal.name_of(&self.path);
        Ok(Some((Arc::clone(journal), Appended { log, offset, lines })))
    }

    /// Syncs the file, and the folders that hold its name.
    fn sync(&mut self) -> Result<(), LogCause> {
        let Some(file) = &self.file else { return Ok(()) };
        file.sync_data()?;
        if self.name == FileName::Unsynced {
            let folders = self.path.ancestors().skip(1).take(2);
            for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
                File::open(folder)?.sync_all()?;
            }
            self.name = FileName::Durable;
        }
        let durable = file.metadata()?.len();
        self.kept = Kept::UpTo { durable, rest: String::new() };
        Ok(())
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

/// How many hold a journal while a batch is written if only one log uses it: the log and the batch.
const ALONE: usize = 2;

/// The most entries in one batch.
const MAX_BATCH: usize = 256;

/// The request to write one entry.
pub(super) struct WriteRequest {
    pub(super) writing: Arc<Mutex<LogWriter>>,
    pub(super) faults: Faults,
    pub(super) at: Timestamp,
    pub(super) addition: Addition,
    pub(super) done: oneshot::Sender<WriteResult>,
}

/// The id of a written entry, and what has to follow.
type Written = Result<(EntryId, Due), LogCause>;

/// The result of a request: the result of writing, or a panic to resume in the session.
pub(super) type WriteResult = Result<Result<EntryId, LogCause>, Box<dyn Any + Send>>;

/// A handle to the pool of writing threads. A thread starts when a log first needs its queue, and
/// ends when all handles and queues are dropped.
#[derive(Clone, Default)]
pub(super) struct WriterPool {
    threads: Arc<[OnceLock<Sender<WriteRequest>>; THREADS]>,
    journals: Arc<Journals>,
}

impl WriterPool {
    /// Returns the journal of the log at `path`.
    pub(super) fn journal_of(&self, path: &Path) -> Option<Arc<SessionJournal>> {
        self.journals.of(path)
    }

    /// Returns the queue of the thread that writes the log at `path`. The same path always gets the
    /// same thread, so that the entries of a log keep their order.
    pub(super) fn queue_for(&self, path: &Path) -> io::Result<Sender<WriteRequest>> {
        let bytes = path.as_os_str().as_encoded_bytes().iter();
        let sum =
            bytes.fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        let place = &self.threads[sum % THREADS];
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

/// Writes a batch of entries to their files, and then makes them durable.
fn write_batch(batch: Vec<WriteRequest>) {
    let journals: BTreeMap<_, _> = batch.iter().filter_map(journal_of).collect();
    let announced: Vec<_> =
        journals.into_values().map(|journal| (journal.announce(), journal)).collect();
    let written: Vec<_> = batch.iter().map(write_entry).collect();
    let mut results = Vec::new();
    let mut appended: Vec<Vec<(usize, Appended)>> = announced.iter().map(|_| Vec::new()).collect();
    for (at, (request, written)) in batch.iter().zip(written).enumerate() {
        let (id, taken) = match written {
            Ok(Ok((id, Due::Sync))) => {
                (id, catch_panic(|| locked(&request.writing).take_unjournaled(&request.faults)))
            }
            Ok(Ok((id, Due::Nothing))) => {
                results.push(Ok(Ok(id)));
                continue;
            }
            Ok(Err(trouble)) => {
                results.push(Ok(Err(trouble)));
                continue;
            }
            Err(panic) => {
                results.push(Err(panic));
                continue;
            }
        };
        let place = |journal: &Arc<SessionJournal>| {
            announced.iter().position(|(_, other)| Arc::ptr_eq(other, journal))
        };
        results.push(match taken {
            Ok(Ok(Some((journal, bytes)))) => match place(&journal) {
                Some(place) => {
                    appended[place].push((at, bytes));
                    Ok(Ok(id))
                }
                None => Ok(sync(request).map(|()| id)),
            },
            Ok(Ok(None)) => Ok(sync(request).map(|()| id)),
            Ok(Err(trouble)) => Ok(Err(trouble)),
            Err(panic) => Err(panic),
        });
    }
    for ((announced, journal), appended) in announced.into_iter().zip(appended) {
        if appended.is_empty() {
            continue;
        }
        let (places, appended): (Vec<_>, Vec<_>) = appended.into_iter().unzip();
        if let Err(error) = journal.append(announced, &appended) {
            for place in places {
                let synced = match error.kind() {
                    // There are no locks, so there is no journal: each file is synced.
                    io::ErrorKind::Unsupported => sync(&batch[place]),
                    _ => Err(locked(&batch[place].writing).fail(copy(&error).into())),
                };
                if let (Err(trouble), result) = (synced, &mut results[place]) {
                    *result = Ok(Err(trouble));
                }
            }
        }
    }
    for (request, done) in batch.into_iter().zip(results) {
        // This reference to the log is dropped before the session is notified: the session may
        // then close the log, and its lock must be released.
        drop(request.writing);
        let _stopped = request.done.send(done);
    }
}

fn journal_of(request: &WriteRequest) -> Option<(usize, Arc<SessionJournal>)> {
    let journal = locked(&request.writing).journal.clone()?;
    Some((Arc::as_ptr(&journal).addr(), journal))
}

fn write_entry(request: &WriteRequest) -> Result<Written, Box<dyn Any + Send>> {
    catch_panic(|| locked(&request.writing).write(&request.faults, request.at, &request.addition))
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

/// Syncs a log and its name.
fn sync(request: &WriteRequest) -> Result<(), LogCause> {
    let mut writing = locked(&request.writing);
    writing.sync().map_err(|trouble| writing.fail(trouble))
}
