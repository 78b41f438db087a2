//! The open questions of a run's tasks, the oldest of which a key answers.

use std::collections::{BTreeMap, VecDeque};

use protocol::{Event, EventKind, Question, QuestionId, SessionEvent, TaskName, ToolCall};

use super::call_details::{CallDetails, call_details};
use super::patch::painted;
use super::printable::cut;
use super::question_text::question_text;
use super::terminal::{Meaning, Palette, Size};

/// The letter that shows all about a call.
const DETAILS: char = 'd';

/// The open questions of a run, oldest first.
#[derive(Debug, Default)]
pub(super) struct RunQuestions {
    open: VecDeque<(TaskName, Question)>,
    /// The calls under way, by their tasks and ids.
    calls: BTreeMap<(TaskName, String), ToolCall>,
    /// The question that is on the terminal.
    displayed: Option<QuestionId>,
}

/// What a key means for the question that is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QuestionKey {
    /// These lines say all about the call.
    Details(Vec<String>),
    /// The answer with the choice of this id.
    Answer(QuestionId, String),
}

impl RunQuestions {
    /// Applies an event of the run.
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SessionEvent { task: Some(task), event } => self.apply_to(task, event),
            EventKind::TaskFinished { task, .. } => {
                self.calls.retain(|(of, _), _| of != task);
                self.open.retain(|(of, _)| of != task);
            }
            _ => {}
        }
    }

    fn apply_to(&mut self, task: &TaskName, event: &SessionEvent) {
        match event {
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let call = ToolCall {
                    id: tool_call_id.clone(),
                    name: tool_name.clone(),
                    arguments: args.clone(),
                    malformed: None,
                    thought_signature: None,
                };
                self.calls.insert((task.clone(), tool_call_id.clone()), call);
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.calls.remove(&(task.clone(), tool_call_id.clone()));
            }
            SessionEvent::SessionRestart { .. } => self.calls.retain(|(of, _), _| of != task),
            SessionEvent::QuestionAsked { question } => {
                self.open.push_back((task.clone(), question.clone()));
            }
            SessionEvent::QuestionClosed { question_id, .. } => {
                self.open.retain(|(_, question)| question.id != *question_id);
            }
            _ => {}
        }
    }

    /// Returns the question that is on the terminal, if it is still open.
    pub(super) fn displayed(&self) -> Option<QuestionId> {
        let first = self.open.front().map(|(_, question)| question.id);
        self.displayed.filter(|question| first == Some(*question))
    }

    /// Returns the lines of the oldest question, which is on the terminal from now on.
    pub(super) fn show(&mut self, size: Size, palette: Palette) -> Vec<String> {
        let Some((task, question)) = self.open.front() else { return Vec::new() };
        self.displayed = Some(question.id);
        let more = match self.open.len() {
            1 => String::new(),
            open => format!(" ({} more)", open - 1),
        };
        let label = cut(&format!("{task}: "), size.columns / 3);
        let lines = question_text(&label, question, &more, size);
        lines.iter().map(|line| palette.paint(Meaning::Kept, line)).collect()
    }

    /// Applies a key that was pressed while the question was on the terminal.
    pub(super) fn key(&mut self, letter: char, palette: Palette) -> Option<QuestionKey> {
        self.displayed()?;
        let (task, question) = self.open.front()?;
        let letter = letter.to_ascii_lowercase();
        if letter == DETAILS {
            let id = question.tool_call_id.clone().unwrap_or_default();
            let call = self.calls.get(&(task.clone(), id));
            let CallDetails { lines, diff } = call_details(question, call);
            let lines = lines.into_iter().chain(painted(&diff, palette));
            let lines = lines.map(|line| format!("  {line}"));
            let task = format!("{}:", task);
            return Some(QuestionKey::Details([task].into_iter().chain(lines).collect()));
        }
        let choice = question.choices.iter().find(|choice| choice.key == letter)?.id.clone();
        let (_, question) = self.open.pop_front()?;
        Some(QuestionKey::Answer(question.id, choice))
    }
}

#[cfg(test)]
mod tests {
    use protocol::{QuestionChoice, Timestamp};
    use serde_json::json;

    use super::super::printable::width;
    use super::*;

