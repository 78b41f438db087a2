//! The questions of the tasks of one run that are open, and the answers that tasks do not know yet.

use std::collections::BTreeMap;

use protocol::{Question, QuestionId, TaskId};
use ractor::RpcReplyPort;

/// The questions of the tasks of one run.
#[derive(Default)]
pub(super) struct RunQuestions {
    pub(super) open: BTreeMap<QuestionId, OpenQuestion>,
    /// The answers of tasks that wait for their permits.
    pub(super) closed: Vec<ClosedQuestion>,
    /// Those whose subagents have ended and that wait for their permits.
    pub(super) resuming: Vec<(TaskId, RpcReplyPort<()>)>,
}

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    pub(super) task: TaskId,
    pub(super) question: Question,
    pub(super) reply: RpcReplyPort<Option<String>>,
}

/// A question whose task does not know the answer yet.
pub(super) struct ClosedQuestion {
    pub(super) task: TaskId,
    pub(super) choice: Option<String>,
    pub(super) reply: RpcReplyPort<Option<String>>,
}
