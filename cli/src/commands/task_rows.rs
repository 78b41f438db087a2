//! A task of the ledger as text: its label, and its line in a table.

use protocol::{RunState, TaskState};
use regatta::runs::has_landed;
use store::{RunRow, TaskRow};

use crate::render::{CapturePresence, Meaning, OutcomeLine, TableRow, left_out_note, outcome_line};

/// Returns the line of a task in a table.
pub(super) fn table_row(run: &RunRow, row: &TaskRow) -> TableRow {
    let mut found = match (&row.report, row.state) {
        (Some(report), _) => outcome_line(report, row.landing.as_ref()),
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
        task: row.name.to_string(),
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
