//! What a run's tasks wait for: questions, each of which is answered once, and subagents.

use engine::run::{Input, WaitsFor};
use protocol::{EventKind, QuestionId, SessionEvent, TaskId};

use super::open_questions::{ClosedQuestion, OpenQuestion};
use super::state::RunState;
use crate::sessions::AnswerError;
use crate::task::TaskWait;

impl RunState {
    /// Takes what a task says of the things that it waits for.
    pub(super) fn wait(&mut self, task: TaskId, wait: TaskWait) -> Option<Input> {
        match wait {
            TaskWait::Ask(question, reply) => {
                let question = *question;
                let event = SessionEvent::QuestionAsked { question: question.clone() };
                self.publish_of(task, event);
                let open = OpenQuestion { task, question, reply };
                self.questions.open.insert(open.question.id, open);
                Some(Input::Waits(task, WaitsFor::Answer))
            }
            TaskWait::Close(id) => self.close_question(id, None),
            TaskWait::Subagents => Some(Input::Waits(task, WaitsFor::Subagents)),
            TaskWait::SubagentsEnded(reply) => {
                self.questions.resuming.extend(reply.map(|reply| (task, reply)));
                Some(Input::WaitEnded(task, WaitsFor::Subagents))
            }
        }
    }

    /// Takes the answer of a person.
    pub(super) fn answer_question(
        &mut self,
        id: QuestionId,
        choice: String,
    ) -> Result<Option<Input>, AnswerError> {
        let open = self.questions.open.get(&id).ok_or(AnswerError::NotOpen)?;
        if !open.question.choices.iter().any(|known| known.id == choice) {
            return Err(AnswerError::NoSuchChoice);
        }
        Ok(self.close_question(id, Some(choice)))
    }

    fn close_question(&mut self, id: QuestionId, choice: Option<String>) -> Option<Input> {
        let OpenQuestion { task, reply, .. } = self.questions.open.remove(&id)?;
        let event = SessionEvent::QuestionClosed { question_id: id, choice_id: choice.clone() };
        self.publish_of(task, event);
        self.questions.closed.push(ClosedQuestion { task, choice, reply });
        Some(Input::WaitEnded(task, WaitsFor::Answer))
    }

    /// Lets a task go on with what it has waited for: it has its permit.
    pub(super) fn go_on(&mut self, task: TaskId) {
        for (_, reply) in self.questions.resuming.extract_if(.., |(of, _)| *of == task) {
            let _gone = reply.send(());
        }
        for closed in self.questions.closed.extract_if(.., |closed| closed.task == task) {
            let _gone = closed.reply.send(closed.choice); // the task may be stopping
        }
    }

    /// Closes the questions of a task that has ended.
    pub(super) fn end_questions(&mut self, task: TaskId) {
        let of_task = |(id, open): (&QuestionId, &OpenQuestion)| (open.task == task).then_some(*id);
        let ids: Vec<_> = self.questions.open.iter().filter_map(of_task).collect();
        for id in ids {
            self.close_question(id, None);
        }
        self.questions.closed.retain(|closed| closed.task != task);
        self.questions.resuming.retain(|(of, _)| *of != task);
    }

    fn publish_of(&mut self, task: TaskId, event: SessionEvent) {
        let task = self.machine.record().task(task).map(|task| task.spec.name.clone());
        self.publish(EventKind::SessionEvent { task, event });
    }
}
