//! The lines that the live view prints above itself for events, and that stay on the terminal.

use protocol::{Event, EventKind, Outcome, TaskName};

use super::kept_files::rescue_line;
use super::live_frame::run_conditions;
use super::printable::one_line;
use super::progress_lines::{fallback_note, run_end_line};
use super::run_view::RunView;
use super::task_outcome::conflicts_text;
use super::task_view::TaskView;
use super::terminal::Meaning;

/// A line above the live view. Its text is printable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LiveNote {
    /// A remark, of which only the first are printed.
    Remark(String),
    /// A line that is always printed.
    Line(String),
    /// A task that failed or whose work did not land, always printed.
    Problem {
        /// What has become of the task.
        meaning: Meaning,
        /// The name of the task and the reason.
        text: String,
    },
}

/// Returns the lines for an event. The caller has applied the event to `run` already.
pub(super) fn live_notes(run: &RunView, event: &Event) -> Vec<LiveNote> {
    let problem = |meaning, task: &TaskName, why: &str| {
        let label = run.find(task).map_or_else(|| task.to_string(), TaskView::label);
        let text = format!("{label}  {}", one_line(why));
        vec![LiveNote::Problem { meaning, text }]
    };
    match &event.kind {
        EventKind::Degraded { from, to, why } => {
            vec![LiveNote::Remark(fallback_note(from, to, why))]
        }
        EventKind::RunStarted { pass_env, needs, .. } => {
            run_conditions(pass_env, needs).into_iter().map(LiveNote::Remark).collect()
        }
        EventKind::FileRescued { rescue } => vec![LiveNote::Line(rescue_line(rescue))],
        EventKind::TaskFinished { task, report } => match &report.outcome {
            Outcome::Failed { failure } => {
                problem(Meaning::Bad, task, &format!("{}: {}", failure.class, failure.message))
            }
            Outcome::Done { .. } | Outcome::Cancelled => Vec::new(),
        },
        EventKind::TaskConflicted { task, conflicts } => {
            problem(Meaning::Kept, task, &format!("conflict: {}", conflicts_text(conflicts)))
        }
        EventKind::TaskKept { task, why } => problem(Meaning::Kept, task, &format!("kept: {why}")),
        EventKind::RunFinished { totals, .. } => {
            event.run().map(|run| LiveNote::Line(run_end_line(run, totals))).into_iter().collect()
        }
        EventKind::TaskQueued { .. }
        | EventKind::TaskStarted { .. }
        | EventKind::WorkspaceReady { .. }
        | EventKind::WorkspaceSetUp { .. }
        | EventKind::TaskProgress { .. }
        | EventKind::SessionEvent { .. }
        | EventKind::TaskYielded { .. }
        | EventKind::ContractReminded { .. }
        | EventKind::TaskCaptured { .. }
        | EventKind::LandingWaited
        | EventKind::LandingStarted { .. }
        | EventKind::TaskLanded { .. } => Vec::new(),
    }
}
