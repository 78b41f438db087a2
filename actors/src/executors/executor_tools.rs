//! The tool runner of a session: sends its calls to the executor.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::agent::Listener;
use engine::ports::{Access, CancelLevel, ToolDeclaration, ToolOutcome, ToolOutput, ToolRunner};
use protocol::{Failure, FailureClass, SessionEvent, ToolCall};
use ractor::ActorRef;

use super::executor::ToolExecutorMessage;
use super::session_ports::CallFrom;
use super::session_tools::OpenedTools;
use super::settle::settle;
use crate::messaging::answer;

/// Sends every call to the executor, which owns the tools and their processes.
pub(crate) struct ExecutorTools {
    executor: ActorRef<ToolExecutorMessage>,
    opened: OpenedTools,
    from: Arc<CallFrom>,
    listener: Arc<dyn Listener>,
    /// How long calls may take to end that are stopped.
    grace: Duration,
}

impl OpenedTools {
    /// Waits until the executor has built its tools.
    pub(crate) async fn of(executor: &ActorRef<ToolExecutorMessage>) -> Result<Self, Failure> {
        answer(executor, ToolExecutorMessage::Tools).await.ok_or_else(|| {
            Failure::new(FailureClass::Crashed, "its executor ended before its tools were built")
        })
    }
}

impl ExecutorTools {
    /// Returns the runner of the calls of `session`. `listener` receives their progress.
    pub(crate) fn new(
        (executor, opened): (ActorRef<ToolExecutorMessage>, OpenedTools),
        from: Arc<CallFrom>,
        listener: Arc<dyn Listener>,
        grace: Duration,
    ) -> Self {
        Self { executor, opened, from, listener, grace }
    }
}

#[async_trait]
impl ToolRunner for ExecutorTools {
    async fn refresh(&self) -> Result<(), Failure> {
        let Some(servers) = &self.opened.servers else { return Ok(()) };
        for message in servers.refresh().await? {
            self.listener.event(SessionEvent::Notice { message });
        }
        Ok(())
    }

    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        self.opened.set.newest().declarations()
    }

    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        let question = |reply| ToolExecutorMessage::Classify(calls.to_vec(), reply);
        // If the executor is gone, `call` returns an error for each of these calls.
        let gone = || calls.iter().map(|_| Access::none()).collect();
        answer(&self.executor, question).await.unwrap_or_else(gone)
    }

    async fn call(&self, call: ToolCall) -> ToolOutcome {
        let (listener, id) = (Arc::clone(&self.listener), call.id.clone());
        let open = OpenCall::default();
        let state = Arc::clone(&open.0);
        let progress = Arc::new(move |line| {
            let open = state.lock().unwrap_or_else(PoisonError::into_inner);
            if *open == CallState::Open {
                let tool_call_id = id.clone();
                listener.event(SessionEvent::ToolExecutionUpdate { tool_call_id, line });
            }
        });
        self.opened.unbegun.add(&call.id);
        let from = Arc::clone(&self.from);
        let question = |reply| ToolExecutorMessage::Call(from, call, progress, reply);
        answer(&self.executor, question).await.unwrap_or_else(|| {
            let text = "the executor crashed while this call ran; its effects may be there";
            ToolOutcome::Failed(ToolOutput::text(text))
        })
    }

    fn withdraw_unbegun(&self) -> BTreeSet<String> {
        self.opened.unbegun.withdraw()
    }

    async fn interrupt(&self) {
        settle(&self.executor, CancelLevel::Gently, self.grace).await;
    }
}

/// A call whose end is not announced yet. A call that is dropped may run on for a while; its progress
/// is announced no more. The lock is held while one event is sent.
#[derive(Default)]
struct OpenCall(Arc<Mutex<CallState>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallState {
    #[default]
    Open,
    Closed,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = CallState::Closed;
    }
}
