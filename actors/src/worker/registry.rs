//! Which kind of worker does which work.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{ExternalWorkers, Worker, WorkerStart};
use engine::restarts::RestartBudget;
use protocol::{Failure, Work};

use super::command::CommandWorker;
use super::deps::WorkerDeps;
use super::session::SessionWorker;

/// A session of a model is started again from its log, as long as it does not crash all the time.
const CRASHES: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

/// Returns a worker for `work` that has done nothing yet.
pub(crate) async fn open(
    work: &Work,
    start: WorkerStart,
    deps: WorkerDeps,
) -> Result<Arc<dyn Worker>, Failure> {
    Ok(match work {
        Work::Command(command) => Arc::new(CommandWorker::new(command, start, deps)),
        Work::Agent(agent) => Arc::new(SessionWorker::start(agent, start, deps).await?),
        Work::External(external) => deps.deps.external.open(external, start)?,
    })
}

/// Returns how often a crashed worker is started again. A command may have effects outside its
/// workspace, so it is never run twice.
pub(crate) fn restarts(work: &Work, external: &dyn ExternalWorkers) -> RestartBudget {
    match work {
        Work::Command(_) => RestartBudget::NONE,
        Work::Agent(_) => CRASHES,
        Work::External(program) => external.restarts(program),
    }
}

/// Returns the name of the program whose requests pass no gate of the engine, if one does the work.
pub(crate) fn external_program(work: &Work) -> Option<&str> {
    match work {
        Work::Command(_) | Work::Agent(_) => None,
        Work::External(external) => Some(&external.program),
    }
}
