//! The part of a terminal that the live view redraws.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use super::bounds::Size;

/// A terminal as the drawing library wants it, with one difference: lines end with a line break.
///
/// The library fills each line with spaces up to the edge and lets the terminal wrap. A terminal
/// that is made wider would then join the lines.
pub(super) struct Screen {
    measure: fn() -> Size,
    output: Mutex<Output>,
}

struct Output {
    sink: Box<dyn Write + Send>,
    frame: String,
    next: Part,
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
            output: Mutex::new(Output { sink, frame: String::new(), next: Part::First }),
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
        output.next = Part::Filler;
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.push("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut output = self.output();
        let frame = std::mem::take(&mut output.frame);
        output.next = Part::First;
        output.sink.write_all(frame.as_bytes())?;
        output.sink.flush()
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}
