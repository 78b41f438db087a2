//! The questions of sessions, each of which is answered once.

use protocol::{Question, QuestionId, SessionEvent};
use ractor::RpcReplyPort;

use super::messages::SessionKey;
use super::open_question::{AnswerError, OpenQuestion};
use super::supervisor::SessionsState;

impl SessionsState {
    pub(super) fn ask(&mut self, key: SessionKey, question: Question, reply: RpcReplyPort<String>) {
        // Without a session, the dropped reply port stands for the default.
        let Some(record) = self.open_record(key) else { return };
        record.questions.insert(question.id, OpenQuestion { question: question.clone(), reply });
        self.publish(key, [SessionEvent::QuestionAsked { question }]);
    }

    pub(super) fn answer_question(
        &mut self,
        key: SessionKey,
        id: QuestionId,
        choice: String,
    ) -> Result<(), AnswerError> {
        let record = self.open_record(key).ok_or(AnswerError::Closed)?;
        let open = record.questions.get(&id).ok_or(AnswerError::NotOpen)?;
        if !open.question.choices.iter().any(|known| known.id == choice) {
            return Err(AnswerError::NoSuchChoice);
        }
        let open = record.questions.remove(&id).ok_or(AnswerError::NotOpen)?;
        let choice_id = Some(choice.clone());
        let _gone = open.reply.send(choice);
        self.publish(key, [SessionEvent::QuestionClosed { question_id: id, choice_id }]);
        Ok(())
    }

    pub(super) fn withdraw(&mut self, key: SessionKey, id: QuestionId) {
        let record = self.records.get_mut(&key);
        if record.and_then(|record| record.questions.remove(&id)).is_some() {
            let event = SessionEvent::QuestionClosed { question_id: id, choice_id: None };
            self.publish(key, [event]);
        }
    }
}
