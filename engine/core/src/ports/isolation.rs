//! The port for isolation: opens the user's repository, prepares a workspace for each task,
//! captures the work and lands it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    CaptureRef, Captured, CarryDefault, IsolationMode, LandingId, LandingReport, RepoPath, Rescue,
    RunName, RunSpec, StackBranch, TaskName,
};

use super::{
    AttemptEnd, CancelToken, IsolationError, MergedWorkspace, OpenRun, Recovery, RunLock,
    SettleRequest, UndoReport, UndoRequest, WorkspaceView,
};
use crate::prompt::GitState;

/// Opens repositories.
#[async_trait]
pub trait Isolation: Send + Sync {
    /// Opens the repository that contains `at` and checks that it can be used. Writes nothing.
    async fn open(&self, at: &Path) -> Result<Arc<dyn Repository>, IsolationError>;

    /// Returns the canonical root of the repository that contains `at`, whatever the state of the
    /// repository. The root is sufficient to read captures.
    async fn locate(&self, at: &Path) -> Result<PathBuf, IsolationError>;
}

/// An open repository of the user.
#[async_trait]
pub trait Repository: Send + Sync {
    /// Returns the facts that [`Isolation::open`] collected about the repository.
    fn facts(&self) -> &RepositoryFacts;

    /// Finds what dead engines left in this repository: it completes their open landings and
    /// captures their workspaces. Nothing is removed before [`Recovery::finish`], so that a
    /// recovery that is killed can be repeated. Runs with a living engine are not touched. `open`
    /// lists the runs that are not over according to the ledger.
    async fn recover(&self, open: Vec<OpenRun>) -> Result<Box<dyn Recovery>, IsolationError>;

    /// Takes the lock of a run that is about to start.
    fn lock_run(&self, run: &RunName) -> Result<RunLock, IsolationError>;

