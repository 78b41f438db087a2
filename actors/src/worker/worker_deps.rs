//! What workers work with.

use std::sync::Arc;

use engine::ports::Gate;
use ractor::{ActorCell, ActorRef};

use crate::deps::Deps;
use crate::executors::ToolExecutorMessage;

/// What workers work with.
pub(crate) struct WorkerDeps {
    pub(crate) deps: Deps,
    pub(crate) gate: Arc<dyn Gate>,
    /// Owns the processes of the task.
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    /// Answers for the actors that a worker has.
    pub(crate) supervisor: ActorCell,
    /// What the worker traces is its task's.
    pub(crate) span: tracing::Span,
}
