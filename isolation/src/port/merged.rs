//! The workspace in which the merged work of a run is verified, on threads that may block.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::ports::{LandingTask, MergedWorkspace};
use protocol::{RepoPath, TaskLanding};

use super::blocking;
use crate::backends::{FrozenRun, FrozenTree};
use crate::error::{Result, cannot};
use crate::merged_workspace::{MergedCopies, MergedCopy};

type Run = Arc<FrozenRun<Arc<dyn FrozenTree>>>;

/// The workspace of one run.
pub(super) struct MergedInRun {
    run: Run,
    root: PathBuf,
    copy: Arc<Mutex<MergedCopy>>,
}

impl MergedInRun {
    /// Makes the workspace.
    pub(super) fn make(run: Run) -> Result<Self> {
        let copy = copies(&run)?.make()?;
        let root = copy.root().to_owned();
        Ok(Self { run, root, copy: Arc::new(Mutex::new(copy)) })
    }

    /// Runs a step, one at a time.
    async fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce(&dyn MergedCopies, &mut MergedCopy) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (run, copy) = (Arc::clone(&self.run), Arc::clone(&self.copy));
        blocking(move || {
            let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
            step(copies(&run)?, &mut copy)
        })
        .await
    }
}

fn copies(run: &Run) -> Result<&dyn MergedCopies> {
    let none = || cannot("merge the work of the run", "its isolation mode has no way to verify it");
    run.tree.merged_copies().ok_or_else(none)
}

#[async_trait]
impl MergedWorkspace for MergedInRun {
    fn root(&self) -> &Path {
        &self.root
    }

    async fn accept_setup(&self) -> Result<()> {
        self.step(|copies, copy| copies.accept_setup(copy)).await
    }

    async fn merge(&self, tasks: Vec<LandingTask>) -> Result<Vec<TaskLanding>> {
        self.step(move |copies, copy| copies.merge(copy, &tasks)).await
    }

    async fn edited(&self, landed: Vec<LandingTask>) -> Result<Vec<RepoPath>> {
        self.step(move |copies, copy| copies.edited(copy, &landed)).await
    }
}
