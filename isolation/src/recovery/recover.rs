//! Finds what dead engines have left in one repository: completes their open landings and captures
//! their workspaces. No workspace is removed here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::thread;
use std::time::{Duration, Instant};

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{LandingNotice, Notice, OpenRun, Recovered, RecoveredTask};
use group_log::LockedFile;
use protocol::{CaptureRef, RunName, TaskName};

use crate::backends::{Backends, RunContext};
use crate::capture::summary;
use crate::error::{OrCannot, Result};
use crate::git_texts::GitTexts;
use crate::landing;
use crate::paths::RepoPaths;
use crate::recovery::dead_runs::{DeadRun, RunFolders};
use crate::recovery::finish::{Cleanup, LockedRun};
use crate::repository::{Repo, is_cut_off};
use crate::store::TaskStore;
use crate::workspace::{Removals, folders_set_aside};

/// How long a recovery waits for that of another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause between two attempts to lock.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The findings of a recovery, and the cleanup to do once they are recorded.
pub(crate) struct Findings {
    /// The findings.
    pub(crate) recovered: Recovered,
    /// The cleanup.
    pub(crate) cleanup: Cleanup,
}

/// Completes the open landings of dead engines and captures their workspaces. Returns `None` if
/// there is no run with a folder, no run in `open`, no open landing and no lock that one has left. What
/// ended runs have left without any work is removed first, in the background if it is much.
pub(crate) fn recover(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    backends: &Backends,
    open: &[OpenRun],
) -> Result<Option<Findings>> {
    let removals = Removals::default();
    for folder in folders_set_aside(&paths.workspaces) {
        removals.begin_set_aside(folder, faults);
    }
    removals.wait();
    let names = run_names(paths)?;
    let is_left = landing::is_any_open(paths)? || is_cut_off(&repo.common_dir);
    if names.is_empty() && open.is_empty() && !is_left {
        return Ok(None);
    }
    let recovery_lock = lock_recovery(paths)?;
    failpoint!(faults, "recover.begin").or_cannot(|| "look for the work of crashed engines")?;
    // The runs are listed again under the lock, while no other recovery removes anything.
    let RunFolders { dead, alive, mut kept } = RunFolders::lock_dead(paths, run_names(paths)?);
    // Landings are completed first: a capture reads unchanged files of the snapshot from the
    // user's tree, and an open landing may have changed only a part of that tree.
    let (rescued, stuck) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let notify = |notice| match notice {
        LandingNotice::Rescued(rescue) => rescued.borrow_mut().push(rescue),
        LandingNotice::Degraded(Notice { from, to, why }) => {
            stuck.borrow_mut().push(format!("{from}: {to}: {why}"));
        }
        LandingNotice::Waiting
        | LandingNotice::HeadMoved(_)
        | LandingNotice::OpenFilesUnknown { .. }
        | LandingNotice::NoExchange { .. } => {}
    };
    let mut landings = landing::recover(repo, paths, faults, &alive, &notify)?;
    kept.extend(stuck.take());
    let (mut tasks, mut cleanups) = (Vec::new(), Vec::new());
    let mut names: BTreeSet<RunName> = dead.iter().map(|run| run.name.clone()).collect();
    for run in dead {
        let DeadRun { name, lock } = run;
        let context = RunContext::of(repo, paths, faults, &name);
        let captured = DeadRun::capture(&context, backends);
        tasks.extend(captured.tasks);
        kept.extend(captured.kept);
        cleanups.push(LockedRun { context, lock, discard: captured.discard });
    }
    for run in open.iter().filter(|open| !alive.contains(&open.run)) {
        names.insert(run.run.clone());
        tasks.extend(unrecorded((repo, paths), faults, run, &tasks)?);
        // If an engine finished a landing and died, only the journal shows the landing.
        if !landings.iter().any(|landing| landing.run == run.run) {
            landings.extend(landing::done(paths, &run.run)?);
        }
    }
    let (dead, rescued) = (names.into_iter().collect(), rescued.into_inner());
    let recovered = Recovered { landings, tasks, dead, kept, rescued };
    let cleanup = Cleanup::of(&recovered, cleanups, recovery_lock, paths, faults);
    Ok(Some(Findings { recovered, cleanup }))
}

/// Returns the runs that have a folder of workspaces, sorted.
fn run_names(paths: &RepoPaths) -> Result<Vec<RunName>> {
    let what = || format!("look for workspaces in {}", paths.workspaces.display());
    let entries = match fs::read_dir(&paths.workspaces) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).or_cannot(what),
    };
    let mut names: Vec<RunName> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    Ok(names)
}

/// Locks the repository's recovery. A second process waits for the lock, and then finds nothing
/// left to recover.
fn lock_recovery(paths: &RepoPaths) -> Result<LockedFile> {
    let what = || "wait for the recovery of another process";
    let folder = &paths.landings;
    DirBuilder::new().recursive(true).mode(0o700).create(folder).or_cannot(what)?;
    let began = Instant::now();
    loop {
        match LockedFile::try_lock(File::open(folder).or_cannot(what)?) {
            Ok(lock) => return Ok(lock),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(POLL_INTERVAL)
            }
            Err(TryLockError::WouldBlock) => {
                return Err(format!("it has not ended within {} s", LOCK_TIMEOUT.as_secs()))
                    .or_cannot(what);
            }
            Err(TryLockError::Error(error)) => return Err(error).or_cannot(what),
        }
    }
}

/// Returns the captures of a run that are in the task store and not in the ledger, because an
/// engine or a recovery died before it recorded them. Leaves out the captures of `found`, which
/// this recovery reports already.
fn unrecorded(
    (repo, paths): (&Repo, &RepoPaths),
    faults: &Faults,
    run: &OpenRun,
    found: &[RecoveredTask],
) -> Result<Vec<RecoveredTask>> {
    let Some(store) = TaskStore::open_existing(&paths.store)? else { return Ok(Vec::new()) };
    let store = store.with_faults(faults);
    let mut known: BTreeMap<TaskName, u32> = BTreeMap::new();
    let reported = found.iter().filter_map(|task| Some(&task.captured.as_ref().ok()?.capture));
    for (task, attempt) in run.captures.iter().chain(reported).filter_map(|it| part(it, &run.run)) {
        let last = known.entry(task).or_insert(attempt);
        *last = attempt.max(*last);
    }
    let (mut tasks, texts) = (Vec::new(), GitTexts::of(&repo.root));
    for capture in store.captures(&run.run)? {
        let Some((task, attempt)) = part(&capture, &run.run) else { continue };
        if known.get(&task).is_none_or(|last| attempt > *last) {
            let captured = summary((&store, &texts), capture)?;
            tasks.push(RecoveredTask {
                run: run.run.clone(),
                task,
                attempt,
                captured: Ok(captured),
            });
        }
    }
    Ok(tasks)
}

/// Splits the name of a capture of `run` into its task and attempt.
fn part(capture: &CaptureRef, run: &RunName) -> Option<(TaskName, u32)> {
    let rest = capture.as_str().strip_prefix(&format!("refs/tasks/{run}/"))?;
    let (task, attempt) = rest.rsplit_once('/')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}
