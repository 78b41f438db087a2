//! Private copies of a repository, and the way back from them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    CaptureRef, Captured, Failure, FailureClass, FailureDetail, IsolationMode, LandingId,
    LandingReport, RepoPath, Rescue, RunName, TaskName,
};

use super::{CancelToken, RunLock, WorkspaceView};

/// Opens repositories.
#[async_trait]
pub trait Isolation: Send + Sync {
    /// Opens the repository that contains `at` and checks that it can be worked on. Writes nothing.
    async fn open(&self, at: &Path) -> Result<Arc<dyn Repository>, IsolationError>;

    /// Returns the canonical root of the repository that contains `at`, whatever state it is in:
    /// enough to look at what was captured of it.
    async fn locate(&self, at: &Path) -> Result<PathBuf, IsolationError>;
}

/// One repository of the user's.
#[async_trait]
pub trait Repository: Send + Sync {
    /// Returns what was found out when it was opened.
    fn facts(&self) -> &RepositoryFacts;

    /// Finds what engines that died left in this repository: rolls their open landings forward and
    /// captures what their workspaces hold. Nothing is removed before [`Recovery::finish`], so that
    /// a recovery that is killed before its findings are recorded is repeated by the next one.
    /// Runs whose engine lives are not touched. `open` are the runs that the ledger says are not
    /// over.
    async fn recover(&self, open: Vec<OpenRun>) -> Result<Box<dyn Recovery>, IsolationError>;

    /// Takes the lock of a run that is about to begin.
    fn lock_run(&self, run: &RunName) -> Result<RunLock, IsolationError>;

    /// Freezes the working tree as it is now, for all tasks of the run that `lock` is of. Waits
    /// while an engine is landing in the same repository, and tells `news` so; withdrawn while it
    /// waits, it fails with [`IsolationError::Withdrawn`].
    async fn freeze(
        &self,
        request: FreezeRequest,
        lock: RunLock,
        cancel: CancelToken,
        news: Arc<dyn Fn(LandingNews) + Send + Sync>,
    ) -> Result<Arc<dyn Baseline>, IsolationError>;

    /// Lands captures, each whole or not at all, in the order of `request`. Waits while another
    /// engine is landing in the same repository, and tells `news` so. Withdrawn before anything of
    /// the repository changes, nothing of it does: [`IsolationError::Withdrawn`].
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        news: Arc<dyn Fn(LandingNews) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError>;

    /// Returns what [`Repository::land`] would make of the request as things are now, and changes
    /// nothing. Whether everything could be written shows only when it is.
    async fn dry_run(&self, request: LandingRequest) -> Result<LandingReport, IsolationError>;

    /// Says that the ledger has the reports of the landings of `run`, which is locked. Until then the
    /// next start finds them again. [`Baseline::close`] says so too.
    async fn acknowledge(&self, run: &RunName) -> Result<(), IsolationError>;
}

/// What a recovery found, with the locks of the runs it concerns. Dropping it leaves everything to
/// the next start.
#[async_trait]
pub trait Recovery: Send + Sync {
    /// Returns what was found.
    fn found(&self) -> &Recovered;

    /// Removes what is not needed any more once the findings are in the ledger: workspaces that are
    /// captured, folders of runs that are over, open journals. Runs in `unrecorded` are in no
    /// ledger that the caller knows: their workspaces stay.
    async fn finish(self: Box<Self>, unrecorded: BTreeSet<RunName>) -> Result<(), IsolationError>;
}

/// The working tree as it was when a run began: what every workspace of the run starts from.
///
/// Dropping the last handle gives up the run's claim on its folder of workspaces.
#[async_trait]
pub trait Baseline: Send + Sync {
    /// Returns what a person should know about what the workspaces will and will not hold.
    fn notices(&self) -> &[Notice];

    /// Makes a workspace. One that is half made when this fails is removed again.
    async fn prepare(&self, request: WorkspaceRequest) -> Result<Workspace, IsolationError>;

    /// Returns how tools see the files of `workspace`.
    fn view(&self, workspace: &Workspace) -> Arc<dyn WorkspaceView>;

