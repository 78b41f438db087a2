//! Opens runs and holds the one schedule of the engine: its capacity, the limits of the runs, their
//! priorities and dependencies.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use engine::ports::{CancelLevel, Gate, IsolationError, LandingNews, LedgerError, Repository};
use engine::schedule::Schedule;
use engine::verdict::Interruption;
use protocol::{RunId, RunName, RunSpec, TaskName};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use crate::ask::Teller;
use crate::engine::Deps;
use crate::events::EventBus;
use crate::executors::ExecutorsMessage;
use crate::isolation::IsolatorMessage;
use crate::jobs::{Jobs, Panicked};
use crate::ledger::LedgerMessage;
use crate::run::{Run, RunArguments, RunMessage, ScheduleRequest};

mod opening;

use opening::{GivenUp, OpenedRun, Opening};

pub(crate) struct Runs;

#[derive(Clone)]
pub(crate) struct RunsArguments {
    pub(crate) isolator: ActorRef<IsolatorMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Deps,
    pub(crate) events: EventBus,
}

/// A run that is to be started.
pub struct Submission {
    /// What it is to do.
    pub spec: RunSpec,
    /// The repository it works on.
    pub repository: Arc<dyn Repository>,
    /// Told what its beginning has to wait for.
    pub news: Arc<dyn Fn(LandingNews) + Send + Sync>,
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its identity.
    pub id: RunId,
    /// The name it got.
    pub name: RunName,
}

/// Why a run was not started. Nothing of it stays.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Its working tree cannot be worked on.
    #[error(transparent)]
    Isolation(IsolationError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(LedgerError),
    /// A task's schema is none.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// It was cancelled before it had begun.
    #[error("it was cancelled before it began")]
    Cancelled(Interruption),
    /// Opening it crashed.
    #[error("opening the run crashed")]
    Crashed(#[source] Panicked),
    /// The engine is closing.
    #[error("the engine is closing")]
    Closing,
}

/// The answer to a submission.
type Answer = RpcReplyPort<Result<Submitted, SubmitError>>;

pub(crate) enum RunsMessage {
    Submit(Box<Submission>, Answer),
    /// Sent by the opening itself; nobody else sends it.
    Opened(RunId, Box<Result<OpenedRun, SubmitError>>, Answer),
    /// Nothing of a run that was opened and not wanted any more is left.
    Withdrawn(GivenUp, Answer),
    /// Asked by a run.
    Schedule(ScheduleRequest),
    /// Cancels one run.
    Cancel(RunId, CancelLevel, Interruption),
    /// Cancels everything; answers when nothing is left, then stops.
    Close(RpcReplyPort<()>),
}

pub(crate) struct RunsState {
    schedule: Schedule,
    runs: BTreeMap<RunId, ActorRef<RunMessage>>,
    jobs: Jobs,
    /// The runs that are being opened, and why one is not wanted any more.
    opening: BTreeMap<RunId, Opening>,
    /// How many submissions have no answer yet.
    unanswered: usize,
    closing: Option<RpcReplyPort<()>>,
    arguments: RunsArguments,
}

impl Actor for Runs {
    type Msg = RunsMessage;
    type State = RunsState;
    type Arguments = RunsArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(RunsState {
            schedule: Schedule::new(bound(&arguments.deps, arguments.deps.policy.capacity)),
            runs: BTreeMap::new(),
            jobs: Jobs::default(),
            opening: BTreeMap::new(),
            unanswered: 0,
            closing: None,
            arguments,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RunsMessage::Submit(_, reply) if state.closing.is_some() => {
                let _gone = reply.send(Err(SubmitError::Closing));
            }
            RunsMessage::Submit(submission, reply) => {
                state.open(&myself, *submission, reply);
                return Ok(());
            }
            RunsMessage::Opened(run, opened, reply) => {
                state.opened(&myself, run, *opened, reply).await?;
            }
            RunsMessage::Withdrawn(why, reply) => state.answer(reply, Err(why.into())),
            RunsMessage::Schedule(request) => state.take(request),
            RunsMessage::Cancel(run, how, why) => state.cancel(run, how, why),
            RunsMessage::Close(reply) => {
                state.closing = Some(reply);
                for opening in state.opening.values_mut() {
                    opening.give_up(GivenUp::Closing);
                }
                let runs: Vec<_> = state.runs.keys().copied().collect();
                for run in runs {
                    state.cancel(run, CancelLevel::Gently, Interruption::Terminate);
                }
            }
        }
        state.settle(&myself);
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, ..) => {
                state.runs.retain(|_, run| run.get_id() != child.get_id());
                state.settle(&myself);
                Ok(())
            }
            // A run that crashes cannot report its tasks any more: the engine must not go on as if.
            SupervisionEvent::ActorFailed(_run, error) => Err(error),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => Ok(()),
        }
    }
}

