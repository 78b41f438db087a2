//! Records one transition: its own row, and what it changes in the rows of its run and task.

mod of_run;
mod of_task;
mod used;

pub(crate) use used::used;

use protocol::{LedgerEntry, RunId, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::cause::Cause;
use crate::words::{json, word};

/// A transaction that transitions are recorded in.
struct Recording<'a> {
    ledger: &'a Connection,
    /// When, as the columns have it.
    at: String,
    /// The transition itself.
    entry: String,
}

/// The keys of a task's row and of its run's.
#[derive(Clone, Copy)]
struct Task {
    number: i64,
    run: i64,
}

/// Records `entry`. An id that the ledger does not know is an error.
pub(crate) fn record(ledger: &Connection, at: Timestamp, entry: &LedgerEntry) -> Result<(), Cause> {
    let recording = Recording { ledger, at: word(&at)?, entry: json(entry)? };
    match entry {
        LedgerEntry::TasksAdded { run, parent, tasks } => {
            recording.tasks_added(*run, *parent, tasks)
        }
        LedgerEntry::TaskStarted { run, task, attempt } => {
            recording.task_started(*run, *task, *attempt)
        }
        LedgerEntry::SessionStarted { task, attempt, workspace } => {
            recording.session_started(*task, *attempt, workspace)
        }
        LedgerEntry::TaskCaptured { task, attempt, captured } => {
            recording.task_captured(*task, *attempt, captured)
        }
        LedgerEntry::TaskUsed { task, usage } => recording.task_used(*task, *usage),
        LedgerEntry::TaskFinished { task, report } => recording.task_finished(*task, report),
        LedgerEntry::TaskDiscarded { task } => recording.task_discarded(*task),
        LedgerEntry::LandingStarted { run, .. } => recording.landing_started(*run),
        LedgerEntry::LandingFinished { run, report, .. } => {
            recording.landing_finished(*run, report)
        }
        LedgerEntry::RunFinished { run, totals, exit_code } => {
            recording.run_finished(*run, totals, *exit_code)
        }
        LedgerEntry::RunInterrupted { run } => recording.run_interrupted(*run),
        LedgerEntry::RunWithdrawn { run } => recording.run_withdrawn(*run),
    }
}

impl Recording<'_> {
    /// Writes the transition's own row and returns its number.
    fn transition(&self, run: i64, task: Option<Task>, kind: &str) -> Result<i64, Cause> {
        self.execute(
            "INSERT INTO transition (at, run, task, type, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.at, run, task.map(|task| task.number), kind, self.entry],
        )?;
        Ok(self.ledger.last_insert_rowid())
    }

    fn run(&self, id: RunId) -> Result<i64, Cause> {
        let mut select = self.ledger.prepare_cached("SELECT number FROM run WHERE id = ?1")?;
        let found = select.query_row([id.to_string()], |row| row.get(0)).optional()?;
        found.ok_or(Cause::UnknownRun(id))
    }

    fn task(&self, id: TaskId) -> Result<Task, Cause> {
        let mut select =
            self.ledger.prepare_cached("SELECT number, run FROM task WHERE id = ?1")?;
        let found = select
            .query_row([id.to_string()], |row| Ok(Task { number: row.get(0)?, run: row.get(1)? }))
            .optional()?;
        found.ok_or(Cause::UnknownTask(id))
    }

    fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), Cause> {
        self.ledger.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }
}

/// SQLite counts to 2⁶³ only.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
