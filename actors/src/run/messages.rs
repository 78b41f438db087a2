//! The arguments and messages of a run's actor, and its requests to the schedule.

use std::sync::Arc;
use std::time::Duration;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, Gate, LandingNotice, Notice};
use engine::prompt::SystemPrompt;
use engine::schedule::{QueuedTask, RefusedTask, TaskEnd};
use protocol::{EventKind, LedgerEntry, QuestionId, RunId, RunName, RunSpec, TaskId};
use ractor::{ActorRef, RpcReplyPort};

use super::verifier::WorkVerifier;
use crate::contracts::Contracts;
use crate::deps::Deps;
use crate::events::EventBus;
use crate::executors::{Answerer, ChosenMode, ExecutorsMessage};
use crate::isolation::{RepositoryMessage, SettledRun};
use crate::jobs::Panicked;
use crate::ledger::LedgerMessage;
use crate::messaging::{Durability, Notifier, Receipt};
use crate::sessions::AnswerError;
use crate::task::{ConversationRequest, TaskWait};

pub(crate) struct RunArguments {
    pub(crate) name: RunName,
    pub(crate) spec: RunSpec,
    pub(crate) contracts: Contracts,
    /// Notices for the user, announced when the run begins.
    pub(crate) notices: Vec<Notice>,
    /// What the system prompts of its tasks are made of.
    pub(crate) prompt: Arc<SystemPrompt>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Arc<Deps>,
    pub(crate) events: EventBus,
    pub(crate) schedule: Notifier<ScheduleRequest>,
    /// Who answers the questions of its tasks.
    pub(crate) answerer: Answerer,
    /// The mode to which a person changes.
    pub(crate) mode: ChosenMode,
}

/// A request of a run to the engine's schedule.
pub(crate) enum ScheduleRequest {
    Enqueue(Vec<QueuedTask>),
    Leave(RunId, TaskId, TaskEnd),
    Lend(TaskId),
    /// The work of this task has ended, and another may run while it is captured.
    WorkEnded(TaskId),
    TakeBack(TaskId),
    Over(RunId),
}

/// A request to a running run.
pub(crate) enum RunRequest {
    Conversation(TaskId, ConversationRequest),
    /// A person answers a question with the choice of this id.
    Answer(QuestionId, String, RpcReplyPort<Result<(), AnswerError>>),
}

/// The end of a landing. The ledger entries hold its result.
pub(crate) struct EndedLanding {
    /// How long the landing took.
    pub(super) landing: Duration,
    /// How long the verification took, if there was one.
    pub(super) verification: Option<Duration>,
    /// What verifies the next landing.
    pub(super) verifier: Option<WorkVerifier>,
}

pub(crate) enum RunMessage {
    /// Begins the run. The first message, sent once.
    Begin,
    /// The schedule admits this task.
    Admitted(TaskId),
    /// The schedule returns the permit that this task had lent.
    Resumed(TaskId),
    /// The schedule will never admit this task.
    Refused(RefusedTask),
    /// Cancels the run.
    Cancel(CancelLevel, Interruption),
    Request(Box<RunRequest>),
    /// A task asks a person.
    Wait(TaskId, TaskWait),
    /// The work of this task has ended, and nothing of it runs any more.
    WorkEnded(TaskId),
    /// An event of a task.
    TaskEvent(EventKind),
    /// Writes an entry of a task to the ledger.
    Record(LedgerEntry, Receipt),
    /// An entry is durable, or the ledger is gone. Contains the receipt of the task that waits for
    /// the entry, if there is one.
    Recorded(Box<LedgerEntry>, Durability, Option<Receipt>),
    /// A notice of the landing.
    LandingNotice(LandingNotice),
    /// The landing job ended or panicked. The ledger entries hold the result.
    Landed(Result<Box<EndedLanding>, Panicked>),
    Settled(Option<SettledRun>),
    /// The lock on the run's workspaces is released.
    Closed,
}
