//! The tool `ask`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::ports::{Ask, SessionPurpose};
use protocol::{Question, QuestionForm};
use serde_json::{Value, json};

use super::session::{Session, Setting, ViewKind};

/// Gives these answers, one after the other.
#[derive(Default)]
struct Answers {
    choices: Mutex<VecDeque<Option<&'static str>>>,
    asked: Mutex<Vec<Question>>,
}

#[async_trait]
impl Ask for Answers {
    async fn ask(&self, question: Question) -> Option<String> {
        self.asked.lock().unwrap().push(question);
        let choice = self.choices.lock().unwrap().pop_front().expect("it is not asked more often");
        choice.map(str::to_owned)
    }
}

async fn session() -> Session {
    let purpose = SessionPurpose::Conversation;
    Session::with(ViewKind::Memory, Setting { purpose, ..Setting::default() }).await
}

fn answers(choices: &[Option<&'static str>]) -> Arc<Answers> {
    let choices = Mutex::new(choices.iter().copied().collect());
    Arc::new(Answers { choices, ..Answers::default() })
}

fn database() -> Value {
    json!({ "questions": [{
        "question": "Which database?", "options": ["SQLite", "Postgres"], "recommended": 1,
    }] })
}

#[test]
async fn the_user_chooses_one_of_the_options_or_none() {
    let session = session().await;
    for (choice, said, answer) in [
        ("2", "User selected: Postgres", json!("Postgres")),
        ("none", "The user chose none of these: ask in your answer what is meant", Value::Null),
    ] {
        let user = answers(&[Some(choice)]);
        let answered = session.answered_by(user.clone()).answer("ask", database()).await;
        assert_eq!(answered.text, said);
        let details = json!({ "answers": [{ "question": "Which database?", "answer": answer }] });
        assert_eq!(answered.details, Some(details));
        let asked = user.asked.lock().unwrap();
        let [question] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!((question.form, &*question.text), (QuestionForm::Sentence, "Which database?"));
        let keys: Vec<_> =
            question.choices.iter().map(|choice| (choice.key, &*choice.label)).collect();
        let expected = [('1', "SQLite"), ('2', "Postgres (recommended)"), ('n', "none of these")];
        assert_eq!(keys, expected);
        assert_eq!(question.default, "none", "Esc chooses nothing");
    }
}

#[test]
async fn several_questions_are_asked_one_after_the_other_also_as_other_agents_write_them() {
    let session = session().await;
    let user = answers(&[Some("1"), Some("2")]);
    let option = |label: &str| json!({ "label": label, "description": "x" });
    let call = json!({ "questions": [
        { "id": "a", "question": "Keep\nit?", "options": [option("yes"), option("no")], "multi": false },
        { "header": "B", "text": "Which colour", "choices": ["red", "blue\u{1b}[2J"] },
    ] });
    let answered = session.answered_by(user.clone()).said("ask", call).await;
    let expected = "Keep\nit?\nUser selected: yes\n\nWhich colour\nUser selected: blue";
    assert!(answered.starts_with(expected), "{answered}");
    let asked = std::mem::take(&mut *user.asked.lock().unwrap());
    assert_eq!(asked[0].text, "Keep\nit?");
    assert_eq!(asked[1].choices[1].label, "blue\\u{1b}[2J", "no label controls a terminal");
    let one = json!({ "question": "Which?", "options": ["a", "b"] });
    let user = answers(&[Some("1")]);
    assert_eq!(session.answered_by(user).said("ask", one).await, "User selected: a");
}

#[test]
async fn without_anyone_to_answer_or_an_answer_in_time_it_is_an_error_and_so_are_wrong_questions() {
    let session = session().await;
    let alone = session.failed("ask", database()).await;
    assert!(alone.starts_with("no one can be asked here: decide yourself"), "{alone}");
    let late = session.answered_by(answers(&[None])).failed("ask", database()).await;
    assert!(late.starts_with("no answer came: decide yourself"), "{late}");
    let user = answers(&[]);
    let session = session.answered_by(user);
    let asked = |question: &str, options: Value| json!({ "questions": [{ "question": question, "options": options }] });
    for (call, why) in [
        (asked(" ", json!(["a", "b"])), "a question and its options have a text"),
        (asked("x", json!(["a", ""])), "a question and its options have a text"),
        (asked("x", json!(["a", "a "])), "two options are the same"),
        (asked("x", json!(["a", "b".repeat(81)])), "an option 80"),
        (asked(&"x".repeat(1_001), json!(["a", "b"])), "at most 1000 characters"),
        (asked("x", json!(["a"])), "options"),
        (json!({ "questions": [] }), "questions"),
        (
            json!({ "questions": [{ "question": "x", "options": ["a", "b"], "recommended": 2 }] }),
            "`recommended` is the number of an option",
        ),
    ] {
        let refused = session.failed("ask", call.clone()).await;
        assert!(refused.contains(why), "{call}: {refused}");
    }
}
