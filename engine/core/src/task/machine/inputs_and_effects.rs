//! The inputs and effects of the state machine of a task.

use std::time::{Duration, Instant};

use protocol::{AgentEnd, Captured, Failure, LedgerEntry, Outcome};

use crate::ports::{CancelLevel, Workspace};
use crate::task::Reminder;

/// An input to the state machine of a task.
#[derive(Debug)]
pub enum Input {
    /// The answer to [`Effect::Prepare`].
    Prepared(Result<Workspace, Failure>),
    /// An entry of this task is durable.
    Recorded(LedgerEntry),
    /// An entry was not written, because the ledger is gone and the engine is closing.
    NotRecorded(LedgerEntry),
    /// The answer to [`Effect::LeaseExecutor`].
    ExecutorLeased,
    /// The answer to [`Effect::LeaseExecutor`] if no executor is available.
    ExecutorUnavailable,
    /// The answer to [`Effect::SetUp`].
    SetupEnded(Result<(), Failure>),
    /// The worker ended.
    WorkerEnded(AgentEnd),
    /// The worker crashed.
    WorkerCrashed {
        /// The message of the panic.
        message: String,
        /// The time of the crash.
        at: Instant,
    },
    /// Something other than this task stopped the worker, so that the worker reports no end.
    WorkerStopped,
    /// The answer to [`Effect::CleanUpWorker`].
    CleanedUp,
    /// The answer to [`Effect::CleanUpWorker`] if processes may still run.
    NotCleanedUp,
    /// The answer to [`Effect::Seal`].
    Sealed,
    /// The answer to [`Effect::Seal`] if processes may still write into the workspace.
    NotSealed(Unsealed),
    /// The answer to [`Effect::Capture`]. It contains no capture if tasks work in place.
    Captured(Result<Option<Captured>, Failure>),
    /// The answer to [`Effect::Capture`] if the workspace does not exist any more.
    Vanished(Failure),
    /// The answer to [`Effect::Discard`].
    Discarded,
    /// Cancels the task.
    Cancel(CancelLevel),
    /// The answer to [`Effect::StartTimer`], and after how much time of the task.
    TimerFired(Timer, Duration),
}

/// Why processes may still write into a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealed {
    /// They did not stop in time.
    Late,
    /// So many of them could not be killed.
    Left(u32),
    /// What watches over them has died, or has lost track of them.
    Unknown,
}

/// A timer of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The wall-clock limit of the task.
    Wall,
    /// The time that a stopped worker has to end.
    StopGrace,
}

/// An effect that the state machine of a task asks for.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Prepare a workspace.
    Prepare,
    /// Write an entry to the ledger.
    Record(LedgerEntry),
    /// Lease the tool executor that runs the processes of the worker.
    LeaseExecutor,
    /// Run the set-up commands of the workspace, and make what they leave its start.
    SetUp(Workspace),
    /// Start the worker. A restarted worker continues from its log and gets the last reminder
    /// again, because the log may not contain it.
    StartWorker {
        /// The workspace.
        workspace: Workspace,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The last reminder.
        reminder: Option<Reminder>,
    },
    /// Send a reminder to the worker, whose end was not accepted.
    Remind(Reminder),
    /// Ask the worker, or the set-up, to stop.
    StopWorker(CancelLevel),
    /// Kill a worker, or a set-up, that did not stop.
    KillWorker,
    /// End the processes of a crashed worker, so that it can be restarted.
    CleanUpWorker {
        /// The message of the panic.
        error: String,
        /// The maximum duration.
        deadline: Duration,
    },
    /// Start a timer.
    StartTimer(Timer, Duration),
    /// Announce that the task is stopping.
    AnnounceStopping,
    /// Announce that the yielded value was accepted.
    AnnounceYield,
    /// Announce that the worker was reminded.
    AnnounceReminder(Reminder),
    /// Announce that the work was captured.
    AnnounceCapture(Captured),
    /// Stop everything that writes into the workspace.
    Seal {
        /// The maximum duration.
        deadline: Duration,
    },
    /// Report that the work has ended and that nothing writes into the workspace any more, so that
    /// another task may begin.
    ReportWorkEnd,
    /// Capture the changes in the workspace.
    Capture,
    /// Remove the workspace.
    Discard(Workspace),
    /// Report the end of the task. No effect follows. A workspace that was not discarded is kept.
    Finish(Outcome, Option<Captured>),
}
