//! What the ledger has of one task: the part of it that survives the engine.

use protocol::{Captured, Landed, LedgerEntry, Outcome, TaskId, TaskReport, TaskSpec, Usage};

/// The durable part of a task: the fold of its ledger entries.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRecord {
    /// What is asked of it.
    pub spec: TaskSpec,
    /// The task that added it, if one did.
    pub parent: Option<TaskId>,
    /// The number of its last attempt; 0 before the first.
    pub attempt: u32,
    /// Where the last workspace of that attempt was made; it may be gone.
    pub workspace: Option<String>,
    /// Where it stands.
    pub status: TaskStatus,
    /// The last work of it that is in the task store.
    pub captured: Option<Captured>,
    /// Whether that work was thrown away since.
    pub is_discarded: bool,
    /// What its models used; nothing where none was asked, or as long as it runs.
    pub usage: Option<Usage>,
    /// What the last landing that it was part of made of its work.
    pub landed: Option<Landed>,
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskStatus {
    /// It waits for a permit or for predecessors.
    Queued,
    /// It has a permit.
    Running,
    /// It has ended.
    Finished(Box<TaskReport>),
    /// Its engine died before it ended.
    Interrupted,
}

impl TaskRecord {
    /// Returns the record of a task that is queued.
    #[must_use]
    pub fn queued(spec: TaskSpec, parent: Option<TaskId>) -> Self {
        Self {
            spec,
            parent,
            attempt: 0,
            workspace: None,
            status: TaskStatus::Queued,
            captured: None,
            is_discarded: false,
            usage: None,
            landed: None,
        }
    }

    /// Returns how it ended, if it has.
    #[must_use]
    pub fn report(&self) -> Option<&TaskReport> {
        match &self.status {
            TaskStatus::Finished(report) => Some(report),
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Interrupted => None,
        }
    }

    /// Returns whether it has ended as it should.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.report().is_some_and(|report| matches!(report.outcome, Outcome::Done { .. }))
    }

    /// Returns its work, if it changed anything.
    #[must_use]
    pub fn changes(&self) -> Option<&Captured> {
        self.captured.as_ref().filter(|captured| captured.changes.files > 0)
    }

    /// Adds one entry. An entry that concerns another task or a run changes nothing.
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
            LedgerEntry::TaskUsed { usage, .. } => self.usage = Some(*usage),
            LedgerEntry::TaskFinished { report, .. } => {
                if let Some(captured) = &report.captured {
                    self.keep(captured);
                }
                self.usage = report.usage;
                self.status = TaskStatus::Finished(Box::new(report.clone()));
            }
            LedgerEntry::TaskDiscarded { .. } => self.is_discarded = true,
            LedgerEntry::TasksAdded { .. }
            | LedgerEntry::LandingStarted { .. }
            | LedgerEntry::LandingFinished { .. }
            | LedgerEntry::RunFinished { .. }
            | LedgerEntry::RunWithdrawn { .. }
            | LedgerEntry::RunInterrupted { .. } => {}
        }
    }

    /// Notes that its engine died, unless it had ended before.
    pub(crate) fn interrupt(&mut self) {
        match self.status {
            TaskStatus::Queued | TaskStatus::Running => self.status = TaskStatus::Interrupted,
            TaskStatus::Finished(_) | TaskStatus::Interrupted => {}
        }
    }

    fn keep(&mut self, captured: &Captured) {
        self.captured = Some(captured.clone());
        self.is_discarded = false;
    }
}

/// Returns the task that an entry concerns, where it concerns one.
pub(crate) fn task_of(entry: &LedgerEntry) -> Option<TaskId> {
    match entry {
        LedgerEntry::TaskStarted { task, .. }
        | LedgerEntry::SessionStarted { task, .. }
        | LedgerEntry::TaskCaptured { task, .. }
        | LedgerEntry::TaskUsed { task, .. }
        | LedgerEntry::TaskFinished { task, .. }
        | LedgerEntry::TaskDiscarded { task } => Some(*task),
        LedgerEntry::TasksAdded { .. }
        | LedgerEntry::LandingStarted { .. }
        | LedgerEntry::LandingFinished { .. }
        | LedgerEntry::RunFinished { .. }
        | LedgerEntry::RunWithdrawn { .. }
        | LedgerEntry::RunInterrupted { .. } => None,
    }
}
