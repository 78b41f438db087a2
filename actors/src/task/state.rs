//! A task's actor: its arguments, its messages and its state.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{
    CancelLevel, Gate, InputFiles, IsolationError, OwnerEnd, VariableChoice, WorkerReport,
};
use engine::prompt::SystemPrompt;
use engine::task::{
    Effect, Input, SetupPolicy, TaskMachine, TaskRecord, Timer, Unsealed, WorkerPolicy,
    YieldContract,
};
use protocol::{
    AgentEnd, CaptureRef, Captured, EventKind, Failure, LedgerEntry, RunId, RunName, TaskName,
    TaskReport, TaskSpec, TaskTimings, WorkspaceKind, WorkspaceNeeds,
};
use ractor::ActorRef;
use tokio::time::Instant;

use super::agent_activity::AgentActivity;
use super::phase_clock::PhaseClock;
use super::setup_progress::SetupProgress;
use super::task_wait::TaskWait;
use crate::contracts;
use crate::deps::Deps;
use crate::executors::{Answerer, ChosenMode, ExecutorLease, ExecutorsMessage};
use crate::gates::WaitClock;
use crate::isolation::{CaptureReply, Lease, RepositoryMessage, Writers};
use crate::jobs::{Jobs, Panicked};
use crate::messaging::{Durability, Notifier, Receipt};
use crate::worker::{RunningWorker, restarts};

pub(crate) struct TaskArguments {
    pub(crate) spec: TaskSpec,
    /// What its workspace needs.
    pub(crate) needs: WorkspaceNeeds,
    /// The times of its phases until now.
    pub(crate) timings: TaskTimings,
    pub(crate) contract: YieldContract,
    pub(crate) run: Arc<RunFacts>,
    /// The captures of its predecessors, in the order in which they build on each other.
    pub(crate) predecessors: Vec<(TaskName, CaptureRef)>,
    /// The yields of its predecessors as files; `None` if it has no predecessors. The files are
    /// removed with the last handle.
    pub(crate) inputs: Option<Arc<dyn InputFiles>>,
    pub(crate) repository: ActorRef<RepositoryMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    /// Sends an entry to the run, which writes it to the ledger.
    pub(crate) ledger: Notifier<(LedgerEntry, Receipt)>,
    /// Tells the run that the work has ended and that nothing of it runs any more.
    pub(crate) work_ended: Notifier<()>,
    /// Tells the run for what the task waits.
    pub(crate) waits: Notifier<TaskWait>,
    /// Who answers its questions.
    pub(crate) answerer: Answerer,
    /// The mode to which a person changes.
    pub(crate) mode: ChosenMode,
    pub(crate) deps: Arc<Deps>,
    pub(crate) events: Notifier<EventKind>,
}

impl TaskArguments {
    /// Returns the commands that set up the workspace.
    pub(super) fn setup(&self) -> &[String] {
        &self.needs.setup
    }
}

/// Facts about the run that its tasks need.
pub(crate) struct RunFacts {
    pub(crate) id: RunId,
    pub(crate) name: RunName,
    pub(crate) repo: PathBuf,
    pub(crate) subfolder: PathBuf,
    /// Whether its tasks work in copies.
    pub(crate) workspace: WorkspaceKind,
    /// What the system prompts of its tasks are made of.
    pub(crate) prompt: Arc<SystemPrompt>,
    /// Which variables of the engine its commands get.
    pub(crate) variables: VariableChoice,
}

pub(crate) enum TaskMessage {
    /// Cancels the task.
    Cancel(CancelLevel),
    Prepared(Option<Result<Lease, IsolationError>>),
    /// An entry is in the ledger, or the ledger is gone.
    Recorded(Box<LedgerEntry>, Durability),
    Leased(Option<ExecutorLease>),
    /// What is left of the processes of the crashed worker; `None` if that is not known in time.
    Cleared(Option<OwnerEnd>),
    SetupEnded(Result<Result<(), Failure>, Panicked>),
    WorkerEnded(Result<AgentEnd, Panicked>),
    /// A worker that did not stop was dropped.
    WorkerKilled,
    TimerFired(Timer),
    /// What is left of the processes; `None` if that is not known in time.
    Sealed(Option<OwnerEnd>),
    Captured(Option<Result<Option<Captured>, IsolationError>>),
    Discarded,
    Reported(WorkerReport),
    /// It waits for something that is not its work, or does not any more.
    Wait(TaskWait),
    /// The next progress event is due.
    ProgressDue,
    /// A request to the conversation that works in the workspace.
    Conversation(ConversationRequest),
}

/// A request to a conversation, while it works.
pub(crate) enum ConversationRequest {
    /// Captures the changes so far. Nothing may be writing.
    Checkpoint(CaptureReply),
    /// The conversation has ended, and nothing of it runs any more.
    End,
}

pub(crate) struct TaskState {
    pub(super) lifecycle: TaskMachine,
    /// Set once, just before the actor stops. The run reads it from the actor's last state.
    pub(super) report: Option<Box<TaskReport>>,
    pub(super) began: Instant,
    pub(super) lease: Option<Lease>,
    pub(super) writers: Writers,
    /// Why a process may be left of an executor that has ended.
    pub(super) unsealed: Option<Unsealed>,
    pub(super) executor: Option<ExecutorLease>,
    pub(super) setup: SetupProgress,
    pub(super) clock: PhaseClock,
    /// How long requests of the worker wait for provider accounts.
    pub(super) waits: WaitClock,
    /// Since when its wall-clock limit counts.
    pub(super) wall_since: Option<Instant>,
    pub(super) worker: Option<RunningWorker>,
    /// The usage and activity of a model; `None` for a command.
    pub(super) activity: Option<Box<AgentActivity>>,
    pub(super) jobs: Jobs,
    /// The tracing span of the task.
    pub(super) span: tracing::Span,
    pub(super) arguments: TaskArguments,
}

impl TaskState {
    pub(super) fn begin(mut arguments: TaskArguments, record: TaskRecord) -> (Self, Vec<Effect>) {
        let contract = std::mem::replace(&mut arguments.contract, contracts::any());
        let policy = WorkerPolicy {
            setup: match arguments.setup().is_empty() {
                true => SetupPolicy::None,
                false => SetupPolicy::Commands,
            },
            restarts: restarts(&arguments.spec.work),
            grace: arguments.deps.policy.grace,
        };
        let (lifecycle, effects) = TaskMachine::begin(record, contract, policy);
        let state = Self {
            lifecycle,
            report: None,
            began: Instant::now(),
            lease: None,
            writers: Writers::Stopped,
            unsealed: None,
            executor: None,
            setup: SetupProgress::None,
            clock: PhaseClock::new(arguments.timings),
            waits: WaitClock::start(),
            wall_since: None,
            worker: None,
            activity: AgentActivity::of(&arguments.spec.work),
            jobs: Jobs::new(&arguments.deps.faults),
            span: tracing::info_span!(
                "task",
                run = %arguments.run.name,
                task = %arguments.spec.name,
                id = %arguments.spec.id,
            ),
            arguments,
        };
        (state, effects)
    }

    /// Returns the report of the ended task and its record.
    pub(crate) fn into_end(self) -> Option<(Box<TaskReport>, TaskRecord)> {
        Some((self.report?, self.lifecycle.into_record()))
    }

    /// Feeds the machine an input, and returns what performs its effects.
    pub(super) fn step(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        input: Input,
    ) -> impl Future<Output = ()> + Send {
        self.clock.on_input(&input);
        let effects = self.lifecycle.step(input);
        self.perform(myself, effects)
    }
}
