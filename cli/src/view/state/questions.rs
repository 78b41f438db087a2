//! The questions of the session, the oldest of which the user answers by a key.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{Question, QuestionId};

use super::{Effect, ViewState};
use crate::view::command::InputForm;
use crate::view::entry::NoteKind;
use crate::view::question::{keys, request_details};

/// The open questions, oldest first.
#[derive(Debug, Default)]
pub(in crate::view) struct OpenQuestions {
    open: VecDeque<Question>,
    details: Details,
}

/// Whether the whole call is displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Details {
    #[default]
    Hidden,
    Shown,
}

impl ViewState {
    /// Returns the question that is displayed, and the lines that say all about it, if they are wanted.
    pub(in crate::view) fn question(&self) -> Option<(&Question, Vec<String>)> {
        let question = self.questions.open.front()?;
        let details = match self.questions.details {
            Details::Hidden => Vec::new(),
            Details::Shown => self.question_details(question),
        };
        Some((question, details))
    }

    fn question_details(&self, question: &Question) -> Vec<String> {
        let is_it = |id: &str| question.tool_call_id.as_deref() == Some(id);
        let call = self.calls.iter().find(|running| is_it(&running.call.id));
        let mut lines = vec![question.reason.clone()];
        lines.extend(call.into_iter().flat_map(|running| request_details(&running.call)));
        lines
    }

    pub(super) fn asked(&mut self, question: &Question) {
        self.questions.open.push_back(question.clone());
        // Without a live part, it is printed.
        if self.input_form == InputForm::Lines {
            self.note(NoteKind::Warning, format!("allow {}? {}", question.text, keys(question)));
        }
    }

    pub(super) fn question_closed(&mut self, id: QuestionId) {
        self.questions.open.retain(|question| question.id != id);
        self.questions.details = Details::Hidden;
    }

    /// Applies a key while a question is open. What is being typed keeps its keys.
    pub(super) fn question_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let question = self.questions.open.front()?;
        match key.code {
            KeyCode::Esc => {
                let default = question.default.clone();
                Some(self.answer(default))
            }
            KeyCode::Char(letter)
                if self.editor.is_empty() && (key.modifiers - KeyModifiers::SHIFT).is_empty() =>
            {
                self.question_letter(letter)
            }
            _ => None,
        }
    }

    /// Applies a letter that may answer the question.
    fn question_letter(&mut self, letter: char) -> Option<Vec<Effect>> {
        let question = self.questions.open.front()?;
        let letter = letter.to_ascii_lowercase();
        if letter == 'd' {
            let details = match self.questions.details {
                Details::Hidden => Details::Shown,
                Details::Shown => Details::Hidden,
            };
            if self.input_form == InputForm::Lines {
                let lines = self.question_details(question);
                lines.into_iter().for_each(|line| self.note(NoteKind::Info, line));
            }
            self.questions.details = details;
            return Some(Vec::new());
        }
        let choice = question.choices.iter().find(|choice| choice.key == letter)?.id.clone();
        Some(self.answer(choice))
    }

    /// Applies a line that may answer the question.
    pub(super) fn question_line(&mut self, line: &str) -> Option<Vec<Effect>> {
        let mut letters = line.trim().chars();
        let letter = letters.next()?;
        if letters.next().is_some() { None } else { self.question_letter(letter) }
    }

    /// Answers the question that is displayed. It is not displayed any more.
    fn answer(&mut self, choice: String) -> Vec<Effect> {
        self.questions.details = Details::Hidden;
        let question = self.questions.open.pop_front();
        question.map(|question| Effect::Answer(question.id, choice)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::{QuestionChoice, SessionEvent};
    use serde_json::json;

    use super::super::tests::{press, test_view};
    use super::*;
    use crate::view::live_part::live_text;

    fn question(text: &str, call: &str) -> Question {
        let choice =
            |id: &str, key| QuestionChoice { id: id.to_owned(), key, label: id.to_owned() };
        Question {
            id: QuestionId::generate(),
            text: text.to_owned(),
            reason: "the approval mode `ask` asks about commands".to_owned(),
            choices: vec![choice("once", 'y'), choice("session", 's'), choice("no", 'n')],
            default: "no".to_owned(),
            tool_call_id: Some(call.to_owned()),
            deadline_ms: None,
        }
    }

    fn ask(view: &mut ViewState, question: &Question) {
        let event = SessionEvent::QuestionAsked { question: question.clone() };
        view.event(&event, Duration::ZERO);
    }

    #[test]
    fn a_question_is_a_line_and_a_key_answers_the_oldest_of_them_once() {
        for (code, choice) in [
            (KeyCode::Char('y'), "once"),
            (KeyCode::Char('S'), "session"),
            (KeyCode::Char('n'), "no"),
            (KeyCode::Esc, "no"),
        ] {
            let mut view = test_view();
            let (first, second) = (question("bash make", "1"), question("write a", "2"));
            ask(&mut view, &first);
            ask(&mut view, &second);
            let line = "allow bash make? y once · s session · n no · d details";
            assert!(live_text(&view).contains(line), "{}", live_text(&view));
            let none = KeyModifiers::NONE;
            assert_eq!(press(&mut view, code, none), [Effect::Answer(first.id, choice.to_owned())]);
            assert!(live_text(&view).contains("allow write a?"));
            let closed = SessionEvent::QuestionClosed { question_id: second.id, choice_id: None };
            view.event(&closed, Duration::ZERO);
            assert!(!live_text(&view).contains("allow"));
            assert_eq!(press(&mut view, KeyCode::Char('y'), none), []);
            assert_eq!(view.editor.text(), "y");
        }
    }

    #[test]
    fn d_shows_the_whole_command_or_change_and_what_is_typed_is_no_answer() {
        let mut view = test_view();
        let edits = json!([{ "oldText": "one\ntwo", "newText": "three" }]);
        for (id, tool, args, shown) in [
            (
                "1",
                "bash",
                json!({ "command": "make\n./run \u{1b}[2J" }),
                &["make", "./run \\u{1b}[2J"][..],
            ),
            ("2", "edit", json!({ "path": "a", "edits": edits }), &["- one", "- two", "+ three"]),
            ("3", "write", json!({ "path": "a", "content": "x\ny" }), &["+ x", "+ y"]),
        ] {
            let args = args.as_object().expect("it is an object").clone();
            let (tool_call_id, tool_name) = (id.to_owned(), tool.to_owned());
            let start = SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args };
            view.event(&start, Duration::ZERO);
            ask(&mut view, &question(tool, id));
            assert_eq!(press(&mut view, KeyCode::Char('d'), KeyModifiers::NONE), []);
            let text = live_text(&view);
            for line in shown {
                assert!(text.contains(line), "{line}: {text}");
            }
            assert!(text.contains("asks about commands"), "{text}");
            press(&mut view, KeyCode::Char('x'), KeyModifiers::NONE);
            assert_eq!(press(&mut view, KeyCode::Char('y'), KeyModifiers::NONE), []);
            assert_eq!(view.editor.take(), "xy");
            assert_eq!(press(&mut view, KeyCode::Esc, KeyModifiers::NONE).len(), 1);
        }
    }

    #[test]
    fn a_line_answers_where_the_terminal_gives_lines() {
        let mut view = test_view();
        view.input_form = InputForm::Lines;
        let asked = question("bash make", "1");
        ask(&mut view, &asked);
        assert_eq!(view.line("d", Duration::ZERO), []);
        let effects = view.line("y", Duration::ZERO);
        assert_eq!(effects, [Effect::Answer(asked.id, "once".to_owned())]);
    }
}
