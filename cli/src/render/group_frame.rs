//! One frame of the live view of a group: a line per repository, its running tasks below, and the totals.

use protocol::{GroupName, Timestamp};

use super::live_frame::{FrameInput, bar, middle_lines};
use super::numbers::{duration, elapsed};
use super::printable::{cut, fit, width};
use super::run_view::RunView;
use super::task_label::shorten;
use super::terminal::{Meaning, Palette};

/// What a frame shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupFrame<'a> {
    /// The name of the group.
    pub(super) name: &'a GroupName,
    /// How many tasks run at once, of all repositories together.
    pub(super) jobs: usize,
    /// When the first run began.
    pub(super) started: Timestamp,
    /// The label of each repository, and its run if it has begun.
    pub(super) runs: &'a [(&'a str, Option<&'a RunView>)],
}

/// The width of the bar of a repository.
const BAR: usize = 16;

/// The maximum width of the labels of repositories.
const LABEL: usize = 28;

/// Returns the lines of a frame. They leave the last column and the last line of the terminal free.
pub(super) fn group_frame(
    group: &GroupFrame<'_>,
    input: FrameInput,
    palette: Palette,
) -> Vec<String> {
    let columns = input.size.columns.saturating_sub(1);
    let room = input.size.rows.saturating_sub(1);
    let total = cut(&total_line(group, input.now), columns);
    if room < 5 {
        return vec![total].into_iter().take(room).collect();
    }
    let all = repositories(group.runs.len());
    let head = format!("group {} · {all} · {} at once", group.name, group.jobs);
    let mut lines = vec![cut(&head, columns), String::new()];
    lines.extend(repository_lines(group, input, (columns, room - 3), palette));
    lines.push(total);
    lines
}

/// Returns the lines of the repositories in which something happens.
fn repository_lines(
    group: &GroupFrame<'_>,
    input: FrameInput,
    (columns, room): (usize, usize),
    palette: Palette,
) -> Vec<String> {
    let active = group.runs.iter().filter_map(|(label, run)| Some((*label, (*run)?)));
    let active: Vec<_> = active.filter(|(_, run)| run.end().is_none()).collect();
    let shown = if active.len() > room { room.saturating_sub(1) } else { active.len() };
    let labels: Vec<_> = active[..shown].iter().map(|(label, _)| (*label).to_owned()).collect();
    let labels = shorten(&labels, LABEL.min(columns / 3));
    let widest = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    // What is left for the lines of tasks, which the repositories share.
    let mut left = room - shown - usize::from(shown < active.len());
    let mut lines = Vec::new();
    for (at, ((_, run), label)) in active.iter().zip(&labels).enumerate() {
        lines.push(cut(&run_line(run, &fit(label, widest), palette), columns));
        let share = left.div_ceil(shown - at);
        let tasks = middle_lines(run, input, columns.saturating_sub(2), share);
        left -= tasks.len().min(left);
        lines.extend(tasks.into_iter().map(|task| format!("  {task}")));
    }
    if shown < active.len() {
        lines.push(format!("  and {} more", active.len() - shown));
    }
    lines
}

/// Returns the line of a repository.
fn run_line(run: &RunView, label: &str, palette: Palette) -> String {
    let (ended, tasks) = (run.ended(), run.head().map_or(0, |head| head.tasks));
    let failed = match ended.failed {
        0 => String::new(),
        failed => palette.paint(Meaning::Bad, &format!(" · {failed} failed")),
    };
    format!("  {label}  {}  {} of {tasks}{failed}", bar(ended.all, tasks, BAR), ended.all)
}

/// Returns a number of repositories.
pub(super) fn repositories(number: usize) -> String {
    match number {
        1 => "1 repository".to_owned(),
        number => format!("{number} repositories"),
    }
}

