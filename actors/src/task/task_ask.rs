//! What the calls of a task wait for: the answers of a person, and subagents.

use async_trait::async_trait;
use engine::ports::{Ask, Pause};
use futures_util::future::BoxFuture;
use protocol::{Question, QuestionId};
use ractor::ActorRef;
use tokio::time::timeout;

use super::state::TaskMessage;
use super::task_wait::TaskWait;
use crate::executors::ANSWER_DEADLINE;
use crate::gates::Waits;
use crate::messaging::answer;

/// Asks by the actor of the task, which passes it on behind the events that came before it. While a question
/// is open, the wall-clock limit of the task stands still.
pub(super) struct TaskAsk {
    pub(super) task: ActorRef<TaskMessage>,
    pub(super) waits: Waits,
}

#[async_trait]
impl Ask for TaskAsk {
    async fn ask(&self, question: Question) -> Option<String> {
        let deadline_ms = u64::try_from(ANSWER_DEADLINE.as_millis()).ok();
        let question = Question { deadline_ms, ..question };
        let _asking = self.waits.begin();
        let closing = CloseOnDrop { asked: self, id: question.id };
        let ask = |reply| TaskMessage::Wait(TaskWait::Ask(Box::new(question), reply));
        let mut answered = answer(&self.task, ask);
        let in_time = timeout(ANSWER_DEADLINE, &mut answered).await;
        let answered = match in_time {
            Ok(answered) => answered,
            Err(_elapsed) => {
                drop(closing);
                answered.await // it may have been answered just now, and waits for its permit
            }
        };
        answered.flatten()
    }
}

/// Closes a question when it is dropped, if it is still open.
struct CloseOnDrop<'a> {
    asked: &'a TaskAsk,
    id: QuestionId,
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        let close = TaskMessage::Wait(TaskWait::Close(self.id));
        let _ended = self.asked.task.cast(close); // its questions end with the task
    }
}

/// Lets the calls of a task wait for their subagents. Meanwhile the wall-clock limit of the task stands still,
/// and other tasks use its permit.
pub(super) struct TaskPause {
    pub(super) task: ActorRef<TaskMessage>,
    pub(super) waits: Waits,
}

#[async_trait]
impl Pause for TaskPause {
    async fn during(&self, work: BoxFuture<'_, ()>) {
        let _waiting = self.waits.begin();
        let _begun = self.task.cast(TaskMessage::Wait(TaskWait::Subagents));
        let ended = EndOnDrop(Some(&self.task));
        work.await;
        ended.end().await;
    }
}

/// Says that a task does not wait for its subagents any more, also when the call is dropped.
struct EndOnDrop<'a>(Option<&'a ActorRef<TaskMessage>>);

impl EndOnDrop<'_> {
    /// Returns when the task has its permit.
    async fn end(mut self) {
        let Some(task) = self.0.take() else { return };
        let end = |reply| TaskMessage::Wait(TaskWait::SubagentsEnded(Some(reply)));
        let _ended = answer(task, end).await; // without an answer, the task is ending
    }
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            let _ended = task.cast(TaskMessage::Wait(TaskWait::SubagentsEnded(None)));
        }
    }
}
