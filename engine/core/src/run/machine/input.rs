//! What the outside world tells a run.

use protocol::{Captured, LedgerEntry, TaskId, TaskName, TaskReport, TaskSpec};

use super::RequestId;
use crate::ports::{CancelLevel, Notice};
use crate::schedule::Refused;
use crate::verdict::Interruption;

/// Something the outside world tells a run.
#[derive(Debug)]
pub enum Input {
    /// Comes first, and once, with what people should know before it begins.
    Begin(Vec<Notice>),
    /// The schedule has room for this task.
    Admitted(TaskId),
    /// The schedule will never admit this task.
    Refused(Refused),
    /// The schedule gives back the permit that this task had lent.
    Resumed(TaskId),
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
    /// Answers [`Effect::Settle`](super::Effect::Settle).
    Settled {
        /// Work that came to light after its task had ended.
        late: Vec<(TaskName, Captured)>,
        /// How long the run has taken.
        ms: u64,
    },
    /// Answers [`Effect::Close`](super::Effect::Close).
    Closed,
}
