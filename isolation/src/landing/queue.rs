//! The queue of landings in one repository, across threads, processes, users and containers: who
//! holds a lock on the descriptor of the git folder itself is landing. Nothing is written there.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNews};

use crate::error::{OrCannot, Result};

/// How long who waits for the turn sleeps between two looks. Who blocks in the lock instead cannot
/// be told that its landing is withdrawn.
const PAUSE: Duration = Duration::from_millis(50);

/// The turn to land. It ends when this is dropped, or when its process ends.
pub(crate) struct Turn {
    held: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Closing would not do: a child that another thread is just starting has the descriptor
        // too until it runs its program.
        let _closed_anyway = self.held.unlock();
    }
}

impl Turn {
    /// Waits for the turn to land in the repository with this git folder, and says so if it has to.
    /// Nothing comes back if the landing is withdrawn meanwhile.
    pub(crate) fn wait(
        common_dir: &Path,
        faults: &Faults,
        cancel: &CancelToken,
        news: &dyn Fn(LandingNews),
    ) -> Result<Option<Self>> {
        Self::wait_with(common_dir, faults, cancel, news, &mut || thread::sleep(PAUSE))
    }

    /// Does what [`Self::wait`] does, with `pause` between two looks.
    fn wait_with(
        common_dir: &Path,
        faults: &Faults,
        cancel: &CancelToken,
        news: &dyn Fn(LandingNews),
        pause: &mut dyn FnMut(),
    ) -> Result<Option<Self>> {
        let folder = open(common_dir)?;
        let look = || {
            faults.strike("landing.lock").or_cannot(|| told(common_dir))?;
            try_lock(&folder, common_dir)
        };
        if faults.is_off("F276") || look()? == Taken::Yes {
            return Ok(Some(Self { held: folder }));
        }
        news(LandingNews::Waiting);
        while !cancel.is_cancelled() {
            if look()? == Taken::Yes {
                return Ok(Some(Self { held: folder }));
            }
            pause();
        }
        Ok(None)
    }

    /// Takes the turn if nobody has it.
    pub(crate) fn take(common_dir: &Path) -> Result<Option<Self>> {
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
    File::open(common_dir).or_cannot(|| told(common_dir))
}

fn try_lock(folder: &File, common_dir: &Path) -> Result<Taken> {
    match folder.try_lock() {
        Ok(()) => Ok(Taken::Yes),
        Err(TryLockError::WouldBlock) => Ok(Taken::No),
        Err(TryLockError::Error(error)) => Err(error).or_cannot(|| told(common_dir)),
    }
}

fn told(common_dir: &Path) -> String {
    format!("lock {} for landing", common_dir.display())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::time::Duration;

    use engine::ports::CancelLevel;

    use super::*;

    fn wait(folder: &Path, cancel: &CancelToken, news: &dyn Fn(LandingNews)) -> Option<Turn> {
        Turn::wait(folder, &Faults::default(), cancel, news).unwrap()
    }

    #[test]
    fn only_one_has_the_turn_and_who_waits_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let wanted = CancelToken::default();
        let first = wait(&path, &wanted, &|_| panic!("nobody is there")).unwrap();
        assert!(Turn::take(&path).unwrap().is_none());
        let (told, waiting) = mpsc::channel();
        let second = thread::spawn(move || {
            let count = Cell::new(0);
            let turn = wait(&path, &wanted, &|_| {
                count.set(count.get() + 1);
                told.send(()).unwrap();
            });
            drop(turn.unwrap());
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
        let mut first = Turn::take(folder.path()).unwrap();
        assert!(first.is_some());
        let mut pauses = 0;
        let mut pause = || {
            pauses += 1;
            if pauses == 10_000 {
                first = None;
            }
        };
        let (faults, cancel) = (Faults::default(), CancelToken::default());
        let turn = Turn::wait_with(folder.path(), &faults, &cancel, &|_| {}, &mut pause);
        assert!(turn.unwrap().is_some());
        assert_eq!(pauses, 10_000);
    }

    #[test]
    fn who_withdraws_while_waiting_gets_no_turn_and_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let first = Turn::take(&path).unwrap().unwrap();
        let cancel = CancelToken::default();
        let (ended, end) = mpsc::channel();
        let waits = (path.clone(), cancel.clone());
        let second = thread::spawn(move || {
            let turn = wait(&waits.0, &waits.1, &|_| waits.1.cancel(CancelLevel::Gently));
            ended.send(turn.is_none()).unwrap();
        });
        assert!(end.recv_timeout(Duration::from_secs(10)).unwrap());
        second.join().unwrap();
        drop(first);
        assert!(Turn::take(&path).unwrap().is_some());
    }
}
