//! A task of the ledger as text: its label, and its line in a table.

use std::collections::BTreeMap;

use protocol::{RunState, TaskName, TaskState};
use regatta::runs::has_landed;
use store::{RunRow, TaskRow};

use crate::render::{
    CapturePresence, Labels, Meaning, OutcomeLine, TableRow, left_out_note, outcome_line,
    task_label,
};

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
    // Nothing of it can land any more.
    let is_dropped = row.discarded.is_some() && found.meaning == Meaning::Kept;
    if is_dropped {
        let was = if found.word == "kept" { String::new() } else { found.word.clone() };
        let colon = if was.is_empty() || found.note.is_empty() { "" } else { ": " };
        found.note = format!("{was}{colon}{}", found.note);
        (found.word, found.meaning) = ("discarded".to_owned(), Meaning::Neutral);
    } else if row.discarded.is_some() {
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
        capture: match row.discarded.or(row.collected) {
            Some(_) => CapturePresence::Gone,
            None => CapturePresence::There,
        },
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
