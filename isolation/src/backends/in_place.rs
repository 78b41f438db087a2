//! The backend of the mode `none`: tasks work in the user's tree itself.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{AttemptEnd, FreezeRequest, Notice, Reuse, Workspace, WorkspaceRequest};
use protocol::{Captured, IsolationMode, RepoPath, TaskName};

use crate::backends::{Backend, FrozenTree, RecoveredWorkspace, RunContext};
use crate::error::{Result, cannot};
use crate::file_entry::Mode;
use crate::tree::{Tree, TreeEntry};

/// No isolation: every workspace is the user's tree. Nothing is captured, and nothing is removed.
pub(super) struct InPlace;

impl Backend for InPlace {
    fn mode(&self) -> IsolationMode {
        IsolationMode::None
    }

    fn freeze(&self, context: &RunContext, _: &FreezeRequest) -> Result<Arc<dyn FrozenTree>> {
        let notice = Notice {
            from: format!("isolation is {}", self.mode().name()),
            to: "tasks work in the repository itself, and nothing is captured or landed".to_owned(),
            why: String::new(),
        };
        Ok(Arc::new(UsersTree { root: context.root().to_owned(), notices: [notice] }))
    }

    fn reopen(&self, _: &RunContext) -> Result<Option<Arc<dyn FrozenTree>>> {
        // This backend takes no snapshots, so a dead engine has left none.
        Ok(None)
    }
}

/// The user's tree, of which no snapshot is taken.
struct UsersTree {
    root: PathBuf,
    notices: [Notice; 1],
}

impl UsersTree {
    fn workspace(&self, task: &TaskName, attempt: u32) -> Workspace {
        let (folder, root) = (self.root.clone(), self.root.clone());
        Workspace { task: task.clone(), attempt, folder, root }
    }

    fn uncaptured(&self) -> Result<Captured> {
        let what = format!("capture what a task changed in {}", self.root.display());
        Err(cannot(what, "it works in the repository itself"))
    }
}

impl FrozenTree for UsersTree {
    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn read(&self, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>> {
        Ok(match Tree::open_at(&self.root)?.read_entry(path)? {
            TreeEntry::File { mode, bytes, .. } => Some((mode, bytes)),
            TreeEntry::Link { target, .. } => Some((Mode::Link, target)),
            TreeEntry::Missing | TreeEntry::Blocked(_) | TreeEntry::Folder | TreeEntry::Special => {
                None
            }
        })
    }

    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace> {
        Ok(self.workspace(&request.task, request.attempt))
    }

    fn accept_setup(&self, _: &Workspace) -> Result<()> {
        // Nothing is captured.
        Ok(())
    }

    fn capture(&self, _: &Workspace, _: &AttemptEnd) -> Result<Captured> {
        self.uncaptured()
    }

    fn checkpoint(&self, _: &Workspace) -> Result<Captured> {
        self.uncaptured()
    }

    fn discard(&self, _: &Workspace, _: Reuse) -> Result<()> {
        // The workspace is the user's own tree, which is never removed.
        Ok(())
    }

    fn recover(&self, task: &TaskName) -> RecoveredWorkspace {
        RecoveredWorkspace { workspace: self.workspace(task, 1), captured: self.uncaptured() }
    }
}
