//! The renderer of a run: takes every event, displays progress, and writes the result at the end.

use std::fmt;
use std::io::{self, Write};

use indicatif::ProgressDrawTarget;
use protocol::{Event, EventKind, QuestionId, Timestamp};

use self::rows::{
    failed_work, has_landed, kept_reason, left_out_files, only_answer, table_row, task_answer,
    unverified_work, why_it_failed,
};
use super::answers::{Answers, write_answers, write_whole};
use super::event_line::event_line;
use super::line_wrap::wrapped;
use super::live_notes::live_notes;
use super::live_view::LiveView;
use super::missing_command::CommandFinder;
use super::next_commands::{CommandHints, LandedTasks, TasksToRetry, branch_of, closing_lines};
use super::printable::one_line;
use super::progress_lines::ProgressLines;
use super::run_questions::{QuestionKey, RunQuestions};
use super::run_view::{EndCounts, RunView};
use super::task_table::{Table, TableRows, write_table};
use super::task_view::TaskStage;
use super::terminal::{ProgressMode, View, stderr_size};
use super::unverified::unverified_lines;
use crate::args::{Form, Verbosity};
use regatta::text::{left_out_lines, rescue_line};

mod rows;

/// Displays a run to the user who started it.
pub trait Renderer: Send {
    /// Applies an event, and displays it.
    ///
    /// # Errors
    /// Standard output cannot be written. Errors of standard error are ignored.
    fn event(&mut self, event: &Event) -> io::Result<()>;

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

    fn report(&mut self) -> io::Result<()> {
        let Some(head) = self.run.head() else { return Ok(()) };
        if let Some(answer) = only_answer(&self.run) {
            write_whole(&mut self.streams.out, answer)?;
            return self.streams.out.flush();
        }
        let quiet = self.view.verbosity == Verbosity::Quiet;
        let finder =
            self.hints.as_ref().map(|hints| CommandFinder::of(hints, &head.carried, &head.setups));
        let rows = self.run.rows().iter().map(|row| table_row(row, finder.as_ref()));
        let table = Table {
            rows: rows.collect(),
            ms: self.run.end().map(|(totals, _)| totals.ms),
            room: self.view.room(),
            palette: self.view.palette,
            rows_shown: if quiet { TableRows::Problems } else { TableRows::Folded },
            all: self
                .hints
                .as_ref()
                .map(|hints| hints.command(&format!("runs show {} --all", head.run))),
        };
        let room = self.view.room();
        let out = &mut self.streams.out;
        let block = |out: &mut dyn Write, lines: &[String]| match lines {
            [] => Ok(()),
            lines => writeln!(out, "\n{}", wrapped(&lines.join("\n"), room)),
        };
        if let (Some(label), false) = (&head.label, quiet) {
            let title = format!("run {} · {}", head.run, one_line(label));
            writeln!(out, "{}", wrapped(&title, room))?;
        }
        write_table(out, &table)?;
        let left_out: Vec<_> = self.run.rows().iter().filter_map(left_out_files).collect();
        if !quiet {
            block(out, &left_out_lines(&left_out))?;
        }
        let unverified: Vec<_> = self.run.rows().iter().filter_map(unverified_work).collect();
        block(out, &unverified_lines(&unverified))?;
        write_answers(
            out,
            &Answers {
                run: &head.run,
                answers: self.run.rows().iter().filter_map(task_answer).collect(),
                hints: self.hints.as_ref(),
                room,
                palette: self.view.palette,
            },
        )?;
        if let (Some(hints), Some(finder), false, Closing::Lines) =
            (&self.hints, &finder, quiet, self.closing)
        {
            let mut lines = closing_lines(
                &head.run,
                head.merge,
                &LandedTasks {
                    count: self.run.rows().iter().filter(|row| has_landed(row)).count(),
                    branch: self.run.rows().iter().find_map(|row| match &row.stage {
                        TaskStage::Ended { landing, .. } => branch_of(landing.as_ref()),
                        _ => None,
                    }),
                    onto: head.onto.as_deref(),
                },
                &self.run.rows().iter().filter_map(kept_reason).collect::<Vec<_>>(),
                &self
                    .run
                    .rows()
                    .iter()
                    .filter_map(|row| failed_work(row, finder))
                    .collect::<Vec<_>>(),
                hints,
            );
            let reasons = self.run.rows().iter().filter_map(why_it_failed);
            lines.extend(finder.lines(reasons));
            let EndCounts { failed, cancelled, .. } = self.run.ended();
            let retry = TasksToRetry { failed, cancelled, interrupted: 0 };
            lines.extend(retry.line(&head.run, hints));
            block(out, &lines)?;
        }
        out.flush()
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
