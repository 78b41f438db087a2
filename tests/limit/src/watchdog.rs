//! Watches the tests that run, and ends the process when one of them takes too long.

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::permits::Permit;
use crate::yardstick::slowdown;

/// How long a test may run that asks for nothing else.
const LIMIT: Duration = Duration::from_secs(100);

/// How much longer than its limit a test may run on a busy machine, at most.
const MOST_SLOWDOWN: f64 = 4.0;

/// How many tests have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The tests that run now, in the order of their beginnings.
static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// Wakes the watchdog when [`RUNNING`] has changed.
static CHANGED: Condvar = Condvar::new();

/// The thread of the test that runs alone, or will when the others have ended.
static ALONE: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Wakes the tests that wait for [`ALONE`], and the one that waits for the others.
static ENDED: Condvar = Condvar::new();

struct Running {
    /// Tells it from other tests, also from one that began on the same thread.
    number: u64,
    module: &'static str,
    name: &'static str,
    thread: ThreadId,
    began: Instant,
    limit: Duration,
    /// The limit on a machine that is as busy as it was when the limit was reached.
    extended: Duration,
    /// Whether it waits until it can run alone.
    waits: bool,
}

/// A test that is watched until this is dropped.
#[derive(Debug)]
pub struct Watched {
    number: u64,
    /// `None` if the thread had a permit before.
    _permit: Option<Permit>,
}

/// Watches the test `name` of `module`, which runs on this thread, until the result is dropped.
#[must_use]
pub fn begin(module: &'static str, name: &'static str) -> Watched {
    static WATCHDOG: Once = Once::new();
    WATCHDOG.call_once(|| drop(std::thread::spawn(watch)));
    let thread = std::thread::current().id();
    let permit = Permit::acquire();
    let alone = until_alone(|alone| alone.is_none_or(|alone| alone == thread));
    let number = BEGUN.fetch_add(1, Ordering::Relaxed);
    let (began, limit) = (Instant::now(), default_limit());
    let extended = limit;
    running().push(Running { number, module, name, thread, began, limit, extended, waits: false });
    drop(alone);
    CHANGED.notify_one();
    Watched { number, _permit: permit }
}

