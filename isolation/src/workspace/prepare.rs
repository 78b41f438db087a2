//! Prepares a workspace. The copy, the work of the predecessors and the git directory are made under
//! a temporary name; the manifest follows, and the rename to the name of the task comes last.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::failpoint;
use engine::ports::{IsolationError, Workspace, WorkspaceRequest, WorkspaceStart};

use crate::backends::RunContext;
use crate::baseline::Snapshot;
use crate::carry::Carried;
use crate::error::{OrCannot, Result};
use crate::pool::{CopyStats, GitFolder, Lent, Source};
use crate::tree::Tree;
use crate::workspace::copy_tree::copy_tree;
use crate::workspace::manifest::{Manifest, tree_of};
use crate::workspace::remove_tree::rename_new;
use crate::workspace::{GitTemplate, SetupState, git_dir, predecessors, remove_tree};

/// The prefix of workspaces that are being made.
const UNFINISHED: &str = ".new-";

/// The name of the git directory in the workspace's folder.
pub(crate) const GIT: &str = "git";

/// The name of the file whose time shows when the workspace was complete.
pub(super) const MARKER: &str = "marker";

/// The longest time for which the clock of a file system is expected to stand still; most advance
/// every 1 to 10 ms.
const TICK: Duration = Duration::from_millis(50);

/// A workspace that is being made.
#[derive(Debug)]
pub struct NewWorkspace {
    /// The folder of the workspace, under its temporary name.
    pub folder: PathBuf,
    /// The empty folder in it for the copy of the working tree.
    pub tree: PathBuf,
    /// The final path of `folder`.
    pub destination: PathBuf,
}

/// Makes a workspace with `fill`. After a failure, the incomplete workspace is removed again.
pub(crate) fn make(
    context: &RunContext,
    request: &WorkspaceRequest,
    fill: impl FnOnce(&NewWorkspace) -> Result<()>,
) -> Result<Workspace> {
    let workspace = free_place(context, request)?;
    let unfinished = make_unfinished(context, request.task.as_str())
        .or_cannot(|| format!("make the workspace {}", workspace.folder.display()))?;
    complete(unfinished, workspace, |new| {
        fs::create_dir(&new.tree).or_cannot(|| format!("make {}", new.tree.display()))?;
        fill(new)
    })
}

/// Makes an empty folder with a temporary name, for a workspace or a copy, and returns its path.
pub(crate) fn make_unfinished(context: &RunContext, whose: &str) -> std::io::Result<PathBuf> {
    let folder = tempfile::Builder::new()
        .prefix(&format!("{UNFINISHED}{whose}-"))
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(&context.folder)?;
    Ok(folder.keep())
}

/// Copies the snapshot and carried files to the empty folder `tree`.
pub(crate) fn copy_new(snapshot: &Snapshot, carried: &Carried, tree: &Path) -> Result<()> {
    let files = snapshot.pool.carried_files(snapshot)?;
    let carried = files.as_deref().map(|files| (carried, files));
    copy_tree(snapshot, tree, carried, &AtomicBool::new(false))
}

/// Returns the workspace that `request` asks for, which does not exist yet.
fn free_place(context: &RunContext, request: &WorkspaceRequest) -> Result<Workspace> {
    let workspace = context.workspace(&request.task, request.attempt);
    let folder = &workspace.folder;
    // An existing folder may hold work. The folder stays, and the call fails.
    if folder.symlink_metadata().is_ok() {
        let what = || format!("make the workspace {}", folder.display());
        return Err("it is there already").or_cannot(what);
    }
    Ok(workspace)
}

