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
    /// The log or the model of the session cannot be opened, or the session crashed.
    #[error("{}", .0.message)]
    Failed(Failure),
}

/// A handle to an open session. The session is closed by [`SessionHandle::close`], or when the
/// engine closes.
///
/// A session takes each input once: an input with the id of an earlier one is ignored.
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

    /// Returns the id of the session, which is also the id of its log.
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

    /// Sends an input to the working model. It is part of the next request, after the tool results
    /// of the current answer. An idle session begins to work on it.
    pub fn steer(&self, input: UserInput) {
        self.say(SessionInput::Steer(input));
    }

    /// Sends an input that the model gets when it would otherwise stop. An idle session begins to
    /// work on it.
    pub fn follow_up(&self, input: UserInput) {
        self.say(SessionInput::FollowUp(input));
    }

    /// Stops the current work and drops the waiting inputs. The conversation is kept. The event
    /// `agent_end` reports that the work has ended.
    pub fn abort(&self, level: CancelLevel) {
        let _closed = self.sessions.cast(SessionsMessage::Abort(self.key, level));
    }

    /// Changes the model of the session, beginning with the next request.
    ///
    /// # Errors
    /// The model cannot be opened, or the session is closed.
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
