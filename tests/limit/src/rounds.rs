//! Tests that repeat something with random numbers: how often, and with which seeds.

use std::collections::VecDeque;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::depth::{Depth, depth, fixed_seed, given_seed, root, seed};
use crate::watchdog::raise;

/// How long a round may take on a slow machine. The limit of a test is that of all its rounds.
const ROUND: Duration = Duration::from_secs(3);

/// The most that many rounds may take.
const MOST: Duration = Duration::from_secs(1_200);

/// How much longer than its time box a test may take, for the round that ends last.
const AFTER_THE_BOX: Duration = Duration::from_secs(100);

/// The rounds of a test. As an iterator, it yields the seed of each.
///
/// The seeds that `tests/seeds.txt` lists for the test come first, then those from the first seed
/// on: that of the commit ([`seed`](crate::seed)), in quick depth the same for all commits. A round
/// that panics is reported with its line for that file.
#[derive(Debug)]
pub struct Rounds {
    test: &'static str,
    /// The seeds of `tests/seeds.txt` that have not been tried yet.
    listed: VecDeque<u64>,
    /// The seed that follows them.
    next: u64,
    plan: Plan,
    begun: u64,
    current: Option<u64>,
}

/// How often a test repeats something, by the depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    planned: Planned,
    began: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Planned {
    Count(u64),
    Until(Instant),
}

impl Plan {
    /// Returns the plan of the test that runs on this thread, whose time limit it raises.
    pub(crate) fn new(quick: u64, full: u64) -> Self {
        let began = Instant::now();
        let (planned, limit) = match depth() {
            Depth::Quick => (Planned::Count(quick), times(quick)),
            Depth::Full => (Planned::Count(full), times(full)),
            Depth::TimeBox(time) => (Planned::Until(began + time), time + AFTER_THE_BOX),
        };
        raise(limit, "it repeats something many times");
        Self { planned, began }
    }

    /// Returns whether another round is to begin after so many.
    pub(crate) fn goes_on_after(&self, rounds: u64) -> bool {
        match self.planned {
            Planned::Count(count) => rounds < count,
            Planned::Until(end) => rounds == 0 || Instant::now() < end,
        }
    }

    /// Returns the count of the rounds that have ended.
    pub(crate) fn done(self, count: u64) -> Done {
        let planned = match self.planned {
            Planned::Count(count) => Some(count),
            Planned::Until(_) => None,
        };
        Done { count, planned, took: self.began.elapsed() }
    }
}

impl Rounds {
    /// Returns the rounds of the test that runs on this thread: `quick` or `full` many, or as many
    /// as fit into a time box, by [`Depth`]. `test` names it in `tests/seeds.txt`.
    ///
    /// # Panics
    /// If no test runs on this thread.
    #[must_use]
    pub fn new(test: &'static str, quick: u64, full: u64) -> Self {
        let plan = Plan::new(quick, full);
        let listed = if given_seed().is_some() { VecDeque::new() } else { listed_seeds(test) };
        let first = if depth() == Depth::Quick { fixed_seed() } else { seed() };
        Self { test, listed, next: first, plan, begun: 0, current: None }
    }

    /// Begins at another seed, unless `REGATTA_SEED` is set.
    #[must_use]
    pub fn beginning_at(mut self, seed: u64) -> Self {
        self.next = given_seed().unwrap_or(seed);
        self
    }

    /// Runs all rounds, `threads` at a time, and returns how many there were.
    ///
    /// # Panics
    /// If a round does, after the others that had begun.
    pub fn run(mut self, threads: usize, round: impl Fn(u64) + Sync) -> Done {
        let (test, panics) = (self.test, Mutex::new(Vec::new()));
        let state = Mutex::new(&mut self);
        let next = || {
            let mut rounds = state.lock().expect("drawing a seed does not panic");
            panics.lock().is_ok_and(|panics| panics.is_empty()).then(|| rounds.next()).flatten()
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(seed) = next() {
                        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| round(seed))) {
                            report_failure(test, seed);
                            panics.lock().expect("pushing does not panic").push(panic);
                        }
                    }
                });
            }
        });
        self.current = None;
        if let Some(panic) = panics.into_inner().expect("pushing does not panic").pop() {
            resume_unwind(panic);
        }
        self.done()
    }

    /// Reports a round that failed without a panic.
    pub fn report_failure(&self, seed: u64) {
        report_failure(self.test, seed);
    }

    /// Returns the count of the rounds that have ended.
    #[must_use]
    pub fn done(mut self) -> Done {
        self.current = None;
        self.plan.done(self.begun)
    }
}

impl Iterator for Rounds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.current = None;
        if self.listed.is_empty() && !self.plan.goes_on_after(self.begun) {
            return None;
        }
        let seed = self.listed.pop_front().unwrap_or_else(|| {
            let seed = self.next;
            self.next = seed.wrapping_add(1);
            seed
        });
        self.begun += 1;
        self.current = Some(seed);
        self.current
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        if let Some(seed) = self.current.filter(|_| std::thread::panicking()) {
            report_failure(self.test, seed);
        }
    }
}

/// How many rounds a test ran.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// How many rounds there were.
    pub count: u64,
    planned: Option<u64>,
    took: Duration,
}

impl Done {
    /// Prints a line such as `R16: 1000 of 1000 pairs of tasks`, in full depth and in a time box.
    /// Each round counts as `per_round`.
    pub fn report(self, figure: &str, per_round: u64, what: &str) {
        if depth() == Depth::Quick {
            return;
        }
        let Self { count, planned, took } = self;
        let of = planned.map(|planned| format!(" of {}", planned * per_round)).unwrap_or_default();
        let (count, seconds) = (count * per_round, took.as_secs());
        print(&format!("{figure}: {count}{of} {what}, from seed {}, in {seconds} s", seed()));
    }
}

/// Reports how a failed round can be repeated.
fn report_failure(test: &str, seed: u64) {
    print(&format!(
        "a round failed; its line for tests/seeds.txt, which every run repeats:\n{test} {seed}"
    ));
}

/// Returns the seeds that `tests/seeds.txt` lists for a test.
fn listed_seeds(test: &str) -> VecDeque<u64> {
    let file = std::fs::read_to_string(root().join("tests/seeds.txt")).unwrap_or_default();
    let lines = file.lines().filter_map(|line| line.split_once(' '));
    let seeds = lines.filter(|(name, _)| *name == test).map(|(_, seed)| seed.trim().parse());
    seeds.map(|seed| seed.expect("a line of tests/seeds.txt is a test and a number")).collect()
}

/// Prints a line that the test harness does not capture.
fn print(line: &str) {
    // In one piece: other tests print meanwhile. A test passes without it, too.
    let _unread = std::io::stderr().write_all(format!("\n{line}\n").as_bytes());
}

fn times(rounds: u64) -> Duration {
    ROUND.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX)).min(MOST)
}
