//! What a session says, passed on at a pace that people and pipes can follow.

use std::time::Duration;

use protocol::{EventKind, Phase, SessionEvent, Usage, Work};
use ractor::ActorRef;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{TaskMessage, TaskState};
use crate::session::SessionNews;

/// What a task's progress is told at most once in: seven times a second.
const PACE: Duration = Duration::from_millis(143);

/// What people read of a call, longest.
const PREVIEW: usize = 120;

/// The arguments that say best what a call is about.
const TELLING: [&str; 8] =
    ["command", "file_path", "path", "pattern", "query", "url", "task", "prompt"];

/// What a model has used so far, and what it is doing.
pub(super) struct Activity {
    usage: Usage,
    tool: Option<String>,
    line: Option<String>,
    told: Option<Instant>,
    due: Due,
}

/// Whether progress will be told in a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    No,
    Soon,
}

impl Activity {
    pub(super) fn of(work: &Work) -> Option<Box<Self>> {
        match work {
            Work::Command(_) => None,
            Work::Agent(_) => Some(Box::new(Self {
                usage: Usage::ZERO,
                tool: None,
                line: None,
                told: None,
                due: Due::No,
            })),
        }
    }

    fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageEnd { message } => self.usage = self.usage + message.usage,
            SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
                (self.tool, self.line) = (Some(tool_name.clone()), preview(args));
            }
            // What it did last is what there is to see until it says something.
            SessionEvent::TurnStart { .. }
            | SessionEvent::AutoRetryStart { .. }
            | SessionEvent::ToolExecutionEnd { .. }
            | SessionEvent::TurnEnd { .. } => {}
        }
    }
}

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
        if self.stopping.is_some() || self.session.is_none() {
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

/// Returns what a call is about, in one line.
fn preview(arguments: &Map<String, Value>) -> Option<String> {
    let telling = TELLING.iter().find_map(|key| arguments.get(*key)?.as_str());
    let line = telling?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(PREVIEW).collect())
}
