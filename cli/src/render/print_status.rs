//! The line that shows what a session does while nothing of it is printed: `bash cargo test · 12s · 1.2k
//! tokens`. It is on standard error and goes away.

use std::io::{self, Write};

use protocol::{Message, MessageRole, SessionEvent, Timestamp, ToolCall, Usage};

use super::numbers::{duration, elapsed, tokens};
use super::printable::{cut, one_line, width};
use super::terminal::{ProgressMode, Size, View, stderr_size};
use super::transcript::call_summary;

/// The line, and whether it is on the terminal.
pub struct PrintStatus {
    out: Box<dyn Write + Send>,
    size: fn() -> Size,
    activity: Activity,
    /// What is on the terminal now.
    shown: String,
}

/// What a session does.
#[derive(Debug)]
struct Activity {
    since: Timestamp,
    /// What it does if no tool runs.
    phase: String,
    /// The calls that run, by their ids.
    calls: Vec<(String, String)>,
    used: Usage,
}

impl PrintStatus {
    /// Returns the line of a session that begins `now`; `None` where it is not wanted, or where there is
    /// no terminal that can take a line back.
    #[must_use]
    pub fn of(view: &View, now: Timestamp) -> Option<Self> {
        let is_shown = view.progress == ProgressMode::Live;
        is_shown.then(|| Self::on(Box::new(io::stderr()), stderr_size, now))
    }

    fn on(out: Box<dyn Write + Send>, size: fn() -> Size, now: Timestamp) -> Self {
        Self { out, size, activity: Activity::begin(now), shown: String::new() }
    }

    /// Applies an event, and draws the line if it changes.
    pub fn event(&mut self, event: &SessionEvent, now: Timestamp) {
        self.activity.apply(event);
        self.draw(now);
    }

    /// Draws the line if it changes. The caller does this each second.
    pub fn draw(&mut self, now: Timestamp) {
        let line = self.activity.line(now, (self.size)().columns);
        if line != self.shown {
            // A session goes on if its progress cannot be written.
            let _deaf = write!(self.out, "\r{line}\u{1b}[K").and_then(|()| self.out.flush());
            self.shown = line;
        }
    }

    /// Takes the line away, before something else is printed.
    pub fn clear(&mut self) {
        if !std::mem::take(&mut self.shown).is_empty() {
            let _deaf = write!(self.out, "\r\u{1b}[K").and_then(|()| self.out.flush());
        }
    }
}

impl std::fmt::Debug for PrintStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrintStatus").field("activity", &self.activity).finish_non_exhaustive()
    }
}

impl Activity {
    fn begin(since: Timestamp) -> Self {
        Self { since, phase: "begins".to_owned(), calls: Vec::new(), used: Usage::ZERO }
    }

    fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::AgentStart
            | SessionEvent::TurnStart { .. }
            | SessionEvent::ThinkingStart { .. }
            | SessionEvent::MessageStart { role: MessageRole::Assistant, .. } => {
                self.phase = "thinks".to_owned();
            }
            SessionEvent::TextStart { .. } => self.phase = "answers".to_owned(),
            SessionEvent::ToolcallStart { tool_name, .. } => {
                self.phase = format!("calls {}", one_line(tool_name));
            }
            SessionEvent::MessageEnd { message: Message::Assistant(answer) } => {
                self.used = self.used + answer.usage;
            }
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let call = ToolCall::new(tool_call_id, tool_name, args.clone());
                let summary = call_summary(&call, usize::MAX);
                let summary = format!("{} {summary}", one_line(tool_name));
                self.calls.push((tool_call_id.clone(), summary.trim_end().to_owned()));
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.calls.retain(|(id, _)| id != tool_call_id);
                self.phase = "thinks".to_owned();
            }
            SessionEvent::RequestWait { reason, .. } => self.waits(reason),
            SessionEvent::AutoRetryStart { error_message, .. } => self.waits(error_message),
            SessionEvent::CompactionStart { .. } => {
                self.phase = "compacts the conversation".to_owned();
            }
            _other => {}
        }
    }

    fn waits(&mut self, why: &str) {
        self.phase = format!("waits: {}", one_line(why));
    }

    /// Returns the line, which leaves the last column free: some terminals wrap a line that fills it.
    fn line(&self, now: Timestamp, columns: usize) -> String {
        let ms = elapsed(self.since, now);
        // Tenths of a second would make it restless.
        let time = if ms < 10_000 { format!("{}s", ms / 1000) } else { duration(ms) };
        let used = match self.used.tokens() {
            0 => String::new(),
            used => format!(" · {} tokens", tokens(used)),
        };
        let end = format!(" · {time}{used}");
        let doing = match self.calls.as_slice() {
            [] => self.phase.clone(),
            [(_, call)] => call.clone(),
            [.., (_, call)] => format!("{} calls, {call}", self.calls.len()),
        };
        let columns = columns.saturating_sub(1);
        let doing = cut(&doing, columns.saturating_sub(width(&end)));
        cut(&format!("{doing}{end}"), columns)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use protocol::{AssistantMessage, StopReason};
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + seconds * 1000)
    }

    fn call(id: &str, command: &str) -> SessionEvent {
        let args = json!({ "command": command }).as_object().unwrap().clone();
        SessionEvent::ToolExecutionStart {
            tool_call_id: id.to_owned(),
            tool_name: "bash".to_owned(),
            args,
        }
    }

    fn ended(id: &str) -> SessionEvent {
        SessionEvent::ToolExecutionEnd {
            tool_call_id: id.to_owned(),
            tool_name: "bash".to_owned(),
            result: None,
            is_error: false,
        }
    }

    fn answered(input: u64) -> SessionEvent {
        let answer = AssistantMessage {
            content: Vec::new(),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: Usage { input, ..Usage::ZERO },
            stop_reason: StopReason::ToolUse,
            error_message: None,
            timestamp: at(0),
        };
        SessionEvent::MessageEnd { message: Message::Assistant(answer) }
    }

    #[test]
    fn the_line_has_the_phase_or_the_tool_the_seconds_and_the_tokens() {
        let mut activity = Activity::begin(at(0));
        let steps: [(Option<SessionEvent>, i64, &str); 8] = [
            (None, 0, "begins · 0s"),
            (Some(SessionEvent::TurnStart { turn: 1 }), 2, "thinks · 2s"),
            (Some(SessionEvent::TextStart { content_index: 0 }), 3, "answers · 3s"),
            (Some(answered(1_200)), 3, "answers · 3s · 1.2k tokens"),
            (Some(call("1", "make \u{1b}[2Jx")), 12, "bash make x · 12s · 1.2k tokens"),
            (Some(call("2", "b")), 12, "2 calls, bash b · 12s · 1.2k tokens"),
            (Some(ended("2")), 75, "bash make x · 1m15s · 1.2k tokens"),
            (Some(ended("1")), 75, "thinks · 1m15s · 1.2k tokens"),
        ];
        for (event, seconds, expected) in steps {
            event.iter().for_each(|event| activity.apply(event));
            assert_eq!(activity.line(at(seconds), 80), expected);
        }
        activity.apply(&call("3", &"long ".repeat(50)));
        for columns in 0..60 {
            let line = activity.line(at(75), columns);
            assert!(width(&line) < columns.max(1), "{columns}: {line}");
        }
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_is_written_when_it_changes_and_taken_away_once() {
        let sink = Sink::default();
        let size = || Size { columns: 80, rows: 24 };
        let mut status = PrintStatus::on(Box::new(sink.clone()), size, at(0));
        status.clear();
        status.draw(at(0));
        status.draw(at(0));
        status.event(&SessionEvent::TurnStart { turn: 1 }, at(1));
        status.clear();
        status.clear();
        let written = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written, "\rbegins · 0s\u{1b}[K\rthinks · 1s\u{1b}[K\r\u{1b}[K");
    }
}
