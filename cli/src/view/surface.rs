//! Where a session is displayed, and where its keys come from: a terminal that can move its cursor, or
//! one that can only print lines.

use std::io;
use std::time::Duration;

use crossterm::event::{Event as Input, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use futures_util::future::poll_immediate;
use ratatui::text::Line;

use super::highlight::Syntaxes;
use super::lines_input::TypedLines;
use super::live_part::live_part;
use super::plain::PlainOutput;
use super::state::ViewState;
use super::terminal::Terminal;
use crate::render::{Palette, Size};

/// What a terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfaceKind {
    /// Move its cursor.
    Screen,
    /// Print lines.
    Lines,
}

/// The terminal of a session.
pub(super) struct Surface {
    size: fn() -> Size,
    output: Output,
}

enum Output {
    Screen(Terminal, EventStream),
    Lines(PlainOutput, TypedLines),
}

/// What was typed.
pub(super) enum Typed {
    /// A key or a paste, or another event of the terminal.
    Input(Input),
    /// A whole line.
    Line(String),
}

impl Surface {
    /// Puts the terminal into the mode that it needs.
    ///
    /// # Errors
    /// The terminal refuses it.
    pub(super) fn enter(
        kind: SurfaceKind,
        palette: Palette,
        size: fn() -> Size,
    ) -> io::Result<Self> {
        let output = match kind {
            SurfaceKind::Screen => Output::Screen(Terminal::enter(palette)?, EventStream::new()),
            SurfaceKind::Lines => Output::Lines(PlainOutput::default(), TypedLines::read()),
        };
        Ok(Self { size, output })
    }

    /// Returns whether the terminal can only print lines. It handles Ctrl-C and Ctrl-Z itself.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.output, Output::Lines(..))
    }

    /// Waits for what is typed next; `None` when nothing more will be.
    pub(super) async fn next(&mut self) -> Option<io::Result<Typed>> {
        match &mut self.output {
            Output::Screen(_, keys) => Some(keys.next().await?.map(Typed::Input)),
            Output::Lines(output, lines) => Some(Ok(match lines.next().await {
                Some(line) => {
                    output.typed(&line);
                    Typed::Line(line)
                }
                None => Typed::Input(control('d')),
            })),
        }
    }

    /// Returns what was typed already.
    pub(super) async fn next_at_once(&mut self) -> Option<io::Result<Typed>> {
        match &mut self.output {
            // Without an input, the stream wakes who has polled it last: this task.
            Output::Screen(_, keys) => match poll_immediate(keys.next()).await {
                Some(Some(input)) => Some(input.map(Typed::Input)),
                Some(None) | None => None,
            },
            Output::Lines(..) => None,
        }
    }

    /// Displays what has changed.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn draw(
        &mut self,
        view: &mut ViewState,
        now: Duration,
        syntaxes: &Syntaxes,
    ) -> io::Result<()> {
        let size = (self.size)();
        match &mut self.output {
            Output::Screen(terminal, _) => {
                let finished = finished_lines(view, size, syntaxes);
                let live = live_part(view, size, now, syntaxes);
                terminal.draw(&finished, &live, size)
            }
            Output::Lines(output, _) => output.draw(view, size),
        }
    }

    /// Writes everything again that changes, at the next [`Self::draw`].
    pub(super) fn forget(&mut self) {
        if let Output::Screen(terminal, _) = &mut self.output {
            terminal.forget();
        }
    }

    /// Prints what has finished, and puts the terminal back.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn leave(&mut self, view: &mut ViewState, syntaxes: &Syntaxes) -> io::Result<()> {
        let size = (self.size)();
        match &mut self.output {
            Output::Screen(terminal, _) => terminal.leave(&finished_lines(view, size, syntaxes)),
            Output::Lines(output, _) => output.leave(view, size),
        }
    }

    /// Stops the program with its terminal as it was. Call [`Self::resume`] when it goes on.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Screen(terminal, _) => terminal.suspend(),
            Output::Lines(..) => Ok(()),
        }
    }

    /// Lends the terminal to what prints by itself, until [`Self::resume`].
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(super) fn lend(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Screen(terminal, _) => terminal.lend(),
            Output::Lines(..) => Ok(()),
        }
    }

    /// Puts the terminal into its mode again.
    ///
    /// # Errors
    /// The terminal refuses it.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Screen(terminal, _) => terminal.resume(),
            Output::Lines(..) => Ok(()),
        }
    }
}

/// Returns the key for Ctrl and a letter.
pub(super) fn control(letter: char) -> Input {
    Input::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

fn finished_lines(view: &mut ViewState, size: Size, syntaxes: &Syntaxes) -> Vec<Line<'static>> {
    let entries = view.take_finished(size.columns).into_iter();
    entries.flat_map(|entry| entry.lines(size.columns, syntaxes)).collect()
}
