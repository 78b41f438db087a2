//! What happens to a run, and what its machine asks for in answer.

use protocol::{
    CaptureRef, Captured, EventKind, LedgerEntry, TaskId, TaskName, TaskReport, TaskSpec,
};

use super::{FinishedChild, RequestId, WaitError};
use crate::exit_code::Interruption;
use crate::ports::{CancelLevel, LandingRequest, Notice};
use crate::run::AddTasksError;
use crate::schedule::{QueuedTask, RefusedTask, TaskEnd};

/// Something the outside world tells a run.
#[derive(Debug)]
pub enum Input {
    /// Comes first, and once, with what people should know before it begins.
    Begin(Vec<Notice>),
    /// The schedule has room for this task.
    Admitted(TaskId),
    /// The schedule will never admit this task.
    Refused(RefusedTask),
    /// The schedule gives back the permit that this task had lent.
    PermitReturned(TaskId),
    /// Someone no longer wants the run.
    Cancel(CancelLevel, Interruption),
    /// Someone adds tasks.
    AddTasks {
        /// Named in the answer.
        request: RequestId,
        /// The running task on whose behalf they are added.
        parent: Option<TaskId>,
        /// What is asked of them.
        tasks: Vec<TaskSpec>,
    },
    /// A running task waits until those it added have ended.
    AwaitChildren {
        /// Named in the answer.
        request: RequestId,
        /// The task that waits.
        parent: TaskId,
    },
    /// A task that was started is gone.
    TaskEnded(TaskId, TaskReport),
    /// An entry of this run is durable: one that was asked for, or one of a task. They come in the
    /// order in which the ledger has them.
    Recorded(LedgerEntry),
    /// An entry was not written, because the ledger is gone and the engine is closing. What was
    /// begun is seen through all the same, and nothing new begins.
    NotRecorded(LedgerEntry),
    /// What [`Effect::Land`](super::Effect::Land) asked for crashed. Otherwise its end is an entry.
    LandingCrashed(String),
    /// Answers [`Effect::ReleaseWorkspaces`](super::Effect::ReleaseWorkspaces).
    WorkspacesReleased {
        /// Work that came to light after its task had ended.
        late: Vec<(TaskName, Captured)>,
        /// How long the run has taken.
        ms: u64,
    },
    /// Answers [`Effect::Close`](super::Effect::Close).
    Closed,
}

/// Something a run asks of the outside world.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Write an entry to the ledger.
    Record(LedgerEntry),
    /// Tell whoever listens.
    Announce(EventKind),
    /// Put tasks into the schedule.
    Enqueue(Vec<QueuedTask>),
    /// Take a task out of the schedule.
    Dequeue(TaskId, TaskEnd),
    /// Lend the permit of a task to others.
    LendPermit(TaskId),
    /// Get the permit of a task back.
    ReclaimPermit(TaskId),
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
    AnswerAwaitChildren(RequestId, Result<Vec<FinishedChild>, WaitError>),
    /// Land work. Its begin and its end are recorded by who does it, and arrive as
    /// [`Input::Recorded`](super::Input::Recorded).
    Land(LandingRequest),
    /// Nothing is to land any more; what is in the middle of it is seen through.
    CancelLanding,
    /// Wait until none of the run's workspaces is in use.
    ReleaseWorkspaces,
    /// Give up the claim on the run's workspaces. The ledger has the end of the run by now, so that
    /// a run whose engine dies before is known by what it left.
    Close,
    /// Nothing follows.
    End,
}
