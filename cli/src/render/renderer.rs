//! The one who is told every event of a run, and shows it.

use std::fmt;
use std::io::{self, Write};

use protocol::{Event, EventKind, Landed, LeftOut, TaskName, Timestamp};

use super::json;
use super::kept_files::{left_out_lines, rescue_line};
use super::live_frame::passes;
use super::live_view::Live;
use super::next_commands::{Loose, Typing, closing, failed_at_work};
use super::progress_lines::{Plain, notice};
use super::run_view::Picture;
use super::table::{Extent, Table, TableRow, write_table};
use super::task_outcome::{Verdict, verdict};
use super::task_row::{Row, Stage};
use super::terminal::{Meaning, Progress, View, stderr_size};
use crate::args::{Form, Verbosity};

/// Shows a run to whoever started it.
pub trait Renderer: Send {
    /// Takes note of what happened, and says it where it is worth saying.
    ///
    /// # Errors
    /// Standard output cannot be written. What goes to standard error is said if it can be.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Says a line to whoever follows the run, on standard error. No event says it. It must be safe
    /// already.
    fn remark(&mut self, line: &str);

    /// Has what was written reach its readers. To be called whenever nothing more is to be shown at
    /// once: a reader that is woken for each of many events costs more than the events.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn settle(&mut self) -> io::Result<()>;

    /// Lets time pass in the live view. To be called a few times a second.
    fn tick(&mut self, now: Timestamp);

