//! The live view: redraws a frame on a terminal a few times a second, below lines that stay.
//!
//! The frame is the message of one progress bar of `indicatif`, which fills its lines with spaces
//! and lets the terminal wrap them. Lines that stay are therefore written between two frames, with
//! line breaks of their own: a terminal that becomes wider would join them otherwise.
//!
//! Where the lines of a frame are after a resize depends on the terminal: some wrap them, some cut
//! them, some join them. So after a resize everything on the screen is scrolled out, and the lines
//! that stay and the frame are written again.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use protocol::Timestamp;

use super::line_wrap::wrapped;
use super::live_frame::{FrameInput, frame};
use super::live_notes::{LiveNote, Problem};
use super::printable::cut;
use super::run_questions::RunQuestions;
use super::run_view::RunView;
use super::task_label::shorten;
use super::terminal::{OutputWidth, Palette, Size};

/// The shortest time between two frames, in milliseconds.
const FRAME: i64 = 100;

/// The maximum number of remarks that are printed above the view.
const REMARKS: usize = 20;

/// The maximum number of lines that are written again after a resize.
const REPEATED: usize = 200;

/// The live view of a run on a terminal. The view is cleared when it is dropped.
pub(super) struct LiveView {
    bar: ProgressBar,
    /// Writes the lines that stay to the terminal of `bar`.
    out: Box<dyn Write + Send>,
    measure: fn() -> Size,
    palette: Palette,
    turn: usize,
    remarks: usize,
    drawn: Option<DrawnFrame>,
    /// The lines that are printed before the next frame.
    pending: Vec<Line>,
    /// The last lines that were printed.
    printed: VecDeque<Line>,
}

/// The last frame on the terminal.
#[derive(Clone, Copy, Debug)]
struct DrawnFrame {
    at: Timestamp,
    /// The size of the terminal.
    size: Size,
    /// Whether everything on the screen has to be written again.
    resized: Resized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resized {
    Yes,
    No,
}

/// A line above the view.
#[derive(Clone, Debug)]
enum Line {
    /// A printable text, which is wrapped and not cut.
    Text(String),
    /// A task that failed or did not land.
    Problem(Problem),
}

impl LiveView {
    /// Returns a view that draws on `target` and writes to the same terminal through `out`;
    /// `measure` is called before each frame.
    pub(super) fn on(
        target: ProgressDrawTarget,
        out: Box<dyn Write + Send>,
        measure: fn() -> Size,
        palette: Palette,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant"));
        let (pending, printed) = (Vec::new(), VecDeque::new());
        Self { bar, out, measure, palette, turn: 0, remarks: 0, drawn: None, pending, printed }
    }

    /// Draws a frame of a run that has begun, and below it the oldest question.
    pub(super) fn draw(&mut self, run: &RunView, questions: &mut RunQuestions, now: Timestamp) {
        if run.head().is_none() {
            return;
        }
        self.draw_frame(now, |input, palette| {
            let FrameInput { size: Size { columns, rows }, .. } = input;
            let room = Size { columns: columns.saturating_sub(1), rows };
            let question = questions.show(room, palette);
            let rows = rows.saturating_sub(question.len());
            let input = FrameInput { size: Size { columns, rows }, ..input };
            frame(run, input, palette).into_iter().chain(question).collect()
        });
    }

    /// Draws the frame that `frame` returns, unless the last one is too recent or the terminal is being
    /// resized.
    pub(super) fn draw_frame(
        &mut self,
        now: Timestamp,
        frame: impl FnOnce(FrameInput, Palette) -> Vec<String>,
    ) {
        let age = |drawn: DrawnFrame| now.as_millisecond() - drawn.at.as_millisecond();
        if self.drawn.is_some_and(|drawn| (0..FRAME).contains(&age(drawn))) {
            return;
        }
        let size = (self.measure)();
        if let Some(drawn) = self.drawn.as_mut().filter(|drawn| drawn.size != size) {
            *drawn = DrawnFrame { at: now, size, resized: Resized::Yes };
            return;
        }
        let input = FrameInput { now, turn: self.turn, size };
        let lines = frame(input, self.palette);
        self.turn += 1;
        self.show(&lines, size);
        self.drawn = Some(DrawnFrame { at: now, size, resized: Resized::No });
    }

