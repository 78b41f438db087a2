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
}

impl Rounds {
    /// Returns what the environment asks for: `REGATTA_BENCH_SHORT=1` for the short form.
    #[must_use]
    pub fn asked_for() -> Self {
        if std::env::var_os("REGATTA_BENCH_SHORT").is_some_and(|value| value == "1") {
            Self::Short
        } else {
            Self::Full
        }
    }

    /// Returns whether no further round is needed of something that takes `full` of them in the
    /// full form, where `held` says of each round so far whether its bounds held. The short form
    /// ends when those that did are three ahead, and else goes on: what the machine does besides
    /// must not decide.
    #[must_use]
    pub fn suffice(self, full: usize, held: &[bool]) -> bool {
        let good = held.iter().filter(|held| **held).count();
        held.len() >= full || self == Self::Short && 2 * good >= held.len() + SHORT
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        let times = [5, 1, 900, 3, 4].map(Duration::from_millis);
        assert_eq!(median(&times), Duration::from_millis(4));
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
