//! The questions of the session, the oldest of which the user answers by a key.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{Question, QuestionId};

use super::{Effect, ViewState};
use crate::render::{CallDetails, call_details, cut, one_line, question_keys};
use crate::view::command::InputForm;
use crate::view::entry::{Entry, NoteKind};

/// How long nothing else may be typed after a letter for it to answer.
const ALONE: Duration = Duration::from_millis(150);

/// The choices that allow equal calls, too.
const SESSION: &str = "session";
const ALWAYS: &str = "always";

/// The most columns of a call that is allowed for the session, in the list of rules.
const LISTED: usize = 200;

/// The letter that shows all about a call.
const DETAILS: char = 'd';

const NOT_EMPTY: &str = "Esc refuses once the input is empty; Ctrl-C clears it";

/// The open questions, oldest first.
#[derive(Debug, Default)]
pub(in crate::view) struct OpenQuestions {
    open: VecDeque<Question>,
    pressed: Option<PressedKey>,
    /// The calls that the user has allowed for the session.
    allowed: Vec<String>,
}

/// A letter that answers the oldest question, unless more is typed.
#[derive(Clone, Copy, Debug)]
struct PressedKey {
    letter: char,
    at: Duration,
}

impl ViewState {
    /// Returns the question that is displayed.
    pub(in crate::view) fn question(&self) -> Option<&Question> {
        self.questions.open.front()
    }

    fn question_details(&self, question: &Question) -> CallDetails {
        let is_it = |id: &str| question.tool_call_id.as_deref() == Some(id);
        let call = self.calls.iter().find(|running| is_it(&running.call.id));
        call_details(question, call.map(|running| &running.call))
    }

    pub(super) fn asked(&mut self, question: &Question) {
        self.questions.open.push_back(question.clone());
        // Without a live part, it is printed.
        if self.input_form == InputForm::Lines {
            let keys = question_keys(question);
            let asked = question.form.question("", &question.text);
            self.note(NoteKind::Warning, format!("{asked} {keys}"));
        }
    }

    pub(super) fn question_closed(&mut self, id: QuestionId) {
        if self.questions.open.front().is_some_and(|question| question.id == id) {
            self.type_pressed();
        }
        self.questions.open.retain(|question| question.id != id);
    }

    /// Applies a key while a question is open. What is being typed keeps its keys: a letter answers when
    /// [`ViewState::settle`] finds that nothing was typed after it.
    pub(super) fn question_key(&mut self, key: KeyEvent, now: Duration) -> Option<Vec<Effect>> {
        let question = self.questions.open.front()?;
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        if self.questions.pressed.is_some() {
            match key.code {
                KeyCode::Enter => return Some(self.answer_by_pressed()),
                KeyCode::Char(_) if is_plain => self.type_pressed(),
                _ => self.questions.pressed = None,
            }
            let is_taken_back = matches!(key.code, KeyCode::Esc | KeyCode::Backspace);
            return is_taken_back.then(Vec::new);
        }
        match key.code {
            KeyCode::Esc if self.editor.is_empty() => {
                let default = question.default.clone();
                Some(self.answer(default))
            }
            KeyCode::Esc if self.completion.is_none() && self.history.query().is_none() => {
                self.hint = Some(NOT_EMPTY.to_owned());
                Some(Vec::new())
            }
            KeyCode::Char(letter) if self.editor.is_empty() && is_plain => {
                let lower = letter.to_ascii_lowercase();
                let is_choice = question.choices.iter().any(|choice| choice.key == lower);
                (is_choice || lower == DETAILS).then(|| {
                    self.questions.pressed = Some(PressedKey { letter, at: now });
                    Vec::new()
                })
            }
            _ => None,
        }
    }

    /// Returns when the letter that was pressed answers if nothing more is typed.
    pub(in crate::view) fn settles_at(&self) -> Option<Duration> {
        self.questions.pressed.map(|pressed| pressed.at + ALONE)
    }

    /// Applies the letter that was pressed, if it is time. All that was typed must have been applied before.
    pub(in crate::view) fn settle(&mut self, now: Duration) -> Vec<Effect> {
        match self.settles_at() {
            Some(at) if at <= now => self.answer_by_pressed(),
            Some(_) | None => Vec::new(),
        }
    }

