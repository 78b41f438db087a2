//! One frame of the live view as lines of text: a line per running task, and the totals.

use protocol::{LandTime, MergeMode, OwnNeeds, Timestamp, WorkspaceNeeds};

use super::numbers::{count, duration, elapsed, usage_text};
use super::printable::{cut, one_line, width};
use super::run_view::{RunInfo, RunView};
use super::task_lines::{spinner, task_lines};
use super::terminal::{Meaning, Palette, Size};

/// The input of a frame besides the run.
#[derive(Clone, Copy, Debug)]
pub struct FrameInput {
    /// The time.
    pub now: Timestamp,
    /// The number of the frame, which selects the state of the spinners.
    pub turn: usize,
    /// The size of the terminal.
    pub size: Size,
}

/// Returns the lines of a frame. They leave the last column and the last line of the terminal free.
pub(super) fn frame(run: &RunView, input: FrameInput, palette: Palette) -> Vec<String> {
    let Some(head) = run.head() else { return Vec::new() };
    // Some terminals wrap a line that fills the last column. The last line is for the cursor.
    let columns = input.size.columns.saturating_sub(1);
    let room = input.size.rows.saturating_sub(1);
    let total = total_line(run, head, input.now, columns, palette);
    if room < 5 {
        return vec![total].into_iter().take(room).collect();
    }
    let mut lines = vec![cut(&headline(head), columns), String::new()];
    lines.extend(middle_lines(run, input, columns, room - 3));
    lines.push(total);
    lines
}

/// Returns the first line of a run: its name, tasks and modes.
pub(super) fn headline(head: &RunInfo) -> String {
    let isolation = head.isolation.label();
    let when = match head.land {
        LandTime::End => "at the end",
        LandTime::Eager => "as it ends",
    };
    let lands = match (head.isolation.capabilities().can_capture, head.merge) {
        (false, _) => "nothing is captured or landed".to_owned(),
        (true, MergeMode::Patch) => format!("lands {when}"),
        (true, MergeMode::Branch) => format!("becomes branches {when}"),
        (true, MergeMode::Stack) => {
            let branch = head.onto.as_deref().map_or_else(|| "one branch".to_owned(), one_line);
            format!("becomes commits on {branch} {when}")
        }
        (true, MergeMode::None) => "everything is kept".to_owned(),
    };
    let tasks = count(head.tasks, "task");
    let label = head.label.as_ref().map(|label| format!(" · {}", one_line(label)));
    let label = label.unwrap_or_default();
    let retry = head.retry_of.as_ref().map(|earlier| format!(" · retries {earlier}"));
    let retry = retry.unwrap_or_default();
    let (run, jobs) = (&head.run, head.jobs);
    format!("run {run}{label}{retry} · {tasks} · {jobs} at once · {isolation} · {lands}")
}

/// What a run says once about its set-up commands.
const SETUP_NOTE: &str =
    "set-up commands are not confined: files that they write outside their workspace stay there";

/// Returns the lines about what a run of so many tasks does for them: the environment variables that it
/// passes on, what it adds to their workspaces, and how their work is verified.
pub fn run_conditions(
    tasks: usize,
    pass_env: &[String],
    (needs, own): (&WorkspaceNeeds, &OwnNeeds),
    verify: &[String],
) -> Vec<String> {
    let list = |names: &[String]| {
        let names: Vec<_> = names.iter().map(|name| one_line(name)).collect();
        names.join(", ")
    };
    // The workspaces that have what the run names, where `others` tasks name their own; `None` for none.
    let rest = |others: usize, own: &str| match (others, others < tasks, verify.is_empty()) {
        (0, ..) => Some("each workspace".to_owned()),
        (_, true, _) => Some(format!("the workspaces of tasks without their own {own}")),
        (_, false, false) => Some("the workspace of the verification".to_owned()),
        (_, false, true) => None,
    };
    let mut lines = Vec::new();
    if !pass_env.is_empty() {
        lines.push(format!("passes {} on to what tasks run", list(pass_env)));
    }
    let carries = |whose: &str, globs: &[String]| {
        // Whether there are such files is not known yet.
        format!("copies ignored files that match {} into {whose}", list(globs))
    };
    if let Some(whose) = rest(own.carry_tasks, "`carry`")
        && !needs.carry.is_empty()
    {
        lines.push(carries(&whose, &needs.carry));
    }
    if !own.carry.is_empty() {
        lines.push(carries("the workspaces of tasks with their own `carry`", &own.carry));
    }
    let set_up = |whose: &str, script: &String| {
        let script = cut(&one_line(script.trim()), 100);
        format!("sets up {whose} with `{script}`")
    };
    let without = lines.len();
    if let Some(whose) = rest(own.setup_tasks, "`setup`") {
        lines.extend(needs.setup.iter().map(|script| set_up(&whose, script)));
    }
    lines.extend(
        own.setup
            .iter()
            .map(|script| set_up("the workspaces of tasks with their own `setup`", script)),
    );
    if lines.len() > without {
        lines.push(SETUP_NOTE.into());
    }
    lines.extend(verify.iter().map(|script| {
        let script = cut(&one_line(script.trim()), 100);
        format!("verifies the merged work with `{script}` before it lands")
    }));
    lines
}

/// Returns the lines between the headline and the totals: the running tasks, or the landing.
pub(super) fn middle_lines(
    run: &RunView,
    input: FrameInput,
    columns: usize,
    room: usize,
) -> Vec<String> {
    if room == 0 {
        return Vec::new();
    }
    if run.running().len() == 0 {
        let spinner = spinner(input.turn);
        let landing = run.landing().map(|landing| cut(&format!("  {spinner} {landing}"), columns));
        return landing.into_iter().collect();
    }
    let Some(head) = run.head() else { return Vec::new() };
    let rows = run.subagents().below_tasks(&head.run, run.running());
    task_lines(&rows, input, columns, room)
}

/// The maximum width of the bar, in columns.
const BAR_WIDTH: usize = 32;

/// The minimum width of the bar, including the spaces around it.
const NARROWEST_BAR: usize = 14;

/// Returns the line of totals. A narrow line has no bar, and a very narrow one no usage.
fn total_line(
    run: &RunView,
    head: &RunInfo,
    now: Timestamp,
    columns: usize,
    palette: Palette,
) -> String {
    let ended = run.ended();
    let begin = format!("{} of {} · ", ended.all, head.tasks);
    let kinds = [(ended.failed, "failed"), (ended.cancelled, "cancelled")];
    let kinds = kinds.into_iter().filter(|(number, _)| *number > 0);
    let failures = kinds.map(|(number, kind)| format!("{number} {kind}")).collect::<Vec<_>>();
    let failures = failures.join(" · ");
    let between = if failures.is_empty() { "" } else { " · " };
    let mut end = format!("{between}{}", duration(elapsed(head.started, now)));
    let mut text = width(&begin) + width(&failures) + width(&end);
    let spent = run.usage().map(|usage| format!(" · {}", usage_text(usage))).unwrap_or_default();
    if text + width(&spent) <= columns {
        end.push_str(&spent);
        text += width(&spent);
    }
    if columns < text + NARROWEST_BAR {
        return cut(&format!("{begin}{failures}{end}"), columns);
    }
    let bar = bar(ended.all, head.tasks, BAR_WIDTH.min(columns - text - 4));
    format!("  {bar}  {begin}{}{end}", palette.paint(Meaning::Bad, &failures))
}

/// Returns a progress bar of `room` columns.
pub(super) fn bar(done: usize, all: usize, room: usize) -> String {
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
