//! The notices about the events of an engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use protocol::{
    AgentEnd, Event, EventKind, EventScope, Message, QuestionId, SessionEvent, TaskName,
};
use serde_json::{Value, json};

use crate::render::one_line;

/// The longest text of an answer, in characters.
const ANSWER: usize = 2_000;

/// A notice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Notice {
    /// In a few words, which may have to be made printable.
    pub(super) text: String,
    /// As a command gets it.
    pub(super) json: Value,
    /// The question, if it is one.
    question: Option<QuestionId>,
}

/// What is known of the runs and sessions of an engine.
#[derive(Debug)]
pub(super) struct Watched {
    /// The folder of the sessions.
    folder: PathBuf,
    /// The repositories of the runs that have begun and not ended.
    repositories: BTreeMap<EventScope, String>,
    /// The runs of subagents, whose questions appear in the sessions of their callers.
    below: BTreeSet<EventScope>,
    /// The last answers of sessions.
    answers: BTreeMap<EventScope, String>,
}

impl Watched {
    /// Returns the state before the first event. Sessions work in `folder`, and each run says where it works.
    pub(super) fn new(folder: &Path) -> Self {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            folder,
            repositories: BTreeMap::new(),
            below: BTreeSet::new(),
            answers: BTreeMap::new(),
        }
    }

    /// Applies an event. Adds what is to be told to `waiting`, and removes a question that is closed.
    pub(super) fn apply(&mut self, event: &Event, waiting: &mut VecDeque<Notice>) {
        let Some(scope) = &event.scope else { return };
        if self.below.contains(scope) {
            if matches!(event.kind, EventKind::RunFinished { .. }) {
                self.below.remove(scope);
            }
            return;
        }
        match &event.kind {
            EventKind::RunStarted { caller: Some(_), .. } => {
                self.below.insert(scope.clone());
            }
            EventKind::RunStarted { repo, .. } if !repo.is_empty() => {
                self.repositories.insert(scope.clone(), repo.clone());
            }
            EventKind::RunFinished { totals, exit_code } => {
                let text =
                    event.run().map_or_else(String::new, |run| format!("run {run} has ended"));
                let more = json!({ "exit_code": exit_code, "totals": totals });
                waiting.push_back(self.notice(text, "run_end", scope, more));
                self.repositories.remove(scope);
            }
            EventKind::SessionEvent { task, event } => {
                self.session_event(scope, task.as_ref(), event, waiting);
            }
            _ => {}
        }
    }

    fn session_event(
        &mut self,
        scope: &EventScope,
        task: Option<&TaskName>,
        event: &SessionEvent,
        waiting: &mut VecDeque<Notice>,
    ) {
        match (event, task) {
            (SessionEvent::QuestionAsked { question }, task) => {
                let more = json!({ "task": task, "question": question });
                let text = question.form.question("", &one_line(&question.text));
                let notice = self.notice(text, "question", scope, more);
                waiting.push_back(Notice { question: Some(question.id), ..notice });
            }
            (SessionEvent::QuestionClosed { question_id, .. }, _) => {
                waiting.retain(|notice| notice.question != Some(*question_id));
            }
            (SessionEvent::MessageEnd { message: Message::Assistant(said) }, None) => {
                let answer = said.text().chars().take(ANSWER).collect();
                self.answers.insert(scope.clone(), answer);
            }
            (SessionEvent::AgentEnd { end }, None) => {
                let answer = self.answers.remove(scope).unwrap_or_default();
                let (end, text) = match end {
                    AgentEnd::Failed(failure) => ("failed", failure.message.clone()),
                    AgentEnd::Aborted => ("aborted", "stopped".to_owned()),
                    AgentEnd::Yielded(_) | AgentEnd::GaveUp(_) | AgentEnd::Silent(_) => {
                        ("answered", answer.clone())
                    }
                };
                let more = json!({ "end": end, "answer": answer });
                waiting.push_back(self.notice(text, "turn_end", scope, more));
            }
            _ => {}
        }
    }

    /// Returns a notice with these members in its object, but for those that are `null`.
    fn notice(&self, text: String, kind: &str, scope: &EventScope, more: Value) -> Notice {
        let (of, name) = match scope {
            EventScope::Run(run) => ("run", json!(run)),
            EventScope::Session(session) => ("session", json!(session)),
        };
        let of_session = || self.folder.to_string_lossy().into_owned();
        let folder = self.repositories.get(scope).cloned().unwrap_or_else(of_session);
        let mut json = json!({ "type": kind, "folder": folder, of: name });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Notice { text, json, question: None }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Question, RunCaller, RunName, SessionId, Timestamp};

    use super::*;

    fn notices(events: Vec<(EventScope, EventKind)>) -> Vec<Value> {
        let (mut watched, mut waiting) = (Watched::new(Path::new("/work")), VecDeque::new());
        for (seq, (scope, kind)) in (1..).zip(events) {
            let at = Timestamp::from_millisecond(0);
            watched.apply(&Event { seq, at, scope: Some(scope), kind }, &mut waiting);
        }
        waiting.into_iter().map(|notice| notice.json).collect()
    }

    fn question() -> Question {
        Question {
            id: QuestionId::generate(),
            text: "bash make".to_owned(),
            reason: "why".to_owned(),
            choices: Vec::new(),
            default: "no".to_owned(),
            tool_call_id: None,
            form: protocol::QuestionForm::Call,
            deadline_ms: Some(600_000),
            diff: None,
        }
    }

    #[test]
    fn a_question_and_the_ends_of_runs_and_turns_are_told_and_a_closed_question_is_not() {
        let run = EventScope::Run("r7k3f".parse::<RunName>().unwrap());
        let session = EventScope::Session(SessionId::generate());
        let of_task = |event| EventKind::SessionEvent { task: Some("fix".parse().unwrap()), event };
        let of_session = |event| EventKind::SessionEvent { task: None, event };
        let (asked, closed) = (question(), question());
        let question_id = closed.id;
        let told = notices(vec![
            (run.clone(), of_task(SessionEvent::QuestionAsked { question: asked.clone() })),
            (run.clone(), of_task(SessionEvent::QuestionAsked { question: closed })),
            (run.clone(), of_task(SessionEvent::QuestionClosed { question_id, choice_id: None })),
            (run.clone(), of_task(SessionEvent::AgentEnd { end: AgentEnd::Aborted })),
            (session.clone(), of_session(SessionEvent::AgentEnd { end: AgentEnd::Aborted })),
        ]);
        let [first, second] = &told[..] else { panic!("{told:#?}") };
        assert_eq!(
            (&first["type"], &first["run"], &first["task"]),
            (&json!("question"), &json!("r7k3f"), &json!("fix"))
        );
        assert_eq!((&first["folder"], &first["question"]), (&json!("/work"), &json!(asked)));
        assert_eq!((&second["type"], &second["end"]), (&json!("turn_end"), &json!("aborted")));
        assert!(second["session"].is_string() && second.get("task").is_none(), "{second}");
    }

    #[test]
    fn each_run_but_those_of_subagents_is_told_with_its_own_repository_and_a_session_with_the_folder()
     {
        let [one, two, below] =
            ["r7k3f", "r8k3f", "r9k3f"].map(|run| EventScope::Run(run.parse().unwrap()));
        let kind = |kind: Value| serde_json::from_value::<EventKind>(kind).unwrap();
        let begun = |repo: &str| {
            kind(json!({
                "type": "run_started", "repo": repo, "tasks": 1, "jobs": 1,
                "isolation": "worktree", "merge": "patch",
            }))
        };
        let mut of_call = begun("/one");
        if let EventKind::RunStarted { caller, .. } = &mut of_call {
            *caller = Some(RunCaller { session: SessionId::generate(), task: None });
        }
        let totals = json!(protocol::Totals::default());
        let mut ended = json!({ "type": "run_finished", "exit_code": 0 });
        ended.as_object_mut().unwrap().extend(totals.as_object().unwrap().clone());
        let asked = SessionEvent::QuestionAsked { question: question() };
        let asked = EventKind::SessionEvent { task: Some("fix".parse().unwrap()), event: asked };
        let end = SessionEvent::AgentEnd { end: AgentEnd::Aborted };
        let session = EventScope::Session(SessionId::generate());
        let told = notices(vec![
            (one.clone(), begun("/one")),
            (two.clone(), begun("/two")),
            (below.clone(), of_call),
            (below.clone(), asked.clone()),
            (one.clone(), asked),
            (below, kind(ended.clone())),
            (two, kind(ended.clone())),
            (one, kind(ended)),
            (session, EventKind::SessionEvent { task: None, event: end }),
        ]);
        let folders: Vec<_> = told.iter().map(|notice| &notice["folder"]).collect();
        assert_eq!(folders, ["/one", "/two", "/one", "/work"]);
    }
}
