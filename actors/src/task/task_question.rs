//! What a task says of its questions to a person.

use protocol::{Question, QuestionId};
use ractor::RpcReplyPort;

/// What a task says of a question.
pub(crate) enum TaskQuestion {
    /// It is asked. The reply follows when the task has its permit; it is none without an answer.
    Ask(Box<Question>, RpcReplyPort<Option<String>>),
    /// It is not asked any more.
    Close(QuestionId),
}
