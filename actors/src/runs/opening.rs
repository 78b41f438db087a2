//! Opens runs step by step. A run that is cancelled while it is being opened is withdrawn and
//! leaves nothing behind.

use std::sync::Arc;

use engine::dependencies;
use engine::exit_code::Interruption;
use engine::landing::landing_target;
use engine::ports::{
    CancelLevel, CancelToken, CarryRequest, FreezeRequest, IsolationError, LandingNotice,
    LandingTarget, LedgerError, LockRun, Notice, Repository,
};
use engine::prompt::SystemPrompt;
use protocol::{LedgerEntry, RunId, RunName, RunSpec, TaskName, TaskSpec};
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::contracts::{Contracts, SchemaFault, contracts};
use crate::deps::Deps;
use crate::events::Events;
use crate::executors::{Answerer, ChosenMode};
use crate::isolation::{Freezing, IsolatorMessage, RepositoryMessage};
use crate::jobs::Panicked;
use crate::ledger::LedgerMessage;
use crate::messaging::answer;

use super::run_prompt::run_prompt;

/// The actors that opening a run needs.
pub(super) struct Services {
    pub(super) isolator: ActorRef<IsolatorMessage>,
    pub(super) ledger: ActorRef<LedgerMessage>,
    pub(super) deps: Arc<Deps>,
}

/// Everything a run needs to begin.
pub(crate) struct OpenedRun {
    pub(super) name: RunName,
    pub(super) spec: RunSpec,
    pub(super) contracts: Contracts,
    pub(super) notices: Vec<Notice>,
    pub(super) prompt: Arc<SystemPrompt>,
    pub(super) repository: ActorRef<RepositoryMessage>,
}

/// The reason why a run is withdrawn before it begins.
#[derive(Clone, Copy)]
pub(crate) enum GivenUp {
    Cancelled(Interruption),
    Closing,
}

/// A run that is being opened.
#[derive(Default)]
pub(super) struct RunOpening {
    /// The reason why the run is withdrawn; `None` if it is not.
    pub(super) given_up: Option<GivenUp>,
    /// Cancels its wait for a landing of another engine.
    pub(super) cancel: CancelToken,
    /// Who answers the questions of its tasks.
    pub(super) answerer: Answerer,
    /// The mode to which a person changes.
    pub(super) mode: ChosenMode,
}

