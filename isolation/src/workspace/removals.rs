//! Removes folders on a thread of its own: no caller waits long for what the next start can do.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use engine::failpoint;
use engine::fault::Faults;
use protocol::RunName;

use crate::error::{OrCannot, Result};
use crate::workspace::remove_tree::{GONE, remove_tree_counting, set_aside};
use crate::workspace::{FileWork, in_threads};

/// How long the end of a run waits for the removal of its folders.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// As long as fewer files and folders are removed, the wait goes on: the folders of a small run are
/// gone when it ends, however busy the machine is.
const FEW: usize = 4_096;

/// How long even a small run waits.
const LONGEST_WAIT_FOR_FEW: Duration = Duration::from_secs(2);

/// The folders of a run that are removed, and what is done before. Clones share the thread, which runs
/// while there is something to do. What is left when the process ends is done by the next start: the
/// folders have names that only folders without work have.
#[derive(Clone, Default)]
pub(crate) struct Removals(Arc<Shared>);

/// A step on the thread of a run. It counts the files and folders that it removes.
type RemovalWork = Box<dyn FnOnce(&AtomicUsize) -> Result<()> + Send>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// How many files and folders are removed.
    removed: AtomicUsize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<RemovalWork>,
    is_running: bool,
}

impl Removals {
    /// Removes a folder in the background. No work is in it, which its name shows.
    pub(crate) fn begin(&self, folder: PathBuf, faults: &Faults) {
        let faults = faults.clone();
        self.run(move |removed| remove_folder(&folder, &faults, removed));
    }

    /// Removes a folder that was set aside in the background, and the folder of workspaces if nothing
    /// else is there.
    pub(crate) fn begin_set_aside(&self, folder: PathBuf, faults: &Faults) {
        let faults = faults.clone();
        self.run(move |removed| remove_one_set_aside(&folder, &faults, removed));
    }

    /// Does something in the background, after what was begun before.
    pub(crate) fn run(&self, step: impl FnOnce(&AtomicUsize) -> Result<()> + Send + 'static) {
        let mut state = self.0.lock();
        state.waiting.push_back(Box::new(step));
        if state.is_running {
            return;
        }
        state.is_running = true;
        drop(state);
        let running = Running { shared: Arc::clone(&self.0), has_ended: false };
        let thread = thread::Builder::new().name("removals".to_owned());
        // Without a thread, the next start does it.
        if let Err(error) = thread.spawn(move || running.run_all()) {
            tracing::warn!(%error, "what is left of a run stays until the next start");
        }
    }

