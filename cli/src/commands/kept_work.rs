//! Interprets the ledger's row of a task: the task's line in a table, whether its work is kept, and
//! whether `regatta apply` lands it.

use std::collections::{BTreeMap, BTreeSet};

use engine::landing;
use engine::ports::LandingTask;
use protocol::{Landed, RunName, RunState, TaskName, TaskState};
use store::{RunRow, TaskRow};

use super::context::CommandContext;
use super::landable_work::LandableWork;
use super::target::TargetKind;
use crate::render::{
    KeptReason, Labels, Meaning, OutcomeLine, TableRow, left_out_note, outcome_line, task_label,
};
use regatta::error::{Error, ErrorKind};

/// Returns the line of a task in a table. `labels` name the other tasks.
pub(super) fn table_row(run: &RunRow, row: &TaskRow, labels: Labels<'_>) -> TableRow {
    let mut found = match (&row.report, row.state) {
        (Some(report), _) => outcome_line(report, row.landing.as_ref(), labels),
        (None, TaskState::Queued) => OutcomeLine::plain("queued", Meaning::Neutral),
        (None, TaskState::Running) => OutcomeLine::plain("running", Meaning::Neutral),
        (None, TaskState::Interrupted) => interrupted(row),
        (None, TaskState::Done) => OutcomeLine::plain("done", Meaning::Neutral),
        (None, TaskState::Failed) => OutcomeLine::plain("failed", Meaning::Bad),
        (None, TaskState::Cancelled) => OutcomeLine::plain("cancelled", Meaning::Bad),
    };
    if awaits_landing(run, row) && found.meaning == Meaning::Kept {
        found = OutcomeLine::plain("done", Meaning::Neutral);
        found.add_note("its run is still running");
    }
    if row.discarded.is_some() {
        let more = if found.note.is_empty() { "" } else { "; " };
        found.note = format!("its capture was discarded{more}{}", found.note);
    }
    if row.collected.is_some() {
        let more = if found.note.is_empty() { "" } else { "; " };
        found.note = format!("its capture was collected{more}{}", found.note);
    }
    TableRow {
        task: label(row),
        outcome: found,
        changes: row.captured.as_ref().map(|captured| captured.changes),
        ms: row.report.as_ref().map(|report| report.ms),
        usage: row.usage,
        fallbacks: row
            .report
            .iter()
            .flat_map(|report| &report.fallbacks)
            .map(|used| used.model.clone())
            .collect(),
    }
}

/// Returns whether it is not decided yet whether the work of a task lands.
fn awaits_landing(run: &RunRow, row: &TaskRow) -> bool {
    let goes_on = match run.state {
        RunState::Running | RunState::Landing => true,
        RunState::Finished | RunState::Interrupted => false,
    };
    goes_on && row.state == TaskState::Done && row.landing.is_none()
}

/// Returns the printable label of a task: its item, or else its name.
pub(super) fn label(row: &TaskRow) -> String {
    task_label(&row.name, &row.spec.items)
}

/// Names tasks by their names, where nothing is printed that names another task.
pub(super) const NAMES: Labels<'_> = &|task| task.to_string();

/// Returns the printable labels of the tasks in `rows`; other tasks are named by their names.
pub(super) fn labels_of(rows: &[TaskRow]) -> impl Fn(&TaskName) -> String {
    let rows: BTreeMap<_, _> = rows.iter().map(|row| (row.name.clone(), label(row))).collect();
    move |task| rows.get(task).cloned().unwrap_or_else(|| task.to_string())
}

fn interrupted(row: &TaskRow) -> OutcomeLine {
    let mut outcome = OutcomeLine::plain("interrupted", Meaning::Bad);
    if has_landed(row) {
        "its work has landed since".clone_into(&mut outcome.note);
    }
    if let Some(note) = row.captured.as_ref().and_then(|captured| left_out_note(&captured.left_out))
    {
        outcome.add_note(&note);
    }
    outcome
}

/// Returns whether the work of a task has landed.
pub(super) fn has_landed(row: &TaskRow) -> bool {
    matches!(row.landing, Some(Landed::Landed { .. }))
}

