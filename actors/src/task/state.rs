//! The state of a task's actor, and how each effect of its lifecycle is performed.

use engine::task::{Effect, Input, TaskMachine, TaskRecord, WorkerPolicy};
use protocol::TaskReport;
use ractor::{ActorProcessingErr, ActorRef};
use tokio::time::Instant; // the runtime's clock: a test can pause it

use super::activity::Activity;
use super::message::{TaskArguments, TaskMessage};
use crate::contracts;
use crate::executors::ExecutorLease;
use crate::isolation::{Lease, Writers};
use crate::jobs::Jobs;
use crate::worker::{self, Working};

pub(crate) struct TaskState {
    pub(super) lifecycle: TaskMachine,
    /// Set once, just before the actor stops; the run reads it from our last state.
    pub(super) report: Option<TaskReport>,
    pub(super) began: Instant,
    pub(super) lease: Option<Lease>,
    pub(super) writers: Writers,
    pub(super) executor: Option<ExecutorLease>,
    pub(super) worker: Option<Working>,
    /// What a model has used and is doing; nothing where a command does the work.
    pub(super) activity: Option<Box<Activity>>,
    pub(super) jobs: Jobs,
    /// Everything that is traced about the task is in it.
    pub(super) span: tracing::Span,
    pub(super) arguments: TaskArguments,
}

impl TaskState {
    pub(super) fn begin(mut arguments: TaskArguments) -> (Self, Vec<Effect>) {
        let contract = std::mem::replace(&mut arguments.contract, contracts::any());
        let policy = WorkerPolicy {
            restarts: worker::restarts(&arguments.spec.work, arguments.deps.external.as_ref()),
            grace: arguments.deps.policy.grace,
        };
        let (lifecycle, effects) = TaskMachine::begin(arguments.record.clone(), contract, policy);
        let state = Self {
            lifecycle,
            report: None,
            began: Instant::now(),
            lease: None,
            writers: Writers::Stopped,
            executor: None,
            worker: None,
            activity: Activity::of(&arguments.spec.work),
            jobs: Jobs::new(&arguments.deps.faults),
            span: tracing::info_span!(
                parent: None,
                "task",
                run = %arguments.run.name,
                task = %arguments.spec.name,
                id = %arguments.spec.id,
            ),
            arguments,
        };
        (state, effects)
    }

    /// Returns how the task ended, if it has, and what it knew of its record by then.
    pub(crate) fn into_end(self) -> Option<(TaskReport, TaskRecord)> {
        Some((self.report?, self.lifecycle.into_record()))
    }

    pub(super) async fn step(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        input: Input,
    ) -> Result<(), ActorProcessingErr> {
        let effects = self.lifecycle.step(input);
        self.perform(myself, effects).await
    }
}
