//! What goes on when the call that has begun it has ended: jobs of the executor.

use engine::ports::{Background, BackgroundWork, CancelToken};

use crate::messaging::Notifier;

/// Hands work to the executor.
pub(super) struct ExecutorBackground {
    executor: Notifier<BackgroundWork>,
    stop: CancelToken,
}

impl ExecutorBackground {
    /// Returns the background of `executor`, whose jobs are stopped with `stop`.
    pub(super) fn new(executor: Notifier<BackgroundWork>, stop: &CancelToken) -> Self {
        Self { executor, stop: stop.clone() }
    }
}

impl Background for ExecutorBackground {
    fn stop(&self) -> CancelToken {
        self.stop.clone()
    }

    fn run(&self, work: BackgroundWork) {
        // An executor that has died runs nothing, and drops the work.
        self.executor.notify(work);
    }
}
