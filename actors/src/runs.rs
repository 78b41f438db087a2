//! Opens runs and holds the one schedule of the house: its capacity, the limits of the runs, their
//! priorities and dependencies.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{
    AnyValue, FreezeRequest, IsolationError, LedgerError, Notice, Repository, Schema,
};
use engine::schedule::Schedule;
use engine::task::{Patience, YieldContract};
use engine::verdict::Interruption;
use protocol::{
    IsolationMode, LedgerEntry, MergeMode, RunId, RunName, RunSpec, TaskId, TaskName, Work,
};
use ractor::concurrency::oneshot;
use ractor::{Actor, ActorProcessingErr, ActorRef, Message, RpcReplyPort, SupervisionEvent};

use crate::ask::Teller;
use crate::events::EventBus;
use crate::executors::ExecutorsMessage;
use crate::house::Means;
use crate::isolation::{IsolatorMessage, RepositoryMessage};
use crate::jobs::{Jobs, Panicked};
use crate::ledger::LedgerMessage;
use crate::run::{Cancelling, Run, RunArguments, RunMessage, ScheduleRequest};

pub(crate) struct Runs;

#[derive(Clone)]
pub(crate) struct RunsArguments {
    pub(crate) isolator: ActorRef<IsolatorMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) means: Means,
    pub(crate) events: EventBus,
}

