//! What the built-in tools of one session share.

use std::panic::resume_unwind;

use engine::ports::{CancelToken, ToolEnv};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;

use crate::error::ToolError;
use crate::paths::Paths;

/// What the built-in tools of one session share.
pub(crate) struct Session {
    /// What the session was built for.
    pub(crate) env: ToolEnv,
    /// Reads the paths of the model.
    pub(crate) paths: Paths,
    /// Held by who changes a file. One file may have several paths, so there is one queue for all
    /// of them; it is served in the order of the calls.
    changes: Mutex<()>,
}

impl Session {
    /// Returns what the tools built for `env` share.
    pub(crate) fn new(env: ToolEnv) -> Self {
        let paths = Paths::new(env.subfolder.clone(), env.repo.clone());
        Self { env, paths, changes: Mutex::default() }
    }

    /// Waits until nobody else changes a file. Who holds the guard may.
    pub(crate) async fn change(
        &self,
        cancel: &CancelToken,
    ) -> Result<MutexGuard<'_, ()>, ToolError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Aborted),
            guard = self.changes.lock() => Ok(guard),
        }
    }
}

/// Computes something that may take its time where that holds nobody up.
pub(crate) async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is going down.
            Err(_) => Err(ToolError::Aborted),
        },
    }
}
