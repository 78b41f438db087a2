//! What the engines of a user share about provider accounts: a folder for each account, with a file
//! of its state and a locked file of each gate that uses it. Nothing in it outlives the boot of the
//! machine, so nothing is synced.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{AccountId, Change, GateStore, GateStoreError, SharedAccount};
use engine::request::GateReport;
use group_log::LockedFile;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::spawn_blocking;

/// The largest state that is read.
const LARGEST: usize = 256 << 10;

/// Hardly any state is larger.
const USUAL: usize = 4 << 10;

/// How long a lock is waited for, which others hold for microseconds.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_micros(200);

/// How long the files of an earlier boot are kept.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

const STATE: &str = "state";

/// The files in which engines share what they know about accounts.
#[derive(Clone, Debug)]
pub struct GateFiles {
    folder: PathBuf,
}

impl GateFiles {
    /// Returns the files below `folder`. Nothing is read or created.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Checks that the folder can be written, and removes what is left of earlier boots.
    ///
    /// # Errors
    /// It cannot be written, or the boot of the machine cannot be told from others.
    pub fn prepare(&self) -> Result<(), GateStoreError> {
        let folder = self.of_this_boot()?;
        make_folder(&folder).map_err(|error| cannot("create", &folder, &error))?;
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|it| it.modified()).ok();
            let age = age.and_then(|then| then.elapsed().ok());
            if entry.path() != folder && age.is_some_and(|age| age > OLD) {
                let _later = fs::remove_dir_all(entry.path()); // the next start tries again
            }
        }
        Ok(())
    }

    /// Returns what is shared about each account that an engine has used since the machine started.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn reports(&self) -> Result<Vec<GateReport>, GateStoreError> {
        let folder = self.of_this_boot()?;
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot("read", &folder, &error)),
        };
        let reports = entries.flatten().filter_map(|entry| {
            let account = entry.path();
            let file = File::open(account.join(STATE)).ok()?;
            // What is read while somebody writes it is not a state, and the next look has it.
            let _locked = lock(&file, File::try_lock_shared);
            let mut buffer = Vec::new();
            let size = read(&file, &mut buffer).ok()?;
            let bytes = buffer.get(..size)?;
            GateReport::read(bytes, &|member| is_there(&account, member), now())
        });
        let mut reports: Vec<_> = reports.collect();
        reports.sort_by(|one, other| one.account.cmp(&other.account));
        Ok(reports)
    }

    fn of_this_boot(&self) -> Result<PathBuf, GateStoreError> {
        let file = Path::new("/proc/sys/kernel/random/boot_id");
        let id = fs::read_to_string(file).map_err(|error| cannot("read", file, &error))?;
        Ok(self.folder.join(file_name(id.trim())))
    }
}

#[async_trait]
impl GateStore for GateFiles {
    async fn run(&self, step: Box<dyn FnOnce() + Send>) {
        if let Err(error) = spawn_blocking(step).await {
            tracing::error!(%error, "a step of a gate crashed");
        }
    }

    fn join(&self, account: &AccountId) -> Result<Box<dyn SharedAccount>, GateStoreError> {
        let folder = self.of_this_boot()?.join(file_name(account.identity()));
        let joined = GateMember::join(&folder);
        Ok(Box::new(joined.map_err(|error| cannot("write", &folder, &error))?))
    }
}

/// One gate that uses an account. Its lock ends with it, or with the process.
#[derive(Debug)]
struct GateMember {
    name: String,
    state: File,
    folder: PathBuf,
    _lock: LockedFile,
    /// What the state was read to.
    buffer: Vec<u8>,
}

impl GateMember {
    fn join(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        make_folder(folder)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:x}-{:x}-{count:x}", std::process::id(), now().as_nanos());
        // It has its name only when it is locked: before, others would take it for one that is gone.
        let new = folder.join(format!(".{name}"));
        let lock = LockedFile::lock(open(&new)?)?;
        fs::rename(&new, folder.join(&name))?;
        let state = open(&folder.join(STATE))?;
        let folder = folder.to_owned();
        Ok(Self { name, state, folder, _lock: lock, buffer: Vec::new() })
    }
}

impl SharedAccount for GateMember {
    fn member(&self) -> &str {
        &self.name
    }

    fn now(&self) -> Duration {
        now()
    }

    fn update(&mut self, change: &mut Change<'_>) -> Result<(), GateStoreError> {
        let failed =
            |error: io::Error| GateStoreError(format!("{}: {error}", self.folder.display()));
        lock(&self.state, File::try_lock).map_err(failed)?;
        let updated = read(&self.state, &mut self.buffer).and_then(|size| {
            let before = self.buffer.get(..size).unwrap_or_default();
            let after = change(before, &|member| is_there(&self.folder, member));
            self.state.write_all_at(&after, 0)?;
            if after.len() < size {
                self.state.set_len(after.len() as u64)?;
            }
            Ok(())
        });
        let unlocked = self.state.unlock();
        updated.and(unlocked).map_err(failed)
    }
}

impl Drop for GateMember {
    fn drop(&mut self) {
        let _left = fs::remove_file(self.folder.join(&self.name)); // it is unlocked all the same
    }
}

/// Returns the time since the machine started, which is the same in every process.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Returns whether a member still has its lock. The file of one that is gone is removed.
fn is_there(folder: &Path, member: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if member.is_empty() || member.len() > 100 || !member.chars().all(is_name) {
        return false;
    }
    let path = folder.join(member);
    let Ok(file) = File::open(&path) else { return false };
    match LockedFile::try_lock_shared(file) {
        Ok(_lock) => {
            let _gone = fs::remove_file(&path); // another member has removed it already
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn lock(file: &File, try_lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<()> {
    let until = now() + PATIENCE;
    loop {
        match try_lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if now() < until => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another engine does not let go of it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Reads a state to the beginning of `buffer`, and returns its size. One that no gate can have written
/// is a size beyond the buffer.
fn read(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut size = 0;
    loop {
        if size == buffer.len() {
            buffer.resize((2 * size).max(USUAL), 0);
        }
        let offset = u64::try_from(size).unwrap_or(u64::MAX);
        match file.read_at(&mut buffer[size..], offset) {
            Ok(more) => size += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if size > LARGEST {
            buffer.clear();
            return Ok(size);
        }
        // A file is read whole if there is room for it.
        if size < buffer.len() {
            return Ok(size);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns a name of a file for a text, another one for another text.
fn file_name(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !text.is_empty() && text.len() <= 100 && text.bytes().all(plain) {
        return text.to_owned();
    }
    let hex: String = text.bytes().take(100).map(|byte| format!("{byte:02x}")).collect();
    format!("_{hex}")
}

fn cannot(verb: &str, path: &Path, error: &io::Error) -> GateStoreError {
    GateStoreError(format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
