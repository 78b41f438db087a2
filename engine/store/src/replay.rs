//! Rebuilds the record of a run by replaying its ledger entries, for a restart of the run.

use engine::ports::LedgerError;
use engine::run::RunRecord;
use protocol::{LedgerEntry, Retry, RunName, RunSpec, TaskSpec};
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::Reader;
use crate::columns::{read_json, run_row};
use crate::error::LedgerCause;
use crate::rows::{RunRow, RunTerms};

/// The entry `run_opened`.
#[derive(Deserialize)]
struct Opened {
    /// The number of tasks at the start. Tasks added later have their own entries.
    tasks: usize,
    /// What the run knows of the run that it retries.
    #[serde(default)]
    retry: Option<Retry>,
}

impl Reader {
    /// Returns the record of the run with exactly this name; `None` if there is none.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn record(&self, name: &RunName) -> Result<Option<RunRecord>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached("SELECT * FROM run WHERE name = ?1")?;
            let mut rows = select.query([name.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let number = row.get("number")?;
            Ok(Some(replay(ledger, number, run_row(ledger, row)?)?))
        })
    }
}

fn replay(ledger: &Connection, number: i64, row: RunRow) -> Result<RunRecord, LedgerCause> {
    let mut select = ledger.prepare_cached(
        "SELECT entry FROM transition WHERE run = ?1 AND type = 'run_opened' ORDER BY seq LIMIT 1",
    )?;
    let opened: Opened = select.query_row([number], |row| read_json(row, "entry"))?;
    let mut select = ledger.prepare_cached(
        "SELECT spec FROM task WHERE run = ?1 AND position < ?2 ORDER BY position",
    )?;
    let first = i64::try_from(opened.tasks).unwrap_or(i64::MAX);
    let tasks = select.query_and_then(params![number, first], |row| read_json(row, "spec"))?;
    let tasks = tasks.collect::<Result<Vec<TaskSpec>, _>>()?;
    let mut record = RunRecord::opened(row.name.clone(), spec(row, tasks, opened.retry));
    let mut select = ledger.prepare_cached(
        "SELECT entry FROM transition WHERE run = ?1 AND type <> 'run_opened' ORDER BY seq",
    )?;
    let entries = select.query_and_then([number], |row| read_json::<LedgerEntry>(row, "entry"))?;
    for entry in entries {
        record.apply(&entry?);
    }
    Ok(record)
}

fn spec(row: RunRow, tasks: Vec<TaskSpec>, retry: Option<Retry>) -> RunSpec {
    let RunRow { id, label, repo, spec, .. } = row;
    let RunTerms {
        subfolder,
        jobs,
        isolation,
        merge,
        stack,
        land,
        on_failure,
        branch_prefix,
        untracked_limit,
        pass_env,
        needs,
        verify,
        union,
        commits,
        group,
        caller,
        retry_of: _, // `retry` names it, too
    } = spec;
    RunSpec {
        id,
        label,
        group,
        repo,
        subfolder,
        tasks,
        jobs,
        isolation,
        merge,
        stack,
        land,
        on_failure,
        branch_prefix,
        untracked_limit,
        pass_env,
        needs,
        verify,
        union,
        commits,
        retry,
        caller,
    }
}

#[cfg(test)]
mod tests;
