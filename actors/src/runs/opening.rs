//! Opens runs step by step. One that is not wanted any more by then is withdrawn, and nothing of it
//! stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{AnyValue, CancelLevel, CancelToken, FreezeRequest, LockRun, Notice, Schema};
use engine::task::{Patience, YieldContract};
use engine::verdict::Interruption;
use protocol::{LedgerEntry, MergeMode, RunId, RunName, RunSpec, TaskId, Work};
use ractor::concurrency::oneshot;
use ractor::{ActorProcessingErr, ActorRef, Message, RpcReplyPort};

use super::{Answer, RunsArguments, RunsMessage, RunsState, Submission, SubmitError, Submitted};
use crate::isolation::{Freezing, IsolatorMessage, RepositoryMessage};
use crate::ledger::LedgerMessage;

/// Everything a run needs to begin.
pub(crate) struct OpenedRun {
    pub(super) name: RunName,
    pub(super) spec: RunSpec,
    pub(super) contracts: BTreeMap<TaskId, YieldContract>,
    pub(super) notices: Vec<Notice>,
    pub(super) repository: ActorRef<RepositoryMessage>,
}

/// Why a run is not wanted any more before it has begun.
#[derive(Clone, Copy)]
pub(crate) enum GivenUp {
    Cancelled(Interruption),
    Closing,
}

/// A run that is being opened.
#[derive(Default)]
pub(super) struct Opening {
    /// Why it is not wanted any more.
    given_up: Option<GivenUp>,
    /// Ends its wait for a landing.
    cancel: CancelToken,
}

impl Opening {
    /// Notes that the run is not wanted any more. The first reason stands.
    pub(super) fn give_up(&mut self, why: GivenUp) {
        self.given_up.get_or_insert(why);
        self.cancel.cancel(CancelLevel::Gently);
    }
}

impl From<GivenUp> for SubmitError {
    fn from(why: GivenUp) -> Self {
        match why {
            GivenUp::Cancelled(interruption) => Self::Cancelled(interruption),
            GivenUp::Closing => Self::Closing,
        }
    }
}

impl RunsState {
    pub(super) fn open(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        submission: Submission,
        reply: Answer,
    ) {
        let (arguments, run) = (self.arguments.clone(), submission.spec.id);
        self.unanswered += 1;
        let opening = Opening::default();
        let cancel = opening.cancel.clone();
        self.opening.insert(run, opening);
        let job = async move { open(submission, cancel, &arguments).await };
        // Only what is asked before the ledger knows of the run (its schemas) is no code of ours.
        self.jobs.run(myself, job, move |opened| {
            let opened = opened.map_err(SubmitError::Crashed).flatten();
            RunsMessage::Opened(run, Box::new(opened), reply)
        });
    }

    /// Starts a run that was opened, or withdraws it if it is not wanted any more.
    pub(super) async fn opened(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        run: RunId,
        opened: Result<OpenedRun, SubmitError>,
        reply: Answer,
    ) -> Result<(), ActorProcessingErr> {
        let given_up = self.opening.remove(&run).and_then(|opening| opening.given_up);
        match (opened, given_up) {
            (Ok(run), None) => {
                let submitted = self.start(myself, run).await?;
                self.answer(reply, Ok(submitted));
            }
            (Ok(run), Some(why)) => {
                let ledger = self.arguments.ledger.clone();
                let job = async move { withdraw(run, &ledger).await };
                // Should the ledger be gone, the next start finds the run and closes it.
                self.jobs.run(myself, job, move |_| RunsMessage::Withdrawn(why, reply));
            }
            (Err(_not_opened), Some(why)) => self.answer(reply, Err(why.into())),
            (Err(error), None) => self.answer(reply, Err(error)),
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, reply: Answer, submitted: Result<Submitted, SubmitError>) {
        self.unanswered -= 1;
        let _gone = reply.send(submitted);
    }
}

/// Opens a run step by step. Whatever fails, nothing of the run stays.
async fn open(
    submission: Submission,
    cancel: CancelToken,
    engine: &RunsArguments,
) -> Result<OpenedRun, SubmitError> {
    let Submission { spec, repository, news } = submission;
    let contracts = contracts(&spec, engine)?;
    let port = Arc::clone(&repository);
    let lock = LockRun::new(move |run| port.lock_run(run));
    let adopt = |reply| IsolatorMessage::Adopt(repository, reply);
    let repository = answer(&engine.isolator, adopt).await?;
    let opening = |reply| LedgerMessage::OpenRun(spec.clone(), lock, reply);
    let (name, lock) = answer(&engine.ledger, opening).await?.map_err(SubmitError::Ledger)?;
    let request = FreezeRequest {
        run: name.clone(),
        mode: spec.isolation,
        untracked_limit: spec.untracked_limit,
        branches: (spec.merge == MergeMode::Branch && spec.isolation.capabilities().can_capture)
            .then(|| spec.branch_prefix.clone()),
    };
    let freezing = Freezing { request, lock, cancel, news };
    match answer(&repository, |reply| RepositoryMessage::Freeze(freezing, reply)).await? {
        Ok(notices) => Ok(OpenedRun { name, spec, contracts, notices, repository }),
        Err(error) => {
            let entry = LedgerEntry::RunWithdrawn { run: spec.id };
            answer(&engine.ledger, |reply| LedgerMessage::Record(entry, reply)).await?;
            Err(SubmitError::Isolation(error))
        }
    }
}

/// Takes a run back that was opened and has not begun: nothing of it stays.
async fn withdraw(run: OpenedRun, ledger: &ActorRef<LedgerMessage>) -> Result<(), SubmitError> {
    let (id, name) = (run.spec.id, run.name);
    let entry = LedgerEntry::RunWithdrawn { run: id };
    // First, as long as the run is locked: one that is not is taken for cut short.
    let withdrawn = answer(ledger, |reply| LedgerMessage::Record(entry, reply)).await;
    answer(&run.repository, |reply| RepositoryMessage::CloseRun(name, reply)).await?;
    withdrawn
}

fn contracts(
    spec: &RunSpec,
    engine: &RunsArguments,
) -> Result<BTreeMap<TaskId, YieldContract>, SubmitError> {
    let mut contracts = BTreeMap::new();
    for task in &spec.tasks {
        let schema: Box<dyn Schema> = match &task.schema {
            None => Box::new(AnyValue),
            Some(schema) => {
                let schema = engine.deps.schemas.compile(schema);
                schema.map_err(|fault| SubmitError::Schema { task: task.name.clone(), fault })?
            }
        };
        contracts
            .insert(task.id, YieldContract::new(schema, patience(&task.work, &engine.deps.faults)));
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

/// Asks an actor. Whoever does not answer is gone, and then the engine is closing.
async fn answer<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> Result<R, SubmitError> {
    let (reply, waiting) = oneshot();
    let _dead = whom.cast(question(reply.into()));
    waiting.await.map_err(|_dropped| SubmitError::Closing)
}
