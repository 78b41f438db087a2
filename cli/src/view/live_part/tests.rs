//! The live part of the view and what is printed above it, without a terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{AccountWait, SessionEvent, ThinkingLevel};

use super::*;
use crate::view::state::{Effect, test_view};

/// Returns the lines of the live part, without the empty ones at its beginning.
fn live(view: &ViewState, (rows, columns): (usize, usize), now: Duration) -> Vec<String> {
    let lines = live_part(view, Size { columns, rows }, now, &Syntaxes::default());
    let lines = lines.iter().map(|line| line.to_string().trim_end().to_owned());
    lines.skip_while(String::is_empty).collect()
}

/// Returns the lines that are printed above it since the last call.
fn printed(view: &mut ViewState) -> Vec<String> {
    let entries = view.take_finished(80);
    let lines = entries.iter().flat_map(|entry| entry.lines(80, &Syntaxes::default()));
    lines.map(|line| line.to_string()).collect()
}

fn press(view: &mut ViewState, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    view.key(KeyEvent::new(code, modifiers), Duration::ZERO)
}

fn types(view: &mut ViewState, text: &str) {
    for letter in text.chars() {
        press(view, KeyCode::Char(letter), KeyModifiers::NONE);
    }
}

#[test]
fn a_wait_is_displayed_with_its_reason_and_the_time_until_its_end() {
    let account = "gate at http://127.0.0.1/v1";
    let waits_for = AccountWait { account: account.to_owned(), until: None };
    let retry = |attempt, waits_for| SessionEvent::AutoRetryStart {
        attempt,
        max_attempts: 3,
        delay_ms: 2_500,
        error_message: "too busy".to_owned(),
        waits_for,
    };
    let rate = format!("waits for the limit per minute of {account}");
    let limit = SessionEvent::RequestWait { reason: rate.clone(), waits_for: waits_for.clone() };
    for (event, note, what) in [
        (retry(1, None), "too busy; asked again in", "waits for the next attempt".to_owned()),
        (retry(0, Some(waits_for)), "too busy; asked in", format!("waits for {account}")),
        (limit, "", rate),
    ] {
        let mut view = test_view();
        view.event(&SessionEvent::AgentStart, Duration::ZERO);
        let began = Duration::from_secs(1);
        view.event(&event, began);
        if note.is_empty() {
            view.waits_until(began + Duration::from_millis(2_500)); // as the conversation does
        }
        let notes = printed(&mut view);
        assert!(notes.concat().contains(note), "{what}: {notes:?}");
        let status = |view: &ViewState, after: u64| {
            let lines = live(view, (40, 100), began + Duration::from_millis(after));
            lines.last().cloned().unwrap_or_default()
        };
        for (after, left) in [(0, 3), (600, 2), (1_500, 1), (2_400, 1)] {
            let status = status(&view, after);
            assert!(status.starts_with(&format!("{what}, in {left}s · ")), "{status}");
        }
        assert!(status(&view, 2_500).starts_with("works 3s · "), "{what}: its time is over");
        view.waits_until(Duration::from_secs(60));
        let end = SessionEvent::AutoRetryEnd { success: true, attempt: 1, final_error: None };
        view.event(&end, began);
        assert!(status(&view, 0).starts_with("works 1s · "), "{what}: it was sent");
    }
}

#[test]
fn what_a_model_thinks_is_one_line_until_it_is_asked_for() {
    let mut view = test_view();
    view.event(&SessionEvent::AgentStart, Duration::ZERO);
    let think = |view: &mut ViewState, text: &str| {
        let content_index = 0;
        view.event(&SessionEvent::ThinkingStart { content_index }, Duration::ZERO);
        let delta = SessionEvent::ThinkingDelta { content_index, delta: text.to_owned() };
        view.event(&delta, Duration::ZERO);
    };
    let answer = |view: &mut ViewState| {
        let delta = SessionEvent::TextDelta { content_index: 1, delta: "So.\n\n".to_owned() };
        view.event(&delta, Duration::ZERO);
        printed(view)
    };
    think(&mut view, "It may be this.\nOr that\u{1b}[2J.");
    assert_eq!(live(&view, (40, 80), Duration::ZERO)[0], "thinks: Or that.");
    assert_eq!(answer(&mut view), ["", "thought: It may be this. …", "", "So."]);
    press(&mut view, KeyCode::Char('t'), KeyModifiers::CONTROL);
    assert_eq!(printed(&mut view), ["", "thought:", "  It may be this.", "  Or that."]);
    think(&mut view, "One.\nTwo.");
    let whole = answer(&mut view);
    assert_eq!(whole[..4], ["", "thought:", "  One.", "  Two."], "{whole:?}");
}

#[test]
fn thinking_levels_are_listed_and_filtered_at_every_size() {
    let all = ["▸ off", "  minimal", "  low", "  medium", "  high", "  xhigh", ">"];
    let title = "How much thinking?  1/6 · Enter takes, Esc leaves";
    let status = "a/one · context unknown · 0 tokens · $0.00";
    let usual = [&[title][..], &all, &[status]].concat();
    let tiny = vec!["How much thinking?", "▸ off", "  minimal", ">", "a/one"];
    for (size, listed) in [((24, 80), &usual), ((60, 200), &usual), ((5, 20), &tiny)] {
        let mut view = test_view();
        types(&mut view, "/thinking");
        press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
        if view.picker.is_none() {
            press(&mut view, KeyCode::Enter, KeyModifiers::NONE); // the first completes
        }
        assert_eq!(live(&view, size, Duration::ZERO), *listed, "{size:?}");
        press(&mut view, KeyCode::Down, KeyModifiers::NONE);
        types(&mut view, "hi");
        let rows = live(&view, size, Duration::ZERO);
        assert_eq!(rows[1..4], ["▸ high", "  xhigh", "> hi"], "{size:?}");
        let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(effects, [Effect::SetThinking(ThinkingLevel::High)], "{size:?}");
        view.thinking_set(ThinkingLevel::High);
        types(&mut view, "typed");
        let rows = live(&view, (24, 80), Duration::ZERO);
        assert_eq!(rows[0], "> typed", "{size:?}");
        assert!(rows[1].contains("thinking high"), "{rows:?}");
    }
}

#[test]
fn a_hint_that_is_longer_than_a_line_is_wrapped() {
    let mut view = test_view();
    types(&mut view, "/upgrade");
    press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
    let hint = view.hint.clone().expect("the command is refused");
    assert!(hint.len() > 80, "{hint}");
    let lines = live(&view, (24, 80), Duration::ZERO);
    assert!(lines.iter().all(|line| line.len() <= 80), "{lines:?}");
    assert!(lines.join(" ").contains(&hint), "{lines:?}");
}
