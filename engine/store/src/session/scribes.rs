//! The threads that write session logs. What waits for one of them at the same time is written
//! first and then made durable together: the disk commits once for all of it, and a folder in which
//! many logs begin is synced once.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use engine::fault::Faults;
use protocol::{SessionEntry, Timestamp};
use tokio::sync::oneshot;

use super::trouble::Trouble;
use super::writing::{Due, Writing};

/// How many threads write: enough that one slow sync does not hold up everybody.
const SCRIBES: usize = 4;

/// How many entries are made durable together at most.
const TOGETHER: usize = 256;

/// An entry on its way into a log.
pub(super) struct Job {
    pub(super) writing: Arc<Mutex<Writing>>,
    pub(super) faults: Faults,
    pub(super) at: Timestamp,
    pub(super) entry: SessionEntry,
    pub(super) done: oneshot::Sender<Done>,
}

/// What came of it: an answer, or the panic that is the session's own.
pub(super) type Done = Result<Result<(), Trouble>, Box<dyn Any + Send>>;

/// Where entries are handed in. The threads begin with the first one and end with the last handle.
#[derive(Clone, Default)]
pub(super) struct Scribes(Arc<[OnceLock<Sender<Job>>; SCRIBES]>);

impl Scribes {
    /// Returns the queue of the scribe that writes the log at `path`. It is always the same one, so
    /// that entries of a log keep their order.
    pub(super) fn of(&self, path: &Path) -> io::Result<Sender<Job>> {
        let bytes = path.as_os_str().as_encoded_bytes().iter();
        let sum =
            bytes.fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        let place = &self.0[sum % SCRIBES];
        if let Some(queue) = place.get() {
            return Ok(queue.clone());
        }
        let (sender, queue) = mpsc::channel();
        let builder = thread::Builder::new().name("session-logs".to_owned());
        builder.spawn(move || work(&queue))?;
        // Should another have been quicker, the thread that was just begun ends at once.
        Ok(place.get_or_init(|| sender).clone())
    }
}

fn work(queue: &Receiver<Job>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        while batch.len() < TOGETHER
            && let Ok(next) = queue.try_recv()
        {
            batch.push(next);
        }
        together(batch);
    }
}

fn together(batch: Vec<Job>) {
    let written: Vec<_> = batch.iter().map(write).collect();
    let mut folders = BTreeMap::new();
    for (job, written) in batch.into_iter().zip(written) {
        let done = match written {
            Ok(Ok(Due::Sync)) => own(|| sync(&job, &mut folders)),
            Ok(Ok(Due::Nothing)) => Ok(Ok(())),
            Ok(Err(trouble)) => Ok(Err(trouble)),
            Err(panic) => Err(panic),
        };
        // The log is given back before its session hears of it: it may be over then.
        drop(job.writing);
        let _stopped = job.done.send(done);
    }
}

fn write(job: &Job) -> Result<Result<Due, Trouble>, Box<dyn Any + Send>> {
    own(|| locked(&job.writing).write(&job.faults, job.at, &job.entry))
}

/// Does a step for one session. A panic is that session's own, and leaves nothing half done that
/// another would not see as failed.
fn own<T>(step: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    panic::catch_unwind(AssertUnwindSafe(step))
}

fn locked(writing: &Arc<Mutex<Writing>>) -> std::sync::MutexGuard<'_, Writing> {
    writing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a log durable, and the folders that its name stands in if they are not yet.
fn sync(job: &Job, folders: &mut BTreeMap<PathBuf, Result<(), Trouble>>) -> Result<(), Trouble> {
    let mut writing = locked(&job.writing);
    writing.sync(&job.faults)?;
    for folder in writing.fresh_folders() {
        let synced = folders.entry(folder).or_insert_with_key(|folder| {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(Trouble::from)
        });
        synced.clone().map_err(|trouble| writing.fail(trouble))?;
    }
    writing.settle();
    Ok(())
}
