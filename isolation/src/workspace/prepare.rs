//! Prepares a workspace. The copy, the work of the predecessors and the git directory are made under
//! a temporary name; the manifest follows, and the rename to the name of the task comes last.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::ports::{IsolationError, Workspace, WorkspaceRequest};

use crate::backends::RunContext;
use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result};
use crate::workspace::copy_tree::copy_tree;
use crate::workspace::manifest::{Manifest, tree_of};
use crate::workspace::remove_tree::rename_new;
use crate::workspace::{GitTemplate, predecessors, remove_tree};

/// What the names of workspaces that are being made begin with.
const UNFINISHED: &str = ".new-";

/// The name of the git directory in the workspace's folder.
pub(super) const GIT: &str = "git";

/// The name of the file in it that says when it was ready.
pub(super) const MARKER: &str = "marker";

/// How long a file system's clock may stand still: most go on every 1 to 10 ms.
const TICK: Duration = Duration::from_millis(50);

/// A workspace that is being made.
#[derive(Debug)]
pub struct NewWorkspace {
    /// The folder that holds everything of it, under its temporary name.
    pub folder: PathBuf,
    /// The empty folder in it that becomes the copy of the working tree.
    pub tree: PathBuf,
    /// The path that `folder` is going to have.
    pub destination: PathBuf,
}

/// Makes a workspace that `fill` fills. One that is half made when this fails is removed again.
pub(crate) fn make(
    context: &RunContext,
    request: &WorkspaceRequest,
    fill: impl FnOnce(&NewWorkspace) -> Result<()>,
) -> Result<Workspace> {
    let workspace = context.workspace(&request.task, request.attempt);
    let folder = &workspace.folder;
    let what = || format!("make the workspace {}", folder.display());
    // What stands there already may hold work: then this fails, and it stays.
    if folder.symlink_metadata().is_ok() {
        return Err("it is there already").or_cannot(what);
    }
    let unfinished = tempfile::Builder::new()
        .prefix(&format!("{UNFINISHED}{}-", request.task))
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(&context.folder)
        .or_cannot(what)?
        .keep();
    let tree = tree_of(&unfinished);
    let new = NewWorkspace { folder: unfinished, tree, destination: folder.clone() };
    let made = fs::create_dir(&new.tree)
        .or_cannot(|| format!("make {}", new.tree.display()))
        .and_then(|()| fill(&new))
        .and_then(|()| rename_new(&new.folder, folder).or_cannot(what));
    match made {
        Ok(()) => Ok(workspace),
        Err(error) => {
            if let Err(error) = remove_tree(&new.folder) {
                tracing::warn!(%error, "an unfinished workspace stays until the next start");
            }
            Err(error)
        }
    }
}

/// Makes a workspace with a copy of the frozen tree and a git directory of its own.
pub(crate) fn prepare(snapshot: &Snapshot, request: &WorkspaceRequest) -> Result<Workspace> {
    make(&snapshot.context, request, |new| fill(snapshot, new, request))
}

/// Returns whether an entry of a run's folder is a workspace that was never ready: no task ever ran
/// in it.
pub(crate) fn is_unfinished(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(UNFINISHED.as_bytes())
}

fn fill(snapshot: &Snapshot, new: &NewWorkspace, request: &WorkspaceRequest) -> Result<()> {
    let NewWorkspace { folder, tree, destination } = new;
    copy_tree(snapshot, tree)?;
    let predecessor_changes =
        predecessors::apply_predecessors_to(snapshot, tree, &request.predecessors)?;
    let git = GitTemplate::of_run(&snapshot.context.folder);
    git.copy_for_task(&folder.join(GIT), &destination.join(GIT), tree)?;
    let manifest = Manifest {
        run: snapshot.context.run.clone(),
        task: request.task.clone(),
        attempt: request.attempt,
        marker_ns: marker(folder)?,
        predecessor_changes,
    };
    snapshot.context.faults.strike("prepare.manifest").or_cannot(|| "write the manifest")?;
    manifest.write(&snapshot.context.folder)?;
    snapshot.context.faults.strike("prepare.rename").or_cannot(|| "name the workspace")
}

/// Returns what the clock of the workspace's file system says when it has gone on, or stood still
/// for long. Until it goes on, a copy is as young as what the task will write, so that a capture
/// would have to compare it with what it began as; and that cannot be had of a file that the user
/// changes meanwhile and that git would not check out as it was.
fn marker(folder: &Path) -> Result<i64> {
    let file = folder.join(MARKER);
    let what = || format!("write {}", file.display());
    let mut marker = File::create(&file).or_cannot(what)?;
    let began = Instant::now();
    let first = changed_ns(&marker).or_cannot(what)?;
    let mut now = first;
    while now == first && began.elapsed() < TICK {
        std::thread::sleep(Duration::from_millis(1));
        marker.write_all(b".").or_cannot(what)?;
        now = changed_ns(&marker).or_cannot(what)?;
    }
    Ok(now)
}

fn changed_ns(file: &File) -> std::io::Result<i64> {
    let meta = file.metadata()?;
    Ok(meta.ctime().saturating_mul(1_000_000_000) + meta.ctime_nsec())
}

/// Fails with [`IsolationError::Vanished`] if the copy of the tree is certainly not there any more,
/// and nothing that we did not make has taken its place beside it.
pub(crate) fn must_be_there(folder: &Path) -> Result<()> {
    must_be_there_beside(folder, &[GIT, MARKER])
}

/// The same, where what we made beside the copy has the names in `own`.
pub(crate) fn must_be_there_beside(folder: &Path, own: &[&str]) -> Result<()> {
    let root = tree_of(folder);
    let is_gone =
        matches!(root.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    if is_gone && holds_only(folder, own) {
        return Err(IsolationError::Vanished { root });
    }
    Ok(())
}

/// Whether a task has put nothing into a workspace's folder. What cannot be looked at may be its
/// work.
fn holds_only(folder: &Path, own: &[&str]) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| own.iter().any(|name| entry.file_name() == *name))
        }),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
