//! Opens the worker that a task's kind of work needs: a command, a session, or one that waits for the end of
//! a conversation.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelLevel, Worker, WorkerStart};
use engine::restarts::RestartBudget;
use protocol::{Failure, Work};
use tokio::task::AbortHandle;

use super::command::CommandWorker;
use super::conversation::ConversationWorker;
use super::session::SessionWorker;
use super::worker_deps::WorkerDeps;

/// How often a crashed session is restarted from its log.
const RESTARTS: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

/// Returns an idle worker for `work`.
pub(crate) async fn open(
    work: &Work,
    start: WorkerStart,
    deps: WorkerDeps,
) -> Result<Arc<dyn Worker>, Failure> {
    Ok(match work {
        Work::Command(command) => Arc::new(CommandWorker::new(command, start, deps)),
        Work::Agent(agent) => Arc::new(SessionWorker::start(agent, start, deps).await?),
        Work::Conversation(_) => Arc::new(ConversationWorker::new(start.reports)),
    })
}

/// Returns how often a crashed worker is restarted. A command is never run twice, because it may
/// have effects outside its workspace.
pub(crate) fn restarts(work: &Work) -> RestartBudget {
    match work {
        Work::Command(_) | Work::Conversation(_) => RestartBudget::NONE,
        Work::Agent(_) => RESTARTS,
    }
}

/// A worker and its job. Dropping it ends the job.
pub(crate) struct RunningWorker {
    worker: Arc<dyn Worker>,
    job: AbortHandle,
}

impl RunningWorker {
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

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.job.abort(); // does nothing if the job has ended
    }
}
