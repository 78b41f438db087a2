//! The live view as lines of text: what is on the screen at one moment.

use protocol::{IsolationMode, MergeMode, Phase, Timestamp};

use super::bounds::Size;
use super::figures::{count, elapsed, span};
use super::paint::{Meaning, Palette};
use super::picture::{Head, Picture, Row, Stage};
use super::safe::{cut, fit, one_line, width};

/// The steps of a spinner.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The widest that a column of task names gets.
const NAMES: usize = 24;

/// The bar of the total line, in columns.
const BAR: usize = 32;

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
    let isolation = match head.isolation {
        IsolationMode::Worktree => "worktree",
        IsolationMode::None => "in place",
    };
    let lands = match (head.isolation, head.merge) {
        (IsolationMode::None, _) => "nothing is captured or landed",
        (IsolationMode::Worktree, MergeMode::Patch) => "lands at the end",
        (IsolationMode::Worktree, MergeMode::Branch) => "becomes branches at the end",
        (IsolationMode::Worktree, MergeMode::None) => "everything is kept",
    };
    let tasks = count(head.tasks, "task");
    format!("run {} · {tasks} · {} at once · {isolation} · {lands}", head.run, head.jobs)
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
    let names = picture.running().take(shown).map(|row| row.name.as_str().len()).max();
    let names = names.unwrap_or_default().min(NAMES);
    let rows = picture.running().take(shown);
    let mut lines: Vec<_> =
        rows.enumerate().map(|(at, row)| task_line(row, at, names, moment, columns)).collect();
    if shown < running {
        lines.push(cut(&format!("    and {} more", running - shown), columns));
    }
    lines
}

fn task_line(row: &Row, at: usize, names: usize, moment: Moment, columns: usize) -> String {
    let Stage::Running { since, phase, line } = &row.stage else { return String::new() };
    let spinner = SPINNER[(moment.turn + 3 * at) % SPINNER.len()];
    let begin = format!("  {spinner} {}  {}  ", fit(row.name.as_str(), names), phase_word(*phase));
    let end = format!("  {:>6}", span(elapsed(*since, moment.now)));
    let said = line.as_deref().and_then(last_part).unwrap_or_else(|| one_line(&row.title));
    let room = columns.saturating_sub(width(&begin) + width(&end));
    cut(&format!("{begin}{}{end}", fit(&said, room)), columns)
}

/// A line that rewrites itself has parts; the last one is what a terminal would show.
fn last_part(line: &str) -> Option<String> {
    line.split('\r').rfind(|part| !part.trim().is_empty()).map(|part| one_line(part.trim()))
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "prepares",
        Phase::Working => "works   ",
        Phase::Stopping => "stops   ",
        Phase::Capturing => "captures",
    }
}

fn total_line(
    picture: &Picture,
    head: &Head,
    now: Timestamp,
    columns: usize,
    palette: Palette,
) -> String {
    let (ended, failed) = picture.ended();
    let begin = format!("{ended} of {} · ", head.tasks);
    let failures = if failed == 0 { String::new() } else { format!("{failed} failed") };
    let between = if failed == 0 { "" } else { " · " };
    let end = format!("{between}{}", span(elapsed(head.started, now)));
    let text = width(&begin) + width(&failures) + width(&end);
    if columns < text + 14 {
        return cut(&format!("{begin}{failures}{end}"), columns);
    }
    let bar = bar(ended, head.tasks, BAR.min(columns - text - 4));
    format!("  {bar}  {begin}{}{end}", palette.paint(Meaning::Bad, &failures))
}

/// A bar of `room` columns of which the done part is thick.
fn bar(done: usize, all: usize, room: usize) -> String {
    let done = done.min(all);
    let thick = (room * done).checked_div(all).unwrap_or(room);
    let edge = usize::from(thick > 0 && thick < room);
    let mut bar = "━".repeat(thick - edge);
    bar.push_str(&"╸".repeat(edge));
    bar.push_str(&"─".repeat(room - thick));
    bar
}

#[cfg(test)]
mod tests;
