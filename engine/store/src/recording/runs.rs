//! Records the entries about runs: new runs with their tasks, the end of a run, and landings.

use protocol::{
    ExitCode, Landed, LandingReport, RunId, RunName, RunSpec, RunState, Settled, TaskLanding,
    TaskSpec, TaskState, Timestamp, Totals,
};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::{Recording, UsageRow};
use crate::columns::{StoredPath, json, word};
use crate::error::LedgerCause;
use crate::rows::RunTerms;

impl Recording<'_> {
    pub(super) fn work_verified(&self, id: RunId) -> Result<(), LedgerCause> {
        let run = self.run(id)?;
        self.transition(run, None, "work_verified").map(drop)
    }

    /// Moves a running run to `landing`. A finished run, whose kept work lands later, stays finished.
    pub(super) fn landing_started(&self, id: RunId) -> Result<(), LedgerCause> {
        let run = self.run(id)?;
        self.move_run(run, &[RunState::Running], RunState::Landing)?;
        self.transition(run, None, "landing_started").map(drop)
    }

    pub(super) fn landing_finished(
        &self,
        id: RunId,
        report: &LandingReport,
    ) -> Result<(), LedgerCause> {
        let run = self.run(id)?;
        self.move_run(run, &[RunState::Landing], RunState::Running)?;
        let seq = self.transition(run, None, "landing_finished")?;
        for landing in &report.tasks {
            let named = self
                .ledger
                .prepare_cached("SELECT number FROM task WHERE run = ?1 AND name = ?2")?
                .query_row(params![run, landing.task.as_str()], |row| row.get::<_, i64>(0))
                .optional()?;
            let task = named
                .ok_or_else(|| LedgerCause::UnknownName { run: id, name: landing.task.clone() })?;
            self.landed(seq, task, landing)?;
        }
        Ok(())
    }

    fn landed(&self, seq: i64, task: i64, landing: &TaskLanding) -> Result<(), LedgerCause> {
        let (mut branch, mut conflicts, mut waits_on) = (None, None, None);
        let mut message = landing_text(landing);
        let result = match &landing.landed {
            Landed::Landed { branch: onto, .. } => {
                branch = onto.as_deref();
                "landed"
            }
            Landed::Unchanged => "unchanged",
            Landed::Conflicted { conflicts: paths } => {
                conflicts = Some(json(paths)?);
                "conflicted"
            }
            Landed::Unwritten { message: why } => {
                message = Some(why.clone());
                "unwritten"
            }
            Landed::Waiting { on } => {
                waits_on = Some(json(on)?);
                "waiting"
            }
            // The rest stays in the entry of the landing.
            Landed::Unverified(unverified) => {
                message = Some(unverified.text());
                "unverified"
            }
            Landed::TakenBack { left } => {
                conflicts = (!left.is_empty()).then(|| json(left)).transpose()?;
                "taken_back"
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

    pub(super) fn run_finished(
        &self,
        id: RunId,
        totals: &Totals,
        code: ExitCode,
    ) -> Result<(), LedgerCause> {
        let run = self.run(id)?;
        self.execute(
            "UPDATE run SET state = ?2, finished = ?3, totals = ?4, exit_code = ?5
             WHERE number = ?1",
            params![run, word(&RunState::Finished)?, self.at, json(totals)?, u8::from(code)],
        )?;
        self.write_usage(UsageRow::Run(run), totals.usage)?;
        self.transition(run, None, "run_finished").map(drop)
    }

    /// Marks an open run and its open tasks as interrupted. A finished run stays finished.
    pub(super) fn run_interrupted(&self, id: RunId) -> Result<(), LedgerCause> {
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
            self.sum_usage(run)?;
        }
        self.transition(run, None, "run_interrupted").map(drop)
    }

    pub(super) fn run_withdrawn(&self, id: RunId) -> Result<(), LedgerCause> {
        let run = self.run(id)?;
        self.execute("DELETE FROM run WHERE number = ?1", params![run])
    }

    /// Moves a run to another state if it is in one of `from`. Returns how many runs were moved.
    fn move_run(&self, run: i64, from: &[RunState], to: RunState) -> Result<usize, LedgerCause> {
        let mut update = self
            .ledger
            .prepare_cached("UPDATE run SET state = ?3 WHERE number = ?1 AND state = ?2")?;
        let mut moved = 0;
        for from in from {
            moved += update.execute(params![run, word(from)?, word(&to)?])?;
        }
        Ok(moved)
    }
}

/// The maximum number of characters of a run's name after the `r`.
const MAX_NAME_CHARS: usize = 12;

/// Records a new run with all tasks queued, and returns its name.
///
/// The caller's transaction holds the write lock, so that no other process can take the name.
pub(crate) fn open_run(
    ledger: &Connection,
    run: &RunSpec,
    at: Timestamp,
) -> Result<RunName, LedgerCause> {
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
    insert_tasks(ledger, number, &run.tasks)?;
    let mut opened =
        json!({ "type": "run_opened", "run": run.id, "name": name, "tasks": run.tasks.len() });
    if let Some(retry) = &run.retry {
        opened["retry"] = serde_json::to_value(retry)?;
    }
    let mut insert = ledger.prepare_cached(
        "INSERT INTO transition (at, run, type, entry) VALUES (?1, ?2, 'run_opened', ?3)",
    )?;
    insert.execute(params![at, number, opened.to_string()])?;
    Ok(name)
}

/// Inserts the rows of the queued tasks of a run.
fn insert_tasks(ledger: &Connection, run: i64, tasks: &[TaskSpec]) -> Result<(), LedgerCause> {
    let mut insert = ledger.prepare_cached(
        "INSERT INTO task (id, run, position, name, title, state, spec)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let queued = word(&TaskState::Queued)?;
    for (position, task) in (0_i64..).zip(tasks) {
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

/// Returns what a landing joined and settled, in words; `None` if it did neither. The paths stay in the
/// entry of the landing.
fn landing_text(landing: &TaskLanding) -> Option<String> {
    let joined = match &landing.landed {
        Landed::Landed { joined, .. } => joined.len(),
        Landed::Unchanged
        | Landed::Conflicted { .. }
        | Landed::Unwritten { .. }
        | Landed::Waiting { .. }
        | Landed::Unverified(_)
        | Landed::TakenBack { .. } => 0,
    };
    let Settled { conflicts, landed } = &landing.settled;
    let mut told = Vec::new();
    if joined > 0 {
        told.push(format!("files joined: {joined}"));
    }
    if !landing.settled.is_empty() {
        told.push(format!("conflicts settled: {}", conflicts.len()));
        told.push(format!("paths landed: {}", landed.len()));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// Returns the shortest free name of the run.
fn free_name(ledger: &Connection, run: &RunSpec) -> Result<RunName, LedgerCause> {
    let mut taken = ledger.prepare_cached("SELECT 1 FROM run WHERE name = ?1")?;
    for length in RunName::SHORTEST..=MAX_NAME_CHARS {
        let name = RunName::of(run.id, length);
        if !taken.exists([name.as_str()])? {
            return Ok(name);
        }
    }
    Err(LedgerCause::NoName(run.id))
}
