//! What a run asks of the outside world.

use protocol::{CaptureRef, EventKind, LedgerEntry, TaskId, TaskName};

use super::{RequestId, WaitError, WaitedFor};
use crate::ports::{CancelLevel, LandingRequest};
use crate::run::AddTasksError;
use crate::schedule::{Entry, Left};

/// Something a run asks of the outside world.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Write an entry to the ledger.
    Record(LedgerEntry),
    /// Tell whoever listens.
    Announce(EventKind),
    /// Put tasks into the schedule.
    Enqueue(Vec<Entry>),
    /// Take a task out of the schedule.
    Leave(TaskId, Left),
    /// Lend the permit of a task to others.
    Lend(TaskId),
    /// Get the permit of a task back.
    TakeBack(TaskId),
    /// Start a task.
    StartTask {
        /// Which.
        task: TaskId,
        /// Counts from 1.
        attempt: u32,
        /// The captures that its workspace builds on, in their order.
        predecessors: Vec<(TaskName, CaptureRef)>,
    },
    /// Have a running task stop.
    CancelTask(TaskId, CancelLevel),
    /// Answers [`Input::AddTasks`](super::Input::AddTasks).
    AnswerAddTasks(RequestId, Result<Vec<TaskId>, AddTasksError>),
    /// Answers [`Input::AwaitChildren`](super::Input::AwaitChildren).
    AnswerAwaitChildren(RequestId, Result<Vec<WaitedFor>, WaitError>),
    /// Land work. Its begin and its end are recorded by who does it, and arrive as
    /// [`Input::Recorded`](super::Input::Recorded).
    Land(LandingRequest),
    /// Nothing is to land any more; what is in the middle of it is seen through.
    CancelLanding,
    /// Wait until none of the run's workspaces is in use.
    Settle,
    /// Give up the claim on the run's workspaces. The ledger has the end of the run by now, so that
    /// a run whose engine dies before is known by what it left.
    Close,
    /// Nothing follows.
    End,
}
