//! Sums up how long the phases of a run's tasks took.

use std::time::Duration;

use protocol::{TaskTimings, TimedPhase};

/// How long one phase took in the tasks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTime {
    /// The phase.
    pub phase: TimedPhase,
    /// The number of tasks that had the phase; of a phase of the run, how often there was one.
    pub count: usize,
    /// The sum of all.
    pub sum: Duration,
    /// The median.
    pub median: Duration,
    /// The 95th percentile.
    pub p95: Duration,
}

/// Returns the times of each phase that at least one task had, or the run itself, in the order of the
/// phases.
#[must_use]
pub fn phase_times(tasks: &[TaskTimings], of_run: &[(TimedPhase, Duration)]) -> Vec<PhaseTime> {
    let of = |phase: TimedPhase| {
        let times = tasks.iter().map(|task| Duration::from_micros(task.get(phase)));
        let mut times: Vec<_> = times.filter(|time| !time.is_zero()).collect();
        times.extend(of_run.iter().filter(|(of, _)| *of == phase).map(|(_, time)| *time));
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        // The smallest time that at least this part of the tasks does not exceed.
        let at = |percent: usize| {
            times[(times.len() * percent).div_ceil(100).saturating_sub(1).min(last)]
        };
        let sum = times.iter().fold(Duration::ZERO, |sum, time| sum.saturating_add(*time));
        Some(PhaseTime { phase, count: times.len(), sum, median: at(50), p95: at(95) })
    };
    TimedPhase::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_its_sum_its_median_and_its_95th_percentile() {
        let mut tasks = Vec::new();
        for number in 1..=100 {
            let mut task = TaskTimings::default();
            task.add(TimedPhase::Work, number * 1000);
            tasks.push(task);
        }
        tasks[0].add(TimedPhase::Setup, 7);
        let ms = Duration::from_millis;
        let work = PhaseTime {
            phase: TimedPhase::Work,
            count: 100,
            sum: ms(5050),
            median: ms(50),
            p95: ms(95),
        };
        let micros = Duration::from_micros(7);
        let setup = PhaseTime {
            phase: TimedPhase::Setup,
            count: 1,
            sum: micros,
            median: micros,
            p95: micros,
        };
        let landing = PhaseTime {
            phase: TimedPhase::Landing,
            count: 1,
            sum: ms(3),
            median: ms(3),
            p95: ms(3),
        };
        assert_eq!(phase_times(&tasks, &[(TimedPhase::Landing, ms(3))]), [setup, work, landing]);
        assert_eq!(phase_times(&[TaskTimings::default()], &[]), []);
    }
}
