//! The arguments and messages of a session's actor.

use std::path::PathBuf;
use std::sync::Arc;

use engine::agent::{Assignment, Conversation, Limits, Model, Prompt, RequestChanges};
use engine::ports::{CancelLevel, Gate, Requester};
use protocol::{AgentEnd, Failure, ModelRoute, SessionEvent, SessionId, UserInput};
use ractor::{ActorRef, RpcReplyPort};

use crate::deps::Deps;
use crate::executors::ToolExecutorMessage;
use crate::jobs::Panicked;
use crate::messaging::Notifier;

/// The parameters of a session.
#[derive(Clone)]
pub struct SessionSpec {
    /// The path of its log. An existing log is continued.
    pub log: PathBuf,
    /// The working folder.
    pub folder: PathBuf,
    /// The system prompt.
    pub system: Arc<str>,
    /// The model.
    pub model: ModelRoute,
    /// Who asks the model.
    pub requester: Requester,
    /// The limits of the whole session.
    pub limits: Limits,
    /// The first input, for a session of a task.
    pub assignment: Option<Assignment>,
}

/// Arguments of a session's actor.
#[derive(Clone)]
pub(crate) struct SessionArguments {
    pub(crate) spec: SessionSpec,
    pub(crate) deps: Deps,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    pub(crate) events: Notifier<SessionEvent>,
    /// The tracing span of the session.
    pub(crate) span: tracing::Span,
}

/// An input, by the moment at which the model gets it.
#[derive(Clone)]
pub(crate) enum SessionInput {
    /// When the session is idle.
    Prompt(UserInput),
    /// With the next request.
    Steer(UserInput),
    /// When the model stops.
    FollowUp(UserInput),
}

impl SessionInput {
    pub(crate) fn input(&self) -> &UserInput {
        match self {
            Self::Prompt(input) | Self::Steer(input) | Self::FollowUp(input) => input,
        }
    }
}

pub(crate) enum SessionMessage {
    /// Opens the session before its first input.
    Open(RpcReplyPort<Result<SessionId, Failure>>),
    /// Continues the conversation from the log, and then adds the given inputs. Used to begin the
    /// assignment of a task, and to continue the work that a crash interrupted, with the inputs
    /// that were waiting at that time.
    Resume(Option<RpcReplyPort<AgentEnd>>, Vec<SessionInput>),
    /// Starts work on an input as soon as the session is idle, for a caller that waits for its end.
    Prompt(Prompt, RpcReplyPort<AgentEnd>),
    /// Adds an input.
    Say(SessionInput),
    /// Changes the model from the next request on.
    SetModel(ModelRoute, RpcReplyPort<Result<(), Failure>>),
    /// Aborts the current work and drops the waiting inputs.
    Abort(CancelLevel),
    /// Aborts, answers when the work has ended, and stops the actor.
    Close(RpcReplyPort<()>),
    /// Request of the session's job: changes for the next request.
    BeforeRequest(RpcReplyPort<RequestChanges>),
    /// Request of the session's job: the input for a model that stops.
    BeforeStop(RpcReplyPort<Option<UserInput>>),
    /// Result of the job that opens the session.
    Opened(
        Result<Result<Box<Opened>, Failure>, Panicked>,
        RpcReplyPort<Result<SessionId, Failure>>,
    ),
    /// Result of the job that opens another model.
    ModelOpened(Result<Result<Box<Model>, Failure>, Panicked>, RpcReplyPort<Result<(), Failure>>),
    /// Result of the job that works on an input.
    Ended(Result<Ended, Panicked>),
}

/// The conversation and model of an open session.
pub(crate) struct Opened {
    pub(super) conversation: Conversation,
    pub(super) model: Model,
}

/// The result of the session's work.
pub(crate) struct Ended {
    pub(super) end: AgentEnd,
    /// `None` if the session could not be opened.
    pub(super) opened: Option<Box<Opened>>,
}
