//! The public handle of an open session.

use engine::ports::CancelLevel;
use protocol::{Failure, FailureClass, ModelRoute, SessionId, UserInput};
use ractor::ActorRef;

use super::messages::{OpenedSession, SessionKey, SessionsMessage};
use crate::events::Events;
use crate::messaging::answer;
use crate::session::SessionInput;

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    /// The engine is closing.
    #[error("the engine is closing")]
    Closing,
    /// Its log or its model cannot be opened, or it crashed.
    #[error("{}", .0.message)]
    Failed(Failure),
}

/// An open session. It is closed with the engine, or before by [`SessionHandle::close`].
///
/// An input is said once in a session, however often it is sent: its id decides.
pub struct SessionHandle {
    id: SessionId,
    key: SessionKey,
    sessions: ActorRef<SessionsMessage>,
}

impl SessionHandle {
    pub(crate) fn new(opened: OpenedSession) -> Self {
        let OpenedSession { key, id, sessions } = opened;
        Self { id, key, sessions }
    }

    /// Returns the session's id, which is its log's.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns a reader of the session's events from now on.
    pub async fn listen(&self) -> Events {
        let listen = |reply| SessionsMessage::Listen(self.key, reply);
        answer(&self.sessions, listen).await.unwrap_or_else(Events::ended)
    }

    /// Begins work on an input, at once or when the work before it has ended.
    pub fn prompt(&self, input: UserInput) {
        self.say(SessionInput::Prompt(input));
    }

    /// Says something to the model at work: after the tool results of its present answer, before
    /// the next request. An idle session begins to work on it.
    pub fn steer(&self, input: UserInput) {
        self.say(SessionInput::Steer(input));
    }

    /// Says something to the model when it would stop. An idle session begins to work on it.
    pub fn follow_up(&self, input: UserInput) {
        self.say(SessionInput::FollowUp(input));
    }

    /// Ends the work that goes on and drops the inputs that wait; the conversation stays. The work
    /// has ended when `agent_end` says so.
    pub fn abort(&self, level: CancelLevel) {
        let _closed = self.sessions.cast(SessionsMessage::Abort(self.key, level));
    }

    /// Has another model answer from the next request on.
    ///
    /// # Errors
    /// The model cannot be asked, or the session is closed.
    pub async fn set_model(&self, model: ModelRoute) -> Result<(), Failure> {
        let question = |reply| SessionsMessage::SetModel(self.key, model, reply);
        let closed = || Failure::new(FailureClass::Crashed, "the session is closed");
        answer(&self.sessions, question).await.ok_or_else(closed)?
    }

    /// Aborts the work, and returns when nothing of the session runs any more.
    pub async fn close(self) {
        let close = |reply| SessionsMessage::Close(self.key, reply);
        let _gone = answer(&self.sessions, close).await; // then it is closed already
    }

    fn say(&self, input: SessionInput) {
        let _closed = self.sessions.cast(SessionsMessage::Say(self.key, input));
    }
}
