//! The lock for landings in one repository and in those nested in it, across threads, processes,
//! users and containers. It is a lock on the descriptor of each git folder itself, in which nothing is
//! written. Who gets it removes the locks of branches that a dead process has left there.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNotice};
use group_log::LockedFile;

use crate::error::{OrCannot, Result};
use crate::repository::release_cut_off;

/// The pause between two attempts to lock. A blocking lock could not be cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the git folders that a landing locks, as they are at the moment of the call.
pub(crate) type GitFolders<'a> = dyn Fn() -> Result<Vec<PathBuf>> + 'a;

/// The lock of the landing in progress. It is released when dropped, or when its process ends.
pub(crate) struct LandingLock {
    _held: Vec<LockedFile>,
    /// The devices and inodes of the folders.
    known: Vec<(u64, u64)>,
}

impl LandingLock {
    /// Waits for the lock of these git folders, and notifies if it has to wait. All of them are
    /// locked or none: so two landings never wait for each other. Returns `None` if the landing is
    /// cancelled meanwhile.
    pub(crate) fn acquire(
        folders: &GitFolders<'_>,
        faults: &Faults,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
    ) -> Result<Option<Self>> {
        Self::acquire_with(folders, faults, cancel, notify, &mut || thread::sleep(POLL_INTERVAL))
    }

    /// Does what [`Self::acquire`] does, with `pause` between two looks.
    fn acquire_with(
        folders: &GitFolders<'_>,
        faults: &Faults,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
        pause: &mut dyn FnMut(),
    ) -> Result<Option<Self>> {
        let look = || Self::look(folders, faults);
        if let Some(lock) = look()? {
            return Ok(Some(lock));
        }
        notify(LandingNotice::Waiting);
        while !cancel.is_cancelled() {
            if let Some(lock) = look()? {
                return Ok(Some(lock));
            }
            pause();
        }
        Ok(None)
    }

    /// Takes the lock if no landing is in progress in any of the folders.
    pub(crate) fn try_acquire(folders: &GitFolders<'_>) -> Result<Option<Self>> {
        Self::look(folders, &Faults::default())
    }

    /// Returns whether all of these git folders are locked.
    pub(crate) fn holds(&self, folders: &[PathBuf]) -> bool {
        let is_held = |meta: std::fs::Metadata| self.known.contains(&(meta.dev(), meta.ino()));
        folders.iter().all(|folder| folder.metadata().is_ok_and(is_held))
    }

    fn look(folders: &GitFolders<'_>, faults: &Faults) -> Result<Option<Self>> {
        let wanted = folders()?;
        if let Some(own) = wanted.first() {
            failpoint!(faults, "landing.lock").or_cannot(|| attempted(own))?;
        }
        let mut held: Vec<LockedFile> = Vec::with_capacity(wanted.len());
        let mut known = Vec::with_capacity(wanted.len());
        for path in &wanted {
            let what = || attempted(path);
            let folder = open(path).or_cannot(what)?;
            let meta = folder.metadata().or_cannot(what)?;
            // Two descriptors of one folder exclude each other, also in one process.
            let id = (meta.dev(), meta.ino());
            if known.contains(&id) {
                continue;
            }
            match LockedFile::try_lock(folder) {
                Ok(locked) => held.push(locked),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error).or_cannot(what),
            }
            known.push(id);
        }
        // The landing that was in progress may have left work to finish in further folders.
        if folders()? != wanted {
            return Ok(None);
        }
        for folder in &wanted {
            release_cut_off(folder)?;
        }
        Ok(Some(Self { _held: held, known }))
    }
}

fn attempted(folder: &Path) -> String {
    format!("lock {} for landing", folder.display())
}

