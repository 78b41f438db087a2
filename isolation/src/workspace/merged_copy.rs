//! Makes the copy of a snapshot in which the merged work of a run is verified.

use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use engine::ports::Workspace;
use protocol::TaskName;

use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result};
use crate::pool::{GitFolder, Source};
use crate::workspace::manifest::{Manifest, tree_of};
use crate::workspace::prepare::{GIT, NewWorkspace, complete, copy_new, mark};
use crate::workspace::{GitTemplate, SetupState, git_dir};

/// The prefix of the folders in which work is verified. No task can have such a name.
const MERGED: &str = ".verify-";

/// Returns whether an entry of a run's folder is a copy in which merged work is verified. There is no
/// work in it that is not captured.
pub(crate) fn is_merged_copy(entry: &DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(MERGED.as_bytes())
}

/// Makes a copy of the snapshot with the carried files and a git directory of its own. A copy in the
/// pool of the run is used if there is one. Returns its place, and its manifest, which is not written:
/// the copy is never captured.
pub(crate) fn make_merged_copy(snapshot: &Snapshot) -> Result<(Workspace, Manifest)> {
    let workspace = place(snapshot);
    let mut marker_ns = 0;
    let workspace = loop {
        match snapshot.pool.take() {
            Source::Pooled(pooled) => {
                // A copy that cannot be restored is removed.
                let Some((folder, mut restored)) = pooled.restore(snapshot) else { continue };
                let git = restored.take_git();
                break complete(folder, workspace, |new| {
                    marker_ns = furnish(snapshot, new, git.as_ref())?;
                    Ok(())
                })?;
            }
            Source::New(turn) => {
                let folder = tempfile::Builder::new()
                    .prefix(MERGED)
                    .permissions(fs::Permissions::from_mode(0o700))
                    .tempdir_in(&snapshot.context.folder)
                    .or_cannot(|| "make the workspace in which the work is verified")?
                    .keep();
                break complete(folder, workspace, |new| {
                    fs::create_dir(&new.tree)
                        .or_cannot(|| format!("make {}", new.tree.display()))?;
                    copy_new(snapshot, snapshot.carried_of_pool(), &new.tree)?;
                    drop(turn);
                    marker_ns = furnish(snapshot, new, None)?;
                    Ok(())
                })?;
            }
        }
    };
    let manifest = Manifest {
        run: snapshot.context.run.clone(),
        task: workspace.task.clone(),
        attempt: workspace.attempt,
        marker_ns,
        predecessor_changes: std::collections::BTreeMap::new(),
        setup: SetupState::None,
    };
    // The commands that verify the work are not task's.
    snapshot.pool.lend_unknown();
    Ok((workspace, manifest))
}

/// Returns the first free place for a copy.
fn place(snapshot: &Snapshot) -> Workspace {
    let named = |number: u32| snapshot.context.folder.join(format!("{MERGED}{number}"));
    let folder = (1..).map(named).find(|folder| folder.symlink_metadata().is_err());
    let folder = folder.unwrap_or_else(|| named(0));
    let root = tree_of(&folder);
    // The name is never looked at: a copy of which no task knows is not a task's workspace.
    Workspace { task: TaskName::nearest("verification"), attempt: 1, folder, root }
}

/// Links the copy to its git directory, which is made if there is none, and returns the time at
/// which the copy was complete.
fn furnish(snapshot: &Snapshot, new: &NewWorkspace, git: Option<&GitFolder>) -> Result<i64> {
    let NewWorkspace { folder, tree, destination } = new;
    if git.is_none() {
        GitTemplate::of_run(&snapshot.context.folder).copy_to(&folder.join(GIT))?;
    }
    git_dir::link(&destination.join(GIT), tree)?;
    mark(folder)
}
