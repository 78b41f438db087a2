//! Records the entries about tasks: changes to the rows of the task and of its attempt.

use protocol::{Captured, Outcome, RunId, TaskId, TaskReport, TaskState, Usage};
use rusqlite::params;

use super::{Recording, TaskKey, UsageRow, count};
use crate::columns::{json, word};
use crate::error::LedgerCause;

impl Recording<'_> {
    pub(super) fn task_started(
        &self,
        run: RunId,
        id: TaskId,
        attempt: u32,
    ) -> Result<(), LedgerCause> {
        let task = self.task(id)?;
        if task.run != self.run(run)? {
            return Err(LedgerCause::UnknownTask(id));
        }
        self.execute(
            "INSERT INTO attempt (task, attempt, started) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET started = excluded.started",
            params![task.number, attempt, self.at],
        )?;
        // The row keeps the capture of an earlier attempt until this attempt is captured. The end
        // of the earlier attempt is cleared, because the task runs again.
        self.execute(
            "UPDATE task SET state = ?2, attempt = ?3, started = coalesce(started, ?4),
             finished = NULL, ms = NULL, failure_class = NULL, failure_message = NULL, report = NULL
             WHERE number = ?1",
            params![task.number, word(&TaskState::Running)?, attempt, self.at],
        )?;
        self.write_usage(UsageRow::Task(task.number), None)?;
        self.transition(task.run, Some(task), "task_started").map(drop)
    }

    pub(super) fn session_started(
        &self,
        id: TaskId,
        attempt: u32,
        workspace: &str,
    ) -> Result<(), LedgerCause> {
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

    pub(super) fn task_captured(
        &self,
        id: TaskId,
        attempt: u32,
        captured: &Captured,
    ) -> Result<(), LedgerCause> {
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
        self.write_capture(task, captured)?;
        self.transition(task.run, Some(task), "task_captured").map(drop)
    }

    pub(super) fn task_used(&self, id: TaskId, usage: Usage) -> Result<(), LedgerCause> {
        let task = self.task(id)?;
        self.write_usage(UsageRow::Task(task.number), Some(usage))?;
        self.transition(task.run, Some(task), "task_used").map(drop)
    }

    pub(super) fn task_finished(&self, id: TaskId, report: &TaskReport) -> Result<(), LedgerCause> {
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
        self.write_usage(UsageRow::Task(task.number), report.usage)?;
        if let Some(captured) = &report.captured {
            self.write_capture(task, captured)?;
        }
        self.transition(task.run, Some(task), "task_finished").map(drop)
    }

    pub(super) fn task_discarded(&self, id: TaskId) -> Result<(), LedgerCause> {
        let task = self.task(id)?;
        self.execute(
            "UPDATE task SET discarded = ?2 WHERE number = ?1",
            params![task.number, self.at],
        )?;
        self.transition(task.run, Some(task), "task_discarded").map(drop)
    }

    /// Records a step that changes no row.
    pub(super) fn task_step(&self, id: TaskId, step: &str) -> Result<(), LedgerCause> {
        let task = self.task(id)?;
        self.transition(task.run, Some(task), step).map(drop)
    }

    /// Writes a capture to the row of the task, and clears the time at which it was discarded.
    fn write_capture(&self, task: TaskKey, captured: &Captured) -> Result<(), LedgerCause> {
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
}