/// A run that is to be started.
pub struct Submission {
    /// What it is to do.
    pub spec: RunSpec,
    /// The repository it works on.
    pub repository: Arc<dyn Repository>,
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
    /// Opening it crashed.
    #[error("opening the run crashed")]
    Crashed(#[source] Panicked),
    /// The house is closing.
    #[error("the house is closing")]
    Closing,
}

/// The answer to a submission.
type Answer = RpcReplyPort<Result<Submitted, SubmitError>>;

pub(crate) enum RunsMessage {
    Submit(Submission, Answer),
    /// Sent by the opening itself; nobody else sends it.
    Opened(Box<Result<OpenedRun, SubmitError>>, Answer),
    /// Asked by a run.
    Schedule(ScheduleRequest),
    /// Cancels one run.
    Cancel(RunId, Cancelling, Interruption),
    /// Cancels everything; answers when nothing is left, then stops.
    Close(RpcReplyPort<()>),
}

/// Everything a run needs to begin.
pub(crate) struct OpenedRun {
    name: RunName,
    spec: RunSpec,
    contracts: BTreeMap<TaskId, YieldContract>,
    notices: Vec<Notice>,
    repository: ActorRef<RepositoryMessage>,
}

pub(crate) struct RunsState {
    schedule: Schedule,
    runs: BTreeMap<RunId, ActorRef<RunMessage>>,
    jobs: Jobs,
    unopened: usize,
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
            schedule: Schedule::new(bound(&arguments.means, arguments.means.policy.capacity)),
            runs: BTreeMap::new(),
            jobs: Jobs::default(),
            unopened: 0,
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
                let arguments = state.arguments.clone();
                state.unopened += 1;
                let job = async move { open(submission, &arguments).await };
                state.jobs.run(&myself, job, |opened| {
                    let opened = opened.map_err(SubmitError::Crashed).flatten();
                    RunsMessage::Opened(Box::new(opened), reply)
                });
                return Ok(());
            }
            RunsMessage::Opened(opened, reply) => {
                state.unopened -= 1;
                let submitted = match *opened {
                    Ok(run) => Ok(state.start(&myself, run).await?),
                    Err(error) => Err(error),
                };
                let _gone = reply.send(submitted);
            }
            RunsMessage::Schedule(request) => state.take(request),
            RunsMessage::Cancel(run, how, why) => state.cancel(run, how, why),
            RunsMessage::Close(reply) => {
                state.closing = Some(reply);
                let runs: Vec<_> = state.runs.keys().copied().collect();
                for run in runs {
                    state.cancel(run, Cancelling::Gently, Interruption::Terminate);
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
            // A run that crashes cannot report its tasks any more: the house must not go on as if.
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
        self.schedule.open(run.spec.id, bound(&self.arguments.means, run.spec.jobs));
        let arguments = RunArguments {
            name: run.name,
            spec: run.spec,
            contracts: run.contracts,
            notices: run.notices,
            repository: run.repository,
            executors: self.arguments.executors.clone(),
            ledger: self.arguments.ledger.clone(),
            means: self.arguments.means.clone(),
            events: self.arguments.events.clone(),
            schedule: Teller::to(myself, RunsMessage::Schedule),
        };
        let (actor, _join) = Actor::spawn_linked(None, Run, arguments, myself.get_cell()).await?;
        actor.cast(RunMessage::Begin)?;
        self.runs.insert(submitted.id, actor);
        if self.closing.is_some() {
            self.cancel(submitted.id, Cancelling::Gently, Interruption::Terminate);
        }
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

    fn cancel(&self, run: RunId, how: Cancelling, why: Interruption) {
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
            && self.unopened == 0
            && let Some(reply) = self.closing.take()
        {
            let _gone = reply.send(());
            myself.stop(None);
        }
    }
}

/// Returns the limit that holds: `asked`, unless bounded concurrency is switched off.
fn bound(means: &Means, asked: NonZeroUsize) -> NonZeroUsize {
    if means.faults.is_off("F118") { NonZeroUsize::MAX } else { asked }
}

/// Opens a run step by step. Whatever fails, nothing of the run stays.
async fn open(submission: Submission, house: &RunsArguments) -> Result<OpenedRun, SubmitError> {
    let Submission { spec, repository } = submission;
    let contracts = contracts(&spec, house)?;
    let adopt = |reply| IsolatorMessage::Adopt(repository, reply);
    let repository = answer(&house.isolator, adopt).await?;
    let name = answer(&house.ledger, |reply| LedgerMessage::OpenRun(spec.clone(), reply)).await?;
    let name = name.map_err(SubmitError::Ledger)?;
    let request = FreezeRequest {
        run: name.clone(),
        mode: spec.isolation,
        untracked_limit: spec.untracked_limit,
        branches: (spec.merge == MergeMode::Branch && spec.isolation != IsolationMode::None)
            .then(|| spec.branch_prefix.clone()),
    };
    match answer(&repository, |reply| RepositoryMessage::Freeze(request, reply)).await? {
        Ok(notices) => Ok(OpenedRun { name, spec, contracts, notices, repository }),
        Err(error) => {
            let entry = LedgerEntry::RunWithdrawn { run: spec.id };
            answer(&house.ledger, |reply| LedgerMessage::Record(entry, reply)).await?;
            Err(SubmitError::Isolation(error))
        }
    }
}

fn contracts(
    spec: &RunSpec,
    house: &RunsArguments,
) -> Result<BTreeMap<TaskId, YieldContract>, SubmitError> {
    let mut contracts = BTreeMap::new();
    for task in &spec.tasks {
        let schema: Box<dyn Schema> = match &task.schema {
            None => Box::new(AnyValue),
            Some(schema) => {
                let schema = house.means.schemas.compile(schema);
                schema.map_err(|fault| SubmitError::Schema { task: task.name.clone(), fault })?
            }
        };
        contracts
            .insert(task.id, YieldContract::new(schema, patience(&task.work, &house.means.faults)));
    }
    Ok(contracts)
}

/// How much the contract of a worker forgives.
fn patience(work: &Work, faults: &Faults) -> Patience {
    match work {
        Work::Command(_) => Patience::COMMAND,
        Work::Agent(_) if faults.is_off("F127") => Patience { reminders: 0, ..Patience::AGENT },
        Work::Agent(_) => Patience::AGENT,
    }
}

/// Asks an actor. Whoever does not answer is gone, and then the house is closing.
async fn answer<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> Result<R, SubmitError> {
    let (reply, waiting) = oneshot();
    let _dead = whom.cast(question(reply.into()));
    waiting.await.map_err(|_dropped| SubmitError::Closing)
}