    fn answer_by_pressed(&mut self) -> Vec<Effect> {
        let pressed = self.questions.pressed.take();
        pressed.and_then(|pressed| self.question_letter(pressed.letter)).unwrap_or_default()
    }

    /// The letter that was pressed is the begin of a text.
    pub(super) fn type_pressed(&mut self) {
        if let Some(pressed) = self.questions.pressed.take() {
            self.editor.insert(pressed.letter);
            self.edited();
        }
    }

    /// Applies a letter that may answer the question.
    fn question_letter(&mut self, letter: char) -> Option<Vec<Effect>> {
        let question = self.questions.open.front()?;
        let letter = letter.to_ascii_lowercase();
        if letter == DETAILS {
            // Above the live part there is room for all of it, and it stays.
            let details = self.question_details(question);
            self.print(Entry::Details(details));
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
        let Some(question) = self.questions.open.pop_front() else { return Vec::new() };
        let call = cut(&one_line(&question.text), LISTED);
        match choice.as_str() {
            SESSION if !self.questions.allowed.contains(&call) => self.questions.allowed.push(call),
            ALWAYS => {
                let kept = format!("always, as a rule that /approvals lists: {call}");
                let end = "`regatta trust --revoke` removes it";
                self.note(NoteKind::Info, format!("{kept}; {end}"));
            }
            _ => {}
        }
        vec![Effect::Answer(question.id, choice)]
    }

    /// Prints the rules, and what is allowed for the session.
    pub(in crate::view) fn list_approvals(&mut self, rules: Vec<String>) {
        let allowed = self.questions.allowed.iter();
        let allowed = allowed.map(|call| format!("allow {call} (for this session)"));
        let lines: Vec<_> = rules.into_iter().chain(allowed).collect();
        self.print(Entry::Text(lines.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::{QuestionChoice, SessionEvent};
    use ratatui::style::Color;
    use serde_json::json;

    use super::super::tests::{press, test_view};
    use super::*;
    use crate::view::highlight::Syntaxes;
    use crate::view::live_part::live_text;
    use crate::view::question::details_lines;

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
            form: protocol::QuestionForm::Call,
            deadline_ms: None,
            diff: None,
        }
    }

    /// Presses a key and nothing after it.
    fn press_alone(view: &mut ViewState, code: KeyCode) -> Vec<Effect> {
        let effects = press(view, code, KeyModifiers::NONE);
        [effects, view.settle(ALONE)].concat()
    }

    fn printed(view: &mut ViewState) -> String {
        let lines = view.take_finished(80).into_iter();
        let lines = lines.flat_map(|entry| entry.lines(80, &Syntaxes::default()));
        lines.map(|line| line.to_string() + "\n").collect()
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
            let answer = [Effect::Answer(first.id, choice.to_owned())];
            assert_eq!(press_alone(&mut view, code), answer);
            assert!(live_text(&view).contains("allow write a?"));
            let closed = SessionEvent::QuestionClosed { question_id: second.id, choice_id: None };
            view.event(&closed, Duration::ZERO);
            assert!(!live_text(&view).contains("allow"));
            assert_eq!(press_alone(&mut view, KeyCode::Char('y')), []);
            assert_eq!(view.editor.text(), "y");
        }
    }

    #[test]
    fn a_letter_answers_only_if_nothing_is_typed_after_it() {
        for text in ["stop it", "do not", "yes", "No", "ss"] {
            let mut view = test_view();
            ask(&mut view, &question("bash make", "1"));
            for letter in text.chars() {
                assert_eq!(press(&mut view, KeyCode::Char(letter), KeyModifiers::NONE), []);
            }
            assert_eq!(view.settle(Duration::from_secs(9)), [], "{text}");
            assert_eq!(view.editor.text(), text);
            assert!(!live_text(&view).contains("asks about commands"), "{text}");
            assert_eq!(
                press(&mut view, KeyCode::Esc, KeyModifiers::NONE),
                [],
                "it does not refuse"
            );
            assert!(live_text(&view).contains("once the input is empty"), "{}", live_text(&view));
        }
        let mut view = test_view();
        let asked = question("bash make", "1");
        ask(&mut view, &asked);
        let letter = |view: &mut ViewState| press(view, KeyCode::Char('s'), KeyModifiers::NONE);
        assert_eq!(letter(&mut view), []);
        view.paste("ave it");
        assert_eq!((view.settles_at(), view.editor.take()), (None, "save it".to_owned()));
        for taken_back in [KeyCode::Esc, KeyCode::Backspace] {
            letter(&mut view);
            assert_eq!(press(&mut view, taken_back, KeyModifiers::NONE), []);
            assert_eq!(view.settle(Duration::from_secs(9)), []);
            assert!(view.editor.is_empty());
        }
        letter(&mut view);
        assert_eq!(view.settle(Duration::from_millis(149)), []);
        let answer = [Effect::Answer(asked.id, "session".to_owned())];
        assert_eq!(view.settle(Duration::from_millis(150)), answer);
        ask(&mut view, &question("bash make", "2"));
        letter(&mut view);
        assert_eq!(press(&mut view, KeyCode::Enter, KeyModifiers::NONE).len(), 1, "Enter ends it");
    }

    #[test]
    fn d_shows_the_whole_command_or_change_and_what_is_typed_is_no_answer() {
        let mut view = test_view();
        let edits = json!([{ "oldText": "one\ntwo", "newText": "three" }]);
        for (id, tool, args, shown) in [
            (
                "1",
                "bash",
                json!({ "command": "make\n./run \u{1b}[2J", "workdir": "sub" }),
                &["workdir: sub", "make", "./run \\u{1b}[2J"][..],
            ),
            ("2", "edit", json!({ "path": "a", "edits": edits }), &["- one", "- two", "+ three"]),
            ("3", "write", json!({ "path": "a", "content": "x\ny" }), &["+ x", "+ y"]),
        ] {
            let args = args.as_object().expect("it is an object").clone();
            let (tool_call_id, tool_name) = (id.to_owned(), tool.to_owned());
            let start = SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args };
            view.event(&start, Duration::ZERO);
            ask(&mut view, &question(tool, id));
            assert_eq!(press_alone(&mut view, KeyCode::Char('d')), []);
            let text = printed(&mut view);
            for line in shown {
                assert!(text.contains(line), "{line}: {text}");
            }
            let named = format!("  {tool}\n  the approval mode `ask` asks about commands");
            assert!(text.contains(&named), "{text}");
            press(&mut view, KeyCode::Char('x'), KeyModifiers::NONE);
            assert_eq!(press(&mut view, KeyCode::Char('y'), KeyModifiers::NONE), []);
            assert_eq!(view.editor.take(), "xy");
            assert_eq!(press(&mut view, KeyCode::Esc, KeyModifiers::NONE).len(), 1);
        }
    }

