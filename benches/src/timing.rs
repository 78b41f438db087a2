//! Takes times, and the middle of many.

use std::time::{Duration, Instant};

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

    /// Returns how many rounds that is, of something that takes `full` in the full form.
    #[must_use]
    pub fn of(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Short => (full / 4).max(3),
        }
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
    fn the_short_form_has_fewer_rounds_and_never_less_than_three() {
        assert_eq!((Rounds::Full.of(20), Rounds::Short.of(20), Rounds::Short.of(5)), (20, 5, 3));
    }
}
