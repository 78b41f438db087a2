//! Lines of tasks that work, each with those of its subagents below it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use protocol::{Phase, Timestamp};

use super::live_frame::FrameInput;
use super::numbers::{duration, elapsed, tokens};
use super::printable::{cut, fit, one_line, width};
use super::task_label::shorten;
use super::task_view::{RunningTask, TaskStage, TaskView};

/// The states of the spinner.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Returns a state of the spinner.
pub(super) fn spinner(turn: usize) -> char {
    SPINNER[turn % SPINNER.len()]
}

/// A task, and how many calls of the tool `task` it is below.
#[derive(Clone, Copy, Debug)]
pub struct TaskRow<'a> {
    pub(super) task: &'a TaskView,
    pub(super) depth: usize,
}

impl TaskRow<'_> {
    /// Returns whether the task works, and does not wait for its start.
    #[must_use]
    pub fn works(&self) -> bool {
        self.task.is_running()
    }
}

/// Returns a line for each task, in at most `room` lines. Where there are more tasks, those that work have
/// precedence over those that wait, and callers over their subagents; the last line counts the others.
#[must_use]
pub fn task_lines(
    rows: &[TaskRow<'_>],
    input: FrameInput,
    columns: usize,
    room: usize,
) -> Vec<String> {
    if room == 0 {
        return Vec::new();
    }
    let shown = if rows.len() > room { room - 1 } else { rows.len() };
    let mut order: Vec<_> = (0..rows.len()).collect();
    order.sort_by_key(|at| (Reverse(rows[*at].works()), rows[*at].depth));
    let chosen: BTreeSet<_> = order.into_iter().take(shown).collect();
    let shown: Vec<_> = chosen.into_iter().map(|at| rows[at]).collect();
    let indent = |row: &TaskRow<'_>| 2 * row.depth.min(DEEPEST);
    let deepest = shown.iter().map(indent).max().unwrap_or(0);
    let most = (columns / 3).clamp(NARROW_LABELS, WIDE_LABELS);
    let labels: Vec<String> = shown.iter().map(|row| row.task.name.to_string()).collect();
    let labels = shorten(&labels, most.saturating_sub(deepest)).into_iter().zip(&shown);
    let labels: Vec<_> =
        labels.map(|(label, row)| format!("{}{label}", " ".repeat(indent(row)))).collect();
    let room = Columns::of(&shown, &labels, columns);
    let lines = shown.iter().zip(&labels).enumerate();
    let mut lines: Vec<_> =
        lines.map(|(at, (row, label))| room.line(row.task, label, at, input)).collect();
    let hidden = rows.len() - shown.len();
    if hidden > 0 {
        lines.push(cut(&format!("    and {hidden} more"), columns));
    }
    lines
}

/// The deepest level that is indented further than the one above it.
const DEEPEST: usize = 4;

/// The maximum width of the column of labels, on a terminal of 72 columns and on a very wide one.
const NARROW_LABELS: usize = 24;
const WIDE_LABELS: usize = 60;

/// The maximum width of the column of models.
const MODEL_WIDTH: usize = 18;

/// The minimum widths of a line with a column of models, and of a line with a column of tokens.
const WITH_MODELS: usize = 76;
const WITH_TOKENS: usize = 48;

/// The width of the column with the state or the tool of a task.
const ACTIVITY_WIDTH: usize = 8;

/// The widths of the columns of task lines; 0 for a column that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    label: usize,
    model: usize,
    tokens: usize,
    all: usize,
}

