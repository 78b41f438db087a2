//! Opens runs step by step. A run that is cancelled meanwhile is withdrawn, and nothing of it
//! stays.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{
    CancelLevel, CancelToken, FreezeRequest, IsolationError, LandingNews, LedgerError, LockRun,
    Notice, Repository,
};
use protocol::{LedgerEntry, MergeMode, RunId, RunName, RunSpec, TaskName};
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::contracts::{Contracts, SchemaFault, contracts};
use crate::deps::Deps;
use crate::isolation::{Freezing, IsolatorMessage, RepositoryMessage};
use crate::jobs::Panicked;
use crate::ledger::LedgerMessage;
use crate::messaging::answer;

/// Whom the opening of a run asks.
pub(super) struct Services {
    pub(super) isolator: ActorRef<IsolatorMessage>,
    pub(super) ledger: ActorRef<LedgerMessage>,
    pub(super) deps: Deps,
}

/// Everything a run needs to begin.
pub(crate) struct OpenedRun {
    pub(super) name: RunName,
    pub(super) spec: RunSpec,
    pub(super) contracts: Contracts,
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
    pub(super) given_up: Option<GivenUp>,
    /// Ends its wait for a landing.
    pub(super) cancel: CancelToken,
}

impl Opening {
    /// Notes that the run is not wanted any more. The first reason stands.
    pub(super) fn give_up(&mut self, why: GivenUp) {
        self.given_up.get_or_insert(why);
        self.cancel.cancel(CancelLevel::Gently);
    }
}

impl From<SchemaFault> for SubmitError {
    fn from(SchemaFault { task, fault }: SchemaFault) -> Self {
        Self::Schema { task, fault }
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

/// Opens a run step by step. Whatever fails, nothing of the run stays.
pub(super) async fn open(
    submission: Submission,
    cancel: CancelToken,
    engine: &Services,
) -> Result<OpenedRun, SubmitError> {
    let Submission { spec, repository, news } = submission;
    let contracts = contracts(&spec.tasks, &engine.deps)?;
    let port = Arc::clone(&repository);
    let lock = LockRun::new(move |run| port.lock_run(run));
    let adopt = |reply| IsolatorMessage::Adopt(repository, reply);
    let repository = asked(&engine.isolator, adopt).await?;
    let opening = |reply| LedgerMessage::OpenRun(spec.clone(), lock, reply);
    let (name, lock) = asked(&engine.ledger, opening).await?.map_err(SubmitError::Ledger)?;
    let request = FreezeRequest {
        run: name.clone(),
        mode: spec.isolation,
        untracked_limit: spec.untracked_limit,
        branches: (spec.merge == MergeMode::Branch && spec.isolation.capabilities().can_capture)
            .then(|| spec.branch_prefix.clone()),
    };
    let freezing = Freezing { request, lock, cancel, news };
    match asked(&repository, |reply| RepositoryMessage::Freeze(freezing, reply)).await? {
        Ok(notices) => Ok(OpenedRun { name, spec, contracts, notices, repository }),
        Err(error) => {
            let entry = LedgerEntry::RunWithdrawn { run: spec.id };
            asked(&engine.ledger, |reply| LedgerMessage::Record(entry, reply.into())).await?;
            Err(SubmitError::Isolation(error))
        }
    }
}

/// Takes a run back that was opened and has not begun: nothing of it stays.
pub(super) async fn withdraw(
    run: OpenedRun,
    ledger: &ActorRef<LedgerMessage>,
) -> Result<(), SubmitError> {
    let (id, name) = (run.spec.id, run.name);
    let entry = LedgerEntry::RunWithdrawn { run: id };
    // First, as long as the run is locked: one that is not is taken for cut short.
    let withdrawn = asked(ledger, |reply| LedgerMessage::Record(entry, reply.into())).await;
    asked(&run.repository, |reply| RepositoryMessage::CloseRun(name, reply)).await?;
    withdrawn
}

/// Asks an actor. Whoever does not answer is gone, and then the engine is closing.
async fn asked<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> Result<R, SubmitError> {
    answer(whom, question).await.ok_or(SubmitError::Closing)
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
pub(crate) type Answer = RpcReplyPort<Result<Submitted, SubmitError>>;
