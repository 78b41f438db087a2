//! What a model has used, and what it is doing.

use protocol::{SessionEvent, Usage, Work};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// What people read of a call, longest.
const PREVIEW: usize = 120;

/// The arguments that say best what a call is about.
const TELLING: [&str; 8] =
    ["command", "file_path", "path", "pattern", "query", "url", "task", "prompt"];

/// What a model has used so far, and what it is doing.
pub(super) struct Activity {
    pub(super) usage: Usage,
    pub(super) tool: Option<String>,
    pub(super) line: Option<String>,
    pub(super) told: Option<Instant>,
    pub(super) due: Due,
}

/// Whether progress will be told in a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
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

    pub(super) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageEnd { message } => self.usage = self.usage + message.usage,
            SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
                (self.tool, self.line) = (Some(tool_name.clone()), preview(args));
            }
            // What it did last is what there is to see until it says something.
            SessionEvent::ToolUnavailable { .. }
            | SessionEvent::TurnStart { .. }
            | SessionEvent::AutoRetryStart { .. }
            | SessionEvent::ToolExecutionEnd { .. }
            | SessionEvent::TurnEnd { .. } => {}
        }
    }
}

/// Returns what a call is about, in one line.
fn preview(arguments: &Map<String, Value>) -> Option<String> {
    let telling = TELLING.iter().find_map(|key| arguments.get(*key)?.as_str());
    let line = telling?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(PREVIEW).collect())
}