    /// Puts what changed in `workspace` into the task store. Nobody may be writing any more.
    ///
    /// Nothing comes back where tasks work in place. What a task has removed or moved away as a
    /// whole is [`IsolationError::Vanished`]; after any other error the workspace is to be kept.
    async fn capture(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError>;

    /// Records what changed in `workspace` so far, while its task goes on, in place of its last
    /// checkpoint. Nobody may be writing meanwhile. It can be the start of another workspace, as a
    /// capture can, and is removed with the run's folder.
    ///
    /// Nothing comes back where no checkpoints can be made. Errors are those of
    /// [`Self::capture`].
    async fn checkpoint(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError>;

    /// Removes a workspace. Succeeds if it is already gone.
    async fn discard(&self, workspace: &Workspace) -> Result<(), IsolationError>;

    /// Ends the run's use of its folder of workspaces: removes the folder if no workspace is left
    /// in it, and gives up the claim. What was kept is captured by the next start.
    async fn close(&self) -> Result<(), IsolationError>;
}

/// What is known about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The root of its working tree, canonical.
    pub root: PathBuf,
    /// The folder below the root that was named; empty for the root itself.
    pub subfolder: PathBuf,
    /// What a person should know about it.
    pub notices: Vec<Notice>,
}

/// Something a person should know: what is not as they may expect, and what is done instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What one may expect, in a few words.
    pub from: String,
    /// What is done.
    pub to: String,
    /// Why.
    pub why: String,
}

/// What to freeze a working tree for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeRequest {
    /// The run.
    pub run: RunName,
    /// How its tasks are kept apart: which backend freezes the tree.
    pub mode: IsolationMode,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: u64,
    /// What the names of branches begin with, if the work of its tasks becomes branches: that they
    /// cannot be made is said before anything is done.
    pub branches: Option<String>,
}

/// What a workspace is wanted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRequest {
    /// The task.
    pub task: TaskName,
    /// Counts its attempts from 1.
    pub attempt: u32,
    /// The captures it builds on, predecessors first.
    pub predecessors: Vec<(TaskName, CaptureRef)>,
}

/// A folder that belongs to exactly one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The task it belongs to.
    pub task: TaskName,
    /// Counts its attempts from 1.
    pub attempt: u32,
    /// The folder that holds everything of it.
    pub folder: PathBuf,
    /// The root of the copy of the working tree, inside `folder`.
    pub root: PathBuf,
}

/// What to land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingRequest {
    /// The run.
    pub run: RunName,
    /// Where to.
    pub target: LandingTarget,
    /// The tasks, predecessors before dependants, else in the order of their declaration.
    pub tasks: Vec<LandingTask>,
}

/// Where work lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingTarget {
    /// In the working tree.
    Tree,
    /// On branches named `PREFIX/RUN/TASK`.
    Branches {
        /// What their names begin with.
        prefix: String,
    },
}

/// One task's work on its way into the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingTask {
    /// The task.
    pub task: TaskName,
    /// Its work.
    pub capture: CaptureRef,
    /// The tasks it builds on: if one of them does not land, this does not either. One that is
    /// not part of the request counts as landed.
    pub depends_on: Vec<TaskName>,
    /// The message of its commit, in branch mode.
    pub message: String,
}

/// A run that the ledger says is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub run: RunName,
    /// The captures that the ledger knows of it.
    pub captures: BTreeSet<CaptureRef>,
}

/// What was found of engines that died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Landings whose tree is complete, with what became of each task's work.
    pub landings: Vec<RecoveredLanding>,
    /// Tasks whose workspaces were found, or whose captures the ledger does not know.
    pub tasks: Vec<RecoveredTask>,
    /// Runs whose lock nobody holds: those that left a folder, and those of the ledger that are
    /// not over.
    pub dead: Vec<RunName>,
    /// What stays because it is not surely nobody's, in lines for people.
    pub kept: Vec<String>,
    /// Versions of files that landings had replaced and that are kept.
    pub rescued: Vec<Rescue>,
}

