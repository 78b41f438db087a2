//! What the supervisor of the sessions can be asked.

use engine::ports::CancelLevel;
use protocol::{Failure, ModelRoute, SessionEvent, SessionId, UserInput};
use ractor::{ActorId, ActorRef, RpcReplyPort};

use crate::events::Events;
use crate::executors::{ExecutorLease, ToolSetup};
use crate::messaging::NoAnswer;
use crate::session::SessionSpec;

/// Identifies a session among those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey(pub(super) u64);

/// Answers who opens a session.
pub(crate) type SessionsReply = RpcReplyPort<Result<OpenedSession, Failure>>;

/// A session that is to be opened.
pub(crate) struct SessionOpening {
    pub(crate) spec: SessionSpec,
    /// What its tools are built for.
    pub(crate) tools: ToolSetup,
}

/// A session that was opened.
pub(crate) struct OpenedSession {
    pub(super) key: SessionKey,
    pub(super) id: SessionId,
    pub(super) sessions: ActorRef<SessionsMessage>,
}

pub(crate) enum SessionsMessage {
    /// Opens a session.
    Open(Box<SessionOpening>, SessionsReply),
    /// Gives a session an input.
    Say(SessionKey, SessionInput),
    Abort(SessionKey, CancelLevel),
    SetModel(SessionKey, ModelRoute, RpcReplyPort<Result<(), Failure>>),
    /// Answers when nothing of the session runs any more.
    Close(SessionKey, RpcReplyPort<()>),
    /// Closes every session, and stops when nothing of them runs any more.
    CloseAll,
    /// Answers with what happens in a session from now on.
    Listen(SessionKey, RpcReplyPort<Events>),
    /// Sent by a session: what happened in it.
    Happened(SessionKey, SessionEvent),
    /// Answers to questions of the supervisor, and what follows from them.
    Leased(SessionKey, Result<ExecutorLease, NoAnswer>),
    Opened(SessionKey, Result<Result<SessionId, Failure>, NoAnswer>),
    ModelSet(
        SessionKey,
        ModelRoute,
        Result<Result<(), Failure>, NoAnswer>,
        RpcReplyPort<Result<(), Failure>>,
    ),
    /// A session died of this error.
    Crashed(ActorId, String),
    /// Nothing of a crashed session runs any more, or it could not be stopped.
    Cleared(SessionKey, Result<(), NoAnswer>),
    /// The session has ended its work, or its time for that is over.
    Ended(SessionKey),
    /// Nothing of the closed session runs any more, or it could not be stopped.
    Sealed(SessionKey, Result<(), NoAnswer>),
}

/// An input, and when it is to be said.
#[derive(Clone)]
pub(crate) enum SessionInput {
    Prompt(UserInput),
    Steer(UserInput),
    FollowUp(UserInput),
}

impl SessionInput {
    pub(super) fn input(&self) -> &UserInput {
        match self {
            Self::Prompt(input) | Self::Steer(input) | Self::FollowUp(input) => input,
        }
    }
}