/// Makes `workspace` of a folder with a temporary name. After a failure, the folder is removed.
pub(super) fn complete(
    folder: PathBuf,
    workspace: Workspace,
    fill: impl FnOnce(&NewWorkspace) -> Result<()>,
) -> Result<Workspace> {
    let what = || format!("make the workspace {}", workspace.folder.display());
    let tree = tree_of(&folder);
    let new = NewWorkspace { folder, tree, destination: workspace.folder.clone() };
    let made = fill(&new).and_then(|()| rename_new(&new.folder, &workspace.folder).or_cannot(what));
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

/// Makes a workspace with a copy of the snapshot, the work of the predecessors and a git directory
/// of its own. A copy in the pool of the run is used if there is one, unless the task has carried files
/// of its own.
pub(crate) fn prepare(snapshot: &Snapshot, request: &WorkspaceRequest) -> Result<Workspace> {
    let pool = &snapshot.pool;
    if let Some(carried) = snapshot.own_carried(request.carry.as_deref())? {
        return prepare_alone(snapshot, request, &carried);
    }
    let workspace = free_place(&snapshot.context, request)?;
    let mut lent = None;
    let workspace = loop {
        match pool.take() {
            Source::Pooled(pooled) => {
                // A copy that cannot be restored is removed.
                let Some((folder, mut restored)) = pooled.restore(snapshot) else { continue };
                let git = restored.take_git();
                break complete(folder, workspace, |new| {
                    let record = |tree: &Tree| restored.finish(tree).map(Some);
                    lent = furnish(snapshot, new, request, git, record)?;
                    Ok(())
                })?;
            }
            Source::New(turn) => {
                break make(&snapshot.context, request, |new| {
                    copy_new(snapshot, snapshot.carried_of_pool(), &new.tree)?;
                    drop(turn);
                    let record = |tree: &Tree| Ok(CopyStats::record(snapshot, &new.folder, tree));
                    lent = furnish(snapshot, new, request, None, record)?;
                    Ok(())
                })?;
            }
        }
    };
    pool.lend(&request.task, lent);
    Ok(workspace)
}

/// Makes the workspace of a task with carried files of its own, of a copy that is not used again.
fn prepare_alone(
    snapshot: &Snapshot,
    request: &WorkspaceRequest,
    carried: &Carried,
) -> Result<Workspace> {
    let turn = snapshot.pool.turn_apart();
    let workspace = make(&snapshot.context, request, |new| {
        copy_new(snapshot, carried, &new.tree)?;
        drop(turn);
        furnish(snapshot, new, request, None, |_| Ok(None)).map(drop)
    })?;
    snapshot.pool.lend(&request.task, None);
    Ok(workspace)
}

/// Returns whether an entry of a run's folder is a workspace that was never complete. No task ever
/// ran in it.
pub(crate) fn is_unfinished(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(UNFINISHED.as_bytes())
}

/// Turns a copy of the snapshot into the workspace of a task. Its git folder is made anew if there is
/// none that can be used again. `record` returns what the copy looks like before the work of
/// predecessors is written to it.
fn furnish(
    snapshot: &Snapshot,
    new: &NewWorkspace,
    request: &WorkspaceRequest,
    git: Option<GitFolder>,
    record: impl FnOnce(&Tree) -> Result<Option<CopyStats>>,
) -> Result<Option<Lent>> {
    let NewWorkspace { folder, tree, destination } = new;
    let mut git = match git {
        Some(git) => Some(git),
        None => {
            GitTemplate::of_run(&snapshot.context.folder).copy_to(&folder.join(GIT))?;
            GitFolder::record(folder, GIT)
        }
    };
    git_dir::link(&destination.join(GIT), tree)?;
    let opened = Tree::open_at(tree)?;
    if let Some(git) = &mut git {
        git.record_link(&opened);
    }
    let stats = record(&opened)?;
    let predecessor_changes =
        predecessors::apply_predecessors_to(snapshot, tree, &request.predecessors)?;
    let marker_ns = mark(folder)?;
    let lent = stats.map(|stats| Lent::new(stats, git, marker_ns, predecessor_changes.keys()));
    let manifest = Manifest {
        run: snapshot.context.run.clone(),
        task: request.task.clone(),
        attempt: request.attempt,
        marker_ns,
        predecessor_changes,
        setup: match request.start {
            WorkspaceStart::AtOnce => SetupState::None,
            WorkspaceStart::AfterSetup => SetupState::Pending,
        },
    };
    failpoint!(snapshot.context.faults, "prepare.manifest").or_cannot(|| "write the manifest")?;
    manifest.write(&snapshot.context.folder)?;
    failpoint!(snapshot.context.faults, "prepare.rename").or_cannot(|| "name the workspace")?;
    Ok(lent)
}

/// Waits for `TICK` at most until the clock of the workspace's file system advances, and returns
/// its time. Without the wait, a copied file could have the same time as the task's first writes. A
/// capture would have to compare such a file with its original. The original may be lost, if the
/// user has changed the file since and git would check it out with other bytes.
pub(crate) fn mark(folder: &Path) -> Result<i64> {
    let file = folder.join(MARKER);
    let what = || format!("write {}", file.display());
    // Set-up commands may have put anything in the place of an earlier file.
    match fs::remove_file(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).or_cannot(what),
        Ok(()) | Err(_) => {}
    }
    let mut marker = File::create_new(&file).or_cannot(what)?;
    let began = Instant::now();
    // Nothing that was written before has a later time.
    let first = changed_ns(&marker).or_cannot(what)?;
    let mut now = first;
    // From Linux 6.13 on, the next change of a file whose time was read has a finer time.
    while now == first && began.elapsed() < TICK {
        marker.write_all(b".").or_cannot(what)?;
        now = changed_ns(&marker).or_cannot(what)?;
        if now == first {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(boundary(first, now))
}

/// Returns the time that separates what has changed up to `first` from what changes after `now`. It is
/// the earliest one, because a clock can go back a little: some kernels correct the time of files so.
fn boundary(first: i64, now: i64) -> i64 {
    if now > first { first.saturating_add(1) } else { now }
}

fn changed_ns(file: &File) -> std::io::Result<i64> {
    let meta = file.metadata()?;
    Ok(meta.ctime().saturating_mul(1_000_000_000) + meta.ctime_nsec())
}

/// Fails with [`IsolationError::Vanished`] if the copy of the tree certainly does not exist any
/// more and the workspace's folder holds nothing else that a task may have made.
pub(crate) fn must_be_there(folder: &Path) -> Result<()> {
    must_be_there_beside(folder, &[GIT, MARKER])
}

/// Does the same as [`must_be_there`], with `own` as the names of the entries that the backend
/// made.
pub(crate) fn must_be_there_beside(folder: &Path, own: &[&str]) -> Result<()> {
    let root = tree_of(folder);
    let is_gone =
        matches!(root.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    if is_gone && holds_only(folder, own) {
        return Err(IsolationError::Vanished { root });
    }
    Ok(())
}

/// Returns whether a workspace's folder holds nothing but the entries in `own`. Returns `false` for
/// a folder that cannot be read, because it may hold work.
fn holds_only(folder: &Path, own: &[&str]) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| own.iter().any(|name| entry.file_name() == *name))
        }),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_workspace_is_later_than_its_files_and_leaves_room_before_the_first_change() {
        assert_eq!(boundary(1_000, 5_000), 1_001);
        // Where the clock stands still, nothing is certain about the files of that time.
        assert_eq!(boundary(1_000, 1_000), 1_000);
        assert_eq!(boundary(1_000, 900), 900);
    }
}