    #[test]
    fn d_shows_an_edit_as_the_diff_of_its_file() {
        let mut view = test_view();
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new \u{1b}[2J\n".to_owned();
        ask(&mut view, &Question { diff: Some(diff), ..question("edit x", "1") });
        press_alone(&mut view, KeyCode::Char('d'));
        let [Entry::Details(details)] = &view.take_finished(80)[..] else { panic!("all of it") };
        let lines = details_lines(details, 80);
        let text: Vec<_> = lines.iter().map(|line| line.to_string()).collect();
        assert_eq!(text[..1], ["  edit x"]);
        assert_eq!(text[5..], ["  -old", "  +new \\u{1b}[2J"]);
        let colours = lines[5..].iter().map(|line| line.spans[1].style.fg);
        assert_eq!(colours.collect::<Vec<_>>(), [Some(Color::Red), Some(Color::Green)]);
    }

    #[test]
    fn what_is_allowed_for_the_session_is_listed_and_a_rule_that_is_kept_is_said() {
        let mut view = test_view();
        let mut asked = question("bash make", "1");
        asked.choices.push(QuestionChoice { key: 'a', id: "always".to_owned(), label: "".into() });
        for (text, key) in [("bash make", 's'), ("bash make", 's'), ("write a", 'y'), ("ls b", 'a')]
        {
            ask(&mut view, &Question { text: text.to_owned(), ..asked.clone() });
            press_alone(&mut view, KeyCode::Char(key));
        }
        let kept = printed(&mut view).replace('\n', " ");
        assert!(kept.contains("ls b; `regatta trust --revoke` removes it"), "{kept}");
        view.list_approvals(vec!["approval mode ask".to_owned()]);
        let listed = printed(&mut view);
        assert_eq!(listed.trim(), "approval mode ask\nallow bash make (for this session)");
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