    fn question(text: &str, call: &str) -> Question {
        let choice =
            |id: &str, key| QuestionChoice { id: id.to_owned(), key, label: id.to_owned() };
        Question {
            id: QuestionId::generate(),
            text: text.to_owned(),
            reason: "the approval mode `ask` asks about commands".to_owned(),
            choices: vec![choice("once", 'y'), choice("no", 'n')],
            default: "no".to_owned(),
            tool_call_id: Some(call.to_owned()),
            form: protocol::QuestionForm::Call,
            deadline_ms: Some(600_000),
            diff: None,
        }
    }

    fn apply(questions: &mut RunQuestions, task: &str, event: SessionEvent) {
        let kind = EventKind::SessionEvent { task: Some(task.parse().unwrap()), event };
        questions.apply(&Event { seq: 1, at: Timestamp::from_millisecond(0), scope: None, kind });
    }

    fn shown(questions: &mut RunQuestions, columns: usize) -> Vec<String> {
        questions.show(Size { columns, rows: 24 }, Palette::Plain)
    }

    fn key(questions: &mut RunQuestions, letter: char) -> Option<QuestionKey> {
        questions.key(letter, Palette::Plain)
    }

    #[test]
    fn the_oldest_question_is_a_line_and_a_key_answers_it_once_it_is_on_the_terminal() {
        let mut questions = RunQuestions::default();
        let (first, second) = (question("bash ma\u{7}ke", "1"), question("write a", "1"));
        assert_eq!((shown(&mut questions, 80), key(&mut questions, 'y')), (Vec::new(), None));
        for (task, question) in [("one", &first), ("two", &second)] {
            let question = question.clone();
            apply(&mut questions, task, SessionEvent::QuestionAsked { question });
        }
        assert_eq!(
            (questions.displayed(), key(&mut questions, 'y')),
            (None, None),
            "it is not shown yet"
        );
        let expected = "allow one: bash ma␇ke? y once · n no · d details (1 more)";
        assert_eq!(shown(&mut questions, 80), [expected]);
        assert_eq!(questions.displayed(), Some(first.id));
        assert_eq!(key(&mut questions, 'x'), None);
        assert_eq!(
            key(&mut questions, 'Y'),
            Some(QuestionKey::Answer(first.id, "once".to_owned()))
        );
        assert_eq!(
            (questions.displayed(), key(&mut questions, 'y')),
            (None, None),
            "the next is not shown"
        );
        assert_eq!(shown(&mut questions, 80), ["allow two: write a? y once · n no · d details"]);
        let closed = SessionEvent::QuestionClosed { question_id: second.id, choice_id: None };
        apply(&mut questions, "two", closed);
        assert_eq!((shown(&mut questions, 80), key(&mut questions, 'n')), (Vec::new(), None));
        apply(
            &mut questions,
            "one",
            SessionEvent::QuestionAsked { question: question("bash x", "2") },
        );
        for columns in 1..90 {
            for line in shown(&mut questions, columns) {
                assert!(width(&line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn d_shows_the_whole_call_of_the_task_that_asks() {
        let mut questions = RunQuestions::default();
        for (task, command) in [("one", "make\n./run \u{1b}[2J"), ("two", "other")] {
            let args = json!({ "command": command }).as_object().unwrap().clone();
            let (tool_call_id, tool_name) = ("1".to_owned(), "bash".to_owned());
            let start = SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args };
            apply(&mut questions, task, start);
        }
        apply(
            &mut questions,
            "one",
            SessionEvent::QuestionAsked { question: question("bash", "1") },
        );
        shown(&mut questions, 80);
        let Some(QuestionKey::Details(lines)) = key(&mut questions, 'd') else {
            panic!("it says all")
        };
        let reason = "  the approval mode `ask` asks about commands";
        assert_eq!(lines, ["one:", "  bash", reason, "  make", "  ./run \\u{1b}[2J"]);
        assert!(questions.displayed().is_some(), "it is still open");
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new \u{1b}[2J\n";
        let question = Question { diff: Some(diff.to_owned()), ..question("write x", "1") };
        let mut questions = RunQuestions::default();
        apply(&mut questions, "one", SessionEvent::QuestionAsked { question });
        shown(&mut questions, 80);
        let Some(QuestionKey::Details(lines)) = questions.key('d', Palette::Colour) else {
            panic!("it says all")
        };
        let removed = Palette::Colour.paint(Meaning::Bad, "-old");
        let added = Palette::Colour.paint(Meaning::Good, "+new \\u{1b}[2J");
        assert_eq!(lines[6..], [format!("  {removed}"), format!("  {added}")], "as a diff");
    }
}
