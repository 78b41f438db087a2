//! Runs the rounds of a fuzzer: how many, from which seed, and on how many threads. What fails is
//! reported with the seed that repeats it.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Random;

/// What a round may take on a slow machine. The limit of the test is that of all its rounds.
const ROUND: Duration = Duration::from_secs(3);

/// The rounds of one fuzzer.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The seed of the first round. Each further round has the next seed.
    pub seed: u64,
    /// How many rounds there are.
    pub count: u64,
    /// How many run at the same time.
    pub threads: u64,
}

impl Rounds {
    /// Returns what `REGATTA_SEED` and `REGATTA_ROUNDS` say; without them, `count` rounds from a
    /// seed that is always the same.
    ///
    /// # Panics
    /// When a variable is set and is not a number.
    #[must_use]
    pub fn from_environment(count: u64) -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
        };
        Self {
            seed: number("REGATTA_SEED").unwrap_or(0x5eed),
            count: number("REGATTA_ROUNDS").unwrap_or(count),
            threads: 2,
        }
    }

    /// Prints the seed, and gives the test on this thread time for all the rounds.
    pub fn announce(self, test: &str) {
        let Self { seed, count, .. } = self;
        let rounds = u32::try_from(count).unwrap_or(u32::MAX);
        test_limit::raise(ROUND.saturating_mul(rounds), "it is many rounds");
        report(&format!("{test}: {count} rounds from seed {seed}"));
    }

    /// Says how much was tried.
    pub fn report(self, done: &str) {
        report(done);
    }

    /// Runs every round with the random numbers of its own seed, on behalf of the test that runs on
    /// this thread.
    ///
    /// # Panics
    /// When a round does, after the others that had begun; the message says how to repeat it.
    pub fn run(self, test: &str, round: impl Fn(&mut Random) + Sync) {
        let Self { seed, count, threads } = self;
        self.announce(test);
        let next = AtomicU64::new(0);
        let failed: Mutex<Vec<u64>> = Mutex::default();
        let is_clean = || failed.lock().is_ok_and(|failed| failed.is_empty());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(count) {
                scope.spawn(|| {
                    while is_clean() {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            break;
                        }
                        let seed = seed.wrapping_add(number);
                        let run = || round(&mut Random::new(seed));
                        if catch_unwind(AssertUnwindSafe(run)).is_err() {
                            report(&format!("{test}: round {number} failed; its seed is {seed}"));
                            failed.lock().expect("pushing does not panic").push(seed);
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().expect("pushing does not panic");
        let again = failed.iter().map(|seed| format!("REGATTA_SEED={seed} REGATTA_ROUNDS=1"));
        assert!(
            failed.is_empty(),
            "{test}: rounds failed; to repeat them, with `cargo test --test binary \
             {test}`: {}",
            again.collect::<Vec<_>>().join(" and ")
        );
    }
}

/// Says something about a round, also where the test harness captures what is printed.
pub(super) fn report(line: &str) {
    let _unseen = writeln!(std::io::stderr(), "\n{line}"); // nobody has to read it
}
