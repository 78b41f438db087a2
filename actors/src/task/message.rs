//! What a task is given, and what it is told.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{CancelLevel, Gate, IsolationError, WorkerReport};
use engine::task::{TaskRecord, Timer, YieldContract};
use protocol::{
    AgentEnd, CaptureRef, Captured, EventKind, LedgerEntry, RunName, TaskName, TaskSpec,
};
use ractor::ActorRef;

use crate::ask::{Durability, NoAnswer, Receipt, Teller};
use crate::deps::Deps;
use crate::executors::{ExecutorLease, ExecutorsMessage};
use crate::isolation::{Lease, RepositoryMessage};
use crate::jobs::Panicked;

pub(crate) struct TaskArguments {
    pub(crate) spec: TaskSpec,
    /// What the ledger has of it.
    pub(crate) record: TaskRecord,
    pub(crate) contract: YieldContract,
    pub(crate) run: RunFacts,
    /// The captures of its predecessors, in the order in which they build on each other.
    pub(crate) predecessors: Vec<(TaskName, CaptureRef)>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    /// Has the run write an entry.
    pub(crate) ledger: Teller<(LedgerEntry, Receipt)>,
    pub(crate) deps: Deps,
    pub(crate) news: Teller<EventKind>,
}

/// What the tasks of a run need to know about it.
#[derive(Clone)]
pub(crate) struct RunFacts {
    pub(crate) name: RunName,
    pub(crate) repo: PathBuf,
    pub(crate) subfolder: PathBuf,
}

pub(crate) enum TaskMessage {
    /// Asked by anyone who no longer wants the result.
    Cancel(CancelLevel),
    Prepared(Option<Result<Lease, IsolationError>>),
    /// An entry is in the ledger, or the ledger is gone.
    Recorded(Box<LedgerEntry>, Durability),
    Leased(Option<ExecutorLease>),
    /// Nothing of the crashed session runs any more, and it may be started again; or something of
    /// it could not be stopped.
    Cleared(Result<(), NoAnswer>),
    WorkerEnded(Result<AgentEnd, Panicked>),
    /// A worker that did not stop is dropped.
    WorkerKilled,
    TimerFired(Timer),
    Sealed(Result<(), NoAnswer>),
    Captured(Option<Result<Option<Captured>, IsolationError>>),
    Discarded,
    News(WorkerReport),
    /// It is time to say again what the task is doing.
    ProgressDue,
}
