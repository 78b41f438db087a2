//! The messages of the sessions' supervisor.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::agent::QueueModes;
use engine::ports::{CancelLevel, OwnerEnd};
use engine::prompt::SystemPrompt;
use protocol::{
    Failure, ModelRoute, Question, QuestionId, SessionEvent, SessionId, ThinkingLevel, UserInput,
};
use ractor::{ActorId, ActorRef, RpcReplyPort};
use tokio::sync::watch;

use super::open_question::AnswerError;
use super::session_state::SessionState;
use crate::events::Events;
use crate::executors::{ExecutorLease, ToolSetup};
use crate::messaging::NoAnswer;
use crate::session::{OpenedLog, SessionInput, SessionMessage, SessionSpec};

/// Identifies a session among those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey(pub(super) u64);

/// Why a prompt was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The session works, or an input waits.
    #[error("the session is working")]
    Busy,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// The reply port of [`SessionsMessage::Open`].
pub(crate) type SessionsReply = RpcReplyPort<Result<(OpenedSession, Events), Failure>>;

/// A session that is to be opened.
pub(crate) struct SessionOpening {
    pub(crate) spec: SessionSpec,
    /// The parameters of its tools.
    pub(crate) tools: ToolSetup,
}

/// A session that was opened.
pub(crate) struct OpenedSession {
    pub(super) key: SessionKey,
    pub(super) id: SessionId,
    pub(super) sessions: ActorRef<SessionsMessage>,
}

/// A change of a session.
pub(crate) enum SessionChange {
    /// How waiting inputs are given out.
    Modes(QueueModes),
    /// The system prompt.
    System(Arc<SystemPrompt>),
    /// The tools that the model may use; all if absent.
    Tools(Option<Arc<BTreeSet<String>>>),
    /// How much the model thinks, which the session has set.
    Thinking(ThinkingLevel),
}

pub(crate) enum SessionsMessage {
    /// Opens a session.
    Open(Box<SessionOpening>, SessionsReply),
    /// Gives a session an input.
    Say(SessionKey, SessionInput),
    /// Gives a session a prompt, unless it works or an input waits.
    PromptIfIdle(SessionKey, UserInput, RpcReplyPort<Result<(), PromptError>>),
    /// Returns the state of a session.
    State(SessionKey, RpcReplyPort<SessionState>),
    /// Returns a reader of the state of a session.
    ReadState(SessionKey, RpcReplyPort<watch::Receiver<SessionState>>),
    /// Changes a session from the next request on, also after a restart.
    Change(SessionKey, SessionChange),
    /// A message for the actor of a session.
    Forward(SessionKey, Box<SessionMessage>),
    /// A session asks its client. Without an answer, the reply port is dropped.
    Ask(SessionKey, Box<Question>, RpcReplyPort<String>),
    /// The client answers a question with the choice of this id.
    Answer(SessionKey, QuestionId, String, RpcReplyPort<Result<(), AnswerError>>),
    /// A question is not asked any more.
    Withdraw(SessionKey, QuestionId),
    Abort(SessionKey, CancelLevel),
    SetModel(SessionKey, ModelRoute, RpcReplyPort<Result<(), Failure>>),
    /// Closes a session. Answers when none of its processes runs.
    Close(SessionKey, RpcReplyPort<()>),
    /// Closes every session, then stops.
    CloseAll,
    /// An event of a session.
    Happened(SessionKey, SessionEvent),
    /// Answer to the request for an executor.
    Leased(SessionKey, Result<ExecutorLease, NoAnswer>),
    /// Answer of a session actor that was asked to open its session.
    Opened(SessionKey, Result<Result<OpenedLog, Failure>, NoAnswer>),
    /// Answer of a session actor that was asked to change its model.
    ModelSet(
        SessionKey,
        ModelRoute,
        Result<Result<(), Failure>, NoAnswer>,
        RpcReplyPort<Result<(), Failure>>,
    ),
    /// A session actor failed with this error.
    Crashed(ActorId, String),
    /// The processes of a crashed session were stopped, or could not be stopped.
    Cleared(SessionKey, Result<OwnerEnd, NoAnswer>),
    /// The work of a closing session ended, or its deadline passed.
    Ended(SessionKey),
    /// The processes of a closing session were stopped, or could not be stopped.
    Sealed(SessionKey, Result<OwnerEnd, NoAnswer>),
}
