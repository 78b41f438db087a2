//! A target of whose run no other engine lands or takes back work meanwhile.

use engine::ports::{Repository, RunLock};

use super::repository_runs::{RepositoryRuns, WorkError};
use super::target::Target;

/// A target whose run is locked. The lock is held until the ledger has what was done, so that no other
/// engine does it as well.
#[derive(Debug)]
pub struct LockedTarget {
    target: Target,
    _lock: RunLock,
}

impl LockedTarget {
    /// Waits for the lock of the run, and reads the tasks again, because the previous holder of the lock may
    /// have changed them.
    ///
    /// # Errors
    /// The run has not ended, it cannot be locked, or the ledger cannot be read.
    pub fn of(
        runs: &RepositoryRuns,
        repository: &dyn Repository,
        target: &Target,
    ) -> Result<Self, WorkError> {
        if !target.has_ended() {
            return Err(WorkError::StillRunning(target.run.name.clone()));
        }
        let lock = repository.lock_run(&target.run.name)?;
        Ok(Self { target: target.reload(runs)?, _lock: lock })
    }

    /// Returns the target as the ledger has it now.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }
}
