//! Records a new run with its tasks, and gives it its name.

use protocol::{RunName, RunSpec, RunState, TaskSpec, TaskState, Timestamp};
use rusqlite::{Connection, params};
use serde_json::json;

use crate::cause::Cause;
use crate::rows::RunTerms;
use crate::words::{StoredPath, json, word};

/// How many characters after the `r` a name may come to have.
const LONGEST: usize = 12;

/// Records `run` with every task queued, and returns its name.
///
/// The transaction holds the write lock, so no other process can take the name in between.
pub(crate) fn open_run(
    ledger: &Connection,
    run: &RunSpec,
    at: Timestamp,
) -> Result<RunName, Cause> {
    let name = free_name(ledger, run)?;
    let at = word(&at)?;
    let mut insert = ledger.prepare_cached(
        "INSERT INTO run (id, name, label, repo, subfolder, state, started, spec)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    insert.execute(params![
        run.id.to_string(),
        name.as_str(),
        run.label,
        StoredPath(run.repo.clone()),
        StoredPath(run.subfolder.clone()),
        word(&RunState::Running)?,
        at,
        json(&RunTerms::from(run))?,
    ])?;
    let number = ledger.last_insert_rowid();
    insert_tasks(ledger, number, 0, &run.tasks)?;
    let opened =
        json!({ "type": "run_opened", "run": run.id, "name": name, "tasks": run.tasks.len() });
    let mut insert = ledger.prepare_cached(
        "INSERT INTO transition (at, run, type, entry) VALUES (?1, ?2, 'run_opened', ?3)",
    )?;
    insert.execute(params![at, number, opened.to_string()])?;
    Ok(name)
}

/// Inserts the rows of tasks that are queued, at the positions from `first` on.
pub(crate) fn insert_tasks(
    ledger: &Connection,
    run: i64,
    first: i64,
    tasks: &[TaskSpec],
) -> Result<(), Cause> {
    let mut insert = ledger.prepare_cached(
        "INSERT INTO task (id, run, position, name, title, state, spec)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let queued = word(&TaskState::Queued)?;
    for (position, task) in (first..).zip(tasks) {
        insert.execute(params![
            task.id.to_string(),
            run,
            position,
            task.name.as_str(),
            task.title,
            queued,
            json(task)?,
        ])?;
    }
    Ok(())
}

/// The shortest name of the run that is free.
fn free_name(ledger: &Connection, run: &RunSpec) -> Result<RunName, Cause> {
    let mut taken = ledger.prepare_cached("SELECT 1 FROM run WHERE name = ?1")?;
    for length in RunName::SHORTEST..=LONGEST {
        let name = RunName::of(run.id, length);
        if !taken.exists([name.as_str()])? {
            return Ok(name);
        }
    }
    Err(Cause::NoName(run.id))
}
