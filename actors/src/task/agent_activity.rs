//! The usage and the current activity of an agent, for progress events.

use engine::ports::ModelWork;
use protocol::{
    AccountWait, AssistantMessage, Message, ModelUse, SessionEvent, StopReason, Usage, Work,
};
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
    /// `PROVIDER/ID` of the model of the task; `None` if another program does the work.
    model: Option<String>,
    /// The models that have answered in its place.
    pub(super) fallbacks: Vec<ModelUse>,
    /// The calls of tools that were refused.
    pub(super) refused_calls: u64,
    /// The line of text that the model is writing.
    said: String,
    pub(super) tool: Option<String>,
    pub(super) line: Option<String>,
    /// The account that the request of the model waits for.
    pub(super) waits_for: Option<AccountWait>,
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
        let model = match work {
            Work::Command(_) => return None,
            Work::Agent(agent) => Some(agent.model.name()),
            Work::Conversation(_) => None,
        };
        Some(Box::new(Self {
            usage: Usage::ZERO,
            turns: model.is_some().then_some(0),
            model,
            fallbacks: Vec::new(),
            refused_calls: 0,
            said: String::new(),
            tool: None,
            line: None,
            waits_for: None,
            announced: None,
            due: Due::No,
        }))
    }

    /// Returns what the model has used so far.
    pub(super) fn work(&self) -> ModelWork {
        // A program that has reported nothing has used an unknown number of tokens, and not none.
        let is_known = self.turns.is_some() || self.usage != Usage::ZERO;
        ModelWork::Used { turns: self.turns, usage: is_known.then_some(self.usage) }
    }

    pub(super) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::RequestWait { waits_for, .. } => self.waits_for = Some(waits_for.clone()),
            SessionEvent::AutoRetryStart { waits_for, .. } => self.waits_for.clone_from(waits_for),
            // The model answers, or is not asked any more.
            SessionEvent::MessageStart { .. }
            | SessionEvent::MessageEnd { .. }
            | SessionEvent::ToolExecutionStart { .. }
            | SessionEvent::SessionRestart { .. } => self.waits_for = None,
            _other => {}
        }
        match event {
            SessionEvent::MessageEnd { message: Message::ToolResult(result) } => {
                self.usage = self.usage + result.usage_of_subagents().unwrap_or(Usage::ZERO);
            }
            SessionEvent::MessageEnd { message: Message::Assistant(answer) } => {
                self.usage = self.usage + answer.usage;
                self.note_model(answer);
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    self.turns = self.turns.map(|turns| turns.saturating_add(1));
                }
            }
            SessionEvent::ToolExecutionStart { tool_name, args, .. } => {
                (self.tool, self.line) = (Some(tool_name.clone()), preview(args));
            }
            SessionEvent::MessageStart { .. } | SessionEvent::SessionRestart { .. } => {
                self.said.clear();
            }
            SessionEvent::TextDelta { delta, .. } | SessionEvent::ThinkingDelta { delta, .. } => {
                self.note_text(delta);
            }
            SessionEvent::ToolcallStart { tool_name, .. } => {
                (self.tool, self.line) = (None, Some(format!("calls {tool_name}")));
            }
            SessionEvent::RequestWait { reason, .. } => {
                (self.tool, self.line) = (None, Some(reason.clone()));
            }
            SessionEvent::AutoRetryStart { waits_for: Some(wait), error_message, .. } => {
                let line = format!("waits for {}: {error_message}", wait.account);
                (self.tool, self.line) = (None, Some(line));
            }
            SessionEvent::ToolCallRefused { .. } => self.refused_calls += 1,
            SessionEvent::ToolExecutionUpdate { line, .. } => self.line = Some(line.clone()),
            SessionEvent::CompactionStart { .. } => {
                (self.tool, self.line) = (None, Some("compacts its conversation".to_owned()));
            }
            // Other events keep the last line until the model or a tool produces a new one.
            _other => {}
        }
    }

    /// Counts what another model than that of the task has used, from its first answer on.
    fn note_model(&mut self, message: &AssistantMessage) {
        let model = format!("{}/{}", message.provider, message.model);
        if self.model.as_ref().is_none_or(|own| *own == model) {
            return;
        }
        match self.fallbacks.iter_mut().find(|known| known.model == model) {
            Some(known) => known.usage = known.usage + message.usage,
            None => self.fallbacks.push(ModelUse { model, usage: message.usage }),
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

/// Returns a session event as it is published in the scope of its run, if it is. Deltas are not, nor
/// are the prompt and the results of tools, which the session log has.
pub(super) fn of_run(event: SessionEvent) -> Option<SessionEvent> {
    match event {
        SessionEvent::ToolUnavailable { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::TurnStart { .. }
        | SessionEvent::MessageEnd { message: Message::Assistant(_) }
        | SessionEvent::AutoRetryStart { .. }
        | SessionEvent::AutoRetryEnd { .. }
        | SessionEvent::RetryFallbackApplied { .. }
        | SessionEvent::RetryFallbackSucceeded { .. }
        | SessionEvent::CompactionStart { .. }
        | SessionEvent::ToolExecutionStart { .. }
        | SessionEvent::ToolCallRefused { .. }
        | SessionEvent::TurnEnd { .. } => Some(event),
        SessionEvent::CompactionEnd { reason, aborted, will_retry, error_message, .. } => {
            let result = None;
            Some(SessionEvent::CompactionEnd { reason, result, aborted, will_retry, error_message })
        }
        SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, is_error, .. } => {
            let result = None;
            Some(SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error })
        }
        _of_the_session => None,
    }
}

/// Returns a preview of a call in one line.
fn preview(arguments: &Map<String, Value>) -> Option<String> {
    let telling = DESCRIPTIVE_ARGUMENTS.iter().find_map(|key| arguments.get(*key)?.as_str());
    let line = telling?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(PREVIEW).collect())
}
