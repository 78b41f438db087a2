//! The durable state of one task, as recorded in the ledger.

use protocol::{Captured, Landed, LedgerEntry, Outcome, TaskId, TaskReport, TaskSpec, Usage};

/// The durable state of a task: the result of applying its ledger entries in order.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRecord {
    /// The specification of the task.
    pub spec: TaskSpec,
    /// The number of the last attempt; 0 before the first.
    pub attempt: u32,
    /// The path of the last workspace of that attempt. It may have been removed.
    pub workspace: Option<String>,
    /// The status of the task.
    pub status: TaskStatus,
    /// The last captured work.
    pub captured: Option<Box<Captured>>,
    /// Whether that work was discarded by the user.
    pub is_discarded: bool,
    /// The usage of the models of the task; absent while it runs, or if it asked no model.
    pub usage: Option<Box<Usage>>,
    /// The result of the last landing that included the task.
    pub landed: Option<Landed>,
}

/// The status of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskStatus {
    /// The task waits for a permit or for the tasks it depends on.
    Queued,
    /// The task has a permit.
    Running,
    /// The task has ended.
    Finished(Box<TaskReport>),
    /// The engine died before the task ended.
    Interrupted,
}

impl TaskRecord {
    /// Returns the record of a queued task.
    #[must_use]
    pub fn queued(spec: TaskSpec) -> Self {
        Self {
            spec,
            attempt: 0,
            workspace: None,
            status: TaskStatus::Queued,
            captured: None,
            is_discarded: false,
            usage: None,
            landed: None,
        }
    }

    /// Returns the report of the task, if it has ended.
    #[must_use]
    pub fn report(&self) -> Option<&TaskReport> {
        match &self.status {
            TaskStatus::Finished(report) => Some(report),
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Interrupted => None,
        }
    }

    /// Returns whether the task has succeeded.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.report().is_some_and(|report| matches!(report.outcome, Outcome::Done { .. }))
    }

    /// Returns the captured work, if it changes anything.
    #[must_use]
    pub fn changes(&self) -> Option<&Captured> {
        self.captured.as_deref().filter(|captured| captured.changes.files > 0)
    }

    /// Applies one entry. An entry of another task or of a run changes nothing.
    pub fn apply(&mut self, entry: &LedgerEntry) {
        if task_of(entry) != Some(self.spec.id) {
            return;
        }
        match entry {
            LedgerEntry::TaskStarted { attempt, .. } => {
                if self.attempt != *attempt {
                    self.workspace = None;
                }
                self.attempt = *attempt;
                self.status = TaskStatus::Running;
                self.usage = None;
            }
            LedgerEntry::SessionStarted { attempt, workspace, .. } => {
                if self.attempt == *attempt {
                    self.workspace = Some(workspace.clone());
                }
            }
            LedgerEntry::TaskCaptured { captured, .. } => self.keep(captured),
            LedgerEntry::TaskUsed { usage, .. } => {
                self.usage = Some(Box::new(*usage));
                // What is used after the end of the task counts as well.
                if let TaskStatus::Finished(report) = &mut self.status {
                    report.usage = Some(*usage);
                }
            }
            LedgerEntry::TaskFinished { report, .. } => {
                if let Some(captured) = &report.captured {
                    self.keep(captured);
                }
                self.usage = report.usage.map(Box::new);
                self.status = TaskStatus::Finished(report.clone());
            }
            LedgerEntry::TaskDiscarded { .. } => self.is_discarded = true,
            LedgerEntry::TaskCollected { .. }
            | LedgerEntry::ResolverFailed { .. }
            | LedgerEntry::WorkVerified { .. }
            | LedgerEntry::LandingStarted { .. }
            | LedgerEntry::LandingFinished { .. }
            | LedgerEntry::RunFinished { .. }
            | LedgerEntry::RunWithdrawn { .. }
            | LedgerEntry::RunInterrupted { .. } => {}
        }
    }

    /// Marks the task as interrupted, unless it has ended.
    pub(crate) fn interrupt(&mut self) {
        match self.status {
            TaskStatus::Queued | TaskStatus::Running => self.status = TaskStatus::Interrupted,
            TaskStatus::Finished(_) | TaskStatus::Interrupted => {}
        }
    }

    fn keep(&mut self, captured: &Captured) {
        self.captured = Some(Box::new(captured.clone()));
        self.is_discarded = false;
    }
}

/// Returns the task to which an entry belongs, if any.
pub(crate) fn task_of(entry: &LedgerEntry) -> Option<TaskId> {
    match entry {
        LedgerEntry::TaskStarted { task, .. }
        | LedgerEntry::SessionStarted { task, .. }
        | LedgerEntry::TaskCaptured { task, .. }
        | LedgerEntry::TaskUsed { task, .. }
        | LedgerEntry::TaskFinished { task, .. }
        | LedgerEntry::TaskDiscarded { task }
        | LedgerEntry::ResolverFailed { task, .. }
        | LedgerEntry::TaskCollected { task } => Some(*task),
        LedgerEntry::WorkVerified { .. }
        | LedgerEntry::LandingStarted { .. }
        | LedgerEntry::LandingFinished { .. }
        | LedgerEntry::RunFinished { .. }
        | LedgerEntry::RunWithdrawn { .. }
        | LedgerEntry::RunInterrupted { .. } => None,
    }
}
