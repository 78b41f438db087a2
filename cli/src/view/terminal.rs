//! The terminal in the mode that the view needs. It is as it was when this is dropped.

use std::io::{self, Write as _};
use std::time::Duration;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::text::Line;
use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::screen::Screen;
use crate::render::{Palette, Size};

/// Asks for pastes in brackets, and hides the cursor.
const ENTER: &str = "\u{1b}[?2004h\u{1b}[?25l";

/// Takes that back, whatever else was under way.
const LEAVE: &str = "\u{1b}[?2026l\u{1b}[?7h\u{1b}[0m\u{1b}[?25h\u{1b}[?2004l";

/// How long a suspended process waits for the signal that continues it, once it runs again.
const CONTINUED: Duration = Duration::from_millis(200);

/// The terminal of the view.
pub(super) struct Terminal {
    screen: Screen,
    size: fn() -> Size,
    state: Mode,
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
    pub(super) fn enter(palette: Palette, size: fn() -> Size) -> io::Result<Self> {
        let mut terminal = Self { screen: Screen::new(palette), size, state: Mode::Usual };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Returns the size of the terminal at this moment.
    pub(super) fn size(&self) -> Size {
        (self.size)()
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

    /// Stops the process group as the terminal does at Ctrl-Z, and goes on when it is continued.
    pub(super) async fn suspend_and_resume(&mut self) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        self.leave(&[])?;
        kill_current_process_group(Signal::TSTP)?;
        // The process may run on for a moment before it stops. A shell without jobs stops nothing.
        let _either = tokio::time::timeout(CONTINUED, continued.recv()).await;
        self.resume()
    }

    /// Puts the terminal into the mode of the view.
    fn resume(&mut self) -> io::Result<()> {
        self.state = Mode::View;
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
