//! The renderer of a run: takes every event, displays progress, and writes the result at the end.

use std::fmt;
use std::io::{self, Write};

use indicatif::ProgressDrawTarget;
use protocol::{Event, EventKind, QuestionId, Timestamp};

use self::rows::has_landed;
use super::event_line::event_line;
use super::line_wrap::wrapped;
use super::live_notes::live_notes;
use super::live_view::LiveView;
use super::next_commands::CommandHints;
use super::progress_lines::ProgressLines;
use super::run_questions::{QuestionKey, RunQuestions};
use super::run_view::RunView;
use super::subagent_tree::EndedSubagent;
use super::terminal::{ProgressMode, View, stderr_size};
use crate::args::{Form, Verbosity};
use regatta::text::rescue_line;

mod report;
mod rows;

/// Displays a run to the user who started it.
pub trait Renderer: Send {
    /// Applies an event, and displays it.
    ///
    /// # Errors
    /// Standard output cannot be written. Errors of standard error are ignored.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Returns whether subagents are displayed, which then need the events of their runs.
    fn shows_subagents(&self) -> bool {
        false
    }

    /// Applies an event of any run of the engine, and displays it if it is one of subagents.
    fn subagent_event(&mut self, _event: &Event) {}

    /// Prints a note to standard error that is not part of any event. The note must be printable.
    fn note(&mut self, line: &str);

    /// Flushes standard output. The caller does this when no more events are ready, because a flush
    /// after each event would be slow.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn flush(&mut self) -> io::Result<()>;

    /// Updates the live view, or displays a heartbeat. The caller does this a few times a second.
    fn tick(&mut self, now: Timestamp);

    /// Returns whether questions of tasks are displayed, so that a person can answer them.
    fn shows_questions(&self) -> bool {
        false
    }

    /// Returns the question that is on the terminal.
    fn question(&self) -> Option<QuestionId> {
        None
    }

    /// Applies a key that was pressed while the question was on the terminal. Returns the answer, with the id of
    /// its choice, if the key is one.
    fn key(&mut self, _key: char) -> Option<(QuestionId, String)> {
        None
    }

    /// Clears the live view and writes the result of the run.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// The outputs of a renderer.
pub struct OutputStreams {
    /// The writer for results.
    pub out: Box<dyn Write + Send>,
    /// The writer for progress and notes.
    pub err: Box<dyn Write + Send>,
}

/// The size of the buffer of standard output.
const BUFFERED: usize = 64 << 10;

impl OutputStreams {
    /// Returns standard output and standard error.
    #[must_use]
    pub fn standard() -> Self {
        let out = io::BufWriter::with_capacity(BUFFERED, io::stdout());
        Self { out: Box::new(out), err: Box::new(io::stderr()) }
    }
}

impl fmt::Debug for OutputStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputStreams").finish_non_exhaustive()
    }
}

/// Returns the renderer of a run. It suggests commands that are formatted by `hints`.
#[must_use]
pub fn renderer(view: View, streams: OutputStreams, hints: CommandHints) -> Box<dyn Renderer> {
    Box::new(RunRenderer::new(view, streams, Some(hints)))
}

/// Returns the renderer of a run that is removed when it has ended. It suggests no commands.
#[must_use]
pub fn table_renderer(view: View, streams: OutputStreams) -> Box<dyn Renderer> {
    Box::new(RunRenderer::new(view, streams, None))
}

enum ProgressDisplay {
    Live(LiveView),
    Lines(ProgressLines),
    Silent,
}

pub(super) struct RunRenderer {
    view: View,
    streams: OutputStreams,
    hints: Option<CommandHints>,
    closing: Closing,
    progress: ProgressDisplay,
    run: RunView,
    questions: RunQuestions,
}

/// Whether the commands that people use next stand below the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Lines,
    /// They stand below the results of a whole group.
    Nothing,
}

