//! The lock on a run's folder of workspaces. It ends with the process that holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use group_log::LockedFile;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::error::{OrCannot, Result};

/// The name of the lock file in the run's folder.
pub(crate) const LOCK: &str = "owner.lock";

/// How long [`RunLock::acquire`] tries again while a recovery removes the folder, which can take
/// long on a busy machine.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The lock on one run's folder, released when dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    _lock_file: LockedFile,
    /// The folder itself, locked as well, so that a task that removes the lock file does not
    /// release the lock. `None` on file systems that cannot lock a folder.
    _folder_file: Option<LockedFile>,
}

impl RunLock {
    /// Makes the run's folder and locks it.
    pub(crate) fn acquire(folder: &Path) -> Result<Self> {
        Self::acquire_with(folder, &mut || thread::sleep(POLL_INTERVAL))
    }

    /// Does what [`Self::acquire`] does, with `pause` between two attempts.
    fn acquire_with(folder: &Path, pause: &mut dyn FnMut()) -> Result<Self> {
        let what = || format!("lock {}", folder.display());
        let began = Instant::now();
        loop {
            if make(folder).or_cannot(what)? == Made::Yes
                && let Some(lock) = Self::try_lock(folder).or_cannot(what)?
            {
                return Ok(lock);
            }
            // A recovery is removing the folder.
            if began.elapsed() >= ACQUIRE_TIMEOUT {
                return Err("another engine holds it").or_cannot(what);
            }
            pause();
        }
    }

    /// Locks the folder of a run whose engine is dead. Returns `None` if the engine is alive.
    pub(crate) fn try_acquire(folder: &Path) -> Result<Option<Self>> {
        let what = || format!("look whether {} is in use", folder.display());
        Self::try_lock(folder).or_cannot(what)
    }

    /// Locks the folder and the lock file. Returns `None` if another process holds one of them,
    /// if the locked files have been replaced, or if the folder does not exist.
    fn try_lock(folder: &Path) -> std::io::Result<Option<Self>> {
        let Some(folder_file) = if_there(File::open(folder))? else { return Ok(None) };
        let folder_file = match LockedFile::try_lock(folder_file) {
            Ok(locked) => Some(locked),
            Err(TryLockError::WouldBlock) => return Ok(None),
            // The file system cannot lock folders; the lock file has to do.
            Err(TryLockError::Error(_)) => None,
        };
        if let Some(locked) = &folder_file
            && !is_at(locked, folder)?
        {
            return Ok(None);
        }
        let path = folder.join(LOCK);
        let Some(lock_file) = if_there(open(&path))? else { return Ok(None) };
        match LockedFile::try_lock(lock_file) {
            Ok(lock_file) => {
                let is_there = is_at(&lock_file, &path)?;
                Ok(is_there.then_some(Self { _lock_file: lock_file, _folder_file: folder_file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Returns the id of the process that holds the lock on a run's folder; `None` if the kernel does not show it.
pub(crate) fn holder(folder: &Path) -> Option<u32> {
    let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.ino());
    let (of_folder, of_file) = (inode(folder)?, inode(&folder.join(LOCK))?);
    let table = fs::read_to_string("/proc/locks").ok()?;
    let locks: Vec<_> = table.lines().filter_map(held_lock).collect();
    // Inodes of several file systems can be equal, those of both files hardly.
    let holds = |process: u32, inode| locks.contains(&(process, inode));
    let processes = locks.iter().filter(|(_, inode)| *inode == of_file);
    processes.map(|(process, _)| *process).find(|process| holds(*process, of_folder))
}

/// Returns the process and the inode of a line of `/proc/locks`, such as
/// `1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF`; `None` for other locks, and for processes that wait.
fn held_lock(line: &str) -> Option<(u32, u64)> {
    let mut words = line.split_whitespace().skip(1);
    words.next().filter(|kind| *kind == "FLOCK")?;
    let process = words.nth(2)?.parse().ok()?;
    let inode = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some((process, inode))
}

/// The lock of a run that has not started. Dropping it removes the run's folder if nothing else is
/// in it.
#[derive(Debug)]
pub(crate) struct NewRunLock {
    lock: Option<RunLock>,
    folder: PathBuf,
}

impl NewRunLock {
    /// Makes the run's folder and locks it.
    pub(crate) fn acquire(folder: &Path) -> Result<Self> {
        Ok(Self { lock: Some(RunLock::acquire(folder)?), folder: folder.to_path_buf() })
    }

    /// Releases the lock of a dead run's folder and removes the folder, which holds nothing but the
    /// lock.
    pub(crate) fn release(lock: RunLock, folder: &Path) {
        drop(Self { lock: Some(lock), folder: folder.to_path_buf() });
    }

    /// Returns the lock when the run starts. From then on, dropping it does not remove the folder.
    pub(crate) fn begin(mut self) -> Option<RunLock> {
        self.lock.take()
    }
}

impl Drop for NewRunLock {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What cannot be removed stays for the next start.
            let _stays = fs::remove_file(self.folder.join(LOCK))
                .and_then(|()| fs::remove_dir(&self.folder))
                .and_then(|()| self.folder.parent().map_or(Ok(()), fs::remove_dir));
        }
    }
}

/// Whether the folder was made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Yes,
    /// A recovery has removed the folder above it.
    No,
}

/// Makes the run's folder.
fn make(folder: &Path) -> std::io::Result<Made> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    if let Some(runs) = folder.parent() {
        if if_there(builder.create(runs))?.is_none() {
            return Ok(Made::No);
        }
        keep_apart(runs);
    }
    Ok(if_there(builder.create(folder))?.map_or(Made::No, |()| Made::Yes))
}

/// Asks an ext4 to keep the folders in this one far from each other (`T` in `chattr(1)`). Without a
/// journal it does not use the inodes of files that were removed in the last minute, and looks at
/// each of them for every new file nearby: after the workspaces of one run, those of the next would
/// take several times as long. Nothing else depends on it.
fn keep_apart(folder: &Path) {
    let asked = File::open(folder).and_then(|folder| {
        let flags = ioctl_getflags(&folder)?;
        if !flags.contains(IFlags::TOPDIR) {
            ioctl_setflags(&folder, flags | IFlags::TOPDIR)?;
        }
        Ok(())
    });
    if let Err(error) = asked {
        tracing::debug!(%error, "{} is a folder like others", folder.display());
    }
}

/// Opens a lock file. It never blocks, whatever a task has put in its place.
fn open(lock: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(lock)
}

/// Returns whether the held file is the one at `path`.
fn is_at(held: &File, path: &Path) -> std::io::Result<bool> {
    let held = held.metadata()?;
    let there = if_there(fs::symlink_metadata(path))?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())))
}

