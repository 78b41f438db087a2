//! The part of a terminal that the live view redraws.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;
use protocol::Escapes;

use super::bounds::Size;
use super::safe;

/// A terminal as the drawing library wants it, with two differences, for terminals that are made
/// wider or narrower meanwhile.
///
/// Lines end with a line break: the library fills each line with spaces up to the edge and lets the
/// terminal wrap, and a terminal that is made wider would join the lines. And when it was made
/// narrower, the lines that it wrapped are taken away: the library counts each as one.
pub(super) struct Screen {
    measure: fn() -> Size,
    output: Mutex<Output>,
}

struct Output {
    sink: Box<dyn Write + Send>,
    frame: String,
    next: Part,
    /// How many columns each line of the frame takes.
    widths: Vec<usize>,
    /// The last frame, as it stands on the terminal.
    standing: Standing,
}

/// A frame on the terminal.
#[derive(Default)]
struct Standing {
    widths: Vec<usize>,
    columns: usize,
}

impl Standing {
    /// Returns what makes a terminal of now `columns` as if no line had been wrapped.
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

/// Lines are drawn as a text and a filler in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Filler,
    Text,
}

impl Screen {
    pub(super) fn new(sink: Box<dyn Write + Send>, measure: fn() -> Size) -> Self {
        Self {
            measure,
            output: Mutex::new(Output {
                sink,
                frame: String::new(),
                next: Part::First,
                widths: Vec::new(),
                standing: Standing::default(),
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
            Part::Filler => {
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
        output.next = Part::Filler;
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.push("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut output = self.output();
        let columns = (self.measure)().columns;
        let frame = output.standing.unwrapped(columns) + &std::mem::take(&mut output.frame);
        output.next = Part::First;
        output.standing = Standing { widths: std::mem::take(&mut output.widths), columns };
        output.sink.write_all(frame.as_bytes())?;
        output.sink.flush()
    }
}

/// Returns how many columns a line takes on a terminal: its colours take none.
fn width(line: &str) -> usize {
    let mut escapes = Escapes::default();
    safe::width(&line.chars().filter_map(|letter| escapes.step(letter)).collect::<String>())
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
        let standing = Standing { widths: vec![5, 80, 0, 41], columns: 80 };
        assert_eq!(standing.unwrapped(80), "");
        assert_eq!(standing.unwrapped(120), "");
        // Six rows: up to the first, erase, and down to where the last of four lines would be.
        assert_eq!(standing.unwrapped(40), "\r\u{1b}[5A\u{1b}[J\u{1b}[3B");
        let short = Standing { widths: vec![5, 0], columns: 80 };
        assert_eq!(short.unwrapped(40), "", "nothing was wrapped");
        assert_eq!(Standing::default().unwrapped(40), "");
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(width("\u{1b}[1;32mlanded\u{1b}[0m  日本"), 12);
    }
}