    /// Takes a snapshot of the working tree for all tasks of the run to which `lock` belongs. Waits
    /// while an engine is landing in the same repository, and reports this to `notify`. If `cancel`
    /// is triggered during the wait, the call fails with [`IsolationError::Withdrawn`].
    async fn freeze(
        &self,
        request: FreezeRequest,
        lock: RunLock,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<Arc<dyn Baseline>, IsolationError>;

    /// Lands captures in the order of `request`, each completely or not at all. Waits while another
    /// engine is landing in the same repository, and reports this to `notify`. If `cancel` is
    /// triggered before the repository has changed, the landing changes nothing and fails with
    /// [`IsolationError::Withdrawn`].
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError>;

    /// Returns the report that [`Repository::land`] would give now, without changing anything.
    /// Errors while writing cannot be predicted.
    async fn dry_run(&self, request: LandingRequest) -> Result<LandingReport, IsolationError>;

    /// Takes back what the landings of a run have written, as a landing of its own: it has the same
    /// lock, and a file that somebody saves meanwhile is not overwritten. Each file gets its content
    /// from before the landing; what was edited since is merged, and left as it is if that conflicts.
    /// The report says what was left.
    ///
    /// Fails with [`IsolationError::Refused`], and changes nothing, if it is not recorded what the
    /// landings have replaced.
    async fn undo(
        &self,
        landing: LandingId,
        request: UndoRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<UndoReport, IsolationError>;

    /// Returns the report that [`Repository::undo`] would give now, without changing anything.
    async fn dry_run_undo(&self, request: UndoRequest) -> Result<UndoReport, IsolationError>;

    /// Confirms that the ledger contains the reports of all landings of `run`, which is locked.
    /// Until then each recovery finds these landings again. [`Baseline::close`] confirms them too.
    async fn acknowledge(&self, run: &RunName) -> Result<(), IsolationError>;
}

/// A snapshot of the working tree at the start of a run. All workspaces of the run start from it.
///
/// Dropping the last handle releases the workspace folder of the run.
#[async_trait]
pub trait Baseline: Send + Sync {
    /// Returns notices for the user about what the workspaces contain.
    fn notices(&self) -> &[Notice];

    /// Returns a file of the snapshot; `None` if there is none. Symlinks are followed inside the tree
    /// only.
    async fn read_file(&self, _path: &RepoPath) -> Result<Option<Vec<u8>>, IsolationError> {
        Ok(None)
    }

    /// Begins to make what workspaces are made of, in the background, until there is enough for as many
    /// workspaces as `at_once`. It ends with [`Self::close`], or when the handle is dropped. A later
    /// [`Self::prepare`] takes no longer than without it.
    fn make_ahead(&self, _at_once: usize) {}

    /// Creates a workspace. If this fails, an incomplete workspace is removed.
    async fn prepare(&self, request: WorkspaceRequest) -> Result<Workspace, IsolationError>;

    /// Returns the view through which tools access the files of `workspace`.
    fn view(&self, workspace: &Workspace) -> Arc<dyn WorkspaceView>;

    /// Makes the present contents of `workspace` its start, now that its set-up has ended: later
    /// captures contain only what changes afterwards. No process may be writing into it. Called once
    /// if the workspace was requested with [`WorkspaceStart::AfterSetup`]; until then its captures
    /// are empty.
    ///
    /// The errors are those of [`Self::capture`].
    async fn accept_setup(&self, workspace: &Workspace) -> Result<(), IsolationError>;

    /// Captures the changes in `workspace`, with how its attempt ended. No process may be writing into
    /// it.
    ///
    /// Returns `None` if tasks work in place. Fails with [`IsolationError::Vanished`] if the task
    /// removed or moved the workspace; after any other error the workspace must be kept.
    async fn capture(
        &self,
        workspace: &Workspace,
        end: &AttemptEnd,
    ) -> Result<Option<Captured>, IsolationError>;

    /// Captures the changes in a `workspace` whose task has died, like [`Self::capture`]. If there is
    /// a capture of it already, that one is returned if it has the same changes; if not, both are
    /// kept.
    async fn recapture(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError>;

    /// Captures the changes in `workspace` while its task is running, and replaces its last
    /// checkpoint. No process may be writing into it. Like a capture, a checkpoint can be the base
    /// of another workspace. It is removed with the folder of the run.
    ///
    /// Returns `None` if the mode has no checkpoints. The errors are those of [`Self::capture`].
    async fn checkpoint(&self, workspace: &Workspace) -> Result<Option<Captured>, IsolationError>;

    /// Removes a workspace whose work is captured or not needed. Its files may become those of
    /// another task's workspace, if `reuse` allows it. Succeeds if it does not exist.
    async fn discard(&self, workspace: &Workspace, reuse: Reuse) -> Result<(), IsolationError>;

    /// Returns the beginning of a capture as a patch, `limit` bytes of it and a few more; `None` if the
    /// task has made commits of it itself, or the mode has no captures.
    async fn change_text(
        &self,
        _capture: &CaptureRef,
        _limit: usize,
    ) -> Result<Option<String>, IsolationError> {
        Ok(None)
    }

    /// Creates the workspace in which the merged work of the run is verified, if the mode has one.
    async fn merged_workspace(&self) -> Result<Arc<dyn MergedWorkspace>, IsolationError> {
        Err(super::verification::no_merged_workspace())
    }

    /// Releases the workspace folder of the run, and removes it if it is empty. The next start of
    /// an engine captures workspaces that were kept.
    async fn close(&self) -> Result<(), IsolationError>;
}

/// The facts that [`Isolation::open`] collects about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The canonical root of the working tree.
    pub root: PathBuf,
    /// The folder that the caller asked for, relative to the root; empty for the root itself.
    pub subfolder: PathBuf,
    /// Where HEAD is.
    pub git: GitState,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

/// A notice for the user that something is not as they may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What the user may expect.
    pub from: String,
    /// What is done instead.
    pub to: String,
    /// The reason.
    pub why: String,
}

/// A request to take a snapshot of the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeRequest {
    /// The run.
    pub run: RunName,
    /// The isolation mode of the run.
    pub mode: IsolationMode,
    /// The maximum total size in bytes of the untracked files that are copied into each workspace.
    pub untracked_limit: u64,
    /// Where the work lands, if it becomes commits. The freeze checks that it can.
    pub branches: Option<LandingTarget>,
    /// The ignored files that are copied into each workspace.
    pub carry: CarryRequest,
    /// The globs of files of which both sides' lines are kept where both changed the same lines,
    /// relative to the root of the repository.
    pub union: Vec<String>,
}

/// A request to copy ignored files into each workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarryRequest {
    /// The globs of the files, relative to the root of the repository.
    pub globs: Vec<String>,
    /// Which files are copied if there are no globs.
    pub default: CarryDefault,
    /// The globs of tasks that name their own.
    pub of_tasks: Vec<Vec<String>>,
    /// The maximum total size in bytes of the files.
    pub limit: u64,
    /// How many workspaces exist at the same time, at most.
    pub workspaces: usize,
}