/// Opens a git folder. Anything else in its place does not block.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::time::Duration;

    use engine::ports::CancelLevel;

    use super::*;

    fn only(folder: &Path) -> impl Fn() -> Result<Vec<PathBuf>> {
        let folder = folder.to_path_buf();
        move || Ok(vec![folder.clone()])
    }

    fn wait(
        folder: &Path,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
    ) -> Option<LandingLock> {
        LandingLock::acquire(&only(folder), &Faults::default(), cancel, notify).unwrap()
    }

    #[test]
    fn only_one_has_the_turn_and_who_waits_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let wanted = CancelToken::default();
        let first = wait(&path, &wanted, &|_| panic!("nobody is there")).unwrap();
        assert!(LandingLock::try_acquire(&only(&path)).unwrap().is_none());
        let (attempted, waiting) = mpsc::channel();
        let second = thread::spawn(move || {
            let count = Cell::new(0);
            let lock = wait(&path, &wanted, &|_| {
                count.set(count.get() + 1);
                attempted.send(()).unwrap();
            });
            drop(lock.unwrap());
            count.get()
        });
        waiting.recv_timeout(Duration::from_secs(10)).unwrap();
        drop(first);
        assert_eq!(second.join().unwrap(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_waits_for_the_turn_never_loses_patience() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = LandingLock::try_acquire(&only(folder.path())).unwrap();
        assert!(first.is_some());
        let mut pauses = 0;
        let mut pause = || {
            pauses += 1;
            if pauses == 10_000 {
                first = None;
            }
        };
        let (faults, cancel) = (Faults::default(), CancelToken::default());
        let folders = only(folder.path());
        let lock = LandingLock::acquire_with(&folders, &faults, &cancel, &|_| {}, &mut pause);
        assert!(lock.unwrap().is_some());
        assert_eq!(pauses, 10_000);
    }

    #[test]
    fn who_withdraws_while_waiting_gets_no_turn_and_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let first = LandingLock::try_acquire(&only(&path)).unwrap().unwrap();
        let cancel = CancelToken::default();
        let (ended, end) = mpsc::channel();
        let waits = (path.clone(), cancel.clone());
        let second = thread::spawn(move || {
            let lock = wait(&waits.0, &waits.1, &|_| waits.1.cancel(CancelLevel::Gently));
            ended.send(lock.is_none()).unwrap();
        });
        assert!(end.recv_timeout(Duration::from_secs(10)).unwrap());
        second.join().unwrap();
        drop(first);
        assert!(LandingLock::try_acquire(&only(&path)).unwrap().is_some());
    }

    #[test]
    fn of_several_folders_all_are_locked_or_none_and_one_named_twice_is_locked_once() {
        let place = tempfile::tempdir().unwrap();
        let [outer, inner] = ["outer", "inner"].map(|name| place.path().join(name));
        std::fs::create_dir(&outer).unwrap();
        std::fs::create_dir(&inner).unwrap();
        let both = || Ok(vec![outer.clone(), inner.clone(), place.path().join("outer/../inner")]);
        let first = LandingLock::try_acquire(&only(&inner)).unwrap().unwrap();
        assert!(LandingLock::try_acquire(&both).unwrap().is_none());
        let other = LandingLock::try_acquire(&only(&outer)).unwrap();
        assert!(other.is_some(), "the attempt that failed holds nothing");
        drop((first, other));
        let all = LandingLock::try_acquire(&both).unwrap();
        assert!(all.as_ref().is_some_and(|all| all.holds(&both().unwrap())));
        assert!(all.as_ref().is_some_and(|all| !all.holds(&[place.path().to_path_buf()])));
        for folder in [&outer, &inner] {
            assert!(LandingLock::try_acquire(&only(folder)).unwrap().is_none());
        }
    }

    #[test]
    fn folders_that_are_to_be_locked_too_by_now_are_not_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let calls = Cell::new(0);
        let growing = || {
            calls.set(calls.get() + 1);
            Ok(vec![place.path().to_path_buf(); if calls.get() < 2 { 1 } else { 2 }])
        };
        assert!(LandingLock::try_acquire(&growing).unwrap().is_none());
        assert!(LandingLock::try_acquire(&growing).unwrap().is_some());
    }
}