impl Columns {
    /// Returns the columns for `rows` with these labels, in lines that are `all` columns wide.
    fn of(rows: &[TaskRow<'_>], labels: &[String], all: usize) -> Self {
        let tasks = || rows.iter().map(|row| row.task);
        let widest = |width: &dyn Fn(&TaskView) -> usize| tasks().map(width).max();
        let label = labels.iter().map(|label| width(label)).max().unwrap_or(0);
        let model = widest(&|row| model(row).map_or(0, |model| width(&model))).unwrap_or(0);
        let with_tokens = tasks().any(|task| task.model.is_some() || task.tokens().is_some());
        Self {
            label,
            model: if all < WITH_MODELS { 0 } else { model.min(MODEL_WIDTH) },
            tokens: if all < WITH_TOKENS || !with_tokens { 0 } else { 6 },
            all,
        }
    }

    /// Returns the line of the task at index `at`.
    fn line(&self, row: &TaskView, label: &str, at: usize, input: FrameInput) -> String {
        let (spinner, (activity, said), since) = match &row.stage {
            TaskStage::Running(running) => {
                let spinner = spinner(input.turn + 3 * at);
                (spinner, activity(row, running, input.now), Some(running.since))
            }
            TaskStage::Queued => ('·', ("queued".to_owned(), one_line(&row.title)), None),
            TaskStage::Ended { .. } => (' ', ("ended".to_owned(), String::new()), None),
        };
        let mut begin = format!("  {spinner} {}  ", fit(label, self.label));
        if self.model > 0 {
            begin.push_str(&fit(&model(row).unwrap_or_default(), self.model));
            begin.push_str("  ");
        }
        begin.push_str(&fit(&activity, ACTIVITY_WIDTH));
        begin.push_str("  ");
        let mut end = String::new();
        if self.tokens > 0 {
            let used = row.tokens().map(tokens).unwrap_or_default();
            end = format!("  {used:>0$}", self.tokens);
        }
        let took = since.map(|since| duration(elapsed(since, input.now))).unwrap_or_default();
        end.push_str(&format!("  {took:>6}"));
        let room = self.all.saturating_sub(width(&begin) + width(&end));
        cut(&format!("{begin}{}{end}", fit(&said, room)), self.all)
    }
}

/// Returns what a task is doing: a word, and details.
fn activity(row: &TaskView, running: &RunningTask, now: Timestamp) -> (String, String) {
    let title = || one_line(&row.title);
    if let (Some(wait), Phase::Working) = (&running.wait, running.phase)
        && wait.until > now
    {
        let provider = row.model.as_deref().and_then(|model| model.split('/').next());
        let provider = one_line(provider.unwrap_or("its provider"));
        let more = elapsed(now, wait.until).div_ceil(1000);
        let why = one_line(&wait.why);
        return ("waits".to_owned(), format!("for {provider}, {more}s more: {why}"));
    }
    let said = running.line.as_deref().and_then(last_part);
    let word = match (running.phase, &running.tool, &row.model) {
        (Phase::Preparing, ..) => "prepares",
        (Phase::SettingUp, ..) => "sets up",
        (Phase::Working, Some(tool), _) => {
            return (one_line(tool), said.unwrap_or_default());
        }
        (Phase::Working, None, Some(_)) if running.is_answering => "answers",
        (Phase::Working, None, Some(_)) => "thinks",
        (Phase::Working, None, None) => "works",
        (Phase::Stopping, ..) => "stops",
        (Phase::Capturing, ..) => "captures",
    };
    (word.to_owned(), said.unwrap_or_else(title))
}

/// Returns the last part of a line that rewrites itself with `\r`, which is what a terminal shows.
fn last_part(line: &str) -> Option<String> {
    line.split('\r').rfind(|part| !part.trim().is_empty()).map(|part| one_line(part.trim()))
}

/// Returns the short name of a task's model: the part after the last slash. The id of a scripted model is a
/// file.
fn model(row: &TaskView) -> Option<String> {
    let model = row.model.as_deref()?;
    match model.starts_with("offline/") {
        true => Some("scripted".to_owned()),
        false => model.rsplit('/').next().map(one_line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_that_rewrites_itself_the_last_part_is_shown() {
        assert_eq!(last_part("10%\r 50%\r\r").as_deref(), Some("50%"));
        assert_eq!(last_part(" \r"), None);
    }
}