impl RunsState {
    async fn start(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        run: OpenedRun,
    ) -> Result<Submitted, ActorProcessingErr> {
        let submitted = Submitted { id: run.spec.id, name: run.name.clone() };
        self.schedule.open(run.spec.id, bound(&self.arguments.deps, run.spec.jobs));
        let arguments = RunArguments {
            name: run.name,
            spec: run.spec,
            contracts: run.contracts,
            notices: run.notices,
            repository: run.repository,
            executors: self.arguments.executors.clone(),
            gate: Arc::clone(&self.arguments.gate),
            ledger: self.arguments.ledger.clone(),
            deps: self.arguments.deps.clone(),
            events: self.arguments.events.clone(),
            schedule: Teller::to(myself, RunsMessage::Schedule),
        };
        let (actor, _join) = Actor::spawn_linked(None, Run, arguments, myself.get_cell()).await?;
        actor.cast(RunMessage::Begin)?;
        self.runs.insert(submitted.id, actor);
        Ok(submitted)
    }

    fn take(&mut self, request: ScheduleRequest) {
        match request {
            ScheduleRequest::Enqueue(entries) => {
                for entry in entries {
                    let run = entry.run;
                    if let Some(refused) = self.schedule.enqueue(entry) {
                        self.tell(run, RunMessage::Refused(refused));
                    }
                }
            }
            ScheduleRequest::Left(run, task, left) => {
                for refused in self.schedule.finish(task, left) {
                    self.tell(run, RunMessage::Refused(refused));
                }
            }
            ScheduleRequest::Over(run) => self.schedule.close(run),
        }
    }

    /// Cancels a run. One that is being opened is withdrawn as soon as that can be done: neither
    /// a look at the tree nor an entry of the ledger can be stopped half-way.
    fn cancel(&mut self, run: RunId, how: CancelLevel, why: Interruption) {
        if let Some(opening) = self.opening.get_mut(&run) {
            opening.give_up(GivenUp::Cancelled(why));
        }
        self.tell(run, RunMessage::Cancel(how, why));
    }

    fn tell(&self, run: RunId, message: RunMessage) {
        if let Some(run) = self.runs.get(&run) {
            let _over = run.cast(message); // a run that is over needs to be told nothing
        }
    }

    /// Admits what may run; ends what may end.
    fn settle(&mut self, myself: &ActorRef<RunsMessage>) {
        while let Some((run, task)) = self.schedule.admit() {
            self.tell(run, RunMessage::Admitted(task));
        }
        if self.runs.is_empty()
            && self.unanswered == 0
            && let Some(reply) = self.closing.take()
        {
            let _gone = reply.send(());
            myself.stop(None);
        }
    }
}

/// Returns the limit that holds: `asked`, unless bounded concurrency is switched off.
fn bound(deps: &Deps, asked: NonZeroUsize) -> NonZeroUsize {
    if deps.faults.is_off("F118") { NonZeroUsize::MAX } else { asked }
}
