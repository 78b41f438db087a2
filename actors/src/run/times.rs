//! How long the tasks of a run have waited, and the times of all phases for the log.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::run::{PhaseTime, RunRecord, phase_times};
use engine::task::TaskRecord;
use protocol::{LedgerEntry, TaskId, TaskTimings, TimedPhase};
use tokio::time::Instant;

use crate::task::micros;

/// The times of a run.
pub(super) struct RunTimes {
    began: Instant,
    /// When the ledger was asked to record the start of a task.
    admitted: BTreeMap<TaskId, Instant>,
    /// The times of the phases that are the run's own.
    of_run: Vec<(TimedPhase, Duration)>,
}

impl RunTimes {
    /// Returns the times of a run that begins now.
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), admitted: BTreeMap::new(), of_run: Vec::new() }
    }

    /// Returns the milliseconds since the begin of the run.
    pub(super) fn ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes an entry that is about to be recorded. At the end of the run, writes the times of all
    /// phases to the log.
    pub(super) fn note(&mut self, entry: &LedgerEntry, record: &RunRecord) {
        match entry {
            LedgerEntry::TaskStarted { task, .. } => {
                self.admitted.insert(*task, Instant::now());
            }
            LedgerEntry::RunFinished { .. } => self.log(record),
            _ => {}
        }
    }

    /// Notes the end of a phase of the run.
    pub(super) fn ended(&mut self, phase: TimedPhase, took: Duration) {
        self.of_run.push((phase, took));
    }

    /// Returns how long a task that starts now has waited, for its turn and for the ledger.
    pub(super) fn until_start(&mut self, task: TaskId) -> TaskTimings {
        let mut times = TaskTimings::default();
        if let Some(admitted) = self.admitted.remove(&task) {
            let waited = admitted.saturating_duration_since(self.began).as_micros();
            times.add(TimedPhase::Waiting, u64::try_from(waited).unwrap_or(u64::MAX).max(1));
            times.add(TimedPhase::Ledger, micros(admitted));
        }
        times
    }

    fn log(&self, record: &RunRecord) {
        let reports = record.tasks().iter().filter_map(TaskRecord::report);
        let tasks: Vec<TaskTimings> =
            reports.filter_map(|report| report.timings.as_deref().copied()).collect();
        for PhaseTime { phase, count, sum, median, p95 } in phase_times(&tasks, &self.of_run) {
            let phase = phase.name();
            tracing::info!(phase, count, ?sum, ?median, ?p95, "times");
        }
    }
}
