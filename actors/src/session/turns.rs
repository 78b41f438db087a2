//! The work of a session from an input until it is idle again.

use std::sync::Arc;

use async_trait::async_trait;
use engine::agent::{AgentContext, Inputs, Listener as _, Prompt, RequestChanges};
use engine::failpoint;
use engine::ports::{CancelLevel, CancelToken};
use futures_util::FutureExt as _;
use protocol::{AgentEnd, Failure, FailureClass, SessionEvent, UserInput};
use ractor::{ActorRef, RpcReplyPort};

use super::delta_coalescer::DeltaCoalescer;
use super::messages::{
    Ended, Opened, Revised, Revision, RevisionAnswer, SessionArguments, SessionMessage,
};
use super::opening::open;
use crate::executors::{CallFrom, ExecutorTools, OpenedTools, settle};
use crate::messaging::answer;

/// The work on one input.
pub(super) struct Turns {
    pub(super) arguments: Arc<SessionArguments>,
    pub(super) session: ActorRef<SessionMessage>,
    /// `None` before the session is open.
    pub(super) opened: Option<Box<Opened>>,
    /// The input; `None` continues the conversation from the log.
    pub(super) prompt: Option<Prompt>,
    pub(super) abort: CancelToken,
}

impl Turns {
    /// Runs turns until the model stops or yields, or until an error or an abort. An abort is reported at
    /// once; this then waits until the calls have ended that were under way.
    pub(super) async fn run(mut self: Box<Self>) -> Ended {
        let deltas = Arc::new(DeltaCoalescer::new(self.arguments.events.clone()));
        let ended = self.run_turns(&deltas).await;
        // The input of work that was aborted, or failed, before its first turn.
        if let Some(Prompt { input, .. }) = self.prompt.take() {
            deltas.event(SessionEvent::InputDropped { input_id: input.id });
        }
        let Self { arguments, abort, session, .. } = *self;
        if ended.end == AgentEnd::Aborted {
            let _dead = session.cast(SessionMessage::Aborted);
            let level = abort.level().unwrap_or(CancelLevel::Gently);
            settle(&arguments.executor, level, arguments.deps.policy.grace).await;
        }
        ended
    }

    async fn run_turns(&mut self, deltas: &Arc<DeltaCoalescer>) -> Ended {
        let (mut opened, tools) = match self.open(deltas).await {
            Ok(opened) => opened,
            Err((end, opened)) => return Ended { end, opened },
        };
        if let Err(error) = failpoint!(self.arguments.deps.faults, "session") {
            let end = AgentEnd::Failed(Failure::new(FailureClass::Crashed, error.to_string()));
            return Ended { end, opened: Some(opened) };
        }
        let prompt = self.prompt.take();
        let inputs = SessionInputs(self.session.clone());
        let mut means = self.means(&opened, &tools, &inputs, deltas);
        let end = tokio::select! {
            biased;
            end = engine::agent::run(&mut opened.conversation, &mut means, prompt) => end,
            never = deltas.keep_pace() => match never {},
        };
        opened.model = means.model;
        Ended { end, opened: Some(opened) }
    }

    /// Changes the conversation. Its model may be changed before.
    pub(super) async fn revise(mut self: Box<Self>, revision: Revision) -> Box<Revised> {
        let deltas = Arc::new(DeltaCoalescer::new(self.arguments.events.clone()));
        let (mut opened, tools) = match self.open(&deltas).await {
            Ok(opened) => opened,
            Err((end, opened)) => {
                return Box::new(Revised { answer: revision.refused(end), opened });
            }
        };
        let inputs = SessionInputs(self.session.clone());
        let means = self.means(&opened, &tools, &inputs, &deltas);
        let conversation = &mut opened.conversation;
        let answer = match revision {
            Revision::Compact(instructions, reply) => {
                let instructions = instructions.as_deref();
                let result = engine::agent::compact(conversation, &means, instructions).await;
                RevisionAnswer::Compacted(result, reply)
            }
            Revision::Navigate(navigation, reply) => {
                let result = engine::agent::navigate(conversation, &means, navigation).await;
                RevisionAnswer::Navigated(result, reply)
            }
            Revision::Append(entry, reply) => {
                let result = conversation.append(*entry).await;
                let result = result.map_err(|error| error.to_failure()).inspect(|id| {
                    deltas.event(SessionEvent::EntryAppended {
                        entry_id: id.as_str().to_owned(),
                        messages: conversation.size().0,
                    });
                });
                RevisionAnswer::Appended(result, reply)
            }
            Revision::Read(reply) => {
                RevisionAnswer::Read(Ok(conversation.messages().to_vec()), reply)
            }
        };
        Box::new(Revised { answer, opened: Some(opened) })
    }

    /// Opens what is not open yet.
    async fn open(
        &mut self,
        deltas: &Arc<DeltaCoalescer>,
    ) -> Result<(Box<Opened>, ExecutorTools), (AgentEnd, Option<Box<Opened>>)> {
        let opened = self.opened.take();
        let tools = tokio::select! {
            biased;
            () = self.abort.cancelled() => return Err((AgentEnd::Aborted, opened)),
            tools = OpenedTools::of(&self.arguments.executor) => tools,
        };
        let tools = match tools {
            Ok(tools) => tools,
            Err(failure) => return Err((AgentEnd::Failed(failure), opened)),
        };
        let opened = match opened {
            Some(opened) => Ok(opened),
            // On the heap: the work would hold as much to its end.
            None => open(&self.arguments, &tools).boxed().await,
        };
        match opened {
            Ok(opened) => {
                let (session, model) = (opened.conversation.session(), opened.model.route.clone());
                let (from, grace) =
                    (Arc::new(CallFrom { session, model }), self.arguments.deps.policy.grace);
                let (tools, listener) =
                    ((self.arguments.executor.clone(), tools), Arc::clone(deltas));
                Ok((opened, ExecutorTools::new(tools, from, listener, grace)))
            }
            Err(failure) => Err((AgentEnd::Failed(failure), None)),
        }
    }

    fn means<'a>(
        &self,
        opened: &Opened,
        tools: &'a ExecutorTools,
        inputs: &'a SessionInputs,
        listener: &'a DeltaCoalescer,
    ) -> AgentContext<'a> {
        AgentContext {
            model: opened.model.clone(),
            tools,
            only: None, // `before_request` says it
            inputs,
            listener,
            limits: self.arguments.spec.limits,
            compaction: self.arguments.deps.policy.compaction,
            branch_summary: self.arguments.deps.policy.branch_summary,
            request_hooks: self.arguments.spec.request_hooks.clone(),
            abort: self.abort.clone(),
        }
    }
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

    async fn before_stop(&self) -> Vec<UserInput> {
        self.ask(SessionMessage::BeforeStop).await
    }

    async fn interrupts(&self) -> bool {
        self.ask(SessionMessage::Interrupts).await
    }
}
