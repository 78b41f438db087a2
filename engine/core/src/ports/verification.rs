//! The port for the workspace in which the merged work of a run is verified.

use std::path::Path;

use async_trait::async_trait;
use protocol::{RepoPath, TaskLanding};

use super::{IsolationError, LandingTask};

/// A workspace with the snapshot of a run and the work of some of its tasks, in which the work is
/// verified before it lands. Ignored files stay from one verification to the next. Nothing in it
/// lands. It is removed with the folder of the run.
#[async_trait]
pub trait MergedWorkspace: Send + Sync {
    /// Returns the root of the copy of the working tree.
    fn root(&self) -> &Path;

    /// Makes the present contents its start, now that its set-up has ended: a merge puts everything
    /// back to it that is not ignored. No process may be writing into it. Called at most once,
    /// before the first merge.
    async fn accept_setup(&self) -> Result<(), IsolationError>;

    /// Puts everything back that is not ignored, and merges the work of `tasks` into it, in order
    /// and each completely or not at all. No process may be writing into it. Returns the result for
    /// each task, as if everything that was merged had landed.
    async fn merge(&self, tasks: Vec<LandingTask>) -> Result<Vec<TaskLanding>, IsolationError>;

    /// Returns the paths of the last merge that differ in the user's working tree from the snapshot
    /// with the work of `landed`, sorted.
    async fn edited(&self, landed: Vec<LandingTask>) -> Result<Vec<RepoPath>, IsolationError>;
}

/// Returns the error of a mode in which merged work cannot be verified.
pub(super) fn no_merged_workspace() -> IsolationError {
    let source = "this isolation mode has no workspace to verify it in".into();
    IsolationError::Failed { what: "merge the work of the run".to_owned(), source }
}
