//! Converts values of the protocol to columns of the ledger, and rows to runs and tasks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use protocol::{
    CacheSaving, CaptureRef, Captured, ChangeSummary, Cost, ExitCode, Landed, TaskSpec, Usage,
};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use rusqlite::{Connection, Row};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::error::LedgerCause;
use crate::rows::{RunRow, RunTerms, TaskCounts, TaskRow};

/// Selects the tasks of the run `?1`, each with the files left out of its last capture, its last
/// landing, and the workspace of its last attempt.
pub(crate) const SELECT_TASKS: &str = "
    SELECT task.*, json_remove(task.report, '$.yield') AS report_without_yield,
           (SELECT json_extract(entry, '$.captured.left_out') FROM transition AS last
            WHERE last.task = task.number AND last.type = 'task_captured'
            ORDER BY last.seq DESC LIMIT 1) AS left_out,
           (SELECT CASE last.type WHEN 'task_collected' THEN last.at END FROM transition AS last
            WHERE last.task = task.number AND last.type IN ('task_captured', 'task_collected')
            ORDER BY last.seq DESC LIMIT 1) AS collected,
           attempt.workspace, landing.result, landing.branch, landing.conflicts,
           landing.message, landing.waits_on,
           CASE WHEN landing.result = 'landed' AND landing.message IS NOT NULL THEN
               (SELECT json_extract(one.value, '$.joined')
                FROM transition AS step, json_each(step.entry, '$.report.tasks') AS one
                WHERE step.seq = landing.transition
                AND json_extract(one.value, '$.task') = task.name)
           END AS joined,
           CASE WHEN landing.result = 'unverified' THEN
               (SELECT one.value
                FROM transition AS step, json_each(step.entry, '$.report.tasks') AS one
                WHERE step.seq = landing.transition
                AND json_extract(one.value, '$.task') = task.name)
           END AS unverified,
           CASE WHEN landing.message IS NOT NULL THEN
               (SELECT json_extract(one.value, '$.settled')
                FROM transition AS step, json_each(step.entry, '$.report.tasks') AS one
                WHERE step.seq = landing.transition
                AND json_extract(one.value, '$.task') = task.name)
           END AS settled,
           (SELECT json_group_array(json(failure)) FROM
               (SELECT json_extract(entry, '$.failure') AS failure FROM transition AS last
                WHERE last.task = task.number AND last.type = 'resolver_failed'
                AND last.seq > ifnull(landing.transition, 0)
                ORDER BY last.seq DESC LIMIT 20)) AS unresolved
    FROM task
    JOIN run ON run.number = task.run
    LEFT JOIN attempt ON attempt.task = task.number AND attempt.attempt = task.attempt
    LEFT JOIN landing ON landing.task = task.number AND landing.transition =
        (SELECT max(last.transition) FROM landing AS last WHERE last.task = task.number)
    WHERE run.id = ?1";

/// Converts the row of a run, and counts its tasks.
pub(crate) fn run_row(ledger: &Connection, row: &Row<'_>) -> Result<RunRow, LedgerCause> {
    let run: i64 = row.get("number")?;
    let mut spec: RunTerms = read_json(row, "spec")?;
    // Paths that are not UTF-8 are only in the columns, not in the JSON.
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
        group: spec.group.clone(),
        repo,
        state: read_word(row, "state")?,
        started: read_word(row, "started")?,
        finished: read_word_or_null(row, "finished")?,
        tasks: counts,
        totals: read_json_or_null(row, "totals")?,
        exit_code: exit_code(row)?,
        usage: read_usage(row)?,
        spec,
    })
}

/// Converts a row of [`SELECT_TASKS`].
pub(crate) fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    task_row_with(row, "report")
}

/// Converts a row of [`SELECT_TASKS`], with null as its yield.
pub(crate) fn task_row_without_yield(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    task_row_with(row, "report_without_yield")
}

fn task_row_with(row: &Row<'_>, report: &str) -> rusqlite::Result<TaskRow> {
    let spec: TaskSpec = read_json(row, "spec")?;
    let (item, items) = spec.item_or_chunk();
    let (item, items) = (item.map(str::to_owned), items.to_vec());
    Ok(TaskRow {
        id: read_id(row, "id")?,
        name: read_word(row, "name")?,
        title: row.get("title")?,
        item,
        items,
        state: read_word(row, "state")?,
        attempt: row.get("attempt")?,
        started: read_word_or_null(row, "started")?,
        finished: read_word_or_null(row, "finished")?,
        report: read_json_or_null(row, report)?,
        usage: read_usage(row)?,
        captured: captured(row)?,
        discarded: read_word_or_null(row, "discarded")?,
        collected: read_word_or_null(row, "collected")?,
        landing: landed(row)?,
        settled: read_json_or_null(row, "settled")?.unwrap_or_default(),
        unresolved: read_json_or_null(row, "unresolved")?.unwrap_or_default(),
        workspace: row.get("workspace")?,
        spec,
    })
}

