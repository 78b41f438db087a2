//! An append-only file whose writers share syncs: while one group of records is synced, the next
//! one gathers.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::LockedFile;

/// The longest time for which a group waits for announced records. It also never waits longer than
/// the last sync took, because sharing saves no more than one sync.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// The number of bytes before each record: its length and the beginning of its SHA-256.
const HEADER: usize = 12;

/// The log at one path, shared by the threads that append to it. Other processes may append to the
/// same file.
pub struct GroupLog {
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
    /// The longest time for which a group waits for announced records.
    longest_wait: Duration,
}

struct State {
    /// The number of announced records that have not been appended yet.
    coming: usize,
    /// The group that gathers.
    next: Arc<Group>,
    /// The records of the group that gathers.
    waiting: Vec<u8>,
    /// Whether a thread gathers or writes a group.
    is_writing: bool,
    /// The number of threads that wait for a change.
    sleeping: usize,
    /// How long the last sync took.
    last_sync: Duration,
    /// The number of groups that were written.
    groups: u64,
    file: Option<(File, u64)>,
}

/// The result of one group, set when it was written.
#[derive(Default)]
struct Group(OnceLock<Result<(), io::Error>>);

/// An announced record. A group waits for it for a short time.
pub struct Announced {
    /// `None` once the record is appended, which withdraws the announcement.
    log: Option<Arc<GroupLog>>,
}

impl GroupLog {
    /// Returns the log at `path`. The file is made with the first record.
    pub fn at(path: PathBuf) -> Self {
        let state = State {
            coming: 0,
            next: Arc::default(),
            waiting: Vec::new(),
            is_writing: false,
            sleeping: 0,
            last_sync: LONGEST_WAIT,
            groups: 0,
            file: None,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Self { path, state, changed, longest_wait: LONGEST_WAIT }
    }

    /// Announces a record, so that groups wait for it for a short time.
    pub fn announce(self: &Arc<Self>) -> Announced {
        self.lock().coming += 1;
        Announced { log: Some(Arc::clone(self)) }
    }

    /// Returns the number of groups that were written, each with one sync.
    #[cfg(test)]
    pub fn groups(&self) -> u64 {
        self.lock().groups
    }

    /// Returns the size of the file after the last group of this process; 0 before the first.
    pub fn size(&self) -> u64 {
        self.lock().file.as_ref().map_or(0, |(_, size)| *size)
    }

    /// Wakes the threads that wait for a change. Where none does, that takes no system call.
    fn wake(&self, state: &State) {
        if state.sleeping > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, record: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        state.coming = state.coming.saturating_sub(1);
        frame(record, &mut state.waiting)?;
        let group = Arc::clone(&state.next);
        self.wake(&state);
        loop {
            if let Some(end) = group.0.get() {
                return end.as_ref().map_err(copy).copied();
            }
            state = if state.is_writing {
                state.sleeping += 1;
                let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleeping -= 1;
                state
            } else {
                self.write_group(state)
            };
        }
    }

    /// Gathers a group, writes it and syncs it.
    fn write_group<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.is_writing = true;
        let longest = state.last_sync.min(self.longest_wait);
        if state.coming > 0 {
            state.sleeping += 1;
            let wait = self.changed.wait_timeout_while(state, longest, |state| state.coming > 0);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            state.sleeping -= 1;
        }
        let records = std::mem::take(&mut state.waiting);
        let group = std::mem::take(&mut state.next);
        let mut file = state.file.take();
        drop(state);
        let began = Instant::now();
        let end = write(&self.path, &mut file, &records);
        let took = began.elapsed();
        state = self.lock();
        state.is_writing = false;
        state.last_sync = took;
        state.groups += 1;
        state.file = file.filter(|_| end.is_ok());
        let _set_once = group.0.set(end);
        self.wake(&state);
        state
    }
}

