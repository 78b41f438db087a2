//! The backend of the mode `worktree`: each task works in a copy of the snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::failpoint;
use engine::ports::{
    AttemptEnd, FreezeRequest, Notice, Reuse, Workspace, WorkspaceRequest, WorkspaceView,
};
use protocol::{Captured, IsolationMode, RepoPath, TaskName};

use crate::backends::{Backend, FrozenTree, RecoveredWorkspace, RunContext};
use crate::baseline::{ContentReader, Snapshot};
use crate::capture::{self, Known};
use crate::error::{Result, cannot};
use crate::file_entry::Mode;
use crate::merged_workspace::MergedCopies;
use crate::pool;
use crate::view::{DirectoryView, DiskThreads};
use crate::workspace::{self, Manifest, SetupState};

/// Isolation by copies: one scan of the whole tree per run, one copy of it per task.
pub(super) struct Worktree;

impl Backend for Worktree {
    fn mode(&self) -> IsolationMode {
        IsolationMode::Worktree
    }

    fn freeze(&self, context: &RunContext, request: &FreezeRequest) -> Result<Arc<dyn FrozenTree>> {
        Ok(Arc::new(Snapshot::freeze(context, request)?))
    }

    fn reopen(&self, context: &RunContext) -> Result<Option<Arc<dyn FrozenTree>>> {
        let snapshot = Snapshot::load(context)?;
        Ok(snapshot.map(|snapshot| Arc::new(snapshot) as Arc<dyn FrozenTree>))
    }
}

impl FrozenTree for Snapshot {
    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn read(&self, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>> {
        let Some(frozen) = self.table.get(path) else { return Ok(None) };
        let bytes = ContentReader::open(self)?.of(path, frozen)?;
        Ok(Some((frozen.mode, bytes)))
    }

    fn view(&self, workspace: &Workspace, disk: &DiskThreads) -> Arc<dyn WorkspaceView> {
        let view = DirectoryView::sharing(workspace.root.clone(), disk.clone());
        Arc::new(match self.pool.record(&workspace.task) {
            Some(record) => view.recorded(record),
            None => view,
        })
    }

    fn make_ahead(&self, at_once: usize, stop: &AtomicBool) {
        pool::make_ahead(self, at_once, stop);
    }

    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace> {
        workspace::prepare(self, request)
    }

    fn accept_setup(&self, workspace: &Workspace) -> Result<()> {
        let manifest = self.manifest(workspace)?;
        let differences = self.pool.differences(self, workspace);
        capture::accept_setup(self, &workspace.folder, manifest, differences.as_ref())
    }

    fn capture(&self, workspace: &Workspace, end: &AttemptEnd) -> Result<Captured> {
        self.pool.expect(&workspace.task);
        // A workspace that is not captured is kept.
        self.capture_expected(workspace, end)
            .inspect_err(|_not_captured| self.pool.unexpect(&workspace.task))
    }

    fn checkpoint(&self, workspace: &Workspace) -> Result<Captured> {
        capture::checkpoint(self, &workspace.folder, &self.manifest(workspace)?)
    }

    fn discard(&self, workspace: &Workspace, reuse: Reuse) -> Result<()> {
        match reuse {
            Reuse::Allowed if self.pool.take_back(self, workspace)? => return Ok(()),
            Reuse::Allowed => {}
            Reuse::Refused => self.pool.forget(&workspace.task),
        }
        let RunContext { faults, removals, .. } = &self.context;
        workspace::discard(&workspace.folder, faults, removals)
    }

    fn merged_copies(&self) -> Option<&dyn MergedCopies> {
        Some(self)
    }

    fn recover(&self, task: &TaskName) -> RecoveredWorkspace {
        let manifest = Manifest::read(&self.context.folder, task);
        let attempt = manifest.as_ref().map_or(1, |manifest| manifest.attempt);
        let workspace = self.context.workspace(task, attempt);
        let captured = manifest.or_else(|error| {
            workspace::must_be_there(&workspace.folder)?;
            Err(error)
        });
        let captured = captured.and_then(|manifest| {
            if (&manifest.run, &manifest.task) != (&self.context.run, task) {
                let what = format!("capture {}", workspace.folder.display());
                return Err(cannot(what, "its manifest is another task's"));
            }
            capture::recapture(self, &workspace.folder, &manifest)
        });
        RecoveredWorkspace { workspace, captured }
    }
}

impl Snapshot {
    /// Captures a workspace whose copy the pool expects back.
    fn capture_expected(&self, workspace: &Workspace, end: &AttemptEnd) -> Result<Captured> {
        let manifest = self.manifest(workspace)?;
        if let Some(written) = self.written(workspace, &manifest) {
            let known = Known::Written(&written);
            let captured = capture::capture(self, &workspace.folder, &manifest, (known, end))?;
            self.pool.keep_written(self, &workspace.task, &written);
            return Ok(captured);
        }
        let differences = self.pool.differences(self, workspace);
        let known = differences.as_ref().map_or(Known::Nothing, Known::Differences);
        let captured = capture::capture(self, &workspace.folder, &manifest, (known, end))?;
        if let Some(differences) = differences {
            self.pool.keep_differences(&workspace.task, differences);
        }
        Ok(captured)
    }

    /// Returns every path of a workspace that may have changed, if only views have written to it.
    fn written(&self, workspace: &Workspace, manifest: &Manifest) -> Option<BTreeSet<Vec<u8>>> {
        // A planned failure makes the capture walk the workspace instead.
        if failpoint!(self.context.faults, "capture.record").is_err() {
            return None;
        }
        let written = self.pool.written(&workspace.task)?;
        let is_new = manifest.setup == SetupState::None && manifest.predecessor_changes.is_empty();
        // Where names are folded, a path that was written may be another one of the snapshot.
        let mut folded = workspace.root.clone();
        folded.set_file_name(workspace.root.file_name()?.to_ascii_uppercase());
        (is_new && folded.symlink_metadata().is_err()).then_some(written)
    }

    /// Reads the manifest of a workspace that still exists, or whose set-up has not ended: there is
    /// no work in it.
    fn manifest(&self, workspace: &Workspace) -> Result<Manifest> {
        let manifest = Manifest::read(&self.context.folder, &workspace.task);
        let is_pending = |manifest: &Manifest| manifest.setup == SetupState::Pending;
        if !manifest.as_ref().is_ok_and(is_pending) {
            workspace::must_be_there(&workspace.folder)?;
        }
        manifest
    }
}
