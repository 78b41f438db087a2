//! The tools of a session, as the session calls them: its executor carries the calls out.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Access, LineSink, ToolBuildError, ToolDeclaration, ToolOutcome, ToolOutput, ToolRunner,
};
use protocol::{Failure, FailureClass, ToolCall};
use ractor::ActorRef;
use ractor::concurrency::oneshot;

use super::tool_executor::{OpenedTools, ToolExecutorMessage};

/// Has every call carried out by the executor, which owns the tools and what they start.
pub(crate) struct ExecutorTools {
    executor: ActorRef<ToolExecutorMessage>,
    opened: OpenedTools,
    progress: LineSink,
}

impl ExecutorTools {
    /// Waits until the executor has built its tools. Lines of what runs go to `progress`.
    pub(crate) async fn open(
        executor: ActorRef<ToolExecutorMessage>,
        progress: LineSink,
    ) -> Result<Self, Failure> {
        let (answer, waiting) = oneshot();
        let _dead = executor.cast(ToolExecutorMessage::Tools(answer.into()));
        let opened = waiting.await.map_err(|_dropped| {
            Failure::new(FailureClass::Crashed, "its executor ended before its tools were built")
        })?;
        Ok(Self { executor, opened, progress })
    }

    /// Returns the tools that could not be built.
    pub(crate) fn left_out(&self) -> &[ToolBuildError] {
        &self.opened.left_out
    }
}

#[async_trait]
impl ToolRunner for ExecutorTools {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::clone(&self.opened.declarations)
    }

    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        let (answer, waiting) = oneshot();
        let _dead =
            self.executor.cast(ToolExecutorMessage::Classify(calls.to_vec(), answer.into()));
        // Each call will be told that the executor is gone.
        waiting.await.unwrap_or_else(|_dropped| calls.iter().map(|_| Access::none()).collect())
    }

    async fn call(&self, call: ToolCall) -> ToolOutcome {
        let (answer, waiting) = oneshot();
        let progress = Arc::clone(&self.progress);
        let _dead = self.executor.cast(ToolExecutorMessage::Call(call, progress, answer.into()));
        waiting.await.unwrap_or_else(|_dropped| {
            let text = "the executor crashed while this call ran; its effects may be there";
            ToolOutcome::Failed(ToolOutput::text(text))
        })
    }
}