    /// Takes the live view off the screen and writes what the run came to.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// Where a run is shown.
pub struct Streams {
    /// Results.
    pub out: Box<dyn Write + Send>,
    /// Everything said to a person.
    pub err: Box<dyn Write + Send>,
}

/// How much of standard output is written at once at most.
const BUFFERED: usize = 64 << 10;

impl Streams {
    /// Returns this process's own.
    #[must_use]
    pub fn standard() -> Self {
        let out = io::BufWriter::with_capacity(BUFFERED, io::stdout());
        Self { out: Box::new(out), err: Box::new(io::stderr()) }
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

/// Returns a renderer for one run. What it tells people to type reaches the run by `typing`.
#[must_use]
pub fn renderer(view: View, streams: Streams, typing: Typing) -> Box<dyn Renderer> {
    Box::new(Show::new(view, streams, Some(typing)))
}

/// Returns a renderer for a run that cannot be reached any more when it is over: after the table
/// it tells nobody to type anything.
#[must_use]
pub fn table_renderer(view: View, streams: Streams) -> Box<dyn Renderer> {
    Box::new(Show::new(view, streams, None))
}

enum Showing {
    Live(Live),
    Lines(Plain),
    Nothing,
}

struct Show {
    view: View,
    streams: Streams,
    typing: Option<Typing>,
    progress: Showing,
    picture: Picture,
}

impl Renderer for Show {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.picture.apply(event);
        match &mut self.progress {
            Showing::Live(live) => {
                if let EventKind::Degraded { from, to, why } = &event.kind {
                    live.notice(&notice(from, to, why));
                }
                if let EventKind::FileRescued { rescue } = &event.kind {
                    live.print(&rescue_line(rescue));
                }
                if let EventKind::RunStarted { pass_env, .. } = &event.kind
                    && let Some(passes) = passes(pass_env)
                {
                    live.notice(&passes);
                }
                live.draw(&self.picture, event.at);
            }
            Showing::Lines(plain) => {
                if let Some(line) = plain.line(&self.picture, event) {
                    // A run does not end because nobody listens to its progress.
                    let _deaf = writeln!(self.streams.err, "{line}");
                }
            }
            // Who wants to see no progress must know all the same where work is that was replaced.
            Showing::Nothing => {
                if let (EventKind::FileRescued { rescue }, Form::Text) =
                    (&event.kind, self.view.form)
                {
                    let _deaf = writeln!(self.streams.err, "{}", rescue_line(rescue));
                }
            }
        }
        match self.view.form {
            Form::Json => json::event(&mut self.streams.out, event),
            Form::Text => Ok(()),
        }
    }

    fn remark(&mut self, line: &str) {
        match &mut self.progress {
            Showing::Live(live) => live.notice(line),
            Showing::Lines(_) => {
                let _deaf = writeln!(self.streams.err, "{line}");
            }
            // Who reads events instead has no other way to know what a remark says.
            Showing::Nothing => match (self.view.form, self.view.verbosity) {
                (Form::Json, Verbosity::Normal | Verbosity::Verbose) => {
                    let _deaf = writeln!(self.streams.err, "{line}");
                }
                (Form::Text, _) | (Form::Json, Verbosity::Quiet) => {}
            },
        }
    }

    fn settle(&mut self) -> io::Result<()> {
        self.streams.out.flush()
    }

    fn tick(&mut self, now: Timestamp) {
        if let Showing::Live(live) = &mut self.progress {
            live.draw(&self.picture, now);
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Showing::Live(live) = &self.progress {
            live.clear();
        }
        self.progress = Showing::Nothing;
        match self.view.form {
            Form::Json => self.streams.out.flush(),
            Form::Text => self.report(),
        }
    }
}

impl Show {
    fn new(view: View, streams: Streams, typing: Option<Typing>) -> Self {
        let palette = view.progress_palette;
        let progress = match view.progress {
            Progress::Live => Showing::Live(Live::on(Box::new(io::stderr()), stderr_size, palette)),
            Progress::Plain => Showing::Lines(Plain {
                palette,
                zone: view.zone.clone(),
                verbosity: view.verbosity,
            }),
            Progress::Silent => Showing::Nothing,
        };
        Self { view, streams, typing, progress, picture: Picture::default() }
    }

    fn report(&mut self) -> io::Result<()> {
        let Some(head) = self.picture.head() else { return Ok(()) };
        let quiet = self.view.verbosity == Verbosity::Quiet;
        let rows = self.picture.rows().iter().map(row);
        let table = Table {
            rows: rows.collect(),
            ms: self.picture.end().map(|(totals, _)| totals.ms),
            room: self.view.room,
            palette: self.view.palette,
            extent: if quiet { Extent::Trouble } else { Extent::Whole },
        };
        let out = &mut self.streams.out;
        write_table(out, &table)?;
        let left_out: Vec<_> = self.picture.rows().iter().filter_map(left_out).collect();
        let left_out = left_out_lines(&left_out);
        if !left_out.is_empty() && !quiet {
            writeln!(out, "\n{}", left_out.join("\n"))?;
        }
        if let (Some(typing), false) = (&self.typing, quiet) {
            let lines = closing(
                &head.run,
                head.merge,
                self.picture.rows().iter().filter(|row| landed(row)).count(),
                &self.picture.rows().iter().filter_map(loose).collect::<Vec<_>>(),
                &self.picture.rows().iter().filter_map(failed_work).collect::<Vec<_>>(),
                typing,
            );
            if !lines.is_empty() {
                writeln!(out, "\n{}", lines.join("\n"))?;
            }
        }
        out.flush()
    }
}

fn row(row: &Row) -> TableRow {
    let task = row.name.to_string();
    match &row.stage {
        Stage::Ended { report, landing } => TableRow {
            task,
            verdict: verdict(report, landing.as_ref()),
            changes: report.captured.as_ref().map(|captured| captured.changes),
            ms: Some(report.ms),
            usage: report.usage,
        },
        // Only an engine that fell leaves a task without an end.
        Stage::Queued | Stage::Running { .. } => {
            let verdict = Verdict::plain("interrupted", Meaning::Bad);
            TableRow { task, verdict, changes: None, ms: None, usage: row.used }
        }
    }
}

fn landed(row: &Row) -> bool {
    matches!(&row.stage, Stage::Ended { landing: Some(Landed::Landed { .. }), .. })
}

fn loose(row: &Row) -> Option<(TaskName, Loose)> {
    let Stage::Ended { report, landing } = &row.stage else { return None };
    Loose::of(report, landing.as_ref()).map(|loose| (row.name.clone(), loose))
}

fn left_out(row: &Row) -> Option<(&TaskName, &LeftOut)> {
    let Stage::Ended { report, .. } = &row.stage else { return None };
    report.captured.as_ref().map(|captured| (&row.name, &captured.left_out))
}

/// Returns the name of a task whose model or command failed.
fn failed_work(row: &Row) -> Option<TaskName> {
    let Stage::Ended { report, .. } = &row.stage else { return None };
    failed_at_work(&report.outcome, row.used).then(|| row.name.clone())
}

#[cfg(test)]
mod tests;
