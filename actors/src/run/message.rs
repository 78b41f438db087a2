//! What a run is given, what it is told, and what it asks of the schedule.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, Gate, LandingNews, Notice};
use engine::run::{AddTasksError, FinishedChild, WaitError};
use engine::schedule::{QueuedTask, RefusedTask, TaskEnd};
use protocol::{EventKind, LedgerEntry, RunId, RunName, RunSpec, TaskId, TaskSpec};
use ractor::{ActorRef, RpcReplyPort};

use crate::ask::{Durability, Receipt, Teller};
use crate::contracts::Contracts;
use crate::deps::Deps;
use crate::events::EventBus;
use crate::executors::ExecutorsMessage;
use crate::isolation::{RepositoryMessage, SettledRun};
use crate::jobs::Panicked;
use crate::ledger::LedgerMessage;

pub(crate) struct RunArguments {
    pub(crate) name: RunName,
    pub(crate) spec: RunSpec,
    pub(crate) contracts: Contracts,
    /// What people should know before it begins.
    pub(crate) notices: Vec<Notice>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Deps,
    pub(crate) events: EventBus,
    pub(crate) schedule: Teller<ScheduleRequest>,
}

/// What a run asks of the engine's schedule.
pub(crate) enum ScheduleRequest {
    Enqueue(Vec<QueuedTask>),
    Leave(RunId, TaskId, TaskEnd),
    Lend(TaskId),
    TakeBack(TaskId),
    Over(RunId),
}

/// What is asked of a run that goes on.
pub(crate) enum RunRequest {
    AddTasks { parent: Option<TaskId>, tasks: Vec<TaskSpec>, reply: AddTasksReply },
    AwaitChildren { parent: TaskId, reply: AwaitChildrenReply },
}

pub(crate) type AddTasksReply = RpcReplyPort<Result<Vec<TaskId>, AddTasksError>>;
pub(crate) type AwaitChildrenReply = RpcReplyPort<Result<Vec<FinishedChild>, WaitError>>;

/// Tasks that are to be added, and what their schemas came to.
pub(crate) struct CheckedTasks {
    pub(crate) parent: Option<TaskId>,
    pub(crate) tasks: Vec<TaskSpec>,
    pub(crate) contracts: Result<Contracts, AddTasksError>,
    pub(crate) reply: AddTasksReply,
}

pub(crate) enum RunMessage {
    /// Comes first, and once.
    Begin,
    /// The schedule has room for this task.
    Admitted(TaskId),
    /// The schedule gives this task back the permit it had lent.
    Resumed(TaskId),
    /// The schedule will never admit this task.
    Refused(RefusedTask),
    /// Someone no longer wants the run.
    Cancel(CancelLevel, Interruption),
    Request(Box<RunRequest>),
    /// Sent by the check of tasks that are to be added; nobody else sends it.
    Checked(Box<CheckedTasks>),
    /// Something happened to a task.
    News(EventKind),
    /// A task has an entry written.
    Record(LedgerEntry, Receipt),
    /// An entry is in the ledger, or the ledger is gone. A task may wait for it.
    Recorded(Box<LedgerEntry>, Durability, Option<Receipt>),
    /// Something happened to the landing.
    LandingNews(LandingNews),
    /// Whoever was landing is done, or has panicked. The entries say how it ended.
    Landed(Result<(), Panicked>),
    Settled(Option<SettledRun>),
    /// The claim on the run's workspaces is given up.
    Closed,
}
