//! The set-up of a task's workspace: its commands, and the record of what they have left.

use engine::ports::{CancelLevel, IsolationError, Workspace as Place};
use engine::task::Input;
use protocol::{EventKind, Failure, FailureClass, Phase};
use ractor::ActorRef;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::state::{TaskMessage, TaskState};
use super::worker_setup;
use crate::executors::ToolExecutorMessage;
use crate::isolation::WorkspaceMessage;
use crate::job_names::Job;
use crate::jobs::Panicked;
use crate::messaging::answer;
use crate::worker::SetupRun;

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

impl TaskState {
    /// Starts the set-up of the workspace.
    pub(super) fn set_up(&mut self, myself: &ActorRef<TaskMessage>, place: &Place) {
        // Both are always there: the workspace was prepared and the executor leased before.
        let (Some(lease), Some(executor)) = (&self.lease, &self.executor) else { return };
        let (owner, executor) = (lease.owner().clone(), executor.executor().clone());
        self.progress(Phase::SettingUp, None);
        let task = myself.clone();
        let attempt = self.lifecycle.attempt();
        let start = worker_setup::start(&self.arguments, place, attempt, move |report| {
            let _gone = task.cast(TaskMessage::Reported(report)); // the task may be gone
        });
        let (scripts, work) = (&self.arguments.run.setup, &self.arguments.spec.work);
        let setup = SetupRun::new(scripts, work, start, executor.clone());
        let job = async move {
            setup.run().await?;
            let accepted = answer(&owner, WorkspaceMessage::AcceptSetup).await;
            accepted.unwrap_or_else(|| Err(gone())).map_err(|error| not_accepted(&error))
        };
        let job = self.jobs.run(Job::TaskSetUp, myself, job, TaskMessage::SetupEnded);
        self.setup = SetupProgress::Running(RunningSetup { began: Instant::now(), executor, job });
    }

    /// Announces how long the set-up took.
    pub(super) fn setup_ended(&mut self, ended: Result<Result<(), Failure>, Panicked>) -> Input {
        let ms = self.end_setup();
        let ended = ended.unwrap_or_else(|panicked| {
            let message = format!("its set-up crashed: {panicked}");
            Err(Failure::new(FailureClass::Crashed, message))
        });
        if let (Ok(()), Some(ms)) = (&ended, ms) {
            self.announce(EventKind::WorkspaceSetUp { task: self.name(), ms });
        }
        Input::SetupEnded(ended)
    }

    /// Ends the set-up, also one that is still running. Returns how long it took.
    pub(super) fn end_setup(&mut self) -> Option<u64> {
        let ms = self.setup.ms()?;
        self.setup = SetupProgress::Ended(ms);
        Some(ms)
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the failure of a task whose set-up has left what cannot be recorded.
fn not_accepted(error: &IsolationError) -> Failure {
    let failure = error.to_failure();
    match error {
        IsolationError::Vanished { .. } => {
            let message = "its set-up has removed its workspace or moved it away";
            Failure { message: message.to_owned(), ..failure }
        }
        IsolationError::Refused { .. }
        | IsolationError::Resources { .. }
        | IsolationError::Predecessors { .. }
        | IsolationError::Withdrawn
        | IsolationError::Failed { .. } => {
            Failure { message: format!("after its set-up: {}", failure.message), ..failure }
        }
    }
}

/// Returns the error of a request to an actor that crashed.
fn gone() -> IsolationError {
    let source = "whoever owned it crashed".into();
    IsolationError::Failed { what: "record what the set-up has left".to_owned(), source }
}
