//! A question of a session that waits for its answer.

use protocol::Question;
use ractor::RpcReplyPort;

/// Why an answer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question was answered or withdrawn before, or was never asked.
    #[error("the question is not open")]
    NotOpen,
    /// The question has no such choice.
    #[error("the question has no such choice")]
    NoSuchChoice,
    /// The session is closed, or the run is over.
    #[error("the session or the run is over")]
    Closed,
}

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    pub(super) reply: RpcReplyPort<String>,
}
