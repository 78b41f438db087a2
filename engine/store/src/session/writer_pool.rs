//! The threads that write the session logs. A thread writes all waiting entries to their files, and
//! makes them durable together, in the journal of their folder.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use engine::fault::Faults;
use group_log::copy;
use protocol::{EntryId, Timestamp};
use tokio::sync::oneshot;

use super::error::LogCause;
use super::journal::{Appended, Journals, SessionJournal};
use super::log_writer::{Addition, Due, LogWriter, locked};

/// The number of threads: enough that one slow sync does not delay the sessions of all runs.
const THREADS: usize = 4;

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

    /// Returns the queue of the thread that writes the log at `path`: the same for all logs below the
    /// folder of a journal, so that what they say becomes durable with one sync, and one thread is
    /// woken for it.
    pub(super) fn queue_for(&self, path: &Path) -> io::Result<Sender<WriteRequest>> {
        let folder = path.parent().and_then(Path::parent).unwrap_or(path);
        let bytes = folder.as_os_str().as_encoded_bytes().iter();
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

/// Syncs a log and its name.
fn sync(request: &WriteRequest) -> Result<(), LogCause> {
    let mut writing = locked(&request.writing);
    writing.sync().map_err(|trouble| writing.fail(trouble))
}