impl CarryRequest {
    /// Returns what a run asks for.
    #[must_use]
    pub fn of_run(spec: &RunSpec) -> Self {
        Self {
            globs: spec.needs.carry.clone(),
            default: spec.needs.carry_default,
            of_tasks: spec.tasks.iter().filter_map(|task| task.needs.carry.clone()).collect(),
            limit: spec.needs.carry_limit,
            workspaces: spec.jobs.get().min(spec.tasks.len()),
        }
    }
}

/// A request for a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRequest {
    /// The task.
    pub task: TaskName,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The captures on which the workspace is based, dependencies first.
    pub predecessors: Vec<(TaskName, CaptureRef)>,
    /// When the work of the task starts.
    pub start: WorkspaceStart,
    /// The globs of the ignored files that are copied, if the task names its own. The request of the
    /// freeze had them, too.
    pub carry: Option<Vec<String>>,
}

/// When the work of a task starts in its new workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceStart {
    /// At once.
    #[default]
    AtOnce,
    /// After set-up commands have changed the workspace, at [`Baseline::accept_setup`]. What they change
    /// is not work of the task.
    AfterSetup,
}

/// Whether the files of a discarded workspace may be used again. A process that still runs could
/// write to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Every process that was started in the workspace has ended, with all that it had started.
    Allowed,
    /// It is not known which processes still run.
    Refused,
}

/// The workspace of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The task.
    pub task: TaskName,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The folder of the workspace.
    pub folder: PathBuf,
    /// The root of the copy of the working tree, inside `folder`.
    pub root: PathBuf,
}

/// A request to land work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingRequest {
    /// The run.
    pub run: RunName,
    /// Where the work lands.
    pub target: LandingTarget,
    /// The tasks, dependencies first and otherwise in the order of their declaration.
    pub tasks: Vec<LandingTask>,
    /// The work that has landed before and on which these tasks build, dependencies first.
    pub landed: Vec<LandingTask>,
    /// The globs of files of which both sides' lines are kept where both changed the same lines,
    /// relative to the root of the repository.
    pub union: Vec<String>,
}

/// Where work lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingTarget {
    /// In the working tree.
    Tree,
    /// On branches named `PREFIX/RUN/TASK`.
    Branches {
        /// The prefix of the names.
        prefix: String,
    },
    /// On one branch, as a commit for each task.
    Stack {
        /// The prefix of the name of the run's own branch, `PREFIX/RUN`.
        prefix: String,
        /// The branch, if it is not the run's own.
        branch: Option<StackBranch>,
    },
}

/// The work of one task to land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingTask {
    /// The task.
    pub task: TaskName,
    /// The capture with its work.
    pub capture: CaptureRef,
    /// The tasks it depends on. If one of them does not land, this one does not land either. A task
    /// that is not part of the request counts as landed.
    pub depends_on: Vec<TaskName>,
    /// The commit message, if work lands on branches.
    pub message: String,
    /// How its conflicts are settled.
    pub settle: SettleRequest,
}

/// A notification about a landing in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingNotice {
    /// Another engine is landing in this repository, and this engine waits for it.
    Waiting,
    /// HEAD has changed since the repository was opened. The work lands nevertheless.
    HeadMoved(HeadMove),
    /// A replaced version of a file had just been written by another program, and was kept.
    Rescued(Rescue),
    /// Something about the commits is not as the user may expect.
    Degraded(Notice),
    /// The landing cannot detect programs that have files open for writing, and compares replaced
    /// versions twice instead. Sent once per landing.
    OpenFilesUnknown {
        /// One of the files.
        path: RepoPath,
        /// The reason why the landing cannot detect such programs.
        why: String,
    },
    /// The file system cannot exchange two files in one step: each replaced file is moved aside
    /// first. Sent once per landing.
    NoExchange {
        /// One of the files.
        path: RepoPath,
    },
}

/// A change of HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMove {
    /// The branch and the commit that HEAD was at.
    pub was: String,
    /// The branch and the commit that HEAD is at.
    pub now: String,
    /// What has changed.
    pub kind: HeadMoveKind,
}

/// What has changed about HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMoveKind {
    /// The branch is the same and has another commit.
    SameBranch,
    /// Another branch, or none, is checked out.
    OtherBranch,
}
