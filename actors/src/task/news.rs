//! What a session says, passed on at a pace that people and pipes can follow.

use std::time::Duration;

use protocol::{EventKind, Phase, Usage};
use ractor::ActorRef;
use tokio::time::Instant;

use super::activity::Due;
use super::message::TaskMessage;
use super::state::TaskState;
use crate::session::SessionNews;

/// What a task's progress is told at most once in: seven times a second.
const PACE: Duration = Duration::from_millis(143);

impl TaskState {
    pub(super) fn usage(&self) -> Option<Usage> {
        self.activity.as_ref().map(|activity| activity.usage)
    }

    pub(super) fn hear(&mut self, myself: &ActorRef<TaskMessage>, news: SessionNews) {
        let Some(activity) = &mut self.activity else {
            if let SessionNews::Line(line) | SessionNews::Said(line) = news {
                self.progress(Phase::Working, Some(line)); // commands are paced where they run
            }
            return;
        };
        match news {
            SessionNews::Line(line) => activity.line = Some(line),
            SessionNews::Said(line) => (activity.tool, activity.line) = (None, Some(line)),
            SessionNews::Event(event) => {
                activity.note(&event);
                self.tell(EventKind::SessionEvent { task: self.name(), event: *event });
            }
        }
        self.progress_soon(myself);
    }

    fn progress_soon(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(activity) = &mut self.activity else { return };
        if activity.due == Due::Soon {
            return;
        }
        let passed = activity.told.map_or(PACE, |told| told.elapsed());
        if passed >= PACE {
            return self.say_progress();
        }
        activity.due = Due::Soon;
        self.remind(myself, PACE.saturating_sub(passed), TaskMessage::ProgressDue);
    }

    pub(super) fn say_progress(&mut self) {
        if !self.lifecycle.is_working() {
            return; // what follows has its own words
        }
        let Some(activity) = &mut self.activity else { return };
        (activity.told, activity.due) = (Some(Instant::now()), Due::No);
        let kind = EventKind::TaskProgress {
            task: self.arguments.spec.name.clone(),
            phase: Phase::Working,
            line: activity.line.clone(),
            tool: activity.tool.clone(),
            tokens: Some(activity.usage.tokens()),
        };
        self.tell(kind);
    }

    pub(super) fn progress(&self, phase: Phase, line: Option<String>) {
        let tokens = self.usage().map(|usage| usage.tokens());
        self.tell(EventKind::TaskProgress { task: self.name(), phase, line, tool: None, tokens });
    }
}
