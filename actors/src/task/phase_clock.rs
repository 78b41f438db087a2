//! Measures the phases of a task: each begins with an effect of its machine and ends with an input.

use engine::task::{Effect, Input};
use protocol::{TaskTimings, TimedPhase};
use tokio::time::Instant;

use crate::executors::LaunchMeter;

/// The times of the phases that have ended, and the begins of those that have not.
pub(super) struct PhaseClock {
    times: TaskTimings,
    open: Vec<(TimedPhase, Instant)>,
    /// The starts of commands by the executors of the task.
    pub(super) launches: Vec<LaunchMeter>,
}

impl PhaseClock {
    /// Returns the clock of a task that has its permit; `times` are those until then.
    pub(super) fn new(times: TaskTimings) -> Self {
        Self { times, open: Vec::new(), launches: Vec::new() }
    }

    /// Begins the phase of an effect.
    pub(super) fn on_effect(&mut self, effect: &Effect) {
        let phase = match effect {
            Effect::Prepare => TimedPhase::Prepare,
            Effect::Record(_) => TimedPhase::Ledger,
            Effect::LeaseExecutor => TimedPhase::Launcher,
            Effect::SetUp(_) => TimedPhase::Setup,
            Effect::StartWorker { .. } | Effect::Remind(_) | Effect::Seal { .. } => {
                TimedPhase::Work
            }
            Effect::Capture => TimedPhase::Capture,
            Effect::Discard(_) => TimedPhase::Discard,
            Effect::StopWorker(_)
            | Effect::KillWorker
            | Effect::CleanUpWorker { .. }
            | Effect::StartTimer(..)
            | Effect::AnnounceStopping
            | Effect::AnnounceYield
            | Effect::AnnounceReminder(_)
            | Effect::AnnounceCapture(_)
            | Effect::ReportWorkEnd
            | Effect::Finish(..) => return,
        };
        if !self.open.iter().any(|(open, _)| *open == phase) {
            self.open.push((phase, Instant::now()));
        }
    }

    /// Ends the phase of an input.
    pub(super) fn on_input(&mut self, input: &Input) {
        let phase = match input {
            Input::Prepared(_) => TimedPhase::Prepare,
            Input::Recorded(_) | Input::NotRecorded(_) => TimedPhase::Ledger,
            Input::ExecutorLeased | Input::ExecutorUnavailable => TimedPhase::Launcher,
            Input::SetupEnded(_) => TimedPhase::Setup,
            Input::WorkerEnded(_)
            | Input::WorkerCrashed { .. }
            | Input::WorkerStopped
            | Input::Sealed
            | Input::NotSealed(_) => TimedPhase::Work,
            Input::Captured(_) | Input::Vanished(_) => TimedPhase::Capture,
            Input::Discarded => TimedPhase::Discard,
            Input::CleanedUp | Input::NotCleanedUp | Input::Cancel(_) | Input::TimerFired(..) => {
                return;
            }
        };
        let Some(at) = self.open.iter().position(|(open, _)| *open == phase) else { return };
        let (phase, began) = self.open.swap_remove(at);
        self.times.add(phase, micros(began));
    }

    /// Returns the times of a task that ends now.
    pub(super) fn finish(&mut self) -> TaskTimings {
        for (phase, began) in self.open.drain(..) {
            self.times.add(phase, micros(began));
        }
        for launches in self.launches.drain(..) {
            self.times.add(TimedPhase::Launcher, launches.micros());
        }
        self.times
    }
}

/// Returns the microseconds since `began`, at least 1: a phase of 0 would not be there.
pub(crate) fn micros(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}
