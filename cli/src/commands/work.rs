//! What the ledger's rows mean for a person: a verdict per task, and whether its work is kept.

use protocol::{Landed, TaskState};
use store::TaskRow;

use crate::render::{Loose, Meaning, TableRow, Verdict, left_out, verdict};

/// Returns the line of a task in a table.
pub(super) fn table_row(row: &TaskRow) -> TableRow {
    let mut found = match (&row.report, row.state) {
        (Some(report), _) => verdict(report, row.landing.as_ref()),
        (None, TaskState::Queued) => Verdict::plain("queued", Meaning::Neutral),
        (None, TaskState::Running) => Verdict::plain("running", Meaning::Neutral),
        (None, TaskState::Interrupted) => interrupted(row),
        (None, TaskState::Done) => Verdict::plain("done", Meaning::Neutral),
        (None, TaskState::Failed) => Verdict::plain("failed", Meaning::Bad),
        (None, TaskState::Cancelled) => Verdict::plain("cancelled", Meaning::Bad),
    };
    if row.discarded.is_some() {
        let more = if found.note.is_empty() { "" } else { "; " };
        found.note = format!("its capture was discarded{more}{}", found.note);
    }
    TableRow {
        task: row.name.to_string(),
        verdict: found,
        changes: row.captured.as_ref().map(|captured| captured.changes),
        ms: row.report.as_ref().map(|report| report.ms),
        usage: row.usage,
    }
}

fn interrupted(row: &TaskRow) -> Verdict {
    let mut verdict = Verdict::plain("interrupted", Meaning::Bad);
    if landed(row) {
        "its work has landed since".clone_into(&mut verdict.note);
    }
    if let Some(note) = row.captured.as_ref().and_then(|captured| left_out(&captured.left_out)) {
        verdict.add_note(&note);
    }
    verdict
}

/// Returns whether the work of a task is where it was meant to go.
pub(super) fn landed(row: &TaskRow) -> bool {
    matches!(row.landing, Some(Landed::Landed { .. }))
}

/// Returns why the work of a task is kept and not landed, if there is any and it is.
pub(super) fn loose(row: &TaskRow) -> Option<Loose> {
    let captured = row.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
    if row.discarded.is_some() {
        return None;
    }
    match (&row.report, &row.landing) {
        (Some(report), landing) => {
            // What was captured after the report is not in it.
            let mut report = report.clone();
            report.captured.get_or_insert_with(|| captured.clone());
            Loose::of(&report, landing.as_ref())
        }
        (None, Some(Landed::Landed { .. } | Landed::Unchanged)) => None,
        (None, Some(Landed::Conflicted { .. })) => Some(Loose::Conflict),
        (None, _) => Some(Loose::Unfinished),
    }
}
