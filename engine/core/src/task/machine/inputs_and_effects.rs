//! What the outside world tells a task, and what a task asks of it.

use std::time::{Duration, Instant};

use protocol::{AgentEnd, Captured, Failure, LedgerEntry, Outcome};

use crate::ports::{CancelLevel, Workspace};
use crate::task::Reminder;

/// Something the outside world tells a task.
#[derive(Debug)]
pub enum Input {
    /// Answers [`Effect::Prepare`].
    Prepared(Result<Workspace, Failure>),
    /// An entry of this task is durable.
    Recorded(LedgerEntry),
    /// An entry was not written, because the ledger is gone and the engine is closing.
    NotRecorded(LedgerEntry),
    /// Answers [`Effect::LeaseExecutor`].
    ExecutorLeased,
    /// Answers [`Effect::LeaseExecutor`]: it cannot be had.
    ExecutorUnavailable,
    /// The worker ended by itself.
    WorkerEnded(AgentEnd),
    /// The worker crashed.
    WorkerCrashed {
        /// What it said.
        message: String,
        /// When.
        at: Instant,
    },
    /// The worker is gone without a word.
    WorkerStopped,
    /// Answers [`Effect::CleanUpWorker`].
    CleanedUp,
    /// Answers [`Effect::CleanUpWorker`]: something did not stop in time.
    NotCleanedUp,
    /// Answers [`Effect::Seal`].
    Sealed,
    /// Answers [`Effect::Seal`]: what writes did not stop in time.
    NotSealed,
    /// Answers [`Effect::Capture`]. Nothing where there is nothing to capture into.
    Captured(Result<Option<Captured>, Failure>),
    /// Answers [`Effect::Capture`] where the workspace is not there any more.
    Vanished(Failure),
    /// Answers [`Effect::Discard`].
    Discarded,
    /// Someone wants the task to stop.
    Cancel(CancelLevel),
    /// Answers [`Effect::StartTimer`].
    TimerFired(Timer),
}

/// A deadline of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The task has run as long as it may.
    Wall,
    /// A worker that was told to stop has had the grace period for what it started, and a moment for
    /// itself.
    StopGrace,
}

/// Something a task asks of the outside world.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Prepare a workspace.
    Prepare,
    /// Write an entry to the ledger.
    Record(LedgerEntry),
    /// Get what a worker needs beside the workspace.
    LeaseExecutor,
    /// Start the worker. One that is started again goes on from its log, and may have missed the
    /// reminder.
    StartWorker {
        /// Where it works.
        workspace: Workspace,
        /// Counts from 1.
        attempt: u32,
        /// What was wrong with its last end.
        reminder: Option<Reminder>,
    },
    /// Have the worker go on, because its end was not accepted.
    Remind(Reminder),
    /// Have the worker stop.
    StopWorker(CancelLevel),
    /// End a worker that did not stop.
    KillWorker,
    /// End what a crashed worker started, so that it can be started again.
    CleanUpWorker {
        /// What it said when it crashed.
        error: String,
        /// How long that may take.
        deadline: Duration,
    },
    /// Say later that this much time has passed.
    StartTimer(Timer, Duration),
    /// Tell whoever listens that the task is stopping.
    AnnounceStopping,
    /// Tell whoever listens that the contract accepted a yield.
    AnnounceYield,
    /// Tell whoever listens that the contract asked again.
    AnnounceReminder(Reminder),
    /// Tell whoever listens that the work is in the task store.
    AnnounceCapture(Captured),
    /// See to it that nothing writes into the workspace any more.
    Seal {
        /// How long that may take.
        deadline: Duration,
    },
    /// Capture the changes in the workspace.
    Capture,
    /// Remove the workspace.
    Discard(Workspace),
    /// Report the end; nothing follows. A workspace that was not removed stays where it is.
    Finish(Outcome, Option<Captured>),
}
