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
    let ended = picture.ended();
    let begin = format!("{} of {} · ", ended.all, head.tasks);
    let kinds = [(ended.failed, "failed"), (ended.cancelled, "cancelled")];
    let kinds = kinds.into_iter().filter(|(number, _)| *number > 0);
    let failures = kinds.map(|(number, kind)| format!("{number} {kind}")).collect::<Vec<_>>();
    let failures = failures.join(" · ");
    let between = if failures.is_empty() { "" } else { " · " };
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
    let bar = bar(ended.all, head.tasks, BAR.min(columns - text - 4));
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
    use protocol::{
        Event, EventKind, EventScope, Failure, FailureClass, IsolationMode, MergeMode, Outcome,
        TaskReport,
    };

    use super::*;

    #[test]
    fn who_was_cancelled_has_not_failed() {
        let at = Timestamp::from_millisecond(0);
        let run: protocol::RunName = "r7k3f".parse().unwrap();
        let mut picture = Picture::default();
        let mut seq = 0;
        let mut tell = |kind| {
            seq += 1;
            picture.apply(&Event { seq, at, scope: Some(EventScope::Run(run.clone())), kind });
        };
        tell(EventKind::RunStarted {
            tasks: 3,
            jobs: 3,
            isolation: IsolationMode::Worktree,
            merge: MergeMode::Patch,
            pass_env: Vec::new(),
        });
        let failure = Failure::new(FailureClass::Command, "it ended with code 1");
        let ends = [Outcome::Cancelled, Outcome::Failed { failure }, Outcome::Cancelled];
        for (at, outcome) in ends.into_iter().enumerate() {
            let report = TaskReport { outcome, captured: None, ms: 1, usage: None };
            tell(EventKind::TaskFinished { task: format!("t{at}").parse().unwrap(), report });
        }
        let line = total_line(&picture, picture.head().unwrap(), at, 60, Palette::Plain);
        assert!(line.ends_with("  3 of 3 · 1 failed · 2 cancelled · 0.0s"), "{line}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_room() {
        for done in 0..=7 {
            assert_eq!(width(&bar(done, 7, 20)), 20, "{done}");
        }
        assert_eq!(bar(0, 0, 3), "━━━");
    }
}
