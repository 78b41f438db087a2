//! The lock for landings in one repository, across threads, processes, users and containers. It is
//! a lock on the descriptor of the git folder itself, in which nothing is written.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNotice};

use crate::error::{OrCannot, Result};

/// The pause between two attempts to lock. A blocking lock could not be cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The lock of the landing in progress. It is released when dropped, or when its process ends.
pub(crate) struct LandingLock {
    held: File,
}

impl Drop for LandingLock {
    fn drop(&mut self) {
        // Closing the file would not release the lock: a child that another thread is starting has
        // the descriptor, too, until it executes its program.
        let _closed_anyway = self.held.unlock();
    }
}

impl LandingLock {
    /// Waits for the lock of the repository with this git folder, and notifies if it has to wait.
    /// Returns `None` if the landing is cancelled meanwhile.
    pub(crate) fn acquire(
        common_dir: &Path,
        faults: &Faults,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
    ) -> Result<Option<Self>> {
        Self::acquire_with(common_dir, faults, cancel, notify, &mut || thread::sleep(POLL_INTERVAL))
    }

    /// Does what [`Self::acquire`] does, with `pause` between two looks.
    fn acquire_with(
        common_dir: &Path,
        faults: &Faults,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
        pause: &mut dyn FnMut(),
    ) -> Result<Option<Self>> {
        let folder = open(common_dir)?;
        let look = || {
            faults.failpoint("landing.lock").or_cannot(|| attempted(common_dir))?;
            try_lock(&folder, common_dir)
        };
        if faults.is_off("F276") || look()? == Taken::Yes {
            return Ok(Some(Self { held: folder }));
        }
        notify(LandingNotice::Waiting);
        while !cancel.is_cancelled() {
            if look()? == Taken::Yes {
                return Ok(Some(Self { held: folder }));
            }
            pause();
        }
        Ok(None)
    }

    /// Takes the lock if no landing is in progress.
    pub(crate) fn try_acquire(common_dir: &Path) -> Result<Option<Self>> {
        let folder = open(common_dir)?;
        let taken = try_lock(&folder, common_dir)?;
        Ok((taken == Taken::Yes).then_some(Self { held: folder }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

fn open(common_dir: &Path) -> Result<File> {
    File::open(common_dir).or_cannot(|| attempted(common_dir))
}

fn try_lock(folder: &File, common_dir: &Path) -> Result<Taken> {
    match folder.try_lock() {
        Ok(()) => Ok(Taken::Yes),
        Err(TryLockError::WouldBlock) => Ok(Taken::No),
        Err(TryLockError::Error(error)) => Err(error).or_cannot(|| attempted(common_dir)),
    }
}

fn attempted(common_dir: &Path) -> String {
    format!("lock {} for landing", common_dir.display())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::time::Duration;

    use engine::ports::CancelLevel;

    use super::*;

    fn wait(
        folder: &Path,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
    ) -> Option<LandingLock> {
        LandingLock::acquire(folder, &Faults::default(), cancel, notify).unwrap()
    }

    #[test]
    fn only_one_has_the_turn_and_who_waits_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let wanted = CancelToken::default();
        let first = wait(&path, &wanted, &|_| panic!("nobody is there")).unwrap();
        assert!(LandingLock::try_acquire(&path).unwrap().is_none());
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
        let mut first = LandingLock::try_acquire(folder.path()).unwrap();
        assert!(first.is_some());
        let mut pauses = 0;
        let mut pause = || {
            pauses += 1;
            if pauses == 10_000 {
                first = None;
            }
        };
        let (faults, cancel) = (Faults::default(), CancelToken::default());
        let lock = LandingLock::acquire_with(folder.path(), &faults, &cancel, &|_| {}, &mut pause);
        assert!(lock.unwrap().is_some());
        assert_eq!(pauses, 10_000);
    }

    #[test]
    fn who_withdraws_while_waiting_gets_no_turn_and_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let first = LandingLock::try_acquire(&path).unwrap().unwrap();
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
        assert!(LandingLock::try_acquire(&path).unwrap().is_some());
    }
}