/// A landing that its engine did not see through to the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredLanding {
    /// The run whose work it landed.
    pub run: RunName,
    /// Which landing it is; nothing in journals that were written before landings had ids.
    pub landing: Option<LandingId>,
    /// What became of each task's work.
    pub report: LandingReport,
    /// Whether there was still something to do.
    pub completion: Completion,
}

/// Who completed a landing that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The engine that began it.
    Earlier,
    /// This recovery.
    Now,
}

/// A workspace that its engine left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTask {
    /// Its run.
    pub run: RunName,
    /// Its task.
    pub task: TaskName,
    /// Counts the task's attempts from 1.
    pub attempt: u32,
    /// What it held, or why that is not known.
    pub captured: Result<Captured, Uncaptured>,
}

/// Why a workspace that an engine left behind was not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncaptured {
    /// It could not be looked at, and is kept as it is.
    Kept(String),
    /// There was nothing left to look at. It is told this once.
    Gone(String),
}

/// What a landing has to say while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingNews {
    /// Another engine is landing in this repository; we wait for it.
    Waiting,
    /// HEAD is not what it was when the repository was opened. The work lands all the same.
    HeadMoved,
    /// A version of a file that was replaced turned out to be somebody's work, and is kept.
    Rescued(Rescue),
    /// Programs that have files open for writing cannot be seen. Replaced versions are compared
    /// twice instead. Said once per landing.
    Unwatched {
        /// A file of which that is so.
        path: RepoPath,
        /// Why.
        why: String,
    },
}

/// Why isolation could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The repository is such that we will not work on it. The user can mend it.
    #[error("{what}")]
    Refused {
        /// What and where.
        what: String,
        /// Why.
        because: String,
        /// What to do about it; a line to type where there is one.
        hint: String,
    },
    /// The machine has no more of something: disk, quota, descriptors, memory.
    #[error("cannot {what}")]
    Resources {
        /// What was attempted, with its path.
        what: String,
        /// What the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The captures a workspace builds on cannot be merged.
    #[error("the work of {} conflicts", names(.tasks))]
    Predecessors {
        /// Whose captures.
        tasks: Vec<TaskName>,
        /// On which paths, as people read them.
        paths: Vec<String>,
    },
    /// A workspace is not there any more.
    #[error("its workspace {} is gone: the task removed it or moved it away", .root.display())]
    Vanished {
        /// Where the copy of the working tree was.
        root: PathBuf,
    },
    /// It was asked, and then not wanted any more. Nothing was done.
    #[error("it was withdrawn before it began")]
    Withdrawn,
    /// Anything else.
    #[error("cannot {what}")]
    Failed {
        /// What was attempted, with its path.
        what: String,
        /// What the system or the repository said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl IsolationError {
    /// Returns the failure of a task that this happened to.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let mut message = self.to_string();
        match self {
            Self::Refused { because, hint, .. } => {
                message = format!("{message}: {because}; try: {hint}");
                Failure::new(FailureClass::Workspace, message)
            }
            Self::Resources { source, .. } => {
                Failure::new(FailureClass::Resources, chained(&message, source.as_ref()))
            }
            Self::Predecessors { tasks, paths } => {
                let message = format!("{message} on {}", paths.join(", "));
                Failure::new(FailureClass::Dependency, message)
                    .with(FailureDetail::Tasks { tasks: tasks.clone() })
            }
            Self::Vanished { .. } | Self::Withdrawn => {
                Failure::new(FailureClass::Workspace, message)
            }
            Self::Failed { source, .. } => {
                Failure::new(FailureClass::Workspace, chained(&message, source.as_ref()))
            }
        }
    }
}

/// Returns `message` and everything behind it in one line.
fn chained(message: &str, source: &dyn std::error::Error) -> String {
    let mut line = message.to_owned();
    let mut next = Some(source);
    while let Some(error) = next {
        line = format!("{line}: {error}");
        next = error.source();
    }
    line
}

fn names(tasks: &[TaskName]) -> String {
    let names: Vec<_> = tasks.iter().map(TaskName::as_str).collect();
    names.join(" and ")
}
