//! Records one transition: its own row, and what it changes in the rows of its run and task.

use protocol::{
    Captured, ExitCode, Landed, LandingReport, LedgerEntry, Outcome, RunId, RunState, TaskId,
    TaskReport, TaskState, Timestamp, Totals,
};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::cause::Cause;
use crate::words::{json, word};

/// A transaction that transitions are recorded in.
pub(crate) struct Recording<'a> {
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
        LedgerEntry::TaskStarted { run, task, attempt } => {
            recording.task_started(*run, *task, *attempt)
        }
        LedgerEntry::SessionStarted { task, attempt, workspace } => {
            recording.session_started(*task, *attempt, workspace)
        }
        LedgerEntry::TaskCaptured { task, attempt, captured } => {
            recording.task_captured(*task, *attempt, captured)
        }
        LedgerEntry::TaskFinished { task, report } => recording.task_finished(*task, report),
        LedgerEntry::TaskDiscarded { task } => recording.task_discarded(*task),
        LedgerEntry::LandingStarted { run } => recording.landing_started(*run),
        LedgerEntry::LandingFinished { run, report } => recording.landing_finished(*run, report),
        LedgerEntry::RunFinished { run, totals, exit_code } => {
            recording.run_finished(*run, totals, *exit_code)
        }
        LedgerEntry::RunInterrupted { run } => recording.run_interrupted(*run),
        LedgerEntry::RunWithdrawn { run } => recording.run_withdrawn(*run),
    }
}

