//! The entries of the ledger, which durably records every transition of runs and tasks.

use serde::{Deserialize, Serialize};

use crate::{
    Captured, ExitCode, LandingId, LandingReport, ResolverFailure, RunId, TaskId, TaskReport,
    Totals, Usage, VerificationTotals,
};

/// One recorded transition of a run or a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LedgerEntry {
    /// A task got its permit.
    TaskStarted {
        /// The run of the task.
        run: RunId,
        /// The task.
        task: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// The worker of a task is about to start in its workspace.
    SessionStarted {
        /// The task.
        task: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The path of the workspace.
        workspace: String,
    },
    /// The work of a task was stored in the task store. Its workspace may be removed from now on.
    TaskCaptured {
        /// The task.
        task: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The capture.
        captured: Captured,
    },
    /// The usage of a task whose engine died, read from its session log afterwards.
    TaskUsed {
        /// The task.
        task: TaskId,
        /// The tokens and money used.
        usage: Usage,
    },
    /// A task has finished.
    TaskFinished {
        /// The task.
        task: TaskId,
        /// How the task ended, and what it changed.
        report: Box<TaskReport>,
    },
    /// The work of the run was verified, and what has passed is about to land.
    WorkVerified {
        /// The run.
        run: RunId,
        /// The verifications.
        totals: VerificationTotals,
    },
    /// A landing of the run's work is about to begin.
    LandingStarted {
        /// The run.
        run: RunId,
        /// The landing; absent in ledgers that were written before landings had ids.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<LandingId>,
    },
    /// A landing of the run's work is over.
    LandingFinished {
        /// The run.
        run: RunId,
        /// The landing; absent if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landing: Option<LandingId>,
        /// The result for each task.
        report: LandingReport,
    },
    /// The run is over.
    RunFinished {
        /// The run.
        run: RunId,
        /// The totals of the run.
        totals: Totals,
        /// The exit code of the program.
        exit_code: ExitCode,
    },
    /// The run could not be started. It is removed from the ledger.
    RunWithdrawn {
        /// The run.
        run: RunId,
    },
    /// The engine of the run died, and the work that it left was captured afterwards.
    RunInterrupted {
        /// The run.
        run: RunId,
    },
    /// The user discarded the captured work of a task.
    TaskDiscarded {
        /// The task.
        task: TaskId,
    },
    /// A resolver has not settled a conflict of a task.
    ResolverFailed {
        /// The task.
        task: TaskId,
        /// The conflict, the resolver, and the reason.
        failure: ResolverFailure,
    },
    /// The captures, logs and outputs of a task, whose work had landed or was discarded, are removed
    /// because of their age or size.
    TaskCollected {
        /// The task.
        task: TaskId,
    },
}

/// The state of a run in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run is not over. Its engine is working or has died.
    Running,
    /// The run is landing.
    Landing,
    /// The run is over.
    Finished,
    /// The engine of the run died before the run was over.
    Interrupted,
}

/// The state of a task in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// The task waits for a permit or for the tasks it depends on.
    Queued,
    /// The task has a permit.
    Running,
    /// The task succeeded.
    Done,
    /// The task failed.
    Failed,
    /// The task was cancelled.
    Cancelled,
    /// The engine of the task died before the task ended.
    Interrupted,
}
