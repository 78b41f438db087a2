//! Asks a person about the calls of a task.

use std::time::Duration;

use async_trait::async_trait;
use engine::ports::Ask;
use protocol::{Question, QuestionId};
use ractor::ActorRef;
use tokio::time::timeout;

use super::state::TaskMessage;
use super::task_question::TaskQuestion;
use crate::gates::Waits;
use crate::messaging::answer;

/// How long a question of a task waits for its answer.
const DEADLINE: Duration = Duration::from_secs(600);

/// Asks by the actor of the task, which passes it on behind the events that came before it. While a question
/// is open, the wall-clock limit of the task stands still.
pub(super) struct TaskAsk {
    pub(super) task: ActorRef<TaskMessage>,
    pub(super) waits: Waits,
}

#[async_trait]
impl Ask for TaskAsk {
    async fn ask(&self, question: Question) -> Option<String> {
        let deadline_ms = u64::try_from(DEADLINE.as_millis()).ok();
        let question = Question { deadline_ms, ..question };
        let _waiting = self.waits.begin();
        let closing = CloseOnDrop { asked: self, id: question.id };
        let ask = |reply| TaskMessage::Question(TaskQuestion::Ask(Box::new(question), reply));
        let mut answered = answer(&self.task, ask);
        let in_time = timeout(DEADLINE, &mut answered).await;
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
        let close = TaskMessage::Question(TaskQuestion::Close(self.id));
        let _ended = self.asked.task.cast(close); // its questions end with the task
    }
}
