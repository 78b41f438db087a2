//! What the result of a run says of each task.

use protocol::{Landed, LeftOut, Outcome, TaskName, Unverified};

use super::super::answer::Answer;
use super::super::answers::TaskAnswer;
use super::super::missing_command::{CommandFinder, failure_reason};
use regatta::runs::KeptReason;

use super::super::next_commands::FailedWork;
use super::super::run_view::RunView;
use super::super::task_outcome::{OutcomeLine, outcome_line};
use super::super::task_table::{CapturePresence, TableRow};
use super::super::task_view::{TaskStage, TaskView};
use super::super::terminal::Meaning;
use super::super::unverified::unverified;

/// Returns the row of a task in the table.
pub(super) fn table_row(row: &TaskView, finder: Option<&CommandFinder<'_>>) -> TableRow {
    let task = row.name.to_string();
    let hint = || finder?.hint(why_it_failed(row)?);
    match &row.stage {
        TaskStage::Ended { report, landing } => TableRow {
            task,
            outcome: outcome_line(report, landing.as_ref()).with_hint(hint()),
            changes: report.captured.as_ref().map(|captured| captured.changes),
            ms: Some(report.ms),
            usage: report.usage,
            fallbacks: report.fallbacks.iter().map(|used| used.model.clone()).collect(),
            capture: CapturePresence::There,
        },
        // A task has no end only if the engine died.
        TaskStage::Queued | TaskStage::Running { .. } => {
            let outcome = OutcomeLine::plain("interrupted", Meaning::Bad);
            TableRow {
                task,
                outcome,
                changes: None,
                ms: None,
                usage: row.used,
                fallbacks: Vec::new(),
                capture: CapturePresence::There,
            }
        }
    }
}

/// Returns the answer of a run of one task that succeeded without changing anything. That answer is
/// all that was asked for.
pub(super) fn only_answer(run: &RunView) -> Option<&Answer> {
    let [row] = run.rows() else { return None };
    let TaskStage::Ended { report, .. } = &row.stage else { return None };
    let captured = report.captured.as_ref()?;
    let is_unchanged = captured.changes.files == 0 && captured.left_out.total == 0;
    let is_done = matches!(report.outcome, Outcome::Done { .. });
    row.answer.as_ref().filter(|_| is_done && is_unchanged)
}

pub(super) fn task_answer(row: &TaskView) -> Option<TaskAnswer<'_>> {
    let answer = row.answer.as_ref()?;
    Some(TaskAnswer { task: &row.name, answer })
}

pub(super) fn has_landed(row: &TaskView) -> bool {
    matches!(&row.stage, TaskStage::Ended { landing: Some(Landed::Landed { .. }), .. })
}

pub(super) fn kept_reason(row: &TaskView) -> Option<(TaskName, KeptReason)> {
    let TaskStage::Ended { report, landing } = &row.stage else { return None };
    KeptReason::of(report, landing.as_ref()).map(|loose| (row.name.clone(), loose))
}

pub(super) fn left_out_files(row: &TaskView) -> Option<(String, &LeftOut)> {
    let TaskStage::Ended { report, .. } = &row.stage else { return None };
    report.captured.as_ref().map(|captured| (row.name.to_string(), &captured.left_out))
}

pub(super) fn unverified_work(row: &TaskView) -> Option<(String, &Unverified)> {
    let TaskStage::Ended { landing, .. } = &row.stage else { return None };
    unverified(landing.as_ref()).map(|unverified| (row.name.to_string(), unverified))
}

/// Returns why a task failed, or its verification.
pub(super) fn why_it_failed(row: &TaskView) -> Option<&str> {
    let TaskStage::Ended { report, landing } = &row.stage else { return None };
    failure_reason(Some(&report.outcome), landing.as_ref())
}

/// Returns a task whose model or command failed.
pub(super) fn failed_work(row: &TaskView, finder: &CommandFinder<'_>) -> Option<FailedWork> {
    let TaskStage::Ended { report, .. } = &row.stage else { return None };
    let failed = FailedWork::of(&row.name, &report.outcome, row.used)?;
    Some(failed.with_hint(why_it_failed(row).and_then(|why| finder.hint(why))))
}
