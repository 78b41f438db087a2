//! What the ledger is told, before it is done.

use serde::{Deserialize, Serialize};

use crate::{
    Captured, ExitCode, LandingId, LandingReport, RunId, TaskId, TaskReport, TaskSpec, Totals,
    Usage,
};

/// One transition of a run or a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LedgerEntry {
    /// Tasks were added to a run that goes on; they are queued after those it had.
    TasksAdded {
        /// To which.
        run: RunId,
        /// The task that added them, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<TaskId>,
        /// What is asked of them.
        tasks: Vec<TaskSpec>,
    },
    /// A task got its permit.
    TaskStarted {
        /// Whose.
        run: RunId,
        /// Which.
        task: TaskId,
        /// Counts from 1.
        attempt: u32,
    },
    /// A task's session is about to begin in its workspace.
    SessionStarted {
        /// Which.
        task: TaskId,
        /// Counts from 1.
        attempt: u32,
        /// Where the workspace is.
        workspace: String,
    },
    /// A task's work is in the task store; its workspace may go now.
    TaskCaptured {
        /// Which.
        task: TaskId,
        /// Counts from 1.
        attempt: u32,
        /// Where and how much.
        captured: Captured,
    },
    /// What the models of a task had used when its engine died, as its session log has it.
    TaskUsed {
        /// Which.
        task: TaskId,
        /// How much.
        usage: Usage,
    },
    /// A task ended.
    TaskFinished {
        /// Which.
        task: TaskId,
        /// How.
        report: TaskReport,
    },
    /// The run's landing is about to begin.
    LandingStarted {
        /// Whose.
        run: RunId,
        /// Which landing; nothing in ledgers that were written before landings had ids.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<LandingId>,
    },
    /// The run's landing is over.
    LandingFinished {
        /// Whose.
        run: RunId,
        /// Which landing; nothing where that is not known any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<LandingId>,
        /// What became of each task's work.
        report: LandingReport,
    },
    /// The run is over.
    RunFinished {
        /// Which.
        run: RunId,
        /// What it came to.
        totals: Totals,
        /// How the program ends.
        exit_code: ExitCode,
    },
    /// It could not be started after all; nothing of it stays in the ledger.
    RunWithdrawn {
        /// Which.
        run: RunId,
    },
    /// Its engine died before it was over; what it left was captured later.
    RunInterrupted {
        /// Which.
        run: RunId,
    },
    /// Someone threw the captured work of a task away.
    TaskDiscarded {
        /// Which.
        task: TaskId,
    },
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// An engine is at it, or died at it.
    Running,
    /// It is landing.
    Landing,
    /// It is over.
    Finished,
    /// Its engine died.
    Interrupted,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for a permit or for predecessors.
    Queued,
    /// Has a permit.
    Running,
    /// Ended well.
    Done,
    /// Failed.
    Failed,
    /// Was cancelled.
    Cancelled,
    /// Its engine died before it ended.
    Interrupted,
}
