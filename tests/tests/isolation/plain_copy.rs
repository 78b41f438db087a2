//! The plainest backend there can be: whole trees are copied, and whole trees are compared.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::ports::{
    AttemptEnd, FreezeRequest, IsolationError, Notice, Reuse, Workspace, WorkspaceRequest,
    WorkspaceStart,
};
use isolation::{
    Backend, CaptureWriter, FileMode, FileVersion, FrozenTree, RecoveredWorkspace, RunContext,
};
use protocol::{Captured, IsolationMode, RepoPath, TaskName};

type Result<T> = std::result::Result<T, IsolationError>;

/// Isolation by a copy of everything, of everything again for each task, and of everything once
/// more to compare with.
pub(super) struct PlainCopy;

impl Backend for PlainCopy {
    fn mode(&self) -> IsolationMode {
        IsolationMode::Worktree
    }

    fn freeze(&self, context: &RunContext, _: &FreezeRequest) -> Result<Arc<dyn FrozenTree>> {
        let listing = context.list(context.root())?;
        let copied = CopiedTree { context: context.clone(), notices: listing.notices };
        let frozen = copied.frozen();
        failed("copy the tree", || {
            fs::create_dir_all(&frozen)?;
            for folder in &listing.folders {
                fs::create_dir_all(frozen.join(folder.as_path()))?;
            }
            for path in &listing.files {
                copy(&context.root().join(path.as_path()), &frozen.join(path.as_path()))?;
            }
            Ok(())
        })?;
        Ok(Arc::new(copied))
    }

    fn reopen(&self, context: &RunContext) -> Result<Option<Arc<dyn FrozenTree>>> {
        let copied = CopiedTree { context: context.clone(), notices: Vec::new() };
        let is_ours = copied.frozen().is_dir();
        Ok(is_ours.then(|| Arc::new(copied) as Arc<dyn FrozenTree>))
    }
}

/// A copy of the user's tree.
struct CopiedTree {
    context: RunContext,
    notices: Vec<Notice>,
}

impl CopiedTree {
    fn frozen(&self) -> PathBuf {
        self.context.backend_folder().join("frozen")
    }

    /// What the workspace of a task began as.
    fn base(&self, task: &TaskName) -> PathBuf {
        self.context.backend_folder().join("bases").join(task.as_str())
    }

    /// A file that is there until the set-up of the task's workspace has ended.
    fn pending(&self, task: &TaskName) -> PathBuf {
        self.context.backend_folder().join(format!("{task}.pending"))
    }

    /// Compares what a workspace began as with what it is now, path by path.
    fn compare(&self, workspace: &Workspace) -> Result<CaptureWriter<'_>> {
        self.context.must_be_there(workspace, &[])?;
        if self.pending(&workspace.task).exists() {
            return self.context.capture();
        }
        let (base, now) = (self.base(&workspace.task), &workspace.root);
        let began = failed("list what a workspace began as", || all_files(&base))?;
        let mut paths = self.context.list(now)?.files;
        paths.extend(began);
        paths.sort();
        paths.dedup();
        let mut writer = self.context.capture()?;
        for path in paths {
            let before = failed("read a file", || version(&base.join(path.as_path())))?;
            let after = failed("read a file", || version(&now.join(path.as_path())))?;
            writer.add(path, before.as_ref(), after.as_ref())?;
        }
        Ok(writer)
    }
}

impl FrozenTree for CopiedTree {
    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn read(&self, path: &RepoPath) -> Result<Option<(FileMode, Vec<u8>)>> {
        let path = self.frozen().join(path.as_path());
        Ok(match fs::read_link(&path) {
            Ok(target) => Some((FileMode::Link, target.into_os_string().into_vec())),
            Err(_) => fs::read(&path).ok().map(|bytes| (FileMode::File, bytes)),
        })
    }

    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace> {
        self.context.make_workspace(request, |new| {
            failed("copy the tree", || copy_all(&self.frozen(), &new.tree))?;
            self.context.apply_predecessors(&new.tree, &request.predecessors)?;
            failed("copy the workspace", || copy_all(&new.tree, &self.base(&request.task)))?;
            match request.start {
                WorkspaceStart::AtOnce => Ok(()),
                WorkspaceStart::AfterSetup => {
                    failed("write a file", || fs::write(self.pending(&request.task), ""))
                }
            }
        })
    }

    fn accept_setup(&self, workspace: &Workspace) -> Result<()> {
        self.context.must_be_there(workspace, &[])?;
        let (base, pending) = (self.base(&workspace.task), self.pending(&workspace.task));
        failed("copy the workspace", || {
            fs::remove_dir_all(&base)?;
            copy_all(&workspace.root, &base)?;
            fs::remove_file(pending)
        })
    }

    fn capture(&self, workspace: &Workspace, end: &AttemptEnd) -> Result<Captured> {
        self.compare(workspace)?.keep(&workspace.task, workspace.attempt, end)
    }

    fn checkpoint(&self, workspace: &Workspace) -> Result<Captured> {
        self.compare(workspace)?.keep_checkpoint(&workspace.task, workspace.attempt)
    }

    fn discard(&self, workspace: &Workspace, _reuse: Reuse) -> Result<()> {
        let base = self.base(&workspace.task);
        self.context.remove_workspace(workspace, || {
            failed("remove what a workspace began as", || match fs::remove_dir_all(&base) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            })
        })
    }

    fn recover(&self, task: &TaskName) -> RecoveredWorkspace {
        let workspace = self.context.workspace(task, 1);
        let compared = self.compare(&workspace);
        let captured = compared.and_then(|writer| writer.keep_recovered(task, 1));
        RecoveredWorkspace { workspace, captured }
    }
}

/// Copies a folder with everything in it.
fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Copies a file or a symlink.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

/// Returns every file and symlink below a folder.
fn all_files(root: &Path) -> std::io::Result<Vec<RepoPath>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                files.extend(RepoPath::new(path.as_os_str().as_bytes()));
            }
        }
    }
    Ok(files)
}

/// Reads a file or a symlink, if one is there.
fn version(path: &Path) -> std::io::Result<Option<FileVersion>> {
    let Ok(found) = path.symlink_metadata() else { return Ok(None) };
    if found.is_symlink() {
        let bytes = fs::read_link(path)?.into_os_string().into_vec();
        return Ok(Some(FileVersion { mode: FileMode::Link, bytes }));
    }
    if !found.is_file() {
        return Ok(None);
    }
    let runs = found.permissions().mode() & 0o100 != 0;
    let mode = if runs { FileMode::Executable } else { FileMode::File };
    Ok(Some(FileVersion { mode, bytes: fs::read(path)? }))
}

fn failed<T>(what: &str, step: impl FnOnce() -> std::io::Result<T>) -> Result<T> {
    step().map_err(|error| IsolationError::Failed { what: what.to_owned(), source: error.into() })
}
