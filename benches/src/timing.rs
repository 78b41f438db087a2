//! Takes times, and the middle of many.

use std::time::{Duration, Instant};

/// How many rounds the short form has when its bounds hold: the fewest that have a middle.
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

    /// Returns whether no further round is needed after `done` rounds of something that takes
    /// `full` of them in the full form. The short form ends after three if its bounds hold by then,
    /// and else goes on: what the machine does besides must not decide.
    #[must_use]
    pub fn suffice(self, full: usize, done: usize, holds: impl FnOnce() -> bool) -> bool {
        done >= full || self == Self::Short && done >= SHORT && holds()
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
    fn the_short_form_ends_after_three_rounds_that_hold_and_else_has_all_of_them() {
        let rounds = |form: Rounds, holds| (0..=20).find(|done| form.suffice(20, *done, || holds));
        assert_eq!(
            (rounds(Rounds::Short, true), rounds(Rounds::Short, false)),
            (Some(3), Some(20))
        );
        assert_eq!((rounds(Rounds::Full, true), rounds(Rounds::Full, false)), (Some(20), Some(20)));
    }
}