/// Waits until no other test of this program runs, and lets none begin before the one that runs on
/// this thread has ended. For tests that leave no processor to others.
///
/// # Panics
/// When no test runs on this thread, or the reason is empty.
pub fn alone(reason: &str) {
    assert!(!reason.is_empty(), "a test that runs alone has a reason");
    let thread = std::thread::current().id();
    let waits = |it: bool| {
        let mut running = running();
        let test = running.iter_mut().rfind(|test| test.thread == thread);
        let test = test.expect("a test asks on the thread that it began on");
        test.waits = it;
        // What it waits for the others does not count.
        test.began = Instant::now();
    };
    let alone = until_alone(|_| true);
    waits(true);
    ENDED.notify_all();
    let is_another = |alone: &mut Option<ThreadId>| alone.is_some_and(|alone| alone != thread);
    let waited = ENDED.wait_while(alone, is_another);
    let mut alone = waited.unwrap_or_else(PoisonError::into_inner);
    *alone = Some(thread);
    waits(false);
    let is_last = || running().iter().all(|test| test.thread == thread || test.waits);
    while !is_last() {
        alone = ENDED.wait(alone).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Waits until the thread of the test that runs alone is as it must be.
fn until_alone(holds: impl Fn(&Option<ThreadId>) -> bool) -> MutexGuard<'static, Option<ThreadId>> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = ENDED.wait_while(alone, |alone| !holds(alone));
    waited.unwrap_or_else(PoisonError::into_inner)
}

/// Lets the test that runs on this thread take up to `limit`.
///
/// # Panics
/// When no test runs on this thread, or the reason is empty.
pub fn raise(limit: Duration, reason: &str) {
    assert!(!reason.is_empty(), "a test that takes long has a reason");
    let thread = std::thread::current().id();
    let mut running = running();
    let test = running.iter_mut().rfind(|test| test.thread == thread);
    let test = test.expect("a test raises its limit on the thread that it began on");
    test.limit = test.limit.max(limit);
    test.extended = test.extended.max(limit);
}

impl Drop for Watched {
    fn drop(&mut self) {
        let thread = std::thread::current().id();
        let mut running = running();
        let mine = |test: &Running| test.number == self.number;
        if let Some(at) = running.iter().position(mine) {
            let ended = running.remove(at);
            let is_last_here = running.iter().all(|test| test.thread != thread);
            drop(running);
            record(&ended);
            let mut alone = until_alone(|_| true);
            if is_last_here && *alone == Some(thread) {
                *alone = None;
            }
            ENDED.notify_all();
        }
    }
}

/// Waits for the first limit that is reached, which is later on a busy machine. Ends with the
/// process.
fn watch() {
    let mut running = running();
    loop {
        if running.iter().any(|test| test.is_late(Instant::now())) {
            // Tests go on while the machine is measured.
            drop(running);
            let slowdown = slowdown().min(MOST_SLOWDOWN);
            running = self::running();
            let now = Instant::now();
            for test in running.iter_mut().filter(|test| test.is_late(now)) {
                test.extended = test.limit.mul_f64(slowdown).max(test.extended);
            }
            if running.iter().any(|test| test.is_late(now)) {
                report(&running, now);
                std::process::abort();
            }
        }
        let now = Instant::now();
        let working = running.iter().filter(|test| !test.waits);
        let next = working.map(|test| (test.began + test.extended) - now).min();
        let woken = CHANGED.wait_timeout(running, next.unwrap_or(LIMIT));
        running = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl Running {
    fn is_late(&self, now: Instant) -> bool {
        !self.waits && now.duration_since(self.began) >= self.extended
    }

    /// Returns the name as the test harness has it, which is without the crate.
    fn full_name(&self) -> String {
        match self.module.split_once("::") {
            Some((_crate, modules)) => format!("{modules}::{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

/// Names the tests that take too long, and the others that run.
fn report(running: &[Running], now: Instant) {
    let line = |test: &Running| {
        let seconds = now.duration_since(test.began).as_secs_f32();
        let name = test.full_name();
        if test.is_late(now) {
            format!("TEST TOO LONG {name} after {seconds:.0} s\n")
        } else {
            format!("still running: {name} for {seconds:.0} s\n")
        }
    };
    let (late, others): (Vec<_>, Vec<_>) = running.iter().partition(|test| test.is_late(now));
    let lines: String = late.into_iter().chain(others).map(line).collect();
    let _unread = write!(std::io::stderr(), "\n{lines}"); // the process ends all the same
}

/// Adds a line to the file of times, if there is to be one.
fn record(test: &Running) {
    static TIMES: OnceLock<Option<File>> = OnceLock::new();
    let times = TIMES.get_or_init(|| {
        let path = std::env::var_os("REGATTA_TEST_TIMES")?;
        File::options().create(true).append(true).open(path).ok()
    });
    let Some(mut times) = times.as_ref() else { return };
    let line = format!("{:.3} {}\n", test.began.elapsed().as_secs_f64(), test.full_name());
    let _unwritten = times.write_all(line.as_bytes()); // a test passes without it, too
}

fn default_limit() -> Duration {
    static ASKED_FOR: OnceLock<Duration> = OnceLock::new();
    *ASKED_FOR.get_or_init(|| {
        let seconds = std::env::var("REGATTA_TEST_LIMIT").ok();
        let seconds = seconds.map(|text| text.parse().expect("REGATTA_TEST_LIMIT is in seconds"));
        seconds.map_or(LIMIT, Duration::from_secs)
    })
}

fn running() -> MutexGuard<'static, Vec<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
