//! What a person has allowed subagents for the rest of a session: the next one that asks the same is not asked
//! about.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{Question, SessionId};

/// The choice that allows a call for the rest of a session.
const SESSION: &str = "session";

/// The longest question that is remembered, in bytes. Of a longer call, a question has only parts.
const LONGEST: usize = 2_000;

/// The questions that were answered so, by the sessions in which they were asked.
#[derive(Clone, Default)]
pub(super) struct AllowedForSession(Arc<Mutex<BTreeSet<(SessionId, String)>>>);

impl AllowedForSession {
    /// Returns the answer to a question that was answered for the session before.
    pub(super) fn answer(&self, session: SessionId, question: &Question) -> Option<String> {
        let asked = (session, question.text.clone());
        let is_known = self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&asked);
        let can_be = question.choices.iter().any(|choice| choice.id == SESSION);
        (is_known && can_be).then(|| SESSION.to_owned())
    }

    /// Remembers the answer to a question, if it is for the session.
    pub(super) fn note(&self, session: SessionId, question: &Question, answer: &str) {
        if answer == SESSION && question.text.len() <= LONGEST {
            let asked = (session, question.text.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{QuestionChoice, QuestionId};

    use super::*;

    fn question(text: &str, choices: &[&str]) -> Question {
        let choice =
            |id: &&str| QuestionChoice { id: (*id).to_owned(), key: 'x', label: String::new() };
        Question {
            id: QuestionId::generate(),
            text: text.to_owned(),
            reason: String::new(),
            choices: choices.iter().map(choice).collect(),
            default: "no".to_owned(),
            tool_call_id: None,
            form: protocol::QuestionForm::Call,
            deadline_ms: None,
            diff: None,
        }
    }

    #[test]
    fn what_was_allowed_for_a_session_is_not_asked_again_in_it() {
        let (allowed, here, elsewhere) =
            (AllowedForSession::default(), SessionId::generate(), SessionId::generate());
        let asked = question("bash make", &["once", "session", "no"]);
        let long = question(&"x".repeat(LONGEST + 1), &["session"]);
        for (question, answer) in [(&asked, "once"), (&asked, "no"), (&long, "session")] {
            allowed.note(here, question, answer);
            assert_eq!(allowed.answer(here, question), None, "{answer}");
        }
        allowed.note(here, &asked, "session");
        assert_eq!(allowed.answer(here, &asked).as_deref(), Some("session"));
        assert_eq!(allowed.answer(elsewhere, &asked), None);
        assert_eq!(allowed.answer(here, &question("bash make all", &["session"])), None);
        assert_eq!(allowed.answer(here, &question("bash make", &["once"])), None);
    }
}
