//! Makes runs and tasks out of what the ledger's columns hold.

use protocol::{CaptureRef, Captured, ChangeSummary, ExitCode, Landed};
use rusqlite::{Connection, Row};

use crate::cause::Cause;
use crate::entry::used;
use crate::rows::{RunRow, RunTerms, TaskCounts, TaskRow};
use crate::words::{
    StoredPath, read_id, read_json, read_json_if_any, read_word, read_word_if_any, unreadable,
};

/// Selects the tasks of the run `?1`, each with what its last capture left out, its last landing and
/// its last attempt's workspace.
pub(crate) const TASK: &str = "
    SELECT task.*,
           (SELECT json_extract(entry, '$.captured.left_out') FROM transition AS last
            WHERE last.task = task.number AND last.type = 'task_captured'
            ORDER BY last.seq DESC LIMIT 1) AS left_out,
           attempt.workspace, landing.result, landing.branch, landing.conflicts,
           landing.message, landing.waits_on
    FROM task
    JOIN run ON run.number = task.run
    LEFT JOIN attempt ON attempt.task = task.number AND attempt.attempt = task.attempt
    LEFT JOIN landing ON landing.task = task.number AND landing.transition =
        (SELECT max(last.transition) FROM landing AS last WHERE last.task = task.number)
    WHERE run.id = ?1";

/// Makes a run out of its row, and counts its tasks.
pub(crate) fn run_row(ledger: &Connection, row: &Row<'_>) -> Result<RunRow, Cause> {
    let run: i64 = row.get("number")?;
    let mut spec: RunTerms = read_json(row, "spec")?;
    // JSON cannot hold every path; the columns can.
    let StoredPath(repo) = row.get("repo")?;
    let StoredPath(subfolder) = row.get("subfolder")?;
    spec.subfolder = subfolder;
    let mut counts = TaskCounts::default();
    let mut states = ledger.prepare_cached(
        "SELECT state, count(*) AS tasks FROM task WHERE run = ?1 GROUP BY state",
    )?;
    let mut states = states.query([run])?;
    while let Some(state) = states.next()? {
        let tasks = number(state, "tasks")?;
        counts.count(read_word(state, "state")?, usize::try_from(tasks).unwrap_or(usize::MAX));
    }
    Ok(RunRow {
        id: read_id(row, "id")?,
        name: read_word(row, "name")?,
        label: row.get("label")?,
        repo,
        state: read_word(row, "state")?,
        started: read_word(row, "started")?,
        finished: read_word_if_any(row, "finished")?,
        tasks: counts,
        totals: read_json_if_any(row, "totals")?,
        exit_code: exit_code(row)?,
        usage: used(row)?,
        spec,
    })
}

/// Makes a task out of its row in [`TASK`].
pub(crate) fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: read_id(row, "id")?,
        name: read_word(row, "name")?,
        title: row.get("title")?,
        state: read_word(row, "state")?,
        attempt: row.get("attempt")?,
        started: read_word_if_any(row, "started")?,
        finished: read_word_if_any(row, "finished")?,
        report: read_json_if_any(row, "report")?,
        usage: used(row)?,
        captured: captured(row)?,
        discarded: read_word_if_any(row, "discarded")?,
        landing: landed(row)?,
        workspace: row.get("workspace")?,
        spec: read_json(row, "spec")?,
    })
}

fn captured(row: &Row<'_>) -> rusqlite::Result<Option<Captured>> {
    let capture: Option<CaptureRef> = read_word_if_any(row, "capture")?;
    let Some(capture) = capture else { return Ok(None) };
    let changes = ChangeSummary {
        files: number(row, "files")?,
        added: number(row, "added")?,
        removed: number(row, "removed")?,
    };
    let left_out = read_json_if_any(row, "left_out")?.unwrap_or_default();
    Ok(Some(Captured { capture, changes, left_out }))
}

fn landed(row: &Row<'_>) -> rusqlite::Result<Option<Landed>> {
    let result: Option<String> = row.get("result")?;
    let Some(result) = result else { return Ok(None) };
    let landed = match result.as_str() {
        "landed" => Landed::Landed { branch: row.get("branch")? },
        "unchanged" => Landed::Unchanged,
        "conflicted" => Landed::Conflicted { conflicts: read_json(row, "conflicts")? },
        "unwritten" => Landed::Unwritten { message: row.get("message")? },
        "waiting" => Landed::Waiting { on: read_json(row, "waits_on")? },
        _ => return Err(unreadable(row, "result", UnknownWord)),
    };
    Ok(Some(landed))
}

fn exit_code(row: &Row<'_>) -> rusqlite::Result<Option<ExitCode>> {
    let code: Option<u8> = row.get("exit_code")?;
    let known = code.map(ExitCode::try_from).transpose();
    known.map_err(|_unknown| unreadable(row, "exit_code", UnknownWord))
}

/// A count. SQLite has no numbers without sign.
fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|error| unreadable(row, column, error))
}

/// A word in a column that this version does not know.
#[derive(Debug, thiserror::Error)]
#[error("its value is not known to this version")]
struct UnknownWord;
