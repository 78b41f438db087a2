//! The dependencies of workers.

use std::sync::Arc;

use engine::ports::Gate;
use engine::prompt::SystemPrompt;
use ractor::{ActorCell, ActorRef};

use crate::deps::Deps;
use crate::executors::ToolExecutorMessage;

/// The dependencies of a worker.
pub(crate) struct WorkerDeps {
    pub(crate) deps: Arc<Deps>,
    pub(crate) gate: Arc<dyn Gate>,
    /// The executor that owns the processes of the task.
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    /// What the system prompts of the run's tasks are made of.
    pub(crate) prompt: Arc<SystemPrompt>,
    /// The supervisor of the worker's actors.
    pub(crate) supervisor: ActorCell,
    /// The tracing span of the task.
    pub(crate) span: tracing::Span,
}
