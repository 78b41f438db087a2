//! The terminal in the mode that the view needs. It is as it was when this is dropped.

use std::io::{self, Write as _};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::text::Line;

use super::screen::Screen;
use super::stopping::stop_group;
use super::type_ahead::TypeAhead;
use crate::render::{Palette, Size};

/// Asks for pastes in brackets, and hides the cursor.
const ENTER: &str = "\u{1b}[?2004h\u{1b}[?25l";

/// Takes that back, whatever else was under way.
const LEAVE: &str = "\u{1b}[?2026l\u{1b}[?7h\u{1b}[0m\u{1b}[?25h\u{1b}[?2004l";

/// The terminal of the view.
pub(super) struct Terminal {
    screen: Screen,
    state: Mode,
    /// What is typed while the terminal is lent.
    typed: Option<TypeAhead>,
}

/// Whether the terminal is in the mode of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    View,
    Usual,
}

impl Terminal {
    /// Puts the terminal into the mode of the view.
    ///
    /// # Errors
    /// The terminal refuses it.
    pub(super) fn enter(palette: Palette) -> io::Result<Self> {
        let mut terminal = Self { screen: Screen::new(palette), state: Mode::Usual, typed: None };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Prints finished lines, and shows the live part.
    pub(super) fn draw(
        &mut self,
        finished: &[Line<'_>],
        live: &[Line<'_>],
        size: Size,
    ) -> io::Result<()> {
        match self.screen.update(finished, live, size) {
            Some(written) => write(&written),
            None => Ok(()),
        }
    }

    /// Writes the live part again at the next [`Self::draw`].
    pub(super) fn forget(&mut self) {
        self.screen.forget();
    }

    /// Prints the last finished lines, and puts the terminal back.
    pub(super) fn leave(&mut self, finished: &[Line<'_>]) -> io::Result<()> {
        if self.state == Mode::Usual {
            return Ok(());
        }
        self.state = Mode::Usual;
        let written = format!("{}{LEAVE}", self.screen.clear(finished));
        let written = write(&written);
        disable_raw_mode().and(written)
    }

    /// Stops the process group as the terminal does at Ctrl-Z. Call [`Self::resume`] when it goes on.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.leave(&[])?;
        Ok(stop_group()?)
    }

    /// Lends the terminal to what prints by itself, until [`Self::resume`].
    pub(super) fn lend(&mut self) -> io::Result<()> {
        self.leave(&[])?;
        self.typed = Some(TypeAhead::keep());
        Ok(())
    }

    /// Puts the terminal into the mode of the view again.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.state = Mode::View;
        self.typed = None;
        enable_raw_mode()?;
        self.screen.forget();
        write(ENTER)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing put back.
        let _gone = self.leave(&[]);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
