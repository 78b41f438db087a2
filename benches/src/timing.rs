//! Takes times, and the middle of many.

use std::time::{Duration, Instant};

/// How many rounds the short form has when each holds its bounds: the fewest that have a middle.
const SHORT: usize = 3;

/// How often something is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Often enough for a figure that is published.
    Full,
    /// Often enough to see that a bound holds.
    Short,
    /// Once, with little: `cargo bench --profile dev` shows that a bench runs, and judges nothing.
    Trial,
}

impl Rounds {
    /// Returns what is asked for: by `REGATTA_BENCH_SHORT=1` the short form, and by the dev profile a
    /// trial.
    #[must_use]
    pub fn asked_for() -> Self {
        if cfg!(debug_assertions) {
            Self::Trial
        } else if std::env::var_os("REGATTA_BENCH_SHORT").is_some_and(|value| value == "1") {
            Self::Short
        } else {
            Self::Full
        }
    }

    /// Returns how many of something are measured: `full`, `short`, or a few for a trial.
    #[must_use]
    pub fn of(self, full: usize, short: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Short => short,
            Self::Trial => short.min(8),
        }
    }

    /// Returns whether no further round is needed of something that takes `full` of them in the
    /// full form, where `held` says of each round so far whether its bounds held. The short form
    /// ends when those that did are three ahead, and else goes on: what the machine does besides
    /// must not decide.
    #[must_use]
    pub fn suffice(self, full: usize, held: &[bool]) -> bool {
        let good = held.iter().filter(|held| **held).count();
        held.len() >= full
            || self == Self::Short && 2 * good >= held.len() + SHORT
            || self == Self::Trial && !held.is_empty()
    }
}

/// Returns how long `work` takes.
pub fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Returns the middle of some times.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the time within which so many of a hundred are.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[(times.len() * percent).div_ceil(100).max(1) - 1]
}

/// Returns a time in milliseconds.
#[must_use]
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns a count as a number to calculate with.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
pub fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        let times = [5, 1, 900, 3, 4].map(Duration::from_millis);
        assert_eq!(median(&times), Duration::from_millis(4));
    }

    #[test]
    fn of_twenty_times_the_last_but_one_is_the_95th_percentile() {
        let times: Vec<_> = (1..=20).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 95), Duration::from_millis(19));
        assert_eq!(percentile(&times[..1], 95), Duration::from_millis(20));
    }

    #[test]
    fn the_short_form_ends_when_good_rounds_are_three_ahead_and_else_has_all_of_them() {
        let rounds = |form: Rounds, held: &[bool]| {
            (0..=held.len()).find(|so_far| form.suffice(20, &held[..*so_far]))
        };
        let one_bad = [[false].as_slice(), &[true; 19]].concat();
        for (held, short) in [([true; 20].as_slice(), 3), (&one_bad, 5), (&[false; 20], 20)] {
            assert_eq!(rounds(Rounds::Short, held), Some(short));
            assert_eq!(rounds(Rounds::Full, held), Some(20));
        }
    }
}