impl Announced {
    /// Appends the record. It is durable when this returns.
    ///
    /// # Errors
    /// The file cannot be locked, written or synced. [`io::ErrorKind::Unsupported`] on a file
    /// system without locks.
    pub fn append(mut self, record: &[u8]) -> io::Result<()> {
        self.log.take().map_or(Ok(()), |log| log.append(record))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let Some(log) = &self.log else { return };
        let mut state = log.lock();
        state.coming = state.coming.saturating_sub(1);
        log.wake(&state);
    }
}

/// Appends framed records under the lock of the file, and syncs it.
fn write(path: &Path, open: &mut Option<(File, u64)>, records: &[u8]) -> io::Result<()> {
    let (mut file, mut known) = match open.take() {
        Some(open) => open,
        None => (open_log(path)?, 0),
    };
    lock_file(&file)?;
    let mut found = file.metadata()?;
    while found.nlink() == 0 {
        // Another process has removed it after it was opened here.
        (file, known) = (open_log(path)?, 0);
        lock_file(&file)?;
        found = file.metadata()?;
    }
    let length = found.len();
    // Another process has written to the file, or has emptied it.
    let end = if length == known { length } else { read(&mut file)?.end };
    if end < length {
        file.set_len(end)?; // the record of a process that died while it wrote
    }
    let written = file.write_all_at(records, end);
    let written = written.and_then(|()| file.sync_data());
    if written.is_err() {
        let _torn = file.set_len(end); // what is left has no valid end
    }
    file.unlock()?;
    written?;
    *open = Some((file, end + records.len() as u64));
    Ok(())
}

/// Opens the file, and makes its name durable if it is new.
fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = options.create(true).truncate(false).open(path)?;
            File::open(path.parent().unwrap_or(path))?.sync_all()?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Returns the same error for another caller, with its number if the system gave it one.
#[must_use]
pub fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn lock_file(file: &File) -> io::Result<()> {
    file.lock().map_err(without_locks)
}

fn without_locks(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, error)
}

/// Opens the log at `path` under its lock. Returns `None` if it has no records. Until the lock is
/// dropped, nobody appends to it. Whoever has moved the records elsewhere empties or removes it.
///
/// # Errors
/// The file cannot be opened or locked.
pub fn open_locked(path: &Path) -> io::Result<Option<LockedFile>> {
    // An empty log needs no right to write.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(empty) if empty.len() == 0 => return Ok(None),
        Ok(_records) => {}
        Err(error) => return Err(error),
    }
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let file = LockedFile::lock(file).map_err(without_locks)?;
    // Another process may have emptied it while this one waited, or removed it and made another.
    let meta = file.metadata()?;
    if meta.nlink() == 0 {
        return open_locked(path);
    }
    Ok((meta.len() > 0).then_some(file))
}

/// The records of a log.
#[derive(Debug, Default)]
pub struct Records {
    /// The records that are complete.
    pub records: Vec<Vec<u8>>,
    /// Where the last of them ends. Whatever follows was never reported as durable.
    pub end: u64,
    /// How many records before that are damaged.
    pub damaged: usize,
}

/// Returns the records of a locked log. One that is damaged on the disk hides none that follow it.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: &mut File) -> io::Result<Records> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let (mut found, mut rest, mut skipped) = (Records::default(), bytes.as_slice(), 0);
    while let Some((header, after)) = rest.split_at_checked(HEADER) {
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some((record, after)) = after.split_at_checked(length) else { break };
        rest = after;
        if digest(record) != header[4..] {
            skipped += 1;
            continue;
        }
        found.records.push(record.to_vec());
        found.end = (bytes.len() - rest.len()) as u64;
        found.damaged += std::mem::take(&mut skipped);
    }
    Ok(found)
}

fn frame(record: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    let length = u32::try_from(record.len());
    let length = length.map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&digest(record));
    into.extend_from_slice(record);
    Ok(())
}

fn digest(record: &[u8]) -> [u8; HEADER - 4] {
    let mut short = [0; HEADER - 4];
    short.copy_from_slice(&Sha256::digest(record)[..HEADER - 4]);
    short
}

#[cfg(test)]
mod tests;
