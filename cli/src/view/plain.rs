//! A session on a terminal that cannot move its cursor: plain lines, without a live part.

use std::io::{self, Write as _};

use protocol::{InputId, QueueKind};

use super::calls::plain_call;
use super::entry::Entry;
use super::highlight::Syntaxes;
use super::state::ViewState;
use crate::render::{Size, one_line};

/// What stands before what is typed.
const PROMPT: &str = "> ";

/// The output of a session as plain lines.
#[derive(Debug, Default)]
pub(super) struct PlainOutput {
    /// Whether the cursor is behind the prompt.
    is_prompted: bool,
    /// The lines that were typed and not taken by the session. The terminal has shown them.
    typed: Vec<String>,
    /// The inputs that were told to wait.
    queued: Vec<InputId>,
    /// What the session waited for when that was told last.
    wait: Option<String>,
}

impl PlainOutput {
    /// A line was typed.
    pub(super) fn typed(&mut self, line: &str) {
        self.is_prompted = false;
        self.typed.push(line.to_owned());
    }

    /// Prints what has happened, and the prompt when something can be typed.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn draw(&mut self, view: &mut ViewState, size: Size) -> io::Result<()> {
        let mut lines = self.lines(view, size);
        lines.extend(view.hint.take().map(|hint| one_line(&hint)));
        if !view.editor.is_empty() {
            lines.push(format!("not sent: {}", one_line(&view.editor.take())));
        }
        for queued in view.queue.iter().filter(|queued| queued.kind == QueueKind::Steering) {
            if !self.queued.contains(&queued.id) {
                self.queued.push(queued.id);
                lines.push(format!("next: {}", one_line(&queued.text)));
            }
        }
        self.queued.retain(|id| view.queue.iter().any(|queued| queued.id == *id));
        let wait = view.status.wait.as_ref().map(|wait| wait.what.clone());
        if wait != self.wait {
            lines.extend(wait.iter().map(|what| one_line(what)));
            self.wait = wait;
        }
        let mut out = String::new();
        if self.is_prompted && !lines.is_empty() {
            out.push('\n');
            self.is_prompted = false;
        }
        for line in lines {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if !self.is_prompted && !view.is_busy() {
            out.push_str(PROMPT);
            self.is_prompted = true;
        }
        write(&out)
    }

    /// Prints the last lines.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn leave(&mut self, view: &mut ViewState, size: Size) -> io::Result<()> {
        let begin = if self.is_prompted { "\n" } else { "" };
        let lines = self.lines(view, size).into_iter().map(|line| format!("{line}\n"));
        write(&std::iter::once(begin.to_owned()).chain(lines).collect::<String>())
    }

    fn lines(&mut self, view: &mut ViewState, size: Size) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in view.take_finished(size.columns) {
            match &entry {
                Entry::Prompt(text) => {
                    if let Some(at) = self.typed.iter().position(|typed| typed == text) {
                        self.typed.drain(..=at);
                        continue;
                    }
                }
                Entry::Call(call) => {
                    lines.push(plain_call(call, size.columns));
                    continue;
                }
                _other => {}
            }
            let entry = entry.lines(size.columns, &Syntaxes::default());
            lines.extend(entry.iter().map(ToString::to_string));
        }
        lines
    }
}

fn write(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