/// Returns whether the work of a task had landed and was taken back.
pub(super) fn is_taken_back(row: &TaskRow) -> bool {
    matches!(row.landing, Some(Landed::TakenBack { .. }))
}

/// Returns whether the work of a task was taken back, and can land again.
pub(super) fn can_land_again(row: &TaskRow) -> bool {
    is_taken_back(row) && row.discarded.is_none() && row.collected.is_none()
}

/// Returns why the work of a task is kept, or `None` if there is no work or it has landed.
pub(super) fn kept_reason(row: &TaskRow) -> Option<KeptReason> {
    let captured = row.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
    if row.discarded.is_some() {
        return None;
    }
    match (&row.report, &row.landing) {
        (Some(report), landing) => {
            // The report lacks a capture that was made after it, so the row's capture is added.
            let mut report = report.clone();
            report.captured.get_or_insert_with(|| captured.clone());
            KeptReason::of(&report, landing.as_ref())
        }
        (None, Some(Landed::Landed { .. } | Landed::Unchanged)) => None,
        (None, Some(Landed::Conflicted { conflicts })) => Some(KeptReason::of_conflicts(conflicts)),
        (None, Some(Landed::TakenBack { .. })) => Some(KeptReason::TakenBack),
        (None, _) => Some(KeptReason::Unfinished),
    }
}

/// Returns whether `regatta apply` lands the work of a task. Unfinished work and work that has failed
/// its verification land only if the user names the task.
pub(super) fn wanted(row: &TaskRow, kind: TargetKind) -> bool {
    match (kept_reason(row), kind) {
        (Some(KeptReason::Conflict | KeptReason::OursOnly | KeptReason::Whole), _)
        | (Some(KeptReason::Unverified | KeptReason::Unfinished), TargetKind::Task) => true,
        // What was taken back lands again only with `--again`.
        (Some(KeptReason::Unverified | KeptReason::Unfinished), TargetKind::Run)
        | (Some(KeptReason::TakenBack) | None, _) => false,
    }
}

/// The work of the chosen tasks, predecessors first.
pub(super) struct ChosenWork {
    pub(super) tasks: Vec<LandingTask>,
    /// The work that has landed and on which it builds.
    pub(super) landed: Vec<LandingTask>,
}

/// Returns the tasks to land. Returns an error if a chosen task builds on work of a task that is not
/// chosen, and that is kept or was thrown away: it would land without that.
pub(super) fn landing_tasks(
    context: &CommandContext,
    run: &RunName,
    work: &LandableWork<'_>,
) -> Result<ChosenWork, Error> {
    let chosen = &work.chosen;
    let record = context.reader.record(run)?;
    let gone = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {run}"));
    let record = record.ok_or_else(gone)?;
    let ids: BTreeSet<_> = chosen.iter().map(|row| row.id).collect();
    let rows = context.reader.tasks_without_yields(record.spec.id)?;
    for row in chosen {
        let on = record.task(row.id).map(|task| landing::changed_predecessors(&record, task));
        for on in on.into_iter().flatten().filter(|on| !ids.contains(&on.spec.id)) {
            let Some(on) = rows.iter().find(|row| row.id == on.spec.id) else { continue };
            let (why, first) = match (work.landed.thrown_away(on), work.superseded.by(on)) {
                (Some(gone), _) => (gone.text(), format!("apply {run}/{} --again", on.name)),
                (None, Some(by)) => {
                    let why = format!("was done again in run {by}");
                    (why, format!("runs retry {run} {}", row.name))
                }
                (None, None) if kept_reason(on).is_some() => {
                    ("has not landed".to_owned(), format!("apply {run}/{}", on.name))
                }
                (None, None) => continue,
            };
            let what = format!("cannot land the work of task {run}/{}", row.name);
            let first = context.hints.command(&first);
            return Err(Error::new(ErrorKind::Usage, what)
                .because(format!("it builds on {}, which {why}", on.name))
                .hint(first));
        }
    }
    let (tasks, landed) =
        (landing::landing_tasks(&record, &ids), landing::landed_predecessors(&record, &ids));
    Ok(ChosenWork { tasks, landed })
}
