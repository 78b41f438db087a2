//! What a task says of the things that it waits for.

use protocol::{Question, QuestionId};
use ractor::RpcReplyPort;

/// What a task says of a question to a person, or of its subagents.
pub(crate) enum TaskWait {
    /// A question is asked. The reply follows when the task has its permit; it is none without an answer.
    Ask(Box<Question>, RpcReplyPort<Option<String>>),
    /// A question is not asked any more.
    Close(QuestionId),
    /// It waits for its subagents.
    Subagents,
    /// It does not any more. The reply, if one is wanted, follows when the task has its
    /// permit.
    SubagentsEnded(Option<RpcReplyPort<()>>),
}
