//! The session actor: owns the conversation and the inputs that wait for it.
//!
//! Its work is a function in the session's own [`Jobs`]; its end comes back as a message, so that
//! the mailbox is free for whoever wants to say something to a session at work. A panic in the work
//! is the death of the session and of nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::agent::{InputQueue, Model, Prompt, RequestChanges};
use engine::ports::{CancelLevel, CancelToken};
use protocol::{AgentEnd, Failure, FailureClass, InputId, ModelRoute, SessionEvent};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tracing::Instrument as _;

use super::deltas::DeltaCoalescer;
use super::message::{Ended, Opened, SessionArguments, SessionMessage};
use super::opening::{open, open_model, open_tools};
use super::turns::Turns;
use crate::executors::ToolExecutorMessage;
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};

pub(crate) struct Session;

pub(crate) struct SessionState {
    arguments: SessionArguments,
    phase: Phase,
    queue: InputQueue,
    /// Who waits for the end of the work that an input begins.
    asked: BTreeMap<InputId, RpcReplyPort<AgentEnd>>,
    /// Answers from the next request on.
    next_model: Option<Model>,
    closing: Option<RpcReplyPort<()>>,
    /// Dropping it ends the work, however the actor dies.
    jobs: Jobs,
}

enum Phase {
    Idle(Option<Box<Opened>>),
    Working(Working),
}

struct Working {
    abort: CancelToken,
    asked_by: Option<RpcReplyPort<AgentEnd>>,
}

impl Actor for Session {
    type Msg = SessionMessage;
    type State = SessionState;
    type Arguments = SessionArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(SessionState {
            jobs: Jobs::new(&arguments.deps.faults),
            arguments,
            phase: Phase::Idle(None),
            queue: InputQueue::default(),
            asked: BTreeMap::new(),
            next_model: None,
            closing: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionMessage::Open(reply) => state.open(&myself, reply),
            SessionMessage::Opened(opened, reply) => {
                let opened = opened?; // a panic is our death, and our supervisor's decision
                let answer = opened.as_ref().map(|opened| opened.conversation.session());
                let _gone = reply.send(answer.map_err(Failure::clone));
                state.phase = Phase::Idle(opened.ok());
            }
            SessionMessage::Resume(asked_by) => state.start(&myself, None, asked_by),
            SessionMessage::Prompt(prompt, asked_by) => {
                state.asked.extend(asked_by.map(|asked_by| (prompt.input.id, asked_by)));
                state.queue.prompt(prompt);
            }
            SessionMessage::Steer(input) => state.queue.steer(input),
            SessionMessage::FollowUp(input) => state.queue.follow_up(input),
            SessionMessage::SetModel(route, reply) => state.set_model(&myself, route, reply),
            SessionMessage::ModelOpened(model, reply) => {
                let _gone = reply.send(state.note_model(model));
            }
            SessionMessage::Abort(level) => state.abort(level),
            SessionMessage::Close(reply) => {
                state.closing = Some(reply);
                state.abort(CancelLevel::Gently);
            }
            SessionMessage::BeforeRequest(reply) => {
                let model = state.next_model.take();
                let changes = RequestChanges { model, steering: state.queue.before_request() };
                let _gone = reply.send(changes);
            }
            SessionMessage::BeforeStop(reply) => {
                let _gone = reply.send(state.queue.before_stop());
            }
            SessionMessage::Ended(ended) => state.end(ended?),
        }
        state.go_on(&myself);
        Ok(())
    }
}

impl SessionState {
    fn open(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        reply: RpcReplyPort<Result<protocol::SessionId, Failure>>,
    ) {
        self.phase = Phase::Working(Working { abort: CancelToken::default(), asked_by: None });
        let arguments = self.arguments.clone();
        let job = async move {
            let listener = Arc::new(DeltaCoalescer::new(arguments.events.clone()));
            open(&arguments, &open_tools(&arguments, listener).await?).await
        };
        let job = job.instrument(self.arguments.span.clone());
        let then = |opened| SessionMessage::Opened(opened, reply);
        self.jobs.run(Job::SessionOpen, myself, job, then);
    }

    /// Begins what waits, if nothing is worked at.
    fn go_on(&mut self, myself: &ActorRef<SessionMessage>) {
        let Phase::Idle(_) = self.phase else { return };
        if let Some(reply) = self.closing.take() {
            let _gone = reply.send(());
            myself.stop(None);
            return;
        }
        if let Some(prompt) = self.queue.next_prompt() {
            let asked_by = self.asked.remove(&prompt.input.id);
            self.start(myself, Some(prompt), asked_by);
        }
    }

    fn start(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        prompt: Option<Prompt>,
        asked_by: Option<RpcReplyPort<AgentEnd>>,
    ) {
        let Phase::Idle(opened) = &mut self.phase else { return }; // it is at work already
        let (opened, abort) = (opened.take(), CancelToken::default());
        self.phase = Phase::Working(Working { abort: abort.clone(), asked_by });
        self.arguments.events.tell(SessionEvent::AgentStart);
        let (arguments, session) = (self.arguments.clone(), myself.clone());
        let turns = Turns { arguments, session, opened, prompt, abort };
        let job = turns.run().instrument(self.arguments.span.clone());
        self.jobs.run(Job::SessionWork, myself, job, SessionMessage::Ended);
    }

    fn end(&mut self, ended: Ended) {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle(ended.opened));
        self.arguments.events.tell(SessionEvent::AgentEnd { end: ended.end.clone() });
        if let Phase::Working(Working { asked_by: Some(asked_by), .. }) = phase {
            let _gone = asked_by.send(ended.end);
        }
    }

    fn abort(&mut self, level: CancelLevel) {
        for input_id in self.queue.clear() {
            self.arguments.events.tell(SessionEvent::InputDropped { input_id });
            if let Some(asked_by) = self.asked.remove(&input_id) {
                let _gone = asked_by.send(AgentEnd::Aborted);
            }
        }
        let Phase::Working(working) = &self.phase else { return };
        let again = working.abort.is_cancelled();
        working.abort.cancel(level);
        if again {
            // The work waits for what it has stopped, which is stopped harder now.
            let _dead = self.arguments.executor.cast(ToolExecutorMessage::Interrupt(level));
        }
    }

    fn set_model(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        route: ModelRoute,
        reply: RpcReplyPort<Result<(), Failure>>,
    ) {
        let arguments = self.arguments.clone();
        let job = async move { open_model(&arguments, route) };
        let then = |model| SessionMessage::ModelOpened(model, reply);
        self.jobs.run(Job::SessionModel, myself, job, then);
    }

    fn note_model(
        &mut self,
        model: Result<Result<Model, Failure>, Panicked>,
    ) -> Result<(), Failure> {
        let crashed =
            |panicked: Panicked| Failure::new(FailureClass::Crashed, panicked.to_string());
        self.next_model = Some(model.map_err(crashed).flatten()?);
        Ok(())
    }
}
