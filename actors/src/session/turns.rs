//! The work of a session from an input until it is idle again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::agent::{AgentContext, Inputs, Prompt, RequestChanges};
use engine::ports::{CancelLevel, CancelToken};
use protocol::{AgentEnd, Failure, FailureClass, UserInput};
use ractor::{ActorRef, RpcReplyPort};

use super::delta_coalescer::DeltaCoalescer;
use super::messages::{Ended, Opened, SessionArguments, SessionMessage};
use super::opening::{open, open_tools};
use crate::executors::{ExecutorTools, ToolExecutorMessage};
use crate::messaging::answer;

/// How long to wait until killed calls have ended. Calls that are cancelled gently get this time in
/// addition to their grace period.
const ENDING_TIME: Duration = Duration::from_secs(5);

/// The work on one input.
pub(super) struct Turns {
    pub(super) arguments: SessionArguments,
    pub(super) session: ActorRef<SessionMessage>,
    /// `None` before the session is open.
    pub(super) opened: Option<Box<Opened>>,
    /// The input; `None` continues the conversation from the log.
    pub(super) prompt: Option<Prompt>,
    pub(super) abort: CancelToken,
}

impl Turns {
    /// Runs turns until the model stops or yields, or until an error or an abort.
    pub(super) async fn run(mut self) -> Ended {
        let deltas = Arc::new(DeltaCoalescer::new(self.arguments.events.clone()));
        let opened = self.opened.take();
        let tools = tokio::select! {
            biased;
            () = self.abort.cancelled() => return Ended { end: AgentEnd::Aborted, opened },
            tools = open_tools(&self.arguments, deltas.clone()) => tools,
        };
        let tools = match tools {
            Ok(tools) => tools,
            Err(failure) => return Ended { end: AgentEnd::Failed(failure), opened },
        };
        let opened = match opened {
            Some(opened) => Ok(opened),
            None => open(&self.arguments, &tools).await,
        };
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(failure) => return Ended { end: AgentEnd::Failed(failure), opened: None },
        };
        let end = self.work(&mut opened, &tools, &deltas).await;
        if end == AgentEnd::Aborted {
            let Self { arguments, abort, .. } = self;
            settle(&arguments, &abort).await;
        }
        Ended { end, opened: Some(opened) }
    }

    async fn work(
        &mut self,
        opened: &mut Opened,
        tools: &ExecutorTools,
        deltas: &DeltaCoalescer,
    ) -> AgentEnd {
        if let Err(error) = self.arguments.deps.faults.failpoint("session") {
            return AgentEnd::Failed(Failure::new(FailureClass::Crashed, error.to_string()));
        }
        let mut means = AgentContext {
            model: opened.model.clone(),
            tools,
            inputs: &SessionInputs(self.session.clone()),
            listener: deltas,
            limits: self.arguments.spec.limits,
            abort: self.abort.clone(),
        };
        let prompt = self.prompt.take();
        let end = tokio::select! {
            biased;
            end = engine::agent::run(&mut opened.conversation, &mut means, prompt) => end,
            never = deltas.keep_pace() => match never {},
        };
        opened.model = means.model;
        end
    }
}

/// Stops the calls that still run, and waits for their end.
async fn settle(arguments: &SessionArguments, abort: &CancelToken) {
    let level = abort.level().unwrap_or(CancelLevel::Gently);
    let levels =
        [(level, arguments.deps.policy.grace + ENDING_TIME), (CancelLevel::AtOnce, ENDING_TIME)];
    for (level, limit) in levels {
        let _dead = arguments.executor.cast(ToolExecutorMessage::Interrupt(level));
        let settled = answer(&arguments.executor, ToolExecutorMessage::Settle);
        // If the executor has crashed, its calls and processes have ended with it.
        if tokio::time::timeout(limit, settled).await.is_ok() {
            return;
        }
    }
    tracing::error!("tool calls still run after they were killed");
}

/// Requests the inputs of the agent loop from the session actor. If the actor is gone, there are no
/// inputs; the loop is a job of that actor and is aborted with it.
pub(super) struct SessionInputs(pub(super) ActorRef<SessionMessage>);

impl SessionInputs {
    async fn ask<T: Default + Send + 'static>(
        &self,
        question: impl FnOnce(RpcReplyPort<T>) -> SessionMessage,
    ) -> T {
        answer(&self.0, question).await.unwrap_or_default()
    }
}

#[async_trait]
impl Inputs for SessionInputs {
    async fn before_request(&self) -> RequestChanges {
        self.ask(SessionMessage::BeforeRequest).await
    }

    async fn before_stop(&self) -> Option<UserInput> {
        self.ask(SessionMessage::BeforeStop).await
    }
}
