//! The set-up of a task's workspace: its commands, and the record of what they have left.

use engine::ports::{IsolationError, Workspace as Place};
use engine::task::Input;
use protocol::{EventKind, Failure, FailureClass, Phase, SetupFolder};
use ractor::ActorRef;

use super::setup_progress::SetupProgress;
use super::state::{TaskMessage, TaskState};
use super::worker_setup;
use crate::isolation::WorkspaceMessage;
use crate::job::Job;
use crate::jobs::Panicked;
use crate::messaging::answer;
use crate::worker::SetupRun;

impl TaskState {
    /// Starts the set-up of the workspace.
    pub(super) fn set_up(&mut self, myself: &ActorRef<TaskMessage>, place: &Place) {
        // Both are always there: the workspace was prepared and the executor leased before.
        let (Some(lease), Some(executor)) = (&self.lease, &self.executor) else { return };
        let (owner, executor) = (lease.owner().clone(), executor.executor().clone());
        self.progress(Phase::SettingUp, None);
        let task = myself.clone();
        let attempt = self.lifecycle.attempt();
        let mut start = worker_setup::start(&self.arguments, place, attempt, move |report| {
            let _gone = task.cast(TaskMessage::Reported(report)); // the task may be gone
        });
        match self.arguments.needs.setup_folder {
            SetupFolder::WorkingFolder => {}
            SetupFolder::Root => start.folder.clone_from(&start.root),
        }
        let (scripts, work) = (self.arguments.setup(), &self.arguments.spec.work);
        let setup = SetupRun::new(scripts, work, start, executor.clone());
        let inputs = self.arguments.inputs.clone();
        let job = async move {
            worker_setup::write_inputs(inputs).await?;
            setup.run().await?;
            let accepted = answer(&owner, WorkspaceMessage::AcceptSetup).await;
            accepted.unwrap_or_else(|| Err(gone())).map_err(|error| not_accepted(&error))
        };
        let job = self.jobs.run(Job::TaskSetUp, myself, job, TaskMessage::SetupEnded);
        self.setup = SetupProgress::begin(executor, job);
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
    let source = "the actor that owned it crashed".into();
    IsolationError::Failed { what: "record what the set-up has left".to_owned(), source }
}
