//! The calls of a session, carried out by its executor.

use std::sync::Arc;

use async_trait::async_trait;
use engine::agent::Hands;
use engine::ports::{LineSink, ToolAnswer, ToolDeclaration, ToolText, Tools};
use protocol::ToolCall;
use ractor::ActorRef;
use ractor::concurrency::oneshot;

use crate::executors::ToolExecutorMessage;

/// Has every call carried out by the executor, which owns what it starts.
pub(super) struct ExecutorHands {
    pub(super) tools: Arc<dyn Tools>,
    pub(super) executor: ActorRef<ToolExecutorMessage>,
    pub(super) lines: LineSink,
}

#[async_trait]
impl Hands for ExecutorHands {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        self.tools.declarations()
    }

    async fn call(&self, call: ToolCall) -> ToolAnswer {
        let (answer, waiting) = oneshot();
        let (tools, lines) = (Arc::clone(&self.tools), Arc::clone(&self.lines));
        let _dead =
            self.executor.cast(ToolExecutorMessage::Call(tools, call, lines, answer.into()));
        waiting.await.unwrap_or_else(|_dropped| {
            let text = "the executor crashed while this call ran; its effects may be there";
            ToolAnswer::Failed(ToolText::plain(text))
        })
    }
}
