//! The live view: redraws a frame on a terminal, a few times a second.

use std::fmt;
use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use protocol::Timestamp;

use super::bounds::Size;
use super::frame::{Moment, frame};
use super::paint::Palette;
use super::picture::Picture;
use super::screen::Screen;

/// How long a frame stays at least, in milliseconds.
const FRAME: i64 = 100;

/// How many notices may scroll by above the view; the rest is for the end.
const NOTICES: usize = 20;

/// A view of a run on a terminal. Cleared when dropped.
pub(super) struct Live {
    bar: ProgressBar,
    measure: fn() -> Size,
    palette: Palette,
    turn: usize,
    notices: usize,
    drawn: Option<Timestamp>,
}

impl Live {
    /// Returns a view on a terminal, whose size is asked for before each frame.
    pub(super) fn on(sink: Box<dyn Write + Send>, measure: fn() -> Size, palette: Palette) -> Self {
        let screen = Screen::new(sink, measure);
        let target = ProgressDrawTarget::term_like(Box::new(screen));
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant"));
        Self { bar, measure, palette, turn: 0, notices: 0, drawn: None }
    }

    /// Draws the picture unless the last frame is too young.
    pub(super) fn draw(&mut self, picture: &Picture, now: Timestamp) {
        let young = self.drawn.is_some_and(|drawn| {
            (0..FRAME).contains(&(now.as_millisecond() - drawn.as_millisecond()))
        });
        if young || picture.head().is_none() {
            return;
        }
        let moment = Moment { now, turn: self.turn, size: (self.measure)() };
        self.bar.set_message(frame(picture, moment, self.palette).join("\n"));
        self.turn += 1;
        self.drawn = Some(now);
    }

    /// Lets a line scroll by above the view. It must be safe already.
    pub(super) fn notice(&mut self, line: &str) {
        self.notices += 1;
        if self.notices <= NOTICES {
            self.print(line);
        }
    }

    /// Lets a line scroll by above the view, however many there were. It must be safe already.
    pub(super) fn print(&self, line: &str) {
        if self.drawn.is_none() {
            // The library ends a line only where a frame follows it.
            self.bar.set_message(" ");
        }
        self.bar.println(line);
    }

    /// Takes the view off the screen.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("turn", &self.turn).finish_non_exhaustive()
    }
}
