//! A worker at work.

use std::sync::Arc;

use engine::ports::{CancelLevel, Worker};
use tokio::task::AbortHandle;

/// A worker, and its work. Dropping it ends the work.
pub(crate) struct Working {
    worker: Arc<dyn Worker>,
    job: AbortHandle,
}

impl Working {
    pub(crate) fn new(worker: Arc<dyn Worker>, job: AbortHandle) -> Self {
        Self { worker, job }
    }

    pub(crate) fn worker(&self) -> Arc<dyn Worker> {
        Arc::clone(&self.worker)
    }

    pub(crate) fn stop(&self, level: CancelLevel) {
        self.worker.stop(level);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.job.abort(); // it may have ended
    }
}
