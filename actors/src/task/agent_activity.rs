//! The usage and the current activity of an agent, for progress events.

use engine::ports::ModelWork;
use protocol::{SessionEvent, Usage, Work};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// The longest line that is kept, in bytes.
const LONGEST: usize = 400;

/// The longest preview of a tool call, in characters.
const PREVIEW: usize = 120;

/// The arguments of a call that its preview may show. The first one present is shown.
const DESCRIPTIVE_ARGUMENTS: [&str; 8] =
    ["command", "file_path", "path", "pattern", "query", "url", "task", "prompt"];

/// The usage and the current activity of an agent.
pub(super) struct AgentActivity {
    pub(super) usage: Usage,
    /// The turns that have ended; `None` if another program does the work.
    pub(super) turns: Option<u64>,
    /// The line of text that the model is writing.
    said: String,
    pub(super) tool: Option<String>,
    pub(super) line: Option<String>,
    pub(super) announced: Option<Instant>,
    pub(super) due: Due,
}

/// Whether a progress event is scheduled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    No,
    Soon,
}

impl AgentActivity {
    pub(super) fn of(work: &Work) -> Option<Box<Self>> {
        match work {
            Work::Command(_) => None,
            Work::Agent(_) | Work::External(_) => Some(Box::new(Self {
                usage: Usage::ZERO,
                turns: matches!(work, Work::Agent(_)).then_some(0),
                said: String::new(),
                tool: None,
                line: None,
                announced: None,
                due: Due::No,
            })),
        }
    }

    /// Returns what the model has used so far.
    pub(super) fn work(&self) -> ModelWork {
        // A program that has reported nothing has used an unknown number of tokens, and not none.
        let is_known = self.turns.is_some() || self.usage != Usage::ZERO;
        ModelWork::Used { turns: self.turns, usage: is_known.then_some(self.usage) }
    }

    pub(super) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageEnd { message } => self.usage = self.usage + message.usage,
            SessionEvent::TurnEnd { .. } => {
                self.turns = self.turns.map(|turns| turns.saturating_add(1));
            }
            SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
                (self.tool, self.line) = (Some(tool_name.clone()), preview(args));
            }
            SessionEvent::TurnStart { .. }
            | SessionEvent::AutoRetryStart { .. }
            | SessionEvent::SessionRestart { .. } => self.said.clear(),
            SessionEvent::TextDelta { text } | SessionEvent::ThinkingDelta { text } => {
                self.note_text(text);
            }
            SessionEvent::ToolCallStart { tool_name } => {
                (self.tool, self.line) = (None, Some(format!("calls {tool_name}")));
            }
            SessionEvent::RequestWait { reason } => {
                (self.tool, self.line) = (None, Some(reason.clone()));
            }
            SessionEvent::ToolExecutionUpdate { line, .. } => self.line = Some(line.clone()),
            // These events keep the last line until the model or a tool produces a new one.
            SessionEvent::ToolUnavailable { .. }
            | SessionEvent::ToolExecutionEnd { .. }
            | SessionEvent::AgentStart
            | SessionEvent::InputTaken { .. }
            | SessionEvent::InputDropped { .. }
            | SessionEvent::ModelChange { .. }
            | SessionEvent::AgentEnd { .. } => {}
        }
    }

    /// Keeps the last line of the model's text.
    fn note_text(&mut self, text: &str) {
        let mut visible = false;
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                self.said.clear();
            }
            let room = LONGEST.saturating_sub(self.said.len());
            self.said.push_str(&piece[..piece.floor_char_boundary(room)]);
            visible |= !piece.trim().is_empty();
        }
        if visible && !self.said.trim().is_empty() {
            (self.tool, self.line) = (None, Some(self.said.clone()));
        }
    }
}

/// Returns whether a session event is published in the scope of its run. Deltas, for instance, are
/// not.
pub(super) fn is_of_run(event: &SessionEvent) -> bool {
    match event {
        SessionEvent::ToolUnavailable { .. }
        | SessionEvent::TurnStart { .. }
        | SessionEvent::AutoRetryStart { .. }
        | SessionEvent::MessageEnd { .. }
        | SessionEvent::ToolExecutionStart { .. }
        | SessionEvent::ToolExecutionEnd { .. }
        | SessionEvent::TurnEnd { .. } => true,
        SessionEvent::AgentStart
        | SessionEvent::InputTaken { .. }
        | SessionEvent::InputDropped { .. }
        | SessionEvent::ModelChange { .. }
        | SessionEvent::RequestWait { .. }
        | SessionEvent::TextDelta { .. }
        | SessionEvent::ThinkingDelta { .. }
        | SessionEvent::ToolCallStart { .. }
        | SessionEvent::ToolExecutionUpdate { .. }
        | SessionEvent::SessionRestart { .. }
        | SessionEvent::AgentEnd { .. } => false,
    }
}

/// Returns a preview of a call in one line.
fn preview(arguments: &Map<String, Value>) -> Option<String> {
    let telling = DESCRIPTIVE_ARGUMENTS.iter().find_map(|key| arguments.get(*key)?.as_str());
    let line = telling?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(PREVIEW).collect())
}