/// Converts the error `NotFound` to `None`.
fn if_there<T>(found: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_can_be_locked_by_others_only_when_its_engine_is_dead() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        let lock = RunLock::acquire(&folder).unwrap();
        assert!(RunLock::try_acquire(&folder).unwrap().is_none());
        drop(lock);
        assert!(RunLock::try_acquire(&folder).unwrap().is_some());
    }

    #[test]
    fn the_process_that_holds_a_lock_is_known_while_it_does() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        assert_eq!(holder(&folder), None);
        let lock = RunLock::acquire(&folder).unwrap();
        assert_eq!(holder(&folder), Some(std::process::id()));
        drop(lock);
        assert_eq!(holder(&folder), None);
        let waits = "1: -> FLOCK  ADVISORY  WRITE 42 08:01:131 0 EOF";
        let other = "2: POSIX  ADVISORY  WRITE 42 08:01:131 0 EOF";
        assert_eq!([held_lock(waits), held_lock(other), held_lock("")], [None; 3]);
    }

    #[test]
    fn a_new_run_waits_for_a_recovery_that_removes_its_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runs/run");
        let mut recovery = Some(RunLock::acquire(&folder).unwrap());
        let mut pauses = 0;
        // A recovery may take its time.
        let lock = RunLock::acquire_with(&folder, &mut || {
            pauses += 1;
            if pauses == 100 {
                fs::remove_dir_all(home.path().join("runs")).unwrap();
                recovery = None;
            }
        });
        assert!(lock.is_ok() && folder.join(LOCK).exists());
        assert_eq!(pauses, 100);
    }

    #[test]
    fn the_folder_of_a_run_that_does_not_start_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        drop(NewRunLock::acquire(&folder).unwrap());
        assert!(!folder.exists());
        let lock = NewRunLock::acquire(&folder).unwrap().begin();
        assert!(RunLock::try_acquire(&folder).unwrap().is_none());
        drop(lock);
        assert!(folder.exists());
    }

    #[test]
    fn a_run_lives_although_one_of_its_tasks_removed_its_lock_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        let lock = RunLock::acquire(&folder).unwrap();
        fs::remove_file(folder.join(LOCK)).unwrap();
        assert!(RunLock::try_acquire(&folder).unwrap().is_none());
        drop(lock);
        assert!(RunLock::try_acquire(&folder).unwrap().is_some());
    }

    #[test]
    fn a_fifo_in_place_of_the_lock_file_does_not_block() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        drop(RunLock::acquire(&folder).unwrap());
        fs::remove_file(folder.join(LOCK)).unwrap();
        crate::testing::fifo(&folder.join(LOCK));
        assert!(crate::testing::in_time(move || RunLock::try_acquire(&folder).is_err()));
    }

    #[test]
    fn a_run_without_a_folder_cannot_be_locked() {
        let home = tempfile::tempdir().unwrap();
        assert!(RunLock::try_acquire(&home.path().join("run")).unwrap().is_none());
    }
}
