//! Reads a run as the fold of its transitions: what a restart of it would begin with.

use engine::ports::LedgerError;
use engine::run::RunRecord;
use protocol::{LedgerEntry, RunName, RunSpec, TaskSpec};
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::Reader;
use crate::cause::Cause;
use crate::fetch::run_row;
use crate::rows::{RunRow, RunTerms};
use crate::words::read_json;

/// What the transition says with which a run begins.
#[derive(Deserialize)]
struct Opened {
    /// How many tasks it had then. Those that were added later are in their own transitions.
    tasks: usize,
}

impl Reader {
    /// Returns the run of exactly this name as its transitions have it; nothing if the ledger has
    /// none.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn record(&self, name: &RunName) -> Result<Option<RunRecord>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached("SELECT * FROM run WHERE name = ?1")?;
            let mut rows = select.query([name.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let number = row.get("number")?;
            Ok(Some(fold(ledger, number, run_row(ledger, row)?)?))
        })
    }
}

fn fold(ledger: &Connection, number: i64, row: RunRow) -> Result<RunRecord, Cause> {
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
    let mut record = RunRecord::opened(row.name.clone(), spec(row, tasks));
    let mut select = ledger.prepare_cached(
        "SELECT entry FROM transition WHERE run = ?1 AND type <> 'run_opened' ORDER BY seq",
    )?;
    let entries = select.query_and_then([number], |row| read_json::<LedgerEntry>(row, "entry"))?;
    for entry in entries {
        record.apply(&entry?);
    }
    Ok(record)
}

fn spec(row: RunRow, tasks: Vec<TaskSpec>) -> RunSpec {
    let RunRow { id, label, repo, spec, .. } = row;
    let RunTerms {
        subfolder,
        jobs,
        isolation,
        merge,
        on_failure,
        branch_prefix,
        untracked_limit,
        pass_env,
    } = spec;
    RunSpec {
        id,
        label,
        repo,
        subfolder,
        tasks,
        jobs,
        isolation,
        merge,
        on_failure,
        branch_prefix,
        untracked_limit,
        pass_env,
    }
}

#[cfg(test)]
mod tests;
