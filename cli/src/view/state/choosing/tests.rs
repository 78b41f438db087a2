//! Lists in the state of the view, without a terminal.

use crossterm::event::{KeyCode, KeyModifiers};
use engine::ports::CancelLevel;

use super::super::tests::{enter, press, sent};
use super::*;
use crate::view::entry::Entry;
use crate::view::state::tests::test_view;

fn command(view: &mut ViewState, text: &str) -> Option<Effect> {
    // The first Enter may complete a value.
    let typed = enter(view, text).pop();
    typed.filter(|effect| !matches!(effect, Effect::Remember(_)))
}

fn opens(to: SwitchTo) -> Option<Effect> {
    Some(Effect::Session(SessionRequest::Open(to)))
}

/// Returns a row that leaves messages.
fn row(entry: &str) -> TreeRow {
    let (entry, text) = (protocol::EntryId::new(entry), entry.to_owned());
    let graph = String::new();
    TreeRow { entry, graph, text, is_leaf: false, is_own_prompt: true, leaves_messages: true }
}

fn leaf() -> TreeRow {
    TreeRow { is_leaf: true, leaves_messages: false, ..row("leaf") }
}

fn behind(entry: &str) -> TreeRow {
    TreeRow { leaves_messages: false, ..row(entry) }
}

#[test]
fn another_session_is_refused_while_the_model_works_and_the_command_leaves_the_input() {
    for text in ["/new", "/clear", "/resume", "/resume x", "/tree", "/fork", "/fork x"] {
        let mut view = test_view();
        enter(&mut view, "go");
        assert_eq!(enter(&mut view, text), [Effect::Remember(text.to_owned())], "{text}");
        assert_eq!(view.editor.text(), "");
        assert!(view.hint.as_ref().unwrap().contains("Esc stops it"));
        press(&mut view, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(view.editor.text(), text, "it is in the history");
    }
    let mut view = test_view();
    assert_eq!(command(&mut view, "/new"), opens(SwitchTo::New));
    view.not_opened(NotOpened::Failed("no".to_owned()));
    assert_eq!(view.take_finished(80), [Entry::Note(NoteKind::Error, "no".to_owned())]);
    sent(&enter(&mut view, "hello"));
}

#[test]
fn what_is_typed_before_a_list_or_a_session_is_there_is_for_it() {
    let now = std::time::Duration::ZERO;
    let mut view = test_view();
    view.history.add("an old prompt");
    assert_eq!(command(&mut view, "/tree"), Some(Effect::Session(SessionRequest::Tree)));
    press(&mut view, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(press(&mut view, KeyCode::Enter, KeyModifiers::NONE), []);
    assert_eq!(view.release(now), [], "there is no list yet");
    view.listed();
    view.list_tree(vec![behind("before"), leaf()]);
    let go_on = SessionRequest::GoOn(EntryId::new("before"), Summary::Nothing);
    assert_eq!(view.release(now), [Effect::Session(go_on)]);
    view.moved(None);
    assert!(view.editor.is_empty());

    assert_eq!(command(&mut view, "/new"), opens(SwitchTo::New));
    view.paste("hel");
    assert_eq!(enter(&mut view, "lo"), []);
    assert_eq!((view.release(now), view.editor.text()), (Vec::new(), String::new()));
    let status = view.status.clone();
    view.begin_session(status, None);
    sent(&view.release(now));
    assert_eq!(view.queue[0].text, "hello");

    let mut view = test_view();
    command(&mut view, "/new");
    assert_eq!(enter(&mut view, "wrong"), []);
    press(&mut view, KeyCode::Esc, KeyModifiers::NONE);
    view.not_opened(NotOpened::Failed(String::new()));
    assert_eq!((view.release(now), view.editor.text()), (Vec::new(), String::new()));
}

#[test]
fn what_waits_and_is_typed_is_in_the_input_of_the_next_session() {
    let mut view = test_view();
    view.name = Some("old".to_owned());
    enter(&mut view, "waits");
    view.paste("typed");
    let status = Status { model: "b/two".to_owned(), ..view.status.clone() };
    view.begin_session(status, Some("of the fork".to_owned()));
    assert_eq!(view.editor.text(), "waits\nof the fork\ntyped");
    assert!(view.queue.is_empty() && !view.is_busy());
    assert_eq!(view.status.model, "b/two");
}

#[test]
fn a_list_is_filtered_taken_and_left() {
    let mut view = test_view();
    view.list_sessions(Vec::new());
    assert!(view.picker.is_none() && view.hint.is_some());
    let listed = |name: &str| ListedSession {
        path: name.into(),
        text: name.to_owned(),
        about: String::new(),
    };
    for (keys, taken) in [("", "garden"), ("hou", "house")] {
        view.list_sessions(vec![listed("garden"), listed("house")]);
        let effects = enter(&mut view, keys);
        assert_eq!(effects.last().cloned(), opens(SwitchTo::Session(taken.into())));
        view.not_opened(NotOpened::Failed(String::new()));
    }
    view.list_sessions(vec![listed("garden")]);
    assert_eq!(enter(&mut view, "nothing of that name"), []);
    assert!(view.picker.is_some(), "nothing matches");
    press(&mut view, KeyCode::Esc, KeyModifiers::NONE);
    assert!(view.picker.is_none() && view.editor.is_empty());
    view.not_opened(NotOpened::InUse("house".into()));
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects.last().cloned(), opens(SwitchTo::Copy("house".into())));
    view.not_opened(NotOpened::OfTask("house".into(), "r7k3f/auth".to_owned()));
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects.last().cloned(), opens(SwitchTo::Copy("house".into())));
}

