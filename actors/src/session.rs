//! Runs one session: drives a command to its end, or a model until it yields.
//!
//! The actor exists so that a panic in what it drives kills it and nothing else. The run itself is
//! a function in the session's own [`Jobs`]; its end comes back as a message, so the mailbox stays
//! free for whoever wants to say something to a running session.

use engine::agent::{Conversation, Nudge};
use engine::fault::Faults;
use engine::ports::{CancelLevel, CommandRequest};
use engine::task::{Reminder, SessionEnd};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protocol::SessionEvent;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::ask::Teller;
use crate::executors::ToolExecutorMessage;
use crate::jobs::{Jobs, Panicked};

mod agent;
mod command;
mod feed;
mod reminder;

pub(crate) use agent::AgentSession;

pub(crate) struct Session;

pub(crate) struct SessionArguments {
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    pub(crate) work: SessionWork,
    pub(crate) news: Teller<SessionNews>,
    pub(crate) faults: Faults,
    /// What the session traces is its task's.
    pub(crate) span: tracing::Span,
}

/// What a session drives.
pub(crate) enum SessionWork {
    Command(CommandRequest),
    Agent(Box<AgentSession>),
}

/// What a session says while it runs.
pub(crate) enum SessionNews {
    /// A line that a command or a tool prints.
    Line(String),
    /// A line that a model is saying.
    Said(String),
    Event(Box<SessionEvent>),
}

pub(crate) enum SessionMessage {
    /// Runs the session. Comes once. One that crashed may have missed what it was reminded of.
    Run(Option<Reminder>, RpcReplyPort<SessionEnd>),
    /// Goes on with a session that has ended, because its end was not accepted.
    GoOn(Reminder, RpcReplyPort<SessionEnd>),
    /// Asks what runs to stop.
    Stop(CancelLevel),
    /// Sent by the run itself; nobody else sends it.
    Ended(Result<Ended, Panicked>),
}

/// The run is over.
pub(crate) struct Ended {
    end: SessionEnd,
    /// What it can go on with.
    conversation: Option<Box<Conversation>>,
}

pub(crate) struct SessionState {
    arguments: SessionArguments,
    /// Dropping it ends the run, however the actor dies.
    run: Jobs,
    asked_by: Option<RpcReplyPort<SessionEnd>>,
    conversation: Option<Box<Conversation>>,
    stop: CancellationToken,
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
        let (run, stop) = (Jobs::default(), CancellationToken::new());
        Ok(SessionState { arguments, run, asked_by: None, conversation: None, stop })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionMessage::Run(reminder, reply) => {
                state.asked_by = Some(reply);
                state.start(&myself, reminder.as_ref().map(reminder::nudge));
            }
            SessionMessage::GoOn(reminder, reply) => {
                state.asked_by = Some(reply);
                state.start(&myself, Some(reminder::nudge(&reminder)));
            }
            SessionMessage::Stop(how) => {
                state.stop.cancel();
                // A dead executor has nothing left to stop.
                let _dead = state.arguments.executor.cast(ToolExecutorMessage::Stop(how));
            }
            SessionMessage::Ended(ended) => {
                let Ended { end, conversation } = ended?; // a panic is our death, and our supervisor's decision
                state.conversation = conversation;
                if let Some(reply) = state.asked_by.take() {
                    let _gone = reply.send(end);
                }
                if let SessionWork::Command(_) = state.arguments.work {
                    myself.stop(None); // it has said its last word
                }
            }
        }
        Ok(())
    }
}

impl SessionState {
    /// Whether the session is gone without having said how it ended.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.asked_by.is_some()
    }

    fn start(&mut self, myself: &ActorRef<SessionMessage>, nudge: Option<Nudge>) {
        let run = self.drive(nudge).instrument(self.arguments.span.clone());
        self.run.run(myself, run, SessionMessage::Ended);
    }

    fn drive(&mut self, nudge: Option<Nudge>) -> BoxFuture<'static, Ended> {
        let SessionArguments { executor, work, news, faults, .. } = &self.arguments;
        let (executor, news, faults) = (executor.clone(), news.clone(), faults.clone());
        match work {
            SessionWork::Command(command) => {
                let run = command::drive(executor, command.clone(), news, faults);
                async move { Ended { end: run.await, conversation: None } }.boxed()
            }
            SessionWork::Agent(agent) => {
                let drive = agent::Drive { agent: agent.as_ref().clone(), executor, news, faults };
                drive.run(self.conversation.take(), nudge, self.stop.clone()).boxed()
            }
        }
    }
}
