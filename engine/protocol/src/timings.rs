//! The durations of a task's phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase whose duration is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedPhase {
    /// The task waits for its turn, and for the tasks it depends on.
    Waiting,
    /// Its workspace is made.
    Prepare,
    /// The set-up commands run.
    Setup,
    /// The worker runs, and then its processes are stopped.
    Work,
    /// Its changes are captured.
    Capture,
    /// The merged work of the run is verified.
    Verify,
    /// The work of the run lands.
    Landing,
    /// Its workspace is removed, or its files are made ready for another task.
    Discard,
    /// The task waits until its entries are durable in the ledger.
    Ledger,
    /// The owner of its commands is started, and commands are, until they run. The commands are a
    /// part of the work or of the set-up.
    Launcher,
}

impl TimedPhase {
    /// All phases, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Waiting,
        Self::Prepare,
        Self::Setup,
        Self::Work,
        Self::Capture,
        Self::Verify,
        Self::Landing,
        Self::Discard,
        Self::Ledger,
        Self::Launcher,
    ];

    /// Returns the name as users see it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Prepare => "prepare",
            Self::Setup => "setup",
            Self::Work => "work",
            Self::Capture => "capture",
            Self::Verify => "verify",
            Self::Landing => "landing",
            Self::Discard => "discard",
            Self::Ledger => "ledger",
            Self::Launcher => "launcher",
        }
    }
}

/// How long the phases of one task took, in microseconds. A phase without a value is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskTimings {
    #[serde(skip_serializing_if = "is_zero")]
    waiting: u64,
    #[serde(skip_serializing_if = "is_zero")]
    prepare: u64,
    #[serde(skip_serializing_if = "is_zero")]
    setup: u64,
    #[serde(skip_serializing_if = "is_zero")]
    work: u64,
    #[serde(skip_serializing_if = "is_zero")]
    capture: u64,
    #[serde(skip_serializing_if = "is_zero")]
    verify: u64,
    #[serde(skip_serializing_if = "is_zero")]
    landing: u64,
    #[serde(skip_serializing_if = "is_zero")]
    discard: u64,
    #[serde(skip_serializing_if = "is_zero")]
    ledger: u64,
    #[serde(skip_serializing_if = "is_zero")]
    launcher: u64,
}

impl TaskTimings {
    /// Returns the microseconds of a phase.
    #[must_use]
    pub fn get(&self, phase: TimedPhase) -> u64 {
        match phase {
            TimedPhase::Waiting => self.waiting,
            TimedPhase::Prepare => self.prepare,
            TimedPhase::Setup => self.setup,
            TimedPhase::Work => self.work,
            TimedPhase::Capture => self.capture,
            TimedPhase::Verify => self.verify,
            TimedPhase::Landing => self.landing,
            TimedPhase::Discard => self.discard,
            TimedPhase::Ledger => self.ledger,
            TimedPhase::Launcher => self.launcher,
        }
    }

    /// Adds microseconds to a phase.
    pub fn add(&mut self, phase: TimedPhase, micros: u64) {
        let sum = match phase {
            TimedPhase::Waiting => &mut self.waiting,
            TimedPhase::Prepare => &mut self.prepare,
            TimedPhase::Setup => &mut self.setup,
            TimedPhase::Work => &mut self.work,
            TimedPhase::Capture => &mut self.capture,
            TimedPhase::Verify => &mut self.verify,
            TimedPhase::Landing => &mut self.landing,
            TimedPhase::Discard => &mut self.discard,
            TimedPhase::Ledger => &mut self.ledger,
            TimedPhase::Launcher => &mut self.launcher,
        };
        *sum = sum.saturating_add(micros);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(micros: &u64) -> bool {
    *micros == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_phases_that_took_time_are_written_and_unknown_ones_are_ignored() {
        let mut timings = TaskTimings::default();
        assert_eq!(serde_json::to_string(&timings).unwrap(), "{}");
        timings.add(TimedPhase::Work, 1200);
        timings.add(TimedPhase::Work, 1);
        let text = serde_json::to_string(&timings).unwrap();
        assert_eq!(text, r#"{"work":1201}"#);
        let read = serde_json::from_str::<TaskTimings>(r#"{"work":1201,"later":5}"#).unwrap();
        assert_eq!(read, timings);
        let taken = TimedPhase::ALL.map(|phase| read.get(phase));
        assert_eq!(taken.iter().sum::<u64>(), 1201);
    }
}
