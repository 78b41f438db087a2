//! The inputs and effects of the state machine of a run.

use protocol::{CaptureRef, Captured, EventKind, LedgerEntry, TaskId, TaskName, TaskReport};

use super::WaitsFor;
use crate::exit_code::Interruption;
use crate::ports::{CancelLevel, LandingRequest, Notice};
use crate::schedule::{QueuedTask, RefusedTask, TaskEnd};

/// An input to the state machine of a run.
#[derive(Debug)]
pub enum Input {
    /// Starts the run. It comes first and exactly once, with the notices to show to the user.
    Begin(Vec<Notice>),
    /// The schedule gave this task a permit.
    Admitted(TaskId),
    /// The schedule will never admit this task.
    Refused(RefusedTask),
    /// The schedule returned the permit that this task had lent.
    PermitReturned(TaskId),
    /// Cancels the run.
    Cancel(CancelLevel, Interruption),
    /// A task waits for something that is not its work.
    Waits(TaskId, WaitsFor),
    /// A task does not wait for one of these things any more.
    WaitEnded(TaskId, WaitsFor),
    /// The work of a started task has ended, and nothing of it runs any more. It is captured next.
    WorkEnded(TaskId),
    /// A started task has ended.
    TaskEnded(TaskId, Box<TaskReport>),
    /// An entry of this run is durable. Entries of its tasks are included. They come in the order
    /// of the ledger.
    Recorded(LedgerEntry),
    /// An entry was not written, because the ledger is gone and the engine is closing. The machine
    /// completes the started work and starts nothing new.
    NotRecorded(LedgerEntry),
    /// The landing of [`Effect::Land`](super::Effect::Land) crashed. Other ends of the landing
    /// arrive as entries.
    LandingCrashed(String),
    /// The answer to [`Effect::ReleaseWorkspaces`](super::Effect::ReleaseWorkspaces).
    WorkspacesReleased {
        /// Captures made after the end of their task.
        late: Vec<(TaskName, Captured)>,
        /// The duration of the run in milliseconds.
        ms: u64,
    },
    /// The answer to [`Effect::Close`](super::Effect::Close).
    Closed,
}

/// An effect that the state machine of a run asks for.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Write an entry to the ledger.
    Record(LedgerEntry),
    /// Publish an event.
    Announce(EventKind),
    /// Add tasks to the schedule.
    Enqueue(Vec<QueuedTask>),
    /// Remove a task from the schedule.
    Dequeue(TaskId, TaskEnd),
    /// Lend the permit of a task to the schedule.
    LendPermit(TaskId),
    /// Request the permit of a task back from the schedule.
    ReclaimPermit(TaskId),
    /// Give the permit of a task whose work has ended to another task.
    ReleasePermit(TaskId),
    /// Let a task go on whose question is closed: it has its permit.
    Continue(TaskId),
    /// Start a task.
    StartTask {
        /// The task.
        task: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The captures on which its workspace is based, in order.
        predecessors: Vec<(TaskName, CaptureRef)>,
    },
    /// Cancel a running task.
    CancelTask(TaskId, CancelLevel),
    /// Land work. The landing records its own start and end, which arrive as
    /// [`Input::Recorded`](super::Input::Recorded).
    Land(LandingRequest),
    /// Cancel the landing if it has not started to change files; otherwise let it complete.
    CancelLanding(CancelLevel),
    /// Wait until no workspace of the run is in use.
    ReleaseWorkspaces,
    /// Release the workspace folder of the run, after the end of the run is in the ledger. If the
    /// engine dies before that, recovery learns from the folder that the run was interrupted.
    Close,
    /// The run has ended. No effect follows.
    End,
}
