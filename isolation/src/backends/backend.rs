//! The traits that an isolation backend implements, and the table of all backends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::ports::{
    AttemptEnd, FreezeRequest, Notice, Reuse, Workspace, WorkspaceRequest, WorkspaceView,
};
use protocol::{Captured, IsolationMode, RepoPath, TaskName};

use crate::backends::RunContext;
use crate::backends::in_place::InPlace;
use crate::backends::worktree::Worktree;
use crate::error::{Result, cannot};
use crate::file_entry::Mode;
use crate::merged_workspace::MergedCopies;
use crate::view::{DirectoryView, DiskThreads};

/// A way to isolate tasks from each other and from the user's tree.
///
/// A backend has the capabilities of its mode: [`IsolationMode::capabilities`]. A [`RunContext`]
/// gives it access to the task store and the run's folder. The backend does not have to deal with
/// locks and landings. Every method may block.
pub trait Backend: Send + Sync {
    /// Returns the mode that the backend implements.
    fn mode(&self) -> IsolationMode;

    /// Takes a snapshot of the user's working tree for the tasks of one run. The caller ensures
    /// that no landing changes the tree meanwhile. On failure the caller removes the run's folder.
    ///
    /// # Errors
    /// The snapshot cannot be taken, or requires a decision of the user first.
    fn freeze(&self, context: &RunContext, request: &FreezeRequest) -> Result<Arc<dyn FrozenTree>>;

    /// Reads the snapshot that a dead engine took with [`Self::freeze`] from the run's folder.
    /// Returns `None` if another backend took the snapshot.
    ///
    /// # Errors
    /// The snapshot exists, but cannot be read. The run's workspaces are then kept as they are.
    fn reopen(&self, context: &RunContext) -> Result<Option<Arc<dyn FrozenTree>>>;
}

/// A backend's snapshot of the working tree for one run, and the workspaces that start from it.
pub trait FrozenTree: Send + Sync {
    /// Returns the notices about what the workspaces do and do not contain.
    fn notices(&self) -> &[Notice];

    /// Returns what is at `path` in the snapshot: the bytes of a file, or the target of a symlink;
    /// `None` if neither is there.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>>;

    /// Makes what workspaces are made of, for as many of them as `at_once`. Returns when that is done,
    /// when something fails, or soon after `stop` is set. Does nothing if the backend has no use for it.
    fn make_ahead(&self, _at_once: usize, _stop: &AtomicBool) {}

    /// Makes a workspace that contains the snapshot and the work of the predecessors. An incomplete
    /// workspace is removed again when this fails.
    ///
    /// # Errors
    /// The workspace cannot be made; [`engine::ports::IsolationError::Predecessors`] if the work of
    /// the predecessors cannot be merged.
    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace>;

    /// Returns the view through which tools access the files of `workspace`; by default, the
    /// contents of its folder. `disk` bounds how many threads wait for the disk.
    fn view(&self, workspace: &Workspace, disk: &DiskThreads) -> Arc<dyn WorkspaceView> {
        Arc::new(DirectoryView::sharing(workspace.root.clone(), disk.clone()))
    }

    /// Makes the present contents of `workspace` its start, after its set-up: captures contain only
    /// what changes from now on. Until then, the captures of a workspace that was requested with
    /// [`engine::ports::WorkspaceStart::AfterSetup`] are empty. No process may be writing to it.
    /// Called only if the mode can capture.
    ///
    /// # Errors
    /// As [`Self::capture`].
    fn accept_setup(&self, workspace: &Workspace) -> Result<()>;

    /// Writes the changes in `workspace` to the task store, with how its attempt ended. No process may be writing to the
    /// workspace any more. Called only if the mode can capture.
    ///
    /// # Errors
    /// [`engine::ports::IsolationError::Vanished`] if the task has removed the workspace or moved it
    /// away; after any other error the workspace is kept.
    fn capture(&self, workspace: &Workspace, end: &AttemptEnd) -> Result<Captured>;

    /// Records the changes so far as the checkpoint of `workspace`, which replaces the previous
    /// one. Called only if the mode can make checkpoints.
    ///
    /// # Errors
    /// As [`Self::capture`].
    fn checkpoint(&self, workspace: &Workspace) -> Result<Captured>;

    /// Removes a workspace. Its files may be used for another workspace, if `reuse` allows it.
    /// Succeeds if it is already gone. Called only if workspaces are private.
    ///
    /// # Errors
    /// The workspace cannot be removed.
    fn discard(&self, workspace: &Workspace, reuse: Reuse) -> Result<()>;

    /// Returns how the merged work of the run is verified, if the backend has a way.
    fn merged_copies(&self) -> Option<&dyn MergedCopies> {
        None
    }

    /// Captures the workspace of `task` that a dead engine has left. If a capture with the same
    /// changes exists, returns that one. If its changes differ, keeps both captures. Removes
    /// nothing.
    fn recover(&self, task: &TaskName) -> RecoveredWorkspace;
}

/// A workspace that a dead engine has left.
#[derive(Debug)]
pub struct RecoveredWorkspace {
    /// The workspace.
    pub workspace: Workspace,
    /// The capture of the workspace, or the error that prevented it;
    /// [`engine::ports::IsolationError::Vanished`] if the workspace does not exist any more.
    pub captured: Result<Captured>,
}

/// The backends of an engine, one per mode.
#[derive(Clone)]
pub struct Backends(Vec<Arc<dyn Backend>>);

impl Default for Backends {
    /// Returns the backends of this crate.
    fn default() -> Self {
        Self(vec![Arc::new(Worktree), Arc::new(InPlace)])
    }
}

impl Backends {
    /// Adds a backend, which replaces the one of the same mode.
    #[must_use]
    pub fn with(mut self, backend: Arc<dyn Backend>) -> Self {
        self.0.retain(|known| known.mode() != backend.mode());
        self.0.push(backend);
        self
    }

    /// Returns the backend of a mode.
    pub(crate) fn of(&self, mode: IsolationMode) -> Result<&dyn Backend> {
        let found = self.0.iter().find(|backend| backend.mode() == mode);
        found.map(Arc::as_ref).ok_or_else(|| {
            cannot(format!("isolate tasks as `{}` does", mode.name()), "there is no such backend")
        })
    }

    /// Finds the backend that took the snapshot of a dead engine, and reads the snapshot with it.
    pub(crate) fn reopen(&self, context: &RunContext) -> Result<Arc<dyn FrozenTree>> {
        for backend in &self.0 {
            if let Some(frozen) = backend.reopen(context)? {
                return Ok(frozen);
            }
        }
        let what = format!("tell what the workspaces in {} began as", context.folder.display());
        Err(cannot(what, "there is no frozen tree"))
    }
}
