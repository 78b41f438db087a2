//! The traits that an isolation backend implements, and the table of the backends there are.

use std::sync::Arc;

use engine::ports::{FreezeRequest, Notice, Workspace, WorkspaceRequest, WorkspaceView};
use protocol::{Captured, IsolationMode, TaskName};

use crate::backends::RunContext;
use crate::backends::in_place::InPlace;
use crate::backends::worktree::Worktree;
use crate::error::{Result, cannot};
use crate::view::{DirectoryView, DiskThreads};

/// One way to isolate tasks from each other and from the user's tree.
///
/// What it can do is data: [`IsolationMode::capabilities`] of its mode. Locks, the task store, the
/// landing queue and the run's folder are not its business; a [`RunContext`] offers what it needs
/// of them. Everything here may block.
pub trait Backend: Send + Sync {
    /// Returns the mode that this implements.
    fn mode(&self) -> IsolationMode;

    /// Freezes the user's working tree as it is now, for the tasks of one run. Nothing lands in it
    /// meanwhile. Whoever calls this removes the run's folder when it fails.
    ///
    /// # Errors
    /// The tree cannot be frozen, or the user has to decide something first.
    fn freeze(&self, context: &RunContext, request: &FreezeRequest) -> Result<Arc<dyn FrozenTree>>;

    /// Reads back what [`Self::freeze`] of an engine that died has left in the run's folder.
    /// Nothing comes back if the run was frozen by another backend.
    ///
    /// # Errors
    /// It is there and cannot be read: then the workspaces of the run are kept as they are.
    fn reopen(&self, context: &RunContext) -> Result<Option<Arc<dyn FrozenTree>>>;
}

/// A working tree that a backend has frozen for one run, and the workspaces that start from it.
pub trait FrozenTree: Send + Sync {
    /// Returns what a person should know about what the workspaces will and will not hold.
    fn notices(&self) -> &[Notice];

    /// Makes a workspace with the frozen tree and the work of the predecessors in it. One that is
    /// half made when this fails is removed again.
    ///
    /// # Errors
    /// It cannot be made; [`engine::ports::IsolationError::Predecessors`] if their work cannot be merged.
    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace>;

    /// Returns how tools see the files of `workspace`: unless a backend says otherwise, as what its
    /// folder holds. `disk` bounds how many threads may wait for that.
    fn view(&self, workspace: &Workspace, disk: &DiskThreads) -> Arc<dyn WorkspaceView> {
        Arc::new(DirectoryView::sharing(workspace.root.clone(), disk.clone()))
    }

    /// Puts what changed in `workspace` since it was made into the task store. Nobody may be
    /// writing any more. Called only where the mode can capture.
    ///
    /// # Errors
    /// [`engine::ports::IsolationError::Vanished`] if the task has removed the workspace or moved it away; after
    /// any other error the workspace is kept.
    fn capture(&self, workspace: &Workspace) -> Result<Captured>;

    /// Records what changed in `workspace` so far beside its capture, in place of its last
    /// checkpoint. Called only where the mode can make checkpoints.
    ///
    /// # Errors
    /// As [`Self::capture`].
    fn checkpoint(&self, workspace: &Workspace) -> Result<Captured>;

    /// Removes a workspace. Succeeds if it is already gone. Called only where workspaces are
    /// private.
    ///
    /// # Errors
    /// It cannot be removed.
    fn discard(&self, workspace: &Workspace) -> Result<()>;

    /// Captures the workspace of `task` that an engine that died has left. If it was captured and
    /// is still the same, that capture stands; if it differs, both are kept. Nothing is removed.
    fn recover(&self, task: &TaskName) -> RecoveredWorkspace;
}

/// A workspace that an engine that died has left.
#[derive(Debug)]
pub struct RecoveredWorkspace {
    /// The workspace.
    pub workspace: Workspace,
    /// What it held, or why that is not known; [`engine::ports::IsolationError::Vanished`] if nothing was left of
    /// it.
    pub captured: Result<Captured>,
}

/// The backends of an engine, one per mode.
#[derive(Clone)]
pub struct Backends(Vec<Arc<dyn Backend>>);

impl Default for Backends {
    /// Returns the backends of this crate: one line for each.
    fn default() -> Self {
        Self(vec![Arc::new(Worktree), Arc::new(InPlace)])
    }
}

impl Backends {
    /// Adds a backend, in place of the one of the same mode.
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

    /// Reads back what an engine that died froze, by whichever backend.
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
