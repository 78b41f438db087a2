//! The state of the view, without a terminal.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{
    AgentEnd, AssistantMessage, InputId, Message, Part as MessagePart, QueueKind, SessionEvent,
    StopReason, ToolCall, Usage,
};

use super::*;

/// Returns a view of a new session.
pub(in crate::view) fn test_view() -> ViewState {
    let status = Status {
        model: "a/one".to_owned(),
        thinking: None,
        context_window: None,
        context: 0,
        usage: Usage::ZERO,
        wait: None,
    };
    ViewState::new(status, Syntaxes::default())
}

pub(super) fn press(view: &mut ViewState, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    view.key(KeyEvent::new(code, modifiers), Duration::ZERO)
}

pub(super) fn enter(view: &mut ViewState, text: &str) -> Vec<Effect> {
    for letter in text.chars() {
        press(view, KeyCode::Char(letter), KeyModifiers::NONE);
    }
    press(view, KeyCode::Enter, KeyModifiers::NONE)
}

/// Returns the input that is sent, and when the model gets it.
pub(super) fn sent(effects: &[Effect]) -> (QueueKind, InputId) {
    let sent = effects.iter().find_map(|effect| match effect {
        Effect::SendTyped(kind, input) => Some((*kind, input.id)),
        _ => None,
    });
    sent.unwrap_or_else(|| panic!("nothing is sent in {effects:?}"))
}

fn happen(view: &mut ViewState, event: &SessionEvent) -> Vec<Effect> {
    view.event(event, Duration::from_secs(2))
}

#[test]
fn a_prompt_is_printed_when_it_is_taken_and_later_inputs_steer() {
    let mut view = test_view();
    let (kind, input_id) = sent(&enter(&mut view, "go"));
    assert_eq!(kind, QueueKind::Prompt);
    assert_eq!(view.take_finished(80), []);
    happen(&mut view, &SessionEvent::AgentStart);
    happen(&mut view, &SessionEvent::InputTaken { input_id });
    assert_eq!(view.take_finished(80), [Entry::Prompt("go".to_owned())]);
    assert_eq!(sent(&enter(&mut view, "left")).0, QueueKind::Steering);
    for letter in "later".chars() {
        press(&mut view, KeyCode::Char(letter), KeyModifiers::NONE);
    }
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(sent(&effects).0, QueueKind::FollowUp);
    let back = press(&mut view, KeyCode::Up, KeyModifiers::ALT);
    assert_eq!(back, [Effect::TakeBack(QueueKind::FollowUp)]);
}

