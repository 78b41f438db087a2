//! The live view as lines of text: what is on the screen at one moment.

mod task_line;
mod total_line;

use protocol::{MergeMode, Timestamp};

use self::task_line::Columns;
use self::total_line::total_line;
use super::bounds::Size;
use super::figures::count;
use super::paint::Palette;
use super::picture::{Head, Picture};
use super::row::Row;
use super::safe::{cut, one_line};

/// The steps of a spinner.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// One moment of the live view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The time.
    pub(super) now: Timestamp,
    /// Counts the frames; turns the spinners.
    pub(super) turn: usize,
    /// How much room there is.
    pub(super) size: Size,
}

/// Returns the lines to show, each narrower than the terminal and all together fewer than it has.
pub(super) fn frame(picture: &Picture, moment: Moment, palette: Palette) -> Vec<String> {
    let Some(head) = picture.head() else { return Vec::new() };
    // A full last column wraps on some terminals, and the cursor needs a line of its own.
    let columns = moment.size.columns.saturating_sub(1);
    let room = moment.size.rows.saturating_sub(1);
    let total = total_line(picture, head, moment.now, columns, palette);
    if room < 5 {
        return vec![total].into_iter().take(room).collect();
    }
    let mut lines = vec![cut(&headline(head), columns), String::new()];
    lines.extend(middle(picture, moment, columns, room - 3));
    lines.push(total);
    lines
}

/// Returns what a run is in one line.
pub(super) fn headline(head: &Head) -> String {
    let isolation = head.isolation.label();
    let lands = match (head.isolation.capabilities().can_capture, head.merge) {
        (false, _) => "nothing is captured or landed",
        (true, MergeMode::Patch) => "lands at the end",
        (true, MergeMode::Branch) => "becomes branches at the end",
        (true, MergeMode::None) => "everything is kept",
    };
    let tasks = count(head.tasks, "task");
    format!("run {} · {tasks} · {} at once · {isolation} · {lands}", head.run, head.jobs)
}

/// Returns the line that says which variables are passed on; nothing where none is.
pub fn passes(names: &[String]) -> Option<String> {
    let names: Vec<_> = names.iter().map(|name| one_line(name)).collect();
    (!names.is_empty()).then(|| format!("passes {} on to what tasks run", names.join(", ")))
}

/// The lines between the head and the total: what runs, or what the landing is at.
fn middle(picture: &Picture, moment: Moment, columns: usize, room: usize) -> Vec<String> {
    let running = picture.running().len();
    if running == 0 {
        let spinner = SPINNER[moment.turn % SPINNER.len()];
        let landing =
            picture.landing().map(|landing| cut(&format!("  {spinner} {landing}"), columns));
        return landing.into_iter().collect();
    }
    let shown = if running > room { room - 1 } else { running };
    let rows: Vec<&Row> = picture.running().take(shown).collect();
    let room = Columns::of(&rows, columns);
    let mut lines: Vec<_> =
        rows.iter().enumerate().map(|(at, row)| room.line(row, at, moment)).collect();
    if shown < running {
        lines.push(cut(&format!("    and {} more", running - shown), columns));
    }
    lines
}

#[cfg(test)]
mod tests;