/// Returns the last line: how many repositories and tasks are done, and how long it has taken.
fn total_line(group: &GroupFrame<'_>, now: Timestamp) -> String {
    let begun: Vec<_> = group.runs.iter().filter_map(|(_, run)| *run).collect();
    let ended = begun.iter().filter(|run| run.end().is_some()).count();
    let waiting = match group.runs.len() - begun.len() {
        0 => String::new(),
        waiting => format!(" · {waiting} wait"),
    };
    let tasks: usize = begun.iter().map(|run| run.ended().all).sum();
    let all: usize = begun.iter().map(|run| run.head().map_or(0, |head| head.tasks)).sum();
    let failed = match begun.iter().map(|run| run.ended().failed).sum::<usize>() {
        0 => String::new(),
        failed => format!(" · {failed} failed"),
    };
    let all_repositories = repositories(group.runs.len());
    let time = duration(elapsed(group.started, now));
    format!("  {ended} of {all_repositories}{waiting} · {tasks} of {all} tasks{failed} · {time}")
}

#[cfg(test)]
mod tests {
    use protocol::{Event, EventScope};

    use super::super::terminal::Size;
    use super::super::test_terminal::run_started;
    use super::*;

    fn begun(tasks: usize) -> RunView {
        let scope = Some(EventScope::Run("r7k3f".parse().unwrap()));
        let at = Timestamp::from_millisecond(0);
        let mut run = RunView::default();
        run.apply(&Event { seq: 1, at, scope, kind: run_started(tasks, 4) });
        run
    }

    /// Returns a run of which this many tasks are at work.
    fn at_work(tasks: usize, running: usize) -> RunView {
        let mut run = begun(tasks);
        for at in 0..running {
            let task: protocol::TaskName = format!("task-{at}").parse().unwrap();
            let scope = Some(EventScope::Run("r7k3f".parse().unwrap()));
            let now = Timestamp::from_millisecond(1_000);
            let kind = protocol::EventKind::TaskStarted {
                task,
                id: protocol::TaskId::generate(),
                attempt: 1,
            };
            run.apply(&Event { seq: 2, at: now, scope, kind });
        }
        run
    }

    #[test]
    fn a_frame_never_has_more_lines_or_columns_than_the_terminal() {
        let runs: Vec<_> = (1..=40).map(|tasks| at_work(tasks, tasks % 4)).collect();
        let labels: Vec<_> =
            (0..50).map(|at| format!("a-repository-with-a-long-name-{at}")).collect();
        let all: Vec<_> =
            labels.iter().enumerate().map(|(at, label)| (label.as_str(), runs.get(at))).collect();
        let name = "g7k3f".parse().unwrap();
        for (columns, rows) in [(80, 24), (40, 10), (20, 4), (200, 60), (5, 2)] {
            for shown in [0, 1, 3, 50] {
                let started = Timestamp::from_millisecond(0);
                let group = GroupFrame { name: &name, jobs: 4, started, runs: &all[..shown] };
                let size = Size { columns, rows };
                let input = FrameInput { now: Timestamp::from_millisecond(61_000), turn: 3, size };
                let lines = group_frame(&group, input, Palette::Plain);
                assert!(lines.len() < rows, "{rows} rows: {lines:#?}");
                let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
                assert!(widest < columns, "{columns} columns: {lines:#?}");
            }
        }
    }

    #[test]
    fn each_repository_at_work_has_a_line_and_the_last_one_counts_all() {
        let (three, ten) = (begun(3), begun(10));
        let name = "g7k3f".parse().unwrap();
        let runs = [("app", Some(&three)), ("library", Some(&ten)), ("later", None)];
        let started = Timestamp::from_millisecond(0);
        let group = GroupFrame { name: &name, jobs: 4, started, runs: &runs };
        let size = Size { columns: 80, rows: 24 };
        let input = FrameInput { now: Timestamp::from_millisecond(61_000), turn: 0, size };
        assert_eq!(
            group_frame(&group, input, Palette::Plain),
            [
                "group g7k3f · 3 repositories · 4 at once",
                "",
                "  app      ────────────────  0 of 3",
                "  library  ────────────────  0 of 10",
                "  0 of 3 repositories · 1 wait · 0 of 13 tasks · 1m01s",
            ]
        );
    }
}