impl RunOpening {
    /// Marks the run as withdrawn. The first reason stands.
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

/// Opens a run step by step. A failure leaves nothing of the run behind.
pub(super) async fn open(
    submission: Submission,
    cancel: CancelToken,
    engine: &Services,
) -> Result<OpenedRun, SubmitError> {
    let Submission { spec, repository, notify, answerer: _, mode: _ } = submission;
    let contracts = contracts(&spec.tasks, &engine.deps)?;
    let git = repository.facts().git.clone();
    let port = Arc::clone(&repository);
    let lock = LockRun::new(move |run| port.lock_run(run));
    let adopt = |reply| IsolatorMessage::Adopt(repository, reply);
    let repository = asked(&engine.isolator, adopt).await?;
    let opening = |reply| LedgerMessage::OpenRun(Box::new(spec.clone()), lock, reply);
    let (name, lock) = asked(&engine.ledger, opening).await?.map_err(SubmitError::Ledger)?;
    let request = FreezeRequest {
        run: name.clone(),
        mode: spec.isolation,
        untracked_limit: spec.untracked_limit,
        branches: commits_to(&spec),
        carry: CarryRequest::of_run(&spec),
        union: spec.union.clone(),
    };
    let freezing = Freezing { request, lock, cancel, notify };
    match asked(&repository, |reply| RepositoryMessage::Freeze(freezing, reply)).await? {
        Ok(mut notices) => {
            let baseline = RepositoryMessage::Baseline;
            let baseline = asked(&repository, |reply| baseline(name.clone(), reply)).await?;
            notices.extend(unprepared_verification(&spec));
            if let Some(at_once) = later_at_once(&spec) {
                baseline.make_ahead(at_once);
            }
            let prompt =
                run_prompt(&spec, baseline.as_ref(), git, &engine.deps, &mut notices).await;
            Ok(OpenedRun { name, spec, contracts, notices, prompt: Arc::new(prompt), repository })
        }
        Err(error) => {
            let entry = LedgerEntry::RunWithdrawn { run: spec.id };
            asked(&engine.ledger, |reply| LedgerMessage::Record(entry, reply.into())).await?;
            Err(SubmitError::Isolation(error))
        }
    }
}

/// Returns how many tasks may run at the same time once others have ended; `None` if that many begin at
/// the start.
fn later_at_once(spec: &RunSpec) -> Option<usize> {
    if spec.tasks.iter().all(|task| task.depends_on.is_empty()) {
        return None;
    }
    let tasks: Vec<_> =
        spec.tasks.iter().map(|task| (&task.name, task.depends_on.as_slice())).collect();
    let levels = dependencies::levels(&tasks);
    let at_once = |tasks: &usize| spec.jobs.get().min(*tasks);
    // The workspace of a task with carried files of its own is made of a copy of its own.
    let pooled = spec.tasks.iter().filter(|task| task.needs.carry.is_none()).count();
    let most = levels.iter().map(at_once).max()?;
    let later = levels.first().map(at_once).filter(|first| *first < most).map(|_| most.min(pooled));
    later.filter(|copies| *copies > 0)
}

/// Returns the notice that the work is verified without a set-up, although all tasks have one.
fn unprepared_verification(spec: &RunSpec) -> Option<Notice> {
    let is_set_up = |task: &TaskSpec| !spec.needs_of(task).setup.is_empty();
    let is_unprepared =
        !spec.verify.is_off() && spec.needs.setup.is_empty() && spec.tasks.iter().all(is_set_up);
    is_unprepared.then(|| Notice {
        from: "a verification in a workspace that is set up".to_owned(),
        to: "the commands of --verify run without a set-up".to_owned(),
        why: "each task has a set-up of its own, and the run has none".to_owned(),
    })
}

/// Returns where the work of a run lands, if it becomes commits.
fn commits_to(spec: &RunSpec) -> Option<LandingTarget> {
    let target = landing_target(spec.merge, &spec.branch_prefix, spec.stack.as_ref())?;
    let captures = spec.isolation.capabilities().can_capture;
    (captures && target != LandingTarget::Tree).then_some(target)
}

/// Withdraws a run that was opened and has not begun.
pub(super) async fn withdraw(
    run: OpenedRun,
    ledger: &ActorRef<LedgerMessage>,
) -> Result<(), SubmitError> {
    let (id, name) = (run.spec.id, run.name);
    let entry = LedgerEntry::RunWithdrawn { run: id };
    // The entry is written first, while the run is locked: an unlocked run without an end would
    // look like one that was interrupted.
    let withdrawn = asked(ledger, |reply| LedgerMessage::Record(entry, reply.into())).await;
    asked(&run.repository, |reply| RepositoryMessage::CloseRun(name, reply)).await?;
    withdrawn
}

/// Sends a request to an actor. If the actor is gone, the engine is closing.
async fn asked<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> Result<R, SubmitError> {
    answer(whom, question).await.ok_or(SubmitError::Closing)
}

/// A run to start.
pub struct Submission {
    /// The tasks and settings of the run.
    pub spec: RunSpec,
    /// The repository of the run.
    pub repository: Arc<dyn Repository>,
    /// Called with notices while the run waits for a landing.
    pub notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    /// Who answers the questions of its tasks.
    pub answerer: Answerer,
    /// The mode to which a person changes while it runs.
    pub mode: ChosenMode,
}

impl Submission {
    /// Returns the submission of a run whose tasks ask no questions, and whose notices are dropped.
    #[must_use]
    pub fn new(spec: RunSpec, repository: Arc<dyn Repository>) -> Self {
        let (answerer, mode) = (Answerer::None, ChosenMode::default());
        Self { spec, repository, notify: Arc::new(|_notice| {}), answerer, mode }
    }

    /// Has notices passed to `notify`.
    #[must_use]
    pub fn with_notices(self, notify: impl Fn(LandingNotice) + Send + Sync + 'static) -> Self {
        Self { notify: Arc::new(notify), ..self }
    }

    /// Has the questions of its tasks answered by `answerer`.
    #[must_use]
    pub fn answered_by(self, answerer: Answerer) -> Self {
        Self { answerer, ..self }
    }

    /// Has its tasks follow the mode to which a person changes.
    #[must_use]
    pub fn in_mode(self, mode: ChosenMode) -> Self {
        Self { mode, ..self }
    }
}

/// A started run, with its events from the first to the last.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) id: RunId,
    pub(crate) name: RunName,
    pub(crate) events: Events,
}

/// Errors of starting a run. Nothing of the run is left.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The working tree cannot be used.
    #[error(transparent)]
    Isolation(IsolationError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(LedgerError),
    /// A schema cannot be compiled.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// The run was cancelled before it began.
    #[error("the run was cancelled before it began")]
    Cancelled(Interruption),
    /// Opening the run panicked.
    #[error("opening the run crashed")]
    Crashed(#[source] Panicked),
    /// The engine is closing.
    #[error("the engine is closing")]
    Closing,
}

/// The reply port of a submission.
pub(crate) type Answer = RpcReplyPort<Result<Submitted, SubmitError>>;
