//! Stops what writes into the workspace of a task, and notes what could not be stopped.

use std::time::Duration;

use engine::ports::OwnerEnd;
use engine::task::{Input, Unsealed};
use ractor::ActorRef;

use super::state::{TaskMessage, TaskState};
use crate::isolation::Writers;
use crate::job::Job;

impl TaskState {
    /// Stops the processes of a crashed worker before it is started again.
    pub(super) fn clear(&mut self, myself: &ActorRef<TaskMessage>, error: &str, limit: Duration) {
        tracing::warn!(%error, "the worker crashed and is started again");
        self.worker = None;
        let Some(executor) = &self.executor else {
            let _dying = myself.cast(TaskMessage::Cleared(Some(OwnerEnd::Childless)));
            return;
        };
        self.jobs.run(Job::TaskClear, myself, executor.seal(limit), |end| {
            TaskMessage::Cleared(end.unwrap_or(None))
        });
    }

    pub(super) fn cleared(&mut self, end: Option<OwnerEnd>) -> Input {
        match self.note_owner_end(end) {
            Ok(()) => {
                self.executor = None;
                Input::CleanedUp
            }
            Err(_unsealed) => Input::NotCleanedUp,
        }
    }

    /// Stops everything that writes into the workspace.
    pub(super) fn seal(&mut self, myself: &ActorRef<TaskMessage>, limit: Duration) {
        self.worker = None;
        let Some(executor) = &self.executor else {
            // Nothing was ever started, or it was stopped after a crash.
            let _dying = myself.cast(TaskMessage::Sealed(Some(OwnerEnd::Childless)));
            return;
        };
        self.jobs.run(Job::TaskSeal, myself, executor.seal(limit), |end| {
            TaskMessage::Sealed(end.unwrap_or(None))
        });
    }

    pub(super) fn sealed(&mut self, end: Option<OwnerEnd>) -> Input {
        match self.note_owner_end(end) {
            Ok(()) => Input::Sealed,
            Err(unsealed) => {
                self.writers = Writers::MayRemain;
                self.span.in_scope(|| tracing::error!(?unsealed, "processes may still run"));
                Input::NotSealed(unsealed)
            }
        }
    }

    /// Notes what is left of the processes of an executor. What could not be killed once stays left,
    /// although the next executor may end without leaving anything.
    fn note_owner_end(&mut self, end: Option<OwnerEnd>) -> Result<(), Unsealed> {
        match end {
            None => return Err(Unsealed::Late),
            Some(OwnerEnd::Childless) => {}
            Some(OwnerEnd::Left(processes)) => self.unsealed = Some(Unsealed::Left(processes)),
            Some(OwnerEnd::Unknown) => self.unsealed = Some(Unsealed::Unknown),
        }
        self.unsealed.map_or(Ok(()), Err)
    }
}