#[test]
fn escape_sends_what_waited_in_its_order_and_ctrl_c_gives_it_back() {
    for (code, modifiers) in
        [(KeyCode::Esc, KeyModifiers::NONE), (KeyCode::Char('c'), KeyModifiers::CONTROL)]
    {
        let mut view = test_view();
        let (_, input_id) = sent(&enter(&mut view, "go"));
        happen(&mut view, &SessionEvent::AgentStart);
        happen(&mut view, &SessionEvent::InputTaken { input_id });
        let waiting: Vec<_> = ["one", "two"].map(|text| sent(&enter(&mut view, text)).1).into();
        let stopped = press(&mut view, code, modifiers);
        assert_eq!(stopped, [Effect::Abort(CancelLevel::Gently)]);
        let again = press(&mut view, code, modifiers);
        assert_eq!(again, [Effect::Abort(CancelLevel::AtOnce)]);
        for input_id in waiting {
            happen(&mut view, &SessionEvent::InputDropped { input_id });
        }
        let effects = happen(&mut view, &SessionEvent::AgentEnd { end: AgentEnd::Aborted });
        let texts: Vec<_> = effects
            .iter()
            .map(|effect| match effect {
                Effect::SendTyped(kind, input) => (*kind, input.text.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        if code == KeyCode::Esc {
            assert_eq!(texts, [(QueueKind::Prompt, "one"), (QueueKind::Steering, "two")]);
            assert!(view.editor.is_empty());
        } else {
            assert_eq!((texts, view.editor.text()), (Vec::new(), "one\ntwo".to_owned()));
        }
    }
}

#[test]
fn ctrl_c_twice_within_a_second_leaves_and_clears_the_input_before() {
    let mut view = test_view();
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    view.paste("typed");
    assert_eq!(view.key(key, Duration::ZERO), [Effect::Remember("typed".to_owned())]);
    assert_eq!(view.key(key, Duration::from_millis(10)), []);
    assert_eq!(view.key(key, Duration::from_millis(1_500)), []);
    let left = view.key(key, Duration::from_millis(2_400));
    assert_eq!(left, [Effect::Leave(Leave::Interrupted)]);
    press(&mut view, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(view.editor.text(), "typed");
}

#[test]
fn models_and_thinking_levels_are_chosen_by_commands_and_keys() {
    let mut view = test_view();
    view.candidates.models = ["a/one", "a/two", "b/three", "c/four"].map(str::to_owned).into();
    view.candidates.cycle = ["a/one", "a/two", "b/three"].map(str::to_owned).into();
    let back = KeyModifiers::CONTROL | KeyModifiers::SHIFT;
    let before = press(&mut view, KeyCode::Char('P'), back);
    assert_eq!(before, [Effect::SetModel("b/three".to_owned())]);
    let next = press(&mut view, KeyCode::Char('p'), KeyModifiers::CONTROL);
    assert_eq!(next, [Effect::SetModel("a/two".to_owned())]);
    view.model_set("b/three".to_owned(), None);
    let next = press(&mut view, KeyCode::Char('p'), KeyModifiers::CONTROL);
    assert_eq!(next, [Effect::SetModel("a/one".to_owned())]);
    view.thinking_set(ThinkingLevel::XHigh);
    let next = press(&mut view, KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(next, [Effect::SetThinking(ThinkingLevel::Off)]);
    let effects = enter(&mut view, "/thinking low");
    assert_eq!(effects[1..], [Effect::SetThinking(ThinkingLevel::Low)]);
}

#[test]
fn enter_runs_the_command_that_it_completes_unless_it_is_not_clear_or_lacks_its_value() {
    let models = ["a/one", "a/two", "b/loop", "b/other"].map(str::to_owned);
    let fresh = || {
        let mut view = test_view();
        view.candidates.models = models.clone().into();
        view
    };
    let model = |name: &str| Effect::SetModel(name.to_owned());
    let list = || Effect::Session(SessionRequest::List);
    // What is typed, the command that is run, and its effects.
    for (typed, command, expected) in [
        ("/q", "/quit", vec![Effect::Leave(Leave::Done)]),
        ("/quit", "/quit", vec![Effect::Leave(Leave::Done)]),
        ("/cos", "/cost", vec![]),
        ("/re", "/resume", vec![list()]),
        ("/comp", "/compact", vec![Effect::Compact(None)]),
        ("/model loop", "/model b/loop", vec![model("b/loop")]),
        ("/model a/o", "/model a/one", vec![model("a/one")]),
        ("/model two", "/model a/two", vec![model("a/two")]),
        // Several match: what is typed is looked up.
        ("/model o", "/model o", vec![model("o")]),
        ("/model ", "/model ", vec![]),
        ("/thinking hi", "/thinking high", vec![Effect::SetThinking(ThinkingLevel::High)]),
        ("/thinking xh", "/thinking xhigh", vec![Effect::SetThinking(ThinkingLevel::XHigh)]),
        ("/thinking m", "/thinking m", vec![]),
        ("/name it", "/name it", vec![Effect::Session(SessionRequest::Name("it".to_owned()))]),
    ] {
        let effects = enter(&mut fresh(), typed);
        let remembered = Effect::Remember(command.to_owned());
        assert_eq!(effects, [vec![remembered], expected].concat(), "{typed}");
    }
    let mut view = fresh();
    assert_eq!(enter(&mut view, "/na"), [], "it needs a value");
    assert_eq!(view.editor.text(), "/name ");
    // No other command is taken for one that there is not.
    for typed in ["/c", "/t", "/ls", "/rm", "/in", "/d", "/pr", "/al", "/st"] {
        let mut view = fresh();
        assert_eq!(enter(&mut view, typed), [Effect::Remember(typed.to_owned())]);
        assert_eq!(view.editor.text(), "", "{typed}");
        let hint = view.hint.clone().unwrap_or_default();
        assert!(hint.contains(&format!("`{typed}`")), "{typed}: {hint}");
    }
    // A candidate to which the user has moved is meant.
    let mut view = fresh();
    view.paste("/model a/");
    press(&mut view, KeyCode::Down, KeyModifiers::NONE);
    let chosen = view.completion.as_ref().expect("two match").accept().1.to_owned();
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects[1..], [Effect::SetModel(chosen)]);
    // Tab only completes; a command that stands there whole is sent, wherever the cursor is.
    let mut view = fresh();
    view.paste("/cos");
    assert_eq!(press(&mut view, KeyCode::Tab, KeyModifiers::NONE), []);
    assert_eq!(view.editor.text(), "/cost");
    view.editor.set("");
    view.paste("/quit");
    press(&mut view, KeyCode::Left, KeyModifiers::NONE);
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(effects[1..], [Effect::Leave(Leave::Done)]);
}

#[test]
fn the_cost_of_a_session_is_printed_with_how_full_its_context_is() {
    for (window, expected) in [
        (Some(200_000), "context: 30.0k of 200k tokens (15%)"),
        (None, "context: 30.0k tokens; the window of the model is unknown"),
    ] {
        let mut view = test_view();
        (view.status.context, view.status.context_window) = (30_000, window);
        enter(&mut view, "/cost");
        let expected = format!("0 tokens · $0.00\n{expected}");
        assert_eq!(view.take_finished(80), [Entry::Text(expected)]);
    }
}

#[test]
fn a_command_that_is_refused_leaves_the_input_and_up_gives_it_back() {
    let mut view = test_view();
    for (text, said) in [
        ("/thinking much", "off, minimal, low"),
        ("/name", "needs a text"),
        ("/quit now", "takes no value"),
        ("!", "needs a command"),
        ("/init", "AGENTS.md"),
    ] {
        view.paste(text);
        let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(effects, [Effect::Remember(text.to_owned())]);
        assert_eq!(view.editor.text(), "", "{text}");
        let hint = view.hint.clone().unwrap_or_default();
        assert!(hint.contains(said), "{text}: {hint}");
        press(&mut view, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(view.editor.text(), text, "it can be corrected");
        view.editor.set("");
    }
}

#[test]
fn a_file_is_completed_by_tab_and_enter_sends_what_was_typed() {
    let mut view = test_view();
    view.paste("see @ma");
    assert!(view.wants_files());
    view.set_files(vec!["src/main.rs".to_owned()]);
    assert!(view.completion.is_some());
    press(&mut view, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(view.editor.text(), "see @src/main.rs");
    view.editor.set("");
    view.paste("ping @ma");
    let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(view.queue[0].text, "ping @ma", "{effects:?}");
}

#[test]
fn what_of_an_answer_did_not_arrive_in_parts_is_printed_at_its_end() {
    let mut view = test_view();
    let delta = SessionEvent::TextDelta { content_index: 0, delta: "One.\n\nTw".to_owned() };
    happen(&mut view, &delta);
    let answer = protocol::AssistantMessage {
        content: vec![protocol::Part::text("One.\n\nTwo.")],
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: Usage::ZERO,
        stop_reason: protocol::StopReason::Stop,
        error_message: None,
        timestamp: protocol::Timestamp::from_millisecond(0),
    };
    let message = protocol::Message::Assistant(answer);
    happen(&mut view, &SessionEvent::MessageEnd { message });
    let lines: Vec<_> = view
        .take_finished(80)
        .iter()
        .flat_map(|entry| entry.lines(80, &Syntaxes::default()))
        .map(|line| line.to_string())
        .collect();
    assert_eq!(lines, ["", "One.", "", "Two."]);
}

#[test]
fn an_answer_without_a_word_says_why_unless_it_calls_tools() {
    let call = ToolCall {
        id: "1".to_owned(),
        name: "read".to_owned(),
        arguments: serde_json::Map::new(),
        malformed: None,
        thought_signature: None,
    };
    for (content, note) in [
        (vec![MessagePart::thinking("hm")], Some("the model sent thinking and no text")),
        (vec![MessagePart::ToolCall(call)], None),
        (vec![MessagePart::text("yes")], None),
    ] {
        let mut view = test_view();
        let answer = AssistantMessage {
            content,
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: Usage::ZERO,
            stop_reason: StopReason::Stop,
            error_message: None,
            timestamp: protocol::Timestamp::from_millisecond(0),
        };
        happen(&mut view, &SessionEvent::MessageEnd { message: Message::Assistant(answer) });
        let notes = view.take_finished(80).into_iter().filter_map(|entry| match entry {
            Entry::Note(NoteKind::Warning, text) => Some(text),
            _ => None,
        });
        let expected = note.map(|why| format!("the answer is empty: {why}"));
        assert_eq!(notes.collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}