fn captured(row: &Row<'_>) -> rusqlite::Result<Option<Captured>> {
    let capture: Option<CaptureRef> = read_word_or_null(row, "capture")?;
    let Some(capture) = capture else { return Ok(None) };
    let changes = ChangeSummary {
        files: number(row, "files")?,
        added: number(row, "added")?,
        removed: number(row, "removed")?,
    };
    let left_out = read_json_or_null(row, "left_out")?.unwrap_or_default();
    Ok(Some(Captured { capture, changes, left_out }))
}

fn landed(row: &Row<'_>) -> rusqlite::Result<Option<Landed>> {
    let result: Option<String> = row.get("result")?;
    let Some(result) = result else { return Ok(None) };
    let landed = match result.as_str() {
        "landed" => Landed::Landed {
            branch: row.get("branch")?,
            joined: read_json_or_null(row, "joined")?.unwrap_or_default(),
        },
        "unchanged" => Landed::Unchanged,
        "conflicted" => Landed::Conflicted { conflicts: read_json(row, "conflicts")? },
        "unwritten" => Landed::Unwritten { message: row.get("message")? },
        "waiting" => Landed::Waiting { on: read_json(row, "waits_on")? },
        "unverified" => Landed::Unverified(Box::new(read_json(row, "unverified")?)),
        "taken_back" => {
            Landed::TakenBack { left: read_json_or_null(row, "conflicts")?.unwrap_or_default() }
        }
        _ => return Err(unreadable(row, "result", UnknownValue)),
    };
    Ok(Some(landed))
}

fn exit_code(row: &Row<'_>) -> rusqlite::Result<Option<ExitCode>> {
    let code: Option<u8> = row.get("exit_code")?;
    let known = code.map(ExitCode::try_from).transpose();
    known.map_err(|_unknown| unreadable(row, "exit_code", UnknownValue))
}

/// Reads the usage of a run or a task; `None` if no model was asked.
fn read_usage(row: &Row<'_>) -> rusqlite::Result<Option<Usage>> {
    let Some(input) = newer(row.get::<_, Option<i64>>("input_tokens"))? else { return Ok(None) };
    let number = |column: &str| -> rusqlite::Result<Option<u64>> {
        let number: Option<i64> = row.get(column)?;
        Ok(number.map(|number| u64::try_from(number).unwrap_or(0)))
    };
    Ok(Some(Usage {
        input: u64::try_from(input).unwrap_or(0),
        output: number("output_tokens")?.unwrap_or(0),
        cache_read: number("cache_read_tokens")?.unwrap_or(0),
        cache_write: number("cache_write_tokens")?.unwrap_or(0),
        cost: number("cost_nanodollars")?.map(Cost::from_nanodollars),
        cost_source: newer(read_word_or_null(row, "cost_source"))?.unwrap_or_default(),
        cache_saving: newer(row.get("cache_saving_nanodollars"))?
            .map(CacheSaving::from_nanodollars),
    }))
}

/// Returns the value of a column that a ledger of an older version, which was only read since, does not
/// have.
fn newer<T>(read: rusqlite::Result<Option<T>>) -> rusqlite::Result<Option<T>> {
    match read {
        Err(rusqlite::Error::InvalidColumnName(_)) => Ok(None),
        read => read,
    }
}

/// Reads a count; integers in SQLite are signed.
fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|error| unreadable(row, column, error))
}

/// The error of a value in a column that this version does not know.
#[derive(Debug, thiserror::Error)]
#[error("its value is not known to this version")]
struct UnknownValue;

/// A path as it is stored: text if it is UTF-8, else a blob.
#[derive(Debug)]
pub(crate) struct StoredPath(pub(crate) PathBuf);

impl ToSql for StoredPath {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(stored(&self.0)))
    }
}

impl FromSql for StoredPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_bytes().map(|bytes| Self(PathBuf::from(OsStr::from_bytes(bytes))))
    }
}

fn stored(path: &Path) -> ValueRef<'_> {
    let bytes = path.as_os_str().as_bytes();
    if path.to_str().is_some() { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) }
}

/// Serializes a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, LedgerCause> {
    Ok(serde_json::to_string(value)?)
}

/// Serializes a value whose JSON is one string, without the quotes: an enum variant or a time.
pub(crate) fn word(value: &impl Serialize) -> Result<String, LedgerCause> {
    let json = serde_json::to_value(value)?;
    Ok(json.as_str().map_or_else(|| json.to_string(), ToOwned::to_owned))
}

/// Parses a column written by [`json`].
pub(crate) fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(row, column, error))
}

/// Parses a column written by [`json`], which may be null.
pub(crate) fn read_json_or_null<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let empty = row.get_ref(column)? == ValueRef::Null;
    if empty { Ok(None) } else { read_json(row, column).map(Some) }
}

/// Parses a column written by [`word`].
pub(crate) fn read_word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    let word: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
    T::deserialize(word).map_err(|error| unreadable(row, column, error))
}

/// Parses a column written by [`word`], which may be null.
pub(crate) fn read_word_or_null<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let empty = row.get_ref(column)? == ValueRef::Null;
    if empty { Ok(None) } else { read_word(row, column).map(Some) }
}

/// Parses an id in its display form.
pub(crate) fn read_id<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| unreadable(row, column, error))
}

/// Returns the error of a column with an invalid value.
pub(crate) fn unreadable(
    row: &Row<'_>,
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}
