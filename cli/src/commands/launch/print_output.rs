//! The output of a session that answers and ends: its events as JSON, or what the user should know about
//! it, and a line that says what it does.

use std::io;
use std::sync::Arc;

use engine::ports::Clock;
use protocol::{Event, EventKind, Message, SessionEvent, SessionId, TASK_TOOL, ToolResult};

use super::super::note::note;
use super::write_lines;
use crate::args::{Globals, OutputMode};
use crate::process;
use crate::render::{self, PrintStatus, SessionJson, SubagentTree, View};
use regatta::app_context::AppContext;

/// The output of a session that answers and ends.
pub(super) struct PrintOutput<'a> {
    mode: OutputMode,
    globals: &'a Globals,
    clock: Arc<dyn Clock>,
    json: SessionJson,
    subagents: SubagentTree,
    status: Option<PrintStatus>,
    /// The calls of tools that were refused.
    refused: u64,
    /// What became of the work of subagents that has not landed.
    kept: Vec<String>,
}

impl<'a> PrintOutput<'a> {
    pub(super) fn new(
        app: &AppContext,
        session: SessionId,
        mode: OutputMode,
        globals: &'a Globals,
    ) -> Self {
        let status = match mode {
            OutputMode::Json => None,
            OutputMode::Text => PrintStatus::of(&View::here(globals), app.clock.now()),
        };
        let (clock, json) = (Arc::clone(&app.clock), SessionJson::default());
        let subagents = SubagentTree::below(session);
        Self { mode, globals, clock, json, subagents, status, refused: 0, kept: Vec::new() }
    }

    /// Displays an event.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        if let Some(line) = note_of(event) {
            self.clear();
            note(self.globals, &line);
        }
        let EventKind::SessionEvent { event: said, .. } = &event.kind else { return Ok(()) };
        if matches!(said, SessionEvent::ToolCallRefused { .. }) {
            self.refused += 1;
        }
        if let SessionEvent::MessageEnd { message: Message::ToolResult(result) } = said {
            self.note_subagents(result);
        }
        if let Some(status) = &mut self.status {
            status.event(said, event.at);
        }
        match self.mode {
            OutputMode::Json => write_lines(&self.json.lines(said)),
            OutputMode::Text => Ok(()),
        }
    }

    /// Returns whether it displays the events of subagents.
    pub(super) fn has_subagents(&self) -> bool {
        self.mode == OutputMode::Json
    }

    /// Displays an event of any run, if it is one of subagents.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn run_event(&mut self, event: &Event) -> io::Result<()> {
        write_lines(self.subagents.json(event).as_slice())
    }

    /// Notes what the result of a call says of its subagents.
    fn note_subagents(&mut self, result: &ToolResult) {
        let details = result.details.as_ref().filter(|_| result.tool_name == TASK_TOOL);
        let results = details.and_then(|details| details["results"].as_array());
        for subagent in results.into_iter().flatten() {
            self.refused += subagent["refusedCalls"].as_u64().unwrap_or_default();
            let (name, status) = (subagent["id"].as_str(), subagent["status"].as_str());
            if let (Some(name), Some("kept" | "merge failed"), Some(command)) =
                (name, status, subagent["command"].as_str())
            {
                let line = format!("the work of {name} is kept, and has not landed: {command}");
                self.kept.push(render::one_line(&line));
            }
        }
    }

    /// Updates what is displayed only for now. The caller does this each second.
    pub(super) fn tick(&mut self) {
        if let Some(status) = &mut self.status {
            status.draw(self.clock.now());
        }
    }

    /// Says in a last line how many calls of tools were refused, if any: also to a user who wants no notes.
    pub(super) fn end(&self) {
        self.kept.iter().for_each(|line| note(self.globals, &format!("note: {line}")));
        let calls = match self.refused {
            0 => return,
            1 => "1 tool call was refused".to_owned(),
            more => format!("{more} tool calls were refused"),
        };
        process::notify(&format!("note: {calls}; --approval-mode yolo runs what no rule denies"));
    }

    /// Takes away what is displayed only for now.
    pub(super) fn clear(&mut self) {
        if let Some(status) = &mut self.status {
            status.clear();
        }
    }
}

/// Returns what the user should know about the session: what it lacks, why an answer takes long, or
/// that another model gives it.
fn note_of(event: &Event) -> Option<String> {
    let EventKind::SessionEvent { event: said, .. } = &event.kind else { return None };
    let said = match said {
        SessionEvent::Notice { message } => message.clone(),
        SessionEvent::ToolUnavailable { tool_name, error_message } => {
            format!("the session works without the tool `{tool_name}`: {error_message}")
        }
        SessionEvent::RequestWait { reason, waits_for } => {
            let left = render::time_left(waits_for, event.at).map(render::duration);
            left.map_or_else(|| reason.clone(), |left| format!("{reason}, for {left}"))
        }
        SessionEvent::AutoRetryStart { delay_ms, error_message, .. } => {
            format!("{error_message}; next request in {delay_ms} ms")
        }
        SessionEvent::RetryFallbackApplied { from, to, error_message } => {
            format!("{to} is asked in place of {from}: {error_message}")
        }
        _ => return None,
    };
    Some(format!("note: {said}"))
}
