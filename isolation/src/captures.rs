//! What people ask of captured work: its text, its bytes, a list, its end.

use std::path::{Path, PathBuf};

use git2::Oid;
use protocol::{CaptureRef, RepoPath, RunName};

use crate::error::{OrCannot, Result, cannot};
use crate::places::Places;
use crate::store::TaskStore;

/// The captured work of one repository. The repository itself need not be there any more.
#[derive(Clone, Debug)]
pub struct Captures {
    store: PathBuf,
}

/// How much of a capture is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    Everything,
    /// This path, and what is below it.
    Below(RepoPath),
}

impl Captures {
    /// Finds the captures of the repository whose working tree has this canonical root.
    #[must_use]
    pub fn of(root: &Path, places: &Places) -> Self {
        Self { store: places.of(root).store }
    }

    /// Returns what a task changed as a patch that `git apply` accepts, binary files included.
    ///
    /// # Errors
    /// If there is no such capture, or it cannot be read.
    pub fn diff(&self, capture: &CaptureRef, scope: &Scope) -> Result<Vec<u8>> {
        self.existing(|| format!("show {capture}"))?.patch(capture, scope)
    }

    /// Returns the paths that a task changed, sorted.
    ///
    /// # Errors
    /// If there is no such capture, or it cannot be read.
    pub fn paths(&self, capture: &CaptureRef) -> Result<Vec<RepoPath>> {
        let changes = self.existing(|| format!("read {capture}"))?.changes(capture)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// Returns the bytes with this id: one side of a conflict.
    ///
    /// # Errors
    /// If it is no id, or there are no such bytes.
    pub fn read(&self, oid: &str) -> Result<Vec<u8>> {
        let what = || format!("read {oid} from the task store");
        let oid = Oid::from_str(oid).or_cannot(what)?;
        self.existing(what)?.read(oid)
    }

    /// Returns the captures of a run, sorted by task and attempt.
    ///
    /// # Errors
    /// If the task store cannot be read.
    pub fn list(&self, run: &RunName) -> Result<Vec<CaptureRef>> {
        match TaskStore::open_existing(&self.store)? {
            Some(store) => store.captures(run),
            None => Ok(Vec::new()),
        }
    }

    /// Removes a capture. Succeeds if it is already gone.
    ///
    /// # Errors
    /// If the task store cannot be written.
    pub fn remove(&self, capture: &CaptureRef) -> Result<()> {
        match TaskStore::open_existing(&self.store)? {
            Some(store) => store.remove(capture),
            None => Ok(()),
        }
    }

    fn existing(&self, what: impl FnOnce() -> String) -> Result<TaskStore> {
        let because = || format!("there is no task store at {}", self.store.display());
        TaskStore::open_existing(&self.store)?.ok_or_else(|| cannot(what(), because()))
    }
}
