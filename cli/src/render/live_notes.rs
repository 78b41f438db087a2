//! The lines that the live view prints above itself for events, and that stay on the terminal.

use protocol::{Event, EventKind, Outcome, TaskName};

use super::conflict_text::conflicts_text;
use super::live_frame::run_conditions;
use super::printable::one_line;
use super::progress_lines::{fallback_note, run_end_line};
use super::task_outcome::class_text;
use super::terminal::Meaning;
use super::unverified::unverified_text;
use regatta::text::rescue_line;

/// A line above the live view. Its text is printable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LiveNote {
    /// A remark, of which only the first are printed.
    Remark(String),
    /// A line that is always printed.
    Line(String),
    /// A task that failed or whose work did not land, always printed.
    Problem(Problem),
}

/// A task that failed or whose work did not land. The texts are printable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What has become of the task.
    pub(super) meaning: Meaning,
    /// The label of the task.
    pub(super) label: String,
    /// The reason.
    pub(super) why: String,
}

/// Returns the lines for an event.
pub(super) fn live_notes(event: &Event) -> Vec<LiveNote> {
    let problem = |meaning, task: &TaskName, why: &str| {
        vec![LiveNote::Problem(Problem { meaning, label: task.to_string(), why: one_line(why) })]
    };
    match &event.kind {
        EventKind::Degraded { from, to, why } => {
            vec![LiveNote::Remark(fallback_note(from, to, why))]
        }
        EventKind::RunStarted { tasks, pass_env, needs, own_needs, verify, .. } => {
            let lines = run_conditions(*tasks, pass_env, (needs, own_needs), verify);
            lines.into_iter().map(LiveNote::Remark).collect()
        }
        EventKind::FileRescued { rescue } => vec![LiveNote::Line(rescue_line(rescue))],
        EventKind::TaskFinished { task, report } => match &report.outcome {
            Outcome::Failed { failure } => problem(
                Meaning::Bad,
                task,
                &format!("{}: {}", class_text(failure.class), failure.message),
            ),
            Outcome::Done { .. } | Outcome::Cancelled => Vec::new(),
        },
        EventKind::TaskConflicted { task, conflicts } => {
            problem(Meaning::Kept, task, &format!("conflict: {}", conflicts_text(conflicts)))
        }
        EventKind::TaskKept { task, why } => problem(Meaning::Kept, task, &format!("kept: {why}")),
        EventKind::TaskUnverified { task, unverified } => {
            problem(Meaning::Kept, task, &format!("unverified: {}", unverified_text(unverified)))
        }
        EventKind::RunFinished { totals, .. } => {
            event.run().map(|run| LiveNote::Line(run_end_line(run, totals))).into_iter().collect()
        }
        EventKind::ConflictsResolved { .. }
        | EventKind::ResolverFailed { .. }
        | EventKind::TaskQueued { .. }
        | EventKind::TaskStarted { .. }
        | EventKind::WorkspaceReady { .. }
        | EventKind::WorkspaceSetUp { .. }
        | EventKind::TaskProgress { .. }
        | EventKind::SessionEvent { .. }
        | EventKind::TaskYielded { .. }
        | EventKind::ContractReminded { .. }
        | EventKind::TaskCaptured { .. }
        | EventKind::VerificationStarted { .. }
        | EventKind::VerificationFinished { .. }
        | EventKind::LandingWaited
        | EventKind::LandingStarted { .. }
        | EventKind::TaskLanded { .. } => Vec::new(),
    }
}
