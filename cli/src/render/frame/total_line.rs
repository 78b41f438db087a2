//! The last line of the live view: how far the run is, and what it has used.

use protocol::Timestamp;

use super::super::figures::{elapsed, span, used};
use super::super::paint::{Meaning, Palette};
use super::super::picture::{Head, Picture};
use super::super::safe::{cut, width};

/// The widest bar, in columns.
const BAR: usize = 32;

/// The narrowest, with what stands around it.
const NARROW: usize = 14;

/// Returns the line. Where it is narrow the bar is the first to go, and then what was used.
pub(super) fn total_line(
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
    let mut end = format!("{between}{}", span(elapsed(head.started, now)));
    let mut text = width(&begin) + width(&failures) + width(&end);
    let spent = picture.used().map(|usage| format!(" · {}", used(usage))).unwrap_or_default();
    if text + width(&spent) <= columns {
        end.push_str(&spent);
        text += width(&spent);
    }
    if columns < text + NARROW {
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
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_room() {
        for done in 0..=7 {
            assert_eq!(width(&bar(done, 7, 20)), 20, "{done}");
        }
        assert_eq!(bar(0, 0, 3), "━━━");
    }
}
