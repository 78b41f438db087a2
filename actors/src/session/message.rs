//! What a session is started with and what it can be asked.

use std::path::PathBuf;
use std::sync::Arc;

use engine::agent::{Assignment, Conversation, Limits, Model, Prompt, RequestChanges};
use engine::ports::{CancelLevel, Gate};
use protocol::{AgentEnd, Failure, ModelRoute, SessionEvent, SessionId, UserInput};
use ractor::{ActorRef, RpcReplyPort};

use crate::ask::Teller;
use crate::deps::Deps;
use crate::executors::ToolExecutorMessage;
use crate::jobs::Panicked;

/// What a session is.
#[derive(Clone)]
pub struct SessionSpec {
    /// Where its conversation is kept. A log that is there is gone on with.
    pub log: PathBuf,
    /// The folder it works in.
    pub folder: PathBuf,
    /// What the model is told before everything else.
    pub system: Arc<str>,
    /// The model.
    pub model: ModelRoute,
    /// How much the session may use in all.
    pub limits: Limits,
    /// What the model is asked to do, where that is known from the start.
    pub assignment: Option<Assignment>,
}

/// What a session is started with.
#[derive(Clone)]
pub(crate) struct SessionArguments {
    pub(crate) spec: SessionSpec,
    pub(crate) deps: Deps,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    pub(crate) events: Teller<SessionEvent>,
    /// What the session traces is in it.
    pub(crate) span: tracing::Span,
}

pub(crate) enum SessionMessage {
    /// Opens the log before anything is asked.
    Open(RpcReplyPort<Result<SessionId, Failure>>),
    /// Goes on with the conversation as the log has it: its assignment, or work that a crash
    /// interrupted.
    Resume(Option<RpcReplyPort<AgentEnd>>),
    /// Begins work, as soon as the session is idle.
    Prompt(Prompt, Option<RpcReplyPort<AgentEnd>>),
    /// Says something with the next request.
    Steer(UserInput),
    /// Says something when the model would stop.
    FollowUp(UserInput),
    /// Has another model answer from the next request on.
    SetModel(ModelRoute, RpcReplyPort<Result<(), Failure>>),
    /// Ends the work that goes on, and drops the inputs that wait.
    Abort(CancelLevel),
    /// Aborts, answers when nothing goes on any more, and ends the session.
    Close(RpcReplyPort<()>),
    /// Asked by the work: what counts from the next request on.
    BeforeRequest(RpcReplyPort<RequestChanges>),
    /// Asked by the work: what is said to a model that would stop.
    BeforeStop(RpcReplyPort<Option<UserInput>>),
    /// Sent by jobs of the session, as what follows; nobody else sends it.
    Opened(
        Result<Result<Box<Opened>, Failure>, Panicked>,
        RpcReplyPort<Result<SessionId, Failure>>,
    ),
    ModelOpened(Result<Result<Model, Failure>, Panicked>, RpcReplyPort<Result<(), Failure>>),
    Ended(Result<Ended, Panicked>),
}

/// A session that is open: what its work needs.
pub(crate) struct Opened {
    pub(super) conversation: Conversation,
    pub(super) model: Model,
}

/// The work is over.
pub(crate) struct Ended {
    pub(super) end: AgentEnd,
    /// Nothing where the session could not be opened.
    pub(super) opened: Option<Box<Opened>>,
}
