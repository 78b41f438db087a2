//! What a transition of a run changes in its row and in those of its tasks, and what its landings
//! add.

use protocol::{
    ExitCode, Landed, LandingReport, RunId, RunState, TaskId, TaskSpec, TaskState, Totals,
};
use rusqlite::{OptionalExtension, params};

use super::Recording;
use super::used::User;
use crate::cause::Cause;
use crate::opening::insert_tasks;
use crate::words::{json, word};

impl Recording<'_> {
    /// Added tasks come after those that the run has. Whose they are is in the transition.
    pub(super) fn tasks_added(
        &self,
        id: RunId,
        parent: Option<TaskId>,
        tasks: &[TaskSpec],
    ) -> Result<(), Cause> {
        let run = self.run(id)?;
        let parent = parent.map(|parent| self.task(parent)).transpose()?;
        if parent.is_some_and(|parent| parent.run != run) {
            return Err(Cause::UnknownRun(id));
        }
        let mut last = self
            .ledger
            .prepare_cached("SELECT coalesce(max(position) + 1, 0) FROM task WHERE run = ?1")?;
        let first: i64 = last.query_row([run], |row| row.get(0))?;
        insert_tasks(self.ledger, run, first, tasks)?;
        self.transition(run, None, "tasks_added").map(drop)
    }

    /// A run that is over stays so when its kept work lands later.
    pub(super) fn landing_started(&self, id: RunId) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.move_run(run, &[RunState::Running], RunState::Landing)?;
        self.transition(run, None, "landing_started").map(drop)
    }

    pub(super) fn landing_finished(&self, id: RunId, report: &LandingReport) -> Result<(), Cause> {
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

    pub(super) fn run_finished(
        &self,
        id: RunId,
        totals: &Totals,
        code: ExitCode,
    ) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.execute(
            "UPDATE run SET state = ?2, finished = ?3, totals = ?4, exit_code = ?5
             WHERE number = ?1",
            params![run, word(&RunState::Finished)?, self.at, json(totals)?, u8::from(code)],
        )?;
        self.used(User::Run(run), totals.usage)?;
        self.transition(run, None, "run_finished").map(drop)
    }

    /// A run whose last word is in the ledger is over, even if its engine died right after it.
    pub(super) fn run_interrupted(&self, id: RunId) -> Result<(), Cause> {
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
            self.used_by_tasks(run)?;
        }
        self.transition(run, None, "run_interrupted").map(drop)
    }

    pub(super) fn run_withdrawn(&self, id: RunId) -> Result<(), Cause> {
        let run = self.run(id)?;
        self.execute("DELETE FROM run WHERE number = ?1", params![run])
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
}
