//! Starts the tokio runtime. It checks first that the system allows the threads and files that a
//! run needs, and starts those threads at once, because the system may not allow new ones later.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use std::{io, thread};

use rustix::process::{Resource, Rlimit, getrlimit};
use tokio::runtime::{Builder, Runtime};

use crate::process;
use regatta::error::{Error, ErrorKind};

/// The most threads for blocking work, mostly waiting for the disk: so many per core, within these
/// limits. More would not be faster, and each holds a hundred kilobytes.
const BLOCKING_PER_CORE: usize = 8;
const BLOCKING_LEAST: usize = 16;
const BLOCKING_MOST: usize = 64;

/// How many threads for blocking work are started with the runtime and kept until its end.
const BLOCKING_KEPT: usize = 4;

/// How many other threads and processes a run needs: the writers of the ledger and of session logs,
/// the launcher, a reaper, and a few processes of a task.
const OTHER_THREADS: usize = 12;

/// How many files a small run has open at the same time, with some to spare.
const FILES: usize = 48;

/// Worker threads, and blocking threads, are at most the process limit divided by this.
const LIMIT_DIVISOR: usize = 16;

/// How long a started thread may take until it runs.
const START_LIMIT: Duration = Duration::from_secs(5);

/// How long an idle thread is kept: practically for ever.
const KEEP_ALIVE: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

/// The stack of a thread, in bytes. A path has at most 2,048 folders, and both libgit2 and this
/// program go down into a tree with a call per folder. What a stack does not need takes no memory.
const STACK: usize = 16 << 20;

/// Starts the runtime.
///
/// # Errors
/// The system does not allow enough threads or files.
pub(crate) fn start() -> Result<Runtime, Error> {
    check_files()?;
    let processes = getrlimit(Resource::Nproc);
    let threads = Threads::under(processes.current);
    check_threads(threads.total(), processes)?;
    let started = Arc::new(AtomicBool::new(false));
    exit_if_no_thread_starts(Arc::clone(&started), threads.total(), processes);
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .worker_threads(threads.workers)
        .max_blocking_threads(threads.blocking)
        .thread_keep_alive(KEEP_ALIVE)
        .thread_stack_size(STACK)
        .build();
    let runtime = runtime.map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot start the runtime").caused_by(&error)
    })?;
    if let Err(running) = start_blocking_threads(&runtime) {
        // It would wait for those that never start.
        runtime.shutdown_background();
        let error = io::ErrorKind::TimedOut.into();
        return Err(no_threads(running, BLOCKING_KEPT, &error, processes));
    }
    started.store(true, Ordering::Relaxed);
    Ok(runtime)
}

/// How many threads the runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Threads {
    workers: usize,
    blocking: usize,
}

impl Threads {
    /// Returns the numbers for this machine. They use only a small part of the process limit, so
    /// that tasks can start processes, too.
    fn under(limit: Option<u64>) -> Self {
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let share = (limit / LIMIT_DIVISOR).max(BLOCKING_KEPT);
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let blocking = (BLOCKING_PER_CORE * cores).clamp(BLOCKING_LEAST, BLOCKING_MOST);
        Self { workers: cores.min(share), blocking: blocking.min(share) }
    }

    /// Returns how many threads and processes a run needs in all.
    fn total(self) -> usize {
        self.workers + BLOCKING_KEPT + OTHER_THREADS
    }
}

/// Checks that [`FILES`] files can be open at the same time.
fn check_files() -> Result<(), Error> {
    let mut open = Vec::new();
    while open.len() < FILES {
        match File::open("/dev/null") {
            Ok(file) => open.push(file),
            Err(error) if is_shortage(&error) => return Err(no_files(open.len(), &error)),
            // Without that file there is nothing to be learned.
            Err(_) => break,
        }
    }
    Ok(())
}

fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        .map(Errno::raw_os_error)
        .map(Some)
        .contains(&error.raw_os_error())
}

fn no_files(opened: usize, error: &io::Error) -> Error {
    Error::new(ErrorKind::Machine, "cannot open enough files")
        .because(format!("only {opened} of the {FILES} it needs can be open at the same time"))
        .caused_by(error)
        .hint("ulimit -n 1024")
}