    /// Waits until everything is done, but not for long if there is much to remove.
    pub(crate) fn wait(&self) {
        let began = Instant::now();
        let mut state = self.0.lock();
        while state.is_running {
            let is_few = self.0.removed.load(Ordering::Relaxed) < FEW;
            let longest = if is_few { LONGEST_WAIT_FOR_FEW } else { LONGEST_WAIT };
            let Some(left) = longest.checked_sub(began.elapsed()) else { return };
            let waited = self.0.changed.wait_timeout(state, left.min(LONGEST_WAIT));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread of a run. However it ends, no caller waits for it any more.
struct Running {
    shared: Arc<Shared>,
    has_ended: bool,
}

impl Running {
    fn run_all(mut self) {
        while let Some(step) = self.next() {
            if let Err(error) = step(&self.shared.removed) {
                tracing::warn!(%error, "what is left of a run stays until the next start");
            }
        }
    }

    /// Returns the next step. If there is none, the thread ends.
    fn next(&mut self) -> Option<RemovalWork> {
        let mut state = self.shared.lock();
        let next = state.waiting.pop_front();
        state.is_running = next.is_some();
        drop(state);
        self.has_ended = next.is_none();
        next
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            self.shared.lock().is_running = false;
        }
        self.shared.changed.notify_all();
    }
}

/// Removes a folder, and what is in it in as many threads as copied it.
fn remove_folder(folder: &Path, faults: &Faults, removed: &AtomicUsize) -> Result<()> {
    failpoint!(faults, "removal.begin").or_cannot(|| format!("remove {}", folder.display()))?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let next = AtomicUsize::new(0);
    in_threads(FileWork::Remove(entries.len()), &|| {
        while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            remove_tree_counting(entry, removed)?;
        }
        Ok(())
    })?;
    remove_tree_counting(folder, removed)
}

fn remove_one_set_aside(folder: &Path, faults: &Faults, removed: &AtomicUsize) -> Result<()> {
    remove_folder(folder, faults, removed)?;
    // Fails if something else is there, as it should.
    let _still_used = folder.parent().map_or(Ok(()), fs::remove_dir);
    Ok(())
}

/// Renames a folder of a run, or in it, out of the run's folder, to a name that no run can have.
/// Returns its new path; `None` if it is gone. No work may be in it.
pub(crate) fn set_aside_run(
    folder: &Path,
    workspaces: &Path,
    run: &RunName,
) -> std::io::Result<Option<PathBuf>> {
    set_aside(folder, workspaces, |number| OsString::from(format!("{GONE}{run}-{number}")))
}

/// Returns the folders of workspaces of one repository that were set aside, by this process or a dead
/// one.
pub(crate) fn folders_set_aside(workspaces: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspaces).into_iter().flatten().flatten();
    let is_gone = |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(GONE.as_bytes());
    entries.filter(is_gone).map(|entry| entry.path()).collect()
}

/// Removes the folders of workspaces of one repository that were set aside.
///
/// # Errors
/// One of them cannot be removed.
pub(crate) fn remove_set_aside(workspaces: &Path) -> Result<()> {
    let (removed, faults) = (AtomicUsize::new(0), Faults::default());
    let mut folders = folders_set_aside(workspaces).into_iter();
    folders.try_for_each(|folder| remove_one_set_aside(&folder, &faults, &removed))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_waits_for_many_files_waits_only_for_a_time_and_all_goes_on() {
        let (removals, (go, gone)) = (Removals::default(), channel::<()>());
        let (done, is_done) = channel();
        removals.run(move |removed| {
            removed.fetch_add(FEW, Ordering::Relaxed);
            assert!(gone.recv().is_err(), "the sender is dropped");
            Ok(())
        });
        removals.run(move |_| {
            done.send(()).expect("somebody waits");
            Ok(())
        });
        removals.wait();
        assert!(is_done.try_recv().is_err(), "it has not waited for the end");
        drop(go);
        assert_eq!(is_done.recv(), Ok(()));
    }

    #[test]
    fn a_small_folder_is_gone_after_the_wait_and_an_error_or_a_panic_ends_it() {
        let home = tempfile::tempdir().unwrap();
        let (workspaces, removals) = (home.path().join("workspaces"), Removals::default());
        let run: RunName = "raaaa".parse().unwrap();
        fs::create_dir_all(workspaces.join("raaaa/.pool-1/tree")).unwrap();
        fs::create_dir_all(workspaces.join(".gone-raaaa-0")).unwrap();
        let aside = set_aside_run(&workspaces.join("raaaa"), &workspaces, &run).unwrap().unwrap();
        assert_eq!(aside, workspaces.join(".gone-raaaa-1"));
        assert_eq!(folders_set_aside(&workspaces).len(), 2);
        removals.run(|_| Err("a test wants it").or_cannot(|| "do nothing"));
        removals.begin_set_aside(aside, &Faults::default());
        removals.wait();
        assert_eq!(folders_set_aside(&workspaces), [workspaces.join(".gone-raaaa-0")]);
        removals.run(|_| panic!("a test wants it"));
        removals.wait();
        remove_set_aside(&workspaces).unwrap();
        assert!(!workspaces.exists(), "nothing else was there");
    }
}
