//! Turns the reports of a worker into events, at most seven progress events per second.

use std::time::Duration;

use engine::agent::Limits;
use engine::ports::WorkerReport;
use protocol::{EventKind, Outcome, Phase, ReachedLimit, Usage};
use ractor::ActorRef;
use tokio::time::Instant;

use super::agent_activity::{Due, of_run};
use super::state::TaskMessage;
use super::state::TaskState;
use crate::job::Job;

/// The shortest time between two progress events of a task.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(143);

impl TaskState {
    /// Returns what the model of the task has used. A conversation counts for itself: its session may go on
    /// when the task is over.
    pub(super) fn usage(&self) -> Option<Usage> {
        let counts = !self.arguments.spec.work.is_of_user();
        self.activity.as_ref().filter(|_| counts).map(|activity| activity.usage)
    }

    pub(super) fn turns(&self) -> Option<u64> {
        self.activity.as_ref().and_then(|activity| activity.turns)
    }

    /// Returns the limit that the model had reached if it was done all the same.
    pub(super) fn reached_limit(&self, outcome: &Outcome) -> Option<ReachedLimit> {
        let limits = Limits::from(&self.arguments.spec.limits);
        match outcome {
            Outcome::Done { .. } => limits.reached_by(self.turns()?, self.usage()?),
            Outcome::Failed { .. } | Outcome::Cancelled => None,
        }
    }

    pub(super) fn on_report(&mut self, myself: &ActorRef<TaskMessage>, report: WorkerReport) {
        if self.lifecycle.is_setting_up() {
            if let WorkerReport::Line(line) = report {
                self.progress(Phase::SettingUp, Some(line)); // a command limits its own pace
            }
            return;
        }
        let Some(activity) = &mut self.activity else {
            if let WorkerReport::Line(line) = report {
                self.progress(Phase::Working, Some(line)); // the command limits its own pace
            }
            return;
        };
        match report {
            WorkerReport::Line(line) => activity.line = Some(line),
            WorkerReport::Session(event) => {
                activity.note(&event);
                if let Some(event) = of_run(event) {
                    self.announce(EventKind::SessionEvent { task: Some(self.name()), event });
                }
            }
        }
        self.progress_soon(myself);
    }

    fn progress_soon(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(activity) = &mut self.activity else { return };
        if activity.due == Due::Soon {
            return;
        }
        let passed = activity.announced.map_or(PROGRESS_INTERVAL, |at| at.elapsed());
        if passed >= PROGRESS_INTERVAL {
            return self.announce_progress();
        }
        activity.due = Due::Soon;
        self.send_later(
            Job::TaskProgress,
            myself,
            PROGRESS_INTERVAL.saturating_sub(passed),
            TaskMessage::ProgressDue,
        );
    }

    pub(super) fn announce_progress(&mut self) {
        if !self.lifecycle.is_working() {
            return; // the later phases announce their own progress
        }
        let Some(activity) = &mut self.activity else { return };
        (activity.announced, activity.due) = (Some(Instant::now()), Due::No);
        let kind = EventKind::TaskProgress {
            task: self.arguments.spec.name.clone(),
            phase: Phase::Working,
            line: activity.line.clone(),
            tool: activity.tool.clone(),
            tokens: Some(activity.usage.tokens()),
            waits_for: activity.waits_for.clone(),
        };
        self.announce(kind);
    }

    pub(super) fn progress(&self, phase: Phase, line: Option<String>) {
        let tokens = self.usage().map(|usage| usage.tokens());
        self.announce(EventKind::TaskProgress {
            task: self.name(),
            phase,
            line,
            tool: None,
            tokens,
            waits_for: None,
        });
    }
}
