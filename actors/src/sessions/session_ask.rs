//! Asks the client of a session.

use std::time::Duration;

use async_trait::async_trait;
use engine::ports::Ask;
use protocol::{Question, QuestionId};
use ractor::ActorRef;
use tokio::time::timeout;

use super::messages::{SessionKey, SessionsMessage};
use crate::messaging::answer;

/// Asks the client of a session.
pub(super) struct SessionAsk {
    pub(super) sessions: ActorRef<SessionsMessage>,
    pub(super) key: SessionKey,
    /// How long to wait for an answer; `None` waits without a limit.
    pub(super) deadline: Option<Duration>,
}

#[async_trait]
impl Ask for SessionAsk {
    async fn ask(&self, question: Question) -> Option<String> {
        let deadline = self.deadline;
        let deadline_ms = deadline.and_then(|time| u64::try_from(time.as_millis()).ok());
        let question = Question { deadline_ms, ..question };
        let _withdrawn = WithdrawOnDrop { asked: self, id: question.id };
        let message = |reply| SessionsMessage::Ask(self.key, Box::new(question), reply);
        let answered = answer(&self.sessions, message);
        match deadline {
            Some(deadline) => timeout(deadline, answered).await.ok().flatten(),
            None => answered.await,
        }
    }
}

/// Withdraws a question when it is dropped, if it is still open.
struct WithdrawOnDrop<'a> {
    asked: &'a SessionAsk,
    id: QuestionId,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let _closed = self.asked.sessions.cast(SessionsMessage::Withdraw(self.asked.key, self.id));
    }
}
