//! The live view: redraws a frame on a terminal a few times a second.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use protocol::{Escapes, Timestamp};

use super::live_frame::{FrameInput, frame};
use super::printable;
use super::run_view::RunView;
use super::terminal::{Palette, Size};

/// The shortest time between two frames, in milliseconds.
const FRAME: i64 = 100;

/// The maximum number of notes that are printed above the view.
const NOTICES: usize = 20;

/// The live view of a run on a terminal. The view is cleared when it is dropped.
pub(super) struct LiveView {
    bar: ProgressBar,
    measure: fn() -> Size,
    palette: Palette,
    turn: usize,
    notices: usize,
    drawn: Option<Timestamp>,
}

impl LiveView {
    /// Returns a view on a terminal; `measure` is called before each frame.
    pub(super) fn on(sink: Box<dyn Write + Send>, measure: fn() -> Size, palette: Palette) -> Self {
        let screen = Screen::new(sink, measure);
        let target = ProgressDrawTarget::term_like(Box::new(screen));
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant"));
        Self { bar, measure, palette, turn: 0, notices: 0, drawn: None }
    }

    /// Draws a frame, unless the last one is too recent.
    pub(super) fn draw(&mut self, run: &RunView, now: Timestamp) {
        let young = self.drawn.is_some_and(|drawn| {
            (0..FRAME).contains(&(now.as_millisecond() - drawn.as_millisecond()))
        });
        if young || run.head().is_none() {
            return;
        }
        let input = FrameInput { now, turn: self.turn, size: (self.measure)() };
        self.bar.set_message(frame(run, input, self.palette).join("\n"));
        self.turn += 1;
        self.drawn = Some(now);
    }

    /// Prints `line`, which must be printable, above the view. Drops it if `NOTICES` lines were
    /// printed before.
    pub(super) fn notice(&mut self, line: &str) {
        self.notices += 1;
        if self.notices <= NOTICES {
            self.print(line);
        }
    }

    /// Prints `line`, which must be printable, above the view. There is no maximum number.
    pub(super) fn print(&self, line: &str) {
        if self.drawn.is_none() {
            // `indicatif` writes a line break after the line only if a frame follows it.
            self.bar.set_message(" ");
        }
        self.bar.println(line);
    }

    /// Removes the view from the terminal.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
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

/// An adapter between the drawing library `indicatif` and the terminal, which makes two corrections
/// for terminals that are resized.
///
/// First, the adapter ends each line with a line break. The library only fills lines with spaces,
/// so that a terminal that becomes wider would join them. Second, when the terminal has become
/// narrower, the adapter erases the lines that the terminal wrapped. The library counts each of
/// them as one.
struct Screen {
    measure: fn() -> Size,
    output: Mutex<Output>,
}

struct Output {
    sink: Box<dyn Write + Send>,
    frame: String,
    next: Part,
    /// The width of each line of the frame, in columns.
    widths: Vec<usize>,
    /// The last frame on the terminal.
    drawn_frame: DrawnFrame,
}

/// A frame on the terminal.
#[derive(Default)]
struct DrawnFrame {
    widths: Vec<usize>,
    columns: usize,
}

impl DrawnFrame {
    /// Returns the escape sequence that erases the lines of this frame which the terminal wrapped
    /// when its width became `columns`. The sequence is empty if no line was wrapped.
    fn unwrapped(&self, columns: usize) -> String {
        let lines = self.widths.len();
        let rows: usize =
            self.widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        if columns >= self.columns || rows == lines {
            return String::new();
        }
        let down = match lines - 1 {
            0 => String::new(),
            down => format!("\u{1b}[{down}B"),
        };
        format!("\r\u{1b}[{}A\u{1b}[J{down}", rows - 1)
    }
}

/// The part of a frame that the library writes next. It writes each line as a text and a filler.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    ParsedTemplate,
    Text,
}

impl Screen {
    fn new(sink: Box<dyn Write + Send>, measure: fn() -> Size) -> Self {
        Self {
            measure,
            output: Mutex::new(Output {
                sink,
                frame: String::new(),
                next: Part::First,
                widths: Vec::new(),
                drawn_frame: DrawnFrame::default(),
            }),
        }
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, sequence: &str) -> io::Result<()> {
        self.output().frame.push_str(sequence);
        Ok(())
    }

    fn step(&self, count: usize, direction: char) -> io::Result<()> {
        if count == 0 { Ok(()) } else { self.push(&format!("\u{1b}[{count}{direction}")) }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        u16::try_from((self.measure)().columns).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        u16::try_from((self.measure)().rows).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.step(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.step(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.step(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.step(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.push(&format!("{text}\r\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut output = self.output();
        let begin = match output.next {
            Part::ParsedTemplate => {
                output.frame.push_str("\u{1b}[K");
                output.next = Part::Text;
                return Ok(());
            }
            Part::First => "",
            Part::Text => "\r\n",
        };
        output.frame.push_str(begin);
        output.frame.push_str(text);
        output.widths.push(width(text));
        output.next = Part::ParsedTemplate;
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.push("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut output = self.output();
        let columns = (self.measure)().columns;
        let frame = output.drawn_frame.unwrapped(columns) + &std::mem::take(&mut output.frame);
        output.next = Part::First;
        output.drawn_frame = DrawnFrame { widths: std::mem::take(&mut output.widths), columns };
        output.sink.write_all(frame.as_bytes())?;
        output.sink.flush()
    }
}

/// Returns the width of a line on a terminal, without its colours.
fn width(line: &str) -> usize {
    let mut escapes = Escapes::default();
    printable::width(&line.chars().filter_map(|letter| escapes.step(letter)).collect::<String>())
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_a_narrower_terminal_wrapped_is_taken_away_whole() {
        let drawn_frame = DrawnFrame { widths: vec![5, 80, 0, 41], columns: 80 };
        assert_eq!(drawn_frame.unwrapped(80), "");
        assert_eq!(drawn_frame.unwrapped(120), "");
        // Six rows: up to the first, erase, and down to where the last of four lines would be.
        assert_eq!(drawn_frame.unwrapped(40), "\r\u{1b}[5A\u{1b}[J\u{1b}[3B");
        let short = DrawnFrame { widths: vec![5, 0], columns: 80 };
        assert_eq!(short.unwrapped(40), "", "nothing was wrapped");
        assert_eq!(DrawnFrame::default().unwrapped(40), "");
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(width("\u{1b}[1;32mlanded\u{1b}[0m  日本"), 12);
    }
}