#[test]
fn a_summary_of_what_is_left_is_asked_for_only_where_something_is() {
    let go_on = |entry: &str, summary| {
        Some(Effect::Session(SessionRequest::GoOn(protocol::EntryId::new(entry), summary)))
    };
    let rows = || vec![row("first"), leaf(), behind("next")];
    let cases: [(&[KeyCode], _); 5] = [
        (&[], None),
        (&[KeyCode::Down], go_on("next", Summary::Nothing)),
        (&[KeyCode::Up, KeyCode::Enter], go_on("first", Summary::Nothing)),
        (&[KeyCode::Up, KeyCode::Enter, KeyCode::Down], go_on("first", Summary::Written(None))),
        (
            &[KeyCode::Up, KeyCode::Enter, KeyCode::Up, KeyCode::Enter, KeyCode::Char('x')],
            go_on("first", Summary::Written(Some("x".to_owned()))),
        ),
    ];
    for (keys, effect) in cases {
        let mut view = test_view();
        view.list_tree(rows());
        for key in keys {
            assert_eq!(press(&mut view, *key, KeyModifiers::NONE), [], "{keys:?}");
        }
        let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(effects.last().cloned(), effect, "{keys:?}");
        if effect.is_none() {
            continue;
        }
        assert_eq!(
            press(&mut view, KeyCode::Esc, KeyModifiers::NONE),
            [Effect::Abort(CancelLevel::Gently)],
            "the summary can be stopped"
        );
        view.moved(Some("first".to_owned()));
        assert!(!view.is_busy() && view.stopping.is_none());
        assert_eq!(view.editor.text(), "first");
    }
}

#[test]
fn models_and_levels_are_chosen_from_lists() {
    let mut view = test_view();
    assert_eq!(command(&mut view, "/model"), None);
    assert!(view.picker.is_none(), "there is none");
    view.candidates.models = ["a/zero", "a/one", "b/two"].map(str::to_owned).into();
    assert_eq!(command(&mut view, "/model"), None);
    press(&mut view, KeyCode::Down, KeyModifiers::NONE);
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects, [Effect::SetModel("b/two".to_owned())], "behind the present one");
    view.status.thinking = Some(ThinkingLevel::Low);
    assert_eq!(command(&mut view, "/thinking"), None);
    press(&mut view, KeyCode::PageDown, KeyModifiers::NONE);
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects.len(), 1);
    assert_ne!(effects, [Effect::SetThinking(ThinkingLevel::Low)]);
}
