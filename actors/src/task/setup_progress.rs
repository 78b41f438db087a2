//! How far the set-up of a task's workspace has come, and how long it has taken.

use engine::ports::CancelLevel;
use ractor::ActorRef;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::executors::ToolExecutorMessage;

/// How far the set-up has come.
pub(super) enum SetupProgress {
    /// There is none, or it has not begun.
    None,
    /// It is running.
    Running(RunningSetup),
    /// It has ended, and took this many milliseconds.
    Ended(u64),
}

/// A set-up that is running. Dropping it ends it.
pub(super) struct RunningSetup {
    began: Instant,
    executor: ActorRef<ToolExecutorMessage>,
    job: AbortHandle,
}

impl Drop for RunningSetup {
    fn drop(&mut self) {
        self.job.abort(); // does nothing if the job has ended
    }
}

impl SetupProgress {
    /// Returns the progress of a set-up that has just begun.
    pub(super) fn begin(executor: ActorRef<ToolExecutorMessage>, job: AbortHandle) -> Self {
        Self::Running(RunningSetup { began: Instant::now(), executor, job })
    }

    /// Asks a running set-up to stop.
    pub(super) fn stop(&self, level: CancelLevel) {
        if let Self::Running(setup) = self {
            // If the executor has died, its processes have ended with it.
            let _dead = setup.executor.cast(ToolExecutorMessage::Stop(level));
        }
    }

    /// Returns how long the set-up has taken, if there was one.
    pub(super) fn ms(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Running(setup) => Some(milliseconds(setup.began)),
            Self::Ended(ms) => Some(*ms),
        }
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