    /// Prints a note above the view.
    pub(super) fn note(&mut self, note: LiveNote) {
        match note {
            LiveNote::Remark(text) => self.remark(&text),
            LiveNote::Line(text) => self.print(&text),
            LiveNote::Problem(problem) => self.problem(problem),
        }
    }

    /// Prints a remark, which must be printable, above the view. Drops it if `REMARKS` were printed
    /// before.
    pub(super) fn remark(&mut self, text: &str) {
        self.remarks += 1;
        if self.remarks <= REMARKS {
            self.print(text);
        }
    }

    /// Prints a line, which must be printable, above the view. There is no maximum number.
    pub(super) fn print(&mut self, text: &str) {
        self.push(Line::Text(text.to_owned()));
    }

    /// Prints a line about a task above the view. The line is cut to the width of the terminal.
    pub(super) fn problem(&mut self, problem: Problem) {
        self.push(Line::Problem(problem));
    }

    /// Removes the view from the terminal. The lines above it stay.
    pub(super) fn clear(&mut self) {
        let size = (self.measure)();
        if let Some(drawn) = &mut self.drawn
            && drawn.size != size
        {
            drawn.resized = Resized::Yes;
        }
        self.show(&[], size);
        self.bar.finish_and_clear();
        self.drawn = None;
    }

    /// Prints a line now if there is no frame, or else with the next frame, so that many lines at
    /// once cost one frame.
    fn push(&mut self, line: Line) {
        self.pending.push(line);
        if self.drawn.is_none() {
            let shown = self.take_pending((self.measure)());
            self.write(&shown);
        }
    }

    /// Draws a frame, and prints the pending lines above it.
    fn show(&mut self, frame: &[String], size: Size) {
        let mut above = String::new();
        if self.drawn.is_some_and(|drawn| drawn.resized == Resized::Yes) {
            // The bar then finds the cursor in the first line, above which it erases nothing.
            self.write(&format!("{}\u{1b}[H\u{1b}[J", "\r\n".repeat(size.rows)));
            let room = size.rows.saturating_sub(frame.len() + self.pending.len());
            let again = self.printed.iter().skip(self.printed.len().saturating_sub(room));
            above.extend(again.map(|line| line.format(size, self.palette)));
        }
        above.push_str(&self.take_pending(size));
        self.bar.set_message(frame.join("\n"));
        if !above.is_empty() {
            let bar = self.bar.clone();
            bar.suspend(|| self.write(&above));
        }
    }

    fn take_pending(&mut self, size: Size) -> String {
        let shown = self.pending.iter().map(|line| line.format(size, self.palette)).collect();
        self.printed.extend(self.pending.drain(..));
        let old = self.printed.len().saturating_sub(REPEATED);
        self.printed.drain(..old);
        shown
    }

    /// Writes to the terminal. A run continues if its progress cannot be written.
    fn write(&mut self, text: &str) {
        let _deaf = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl Line {
    fn format(&self, size: Size, palette: Palette) -> String {
        match self {
            Self::Text(text) => {
                let text = wrapped(text, OutputWidth::Columns(size.columns));
                format!("{}\r\n", text.replace('\n', "\r\n"))
            }
            Self::Problem(Problem { meaning, label, why }) => {
                let label = shorten(std::slice::from_ref(label), size.columns / 2).concat();
                let text = cut(&format!("{label}  {why}"), size.columns.saturating_sub(3));
                format!("{} {text}\r\n", palette.paint(*meaning, "✗"))
            }
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for LiveView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveView").field("turn", &self.turn).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