/// Checks that `wanted` threads can run at the same time, by starting them. They have ended when
/// this function returns.
fn check_threads(wanted: usize, processes: Rlimit) -> Result<(), Error> {
    let gate = Gate::default();
    let closed = gate.close();
    let mut threads = Vec::new();
    let mut failed = None;
    while threads.len() < wanted && failed.is_none() {
        let gate = gate.clone();
        match thread::Builder::new().spawn(move || gate.pass()) {
            Ok(thread) => threads.push(thread),
            Err(error) => failed = Some(error),
        }
    }
    drop(closed);
    let running = threads.len();
    for thread in threads {
        let _never_panics = thread.join();
    }
    match failed {
        None => Ok(()),
        Some(error) => Err(no_threads(running, wanted, &error, processes)),
    }
}

/// Starts the blocking threads that are kept.
///
/// # Errors
/// Not all of them could be started. The error is the number of those that were.
fn start_blocking_threads(runtime: &Runtime) -> Result<(), usize> {
    let gate = Gate::default();
    let _closed = gate.close();
    let (running, started) = mpsc::channel();
    for _ in 0..BLOCKING_KEPT {
        let (gate, running) = (gate.clone(), running.clone());
        runtime.spawn_blocking(move || {
            let _given_up = running.send(());
            gate.pass();
        });
    }
    (0..BLOCKING_KEPT)
        .try_for_each(|count| started.recv_timeout(START_LIMIT).map_err(|_late| count))
}

/// A gate at which threads wait until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<()>>);

impl Gate {
    /// Closes it until the guard is dropped.
    fn close(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is open.
    fn pass(&self) {
        drop(self.close());
    }
}

/// Exits with an error if the runtime cannot start a thread although the check passed, because other
/// processes took the resources in between. The runtime then panics, and its first threads never end.
fn exit_if_no_thread_starts(started: Arc<AtomicBool>, wanted: usize, processes: Rlimit) {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if started.load(Ordering::Relaxed) || !words.starts_with("OS can't spawn worker thread") {
            return default(panic);
        }
        let error = io::ErrorKind::WouldBlock.into();
        let _code = process::report(Err(no_threads(0, wanted, &error, processes)));
        std::process::exit(1);
    }));
}

fn no_threads(started: usize, wanted: usize, error: &io::Error, processes: Rlimit) -> Error {
    let mut no_threads = Error::new(ErrorKind::Machine, "cannot start threads")
        .because(format!("only {started} of the {wanted} it needs can run at the same time"))
        .caused_by(error);
    if let Some(limit) = processes.current {
        no_threads = no_threads.because(format!(
            "ulimit -u is {limit}, and counts all processes and threads of this user"
        ));
    }
    if processes.maximum.is_some_and(|most| most < 1024) {
        no_threads = no_threads.because("only root can raise that limit");
    }
    no_threads.hint("ulimit -u 1024")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_of_processes_leaves_room_for_those_of_tasks() {
        for limit in [40, 200, 1024, 100_000] {
            let threads = Threads::under(Some(limit));
            let most = u64::try_from(threads.workers.max(threads.blocking)).unwrap();
            assert!(most <= (limit / 8).max(4), "{limit}: {threads:?}");
            assert!(threads.workers >= 1 && threads.blocking >= BLOCKING_KEPT);
        }
        let blocking = Threads::under(None).blocking;
        assert!((BLOCKING_LEAST..=BLOCKING_MOST).contains(&blocking));
        assert_eq!(Threads::under(Some(1024)).blocking, blocking);
    }

    #[test]
    fn the_error_says_what_is_missing_and_what_to_type() {
        let error = io::Error::from_raw_os_error(11);
        let processes = Rlimit { current: Some(5), maximum: Some(5) };
        assert_eq!(
            no_threads(3, 18, &error, processes).to_string(),
            "error: cannot start threads\n  \
             because only 3 of the 18 it needs can run at the same time\n  \
             because Resource temporarily unavailable\n  \
             because ulimit -u is 5, and counts all processes and threads of this user\n  \
             because only root can raise that limit\n  \
             try: ulimit -u 1024"
        );
    }

    #[test]
    fn the_runtime_has_threads_for_what_blocks_from_the_start() {
        let runtime = start().unwrap();
        let answers = (0..BLOCKING_KEPT).map(|number| runtime.spawn_blocking(move || number));
        let answers: Vec<_> = answers.collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for answer in answers {
                sum += answer.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 6);
    }
}