impl Renderer for RunRenderer {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.run.apply(event);
        match &mut self.progress {
            ProgressDisplay::Live(live) => {
                for note in live_notes(event) {
                    live.note(note);
                }
                self.questions.apply(event);
                live.draw(&self.run, &mut self.questions, event.at);
            }
            ProgressDisplay::Lines(plain) => {
                if let Some(line) = plain.line(&self.run, event) {
                    self.say(&line);
                }
            }
            // Without progress, the user still needs to know where a replaced file is kept.
            ProgressDisplay::Silent => {
                if let (EventKind::FileRescued { rescue }, Form::Text) =
                    (&event.kind, self.view.form)
                {
                    self.say(&rescue_line(rescue));
                }
            }
        }
        match self.view.form {
            Form::Json => write_event(&mut self.streams.out, event),
            Form::Text => Ok(()),
        }
    }

    fn shows_subagents(&self) -> bool {
        matches!(self.progress, ProgressDisplay::Live(_))
    }

    fn subagent_event(&mut self, event: &Event) {
        let ended = self.run.apply_below(event);
        if let (Some(ended), ProgressDisplay::Live(live)) = (ended, &mut self.progress) {
            live.print(&ended.line());
        }
    }

    fn note(&mut self, line: &str) {
        match &mut self.progress {
            ProgressDisplay::Live(live) => live.remark(line),
            ProgressDisplay::Lines(_) => self.say(line),
            // With `--json`, a note is printed because no event contains its text.
            ProgressDisplay::Silent => match (self.view.form, self.view.verbosity) {
                (Form::Json, Verbosity::Normal | Verbosity::Verbose) => self.say(line),
                (Form::Text, _) | (Form::Json, Verbosity::Quiet) => {}
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.streams.out.flush()
    }

    fn tick(&mut self, now: Timestamp) {
        match &mut self.progress {
            ProgressDisplay::Live(live) => live.draw(&self.run, &mut self.questions, now),
            ProgressDisplay::Lines(plain) => {
                if let Some(line) = plain.heartbeat(&self.run, now) {
                    self.say(&line);
                }
            }
            ProgressDisplay::Silent => {}
        }
    }

    fn shows_questions(&self) -> bool {
        matches!(self.progress, ProgressDisplay::Live(_))
    }

    fn question(&self) -> Option<QuestionId> {
        self.questions.displayed()
    }

    fn key(&mut self, key: char) -> Option<(QuestionId, String)> {
        match self.questions.key(key, self.view.progress_palette)? {
            QuestionKey::Answer(question, choice) => Some((question, choice)),
            QuestionKey::Details(lines) => {
                if let ProgressDisplay::Live(live) = &mut self.progress {
                    lines.iter().for_each(|line| live.print(line));
                }
                None
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if let ProgressDisplay::Live(live) = &mut self.progress {
            live.clear();
        }
        self.progress = ProgressDisplay::Silent;
        match self.view.form {
            Form::Json => self.streams.out.flush(),
            Form::Text => self.report(),
        }
    }
}

impl RunRenderer {
    fn new(view: View, streams: OutputStreams, hints: Option<CommandHints>) -> Self {
        let palette = view.progress_palette;
        let progress = match view.progress {
            ProgressMode::Live => {
                let (target, out) = (ProgressDrawTarget::stderr(), Box::new(io::stderr()));
                ProgressDisplay::Live(LiveView::on(target, out, stderr_size, palette))
            }
            ProgressMode::Plain => ProgressDisplay::Lines(ProgressLines::new(
                palette,
                view.zone.clone(),
                view.verbosity,
            )),
            ProgressMode::Silent => ProgressDisplay::Silent,
        };
        let closing = Closing::Lines;
        Self {
            view,
            streams,
            hints,
            closing,
            progress,
            run: RunView::default(),
            questions: RunQuestions::default(),
        }
    }

    /// Writes to standard error. A run continues if its progress cannot be written.
    fn say(&mut self, text: &str) {
        let _deaf = writeln!(self.streams.err, "{}", wrapped(text, self.view.stderr_room()));
    }

    /// Returns a renderer that displays no progress, and writes nothing below the result of the run.
    pub(super) fn silent(view: View, hints: CommandHints) -> Self {
        let streams = OutputStreams { out: Box::new(io::sink()), err: Box::new(io::sink()) };
        let progress = ProgressDisplay::Silent;
        let (hints, closing) = (Some(hints), Closing::Nothing);
        Self {
            view,
            streams,
            hints,
            closing,
            progress,
            run: RunView::default(),
            questions: RunQuestions::default(),
        }
    }

    /// Returns the state of the run.
    pub(super) fn run(&self) -> &RunView {
        &self.run
    }

    /// Returns how many tasks have changed files that landed.
    pub(super) fn landed(&self) -> usize {
        self.run.rows().iter().filter(|row| has_landed(row)).count()
    }

    /// Applies an event, without displaying it.
    pub(super) fn apply(&mut self, event: &Event) {
        self.run.apply(event);
    }

    /// Applies an event of another run. Returns the subagent that has ended with it.
    pub(super) fn apply_below(&mut self, event: &Event) -> Option<EndedSubagent> {
        self.run.apply_below(event)
    }

    /// Writes the result of the run to `out`.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub(super) fn report_to(&mut self, out: &mut Box<dyn Write + Send>) -> io::Result<()> {
        std::mem::swap(&mut self.streams.out, out);
        let written = self.report();
        std::mem::swap(&mut self.streams.out, out);
        written
    }
}

/// Writes an event as one line of JSON.
pub(super) fn write_event(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    let mut line = event_line(event)?;
    line.push('\n');
    out.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests;