impl Recording<'_> {
    fn task_started(&self, run: RunId, id: TaskId, attempt: u32) -> Result<(), Cause> {
        let task = self.task(id)?;
        if task.run != self.run(run)? {
            return Err(Cause::UnknownTask(id));
        }
        self.execute(
            "INSERT INTO attempt (task, attempt, started) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET started = excluded.started",
            params![task.number, attempt, self.at],
        )?;
        // What an earlier attempt left behind stays until this one says otherwise, but its end
        // is not the task's end any more.
        self.execute(
            "UPDATE task SET state = ?2, attempt = ?3, started = coalesce(started, ?4),
             finished = NULL, ms = NULL, failure_class = NULL, failure_message = NULL, report = NULL
             WHERE number = ?1",
            params![task.number, word(&TaskState::Running)?, attempt, self.at],
        )?;
        self.transition(task.run, Some(task), "task_started").map(drop)
    }

    fn session_started(&self, id: TaskId, attempt: u32, workspace: &str) -> Result<(), Cause> {
        let task = self.task(id)?;
        self.execute(
            "INSERT INTO attempt (task, attempt, session_started, workspace)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET session_started = excluded.session_started,
             workspace = excluded.workspace",
            params![task.number, attempt, self.at, workspace],
        )?;
        self.transition(task.run, Some(task), "session_started").map(drop)
    }

    fn task_captured(&self, id: TaskId, attempt: u32, captured: &Captured) -> Result<(), Cause> {
        let task = self.task(id)?;
        let changes = captured.changes;
        self.execute(
            "INSERT INTO attempt (task, attempt, captured, capture, files, added, removed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET captured = excluded.captured, capture = excluded.capture,
             files = excluded.files, added = excluded.added, removed = excluded.removed",
            params![
                task.number,
                attempt,
                self.at,
                captured.capture.as_str(),
                count(changes.files),
                count(changes.added),
                count(changes.removed),
            ],
        )?;
        self.keep(task, captured)?;
        self.transition(task.run, Some(task), "task_captured").map(drop)
    }

    fn task_finished(&self, id: TaskId, report: &TaskReport) -> Result<(), Cause> {
        let task = self.task(id)?;
        let (state, failure) = match &report.outcome {
            Outcome::Done { .. } => (TaskState::Done, None),
            Outcome::Failed { failure } => (TaskState::Failed, Some(failure)),
            Outcome::Cancelled => (TaskState::Cancelled, None),
        };
        let class = failure.map(|failure| word(&failure.class)).transpose()?;
        let message = failure.map(|failure| &failure.message);
        self.execute(
            "UPDATE task SET state = ?2, finished = ?3, ms = ?4, failure_class = ?5,
             failure_message = ?6, report = ?7 WHERE number = ?1",
            params![
                task.number,
                word(&state)?,
                self.at,
                count(report.ms),
                class,
                message,
                json(report)?,
            ],
        )?;
        self.execute(
            "UPDATE attempt SET finished = ?2 WHERE task = ?1
             AND attempt = (SELECT attempt FROM task WHERE number = ?1)",
            params![task.number, self.at],
        )?;
        if let Some(captured) = &report.captured {
            self.keep(task, captured)?;
        }
        self.transition(task.run, Some(task), "task_finished").map(drop)
    }

    fn task_discarded(&self, id: TaskId) -> Result<(), Cause> {
        let task = self.task(id)?;
        self.execute(
            "UPDATE task SET discarded = ?2 WHERE number = ?1",
            params![task.number, self.at],
        )?;
        self.transition(task.run, Some(task), "task_discarded").map(drop)
    }

    /// A run that is over stays so when its kept work lands later.
    fn landing_started(&self, id: RunId) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.move_run(run, &[RunState::Running], RunState::Landing)?;
        self.transition(run, None, "landing_started").map(drop)
    }

    fn landing_finished(&self, id: RunId, report: &LandingReport) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.move_run(run, &[RunState::Landing], RunState::Running)?;
        let seq = self.transition(run, None, "landing_finished")?;
        for landing in &report.tasks {
            let named = self
                .ledger
                .prepare_cached("SELECT number FROM task WHERE run = ?1 AND name = ?2")?
                .query_row(params![run, landing.task.as_str()], |row| row.get::<_, i64>(0))
                .optional()?;
            let task =
                named.ok_or_else(|| Cause::UnknownName { run: id, name: landing.task.clone() })?;
            self.landed(seq, task, &landing.landed)?;
        }
        Ok(())
    }

    fn landed(&self, seq: i64, task: i64, landed: &Landed) -> Result<(), Cause> {
        let (mut branch, mut conflicts, mut message, mut waits_on) = (None, None, None, None);
        let result = match landed {
            Landed::Landed { branch: onto } => {
                branch = onto.as_deref();
                "landed"
            }
            Landed::Unchanged => "unchanged",
            Landed::Conflicted { conflicts: paths } => {
                conflicts = Some(json(paths)?);
                "conflicted"
            }
            Landed::Unwritten { message: why } => {
                message = Some(why);
                "unwritten"
            }
            Landed::Waiting { on } => {
                waits_on = Some(json(on)?);
                "waiting"
            }
        };
        self.execute(
            "INSERT INTO landing (transition, task, at, result, branch, conflicts, message, waits_on)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO UPDATE SET result = excluded.result, branch = excluded.branch,
             conflicts = excluded.conflicts, message = excluded.message,
             waits_on = excluded.waits_on",
            params![seq, task, self.at, result, branch, conflicts, message, waits_on],
        )
    }

    fn run_finished(&self, id: RunId, totals: &Totals, code: ExitCode) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.execute(
            "UPDATE run SET state = ?2, finished = ?3, totals = ?4, exit_code = ?5
             WHERE number = ?1",
            params![run, word(&RunState::Finished)?, self.at, json(totals)?, u8::from(code)],
        )?;
        self.transition(run, None, "run_finished").map(drop)
    }

    /// A run whose last word is in the ledger is over, even if its engine died right after it.
    fn run_interrupted(&self, id: RunId) -> Result<(), Cause> {
        let run = self.run(id)?;
        let open = [RunState::Running, RunState::Landing];
        if self.move_run(run, &open, RunState::Interrupted)? > 0 {
            self.execute(
                "UPDATE task SET state = ?2 WHERE run = ?1 AND state IN (?3, ?4)",
                params![
                    run,
                    word(&TaskState::Interrupted)?,
                    word(&TaskState::Queued)?,
                    word(&TaskState::Running)?,
                ],
            )?;
        }
        self.transition(run, None, "run_interrupted").map(drop)
    }

    fn run_withdrawn(&self, id: RunId) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.execute("DELETE FROM run WHERE number = ?1", params![run])
    }

    /// Says of the task what its work is. Work captured after earlier work was thrown away is there.
    fn keep(&self, task: Task, captured: &Captured) -> Result<(), Cause> {
        let changes = captured.changes;
        self.execute(
            "UPDATE task SET capture = ?2, files = ?3, added = ?4, removed = ?5, discarded = NULL
             WHERE number = ?1",
            params![
                task.number,
                captured.capture.as_str(),
                count(changes.files),
                count(changes.added),
                count(changes.removed),
            ],
        )
    }

    /// Moves a run from one of some states to another, and returns how many runs moved.
    fn move_run(&self, run: i64, from: &[RunState], to: RunState) -> Result<usize, Cause> {
        let mut update = self
            .ledger
            .prepare_cached("UPDATE run SET state = ?3 WHERE number = ?1 AND state = ?2")?;
        let mut moved = 0;
        for from in from {
            moved += update.execute(params![run, word(from)?, word(&to)?])?;
        }
        Ok(moved)
    }

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
