//! A session on a terminal: what is on the screen, and what the keys do.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;
use test_limit::took_at_most;
use tests::sandbox::{Sandbox, Screen};

use super::kit::{PacedModel, without_times};
use crate::binary::sandbox;

/// How long a stop may take, once: it takes 200 ms at most, of which the tests of sessions have several tries.
const STOP: Duration = Duration::from_secs(1);

const ESC: &str = "\u{1b}";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const ALT_ENTER: &str = "\u{1b}\r";
const ALT_UP: &str = "\u{1b}[1;3A";

/// Starts a session on a terminal, and waits until it can be typed into.
pub(crate) fn start(place: &Sandbox, model: &PacedModel, (rows, columns): (u16, u16)) -> Screen {
    let screen = model.session(place).on_a_keyboard(rows, columns);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen
}

/// Waits until the whole screen is as expected, but for times.
pub(crate) fn expect_screen(screen: &Screen, what: &str, expected: &[&str]) {
    let expected = expected.join("\n");
    let is_so = |text: &str| {
        let (_, text) = text.split_once("/help\n").unwrap_or(("", text));
        without_times(text).trim_start_matches('\n') == expected
    };
    screen.until(&format!("{what}:\n{expected}\n"), is_so);
}

#[test]
fn what_is_typed_is_a_prompt_of_lines_and_while_the_model_works_it_steers_or_follows() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (24, 80));
    screen.press("begin\nhere");
    screen.until("both lines", |text| text.contains("> begin\n  here\n"));
    screen.press("\r");
    let first = model.next();
    // The request is on its way before the screen says that the model works.
    screen.until("it works", |text| text.contains("\nworks "));
    screen.press("steer\r");
    screen.until("the steering", |text| text.contains("next: steer"));
    screen.press(&format!("later{ALT_ENTER}"));
    screen.until("the follow-up", |text| text.contains("then: later"));
    screen.press(&format!("wrong{ALT_ENTER}"));
    screen.until("the other follow-up", |text| text.contains("then: wrong"));
    screen.press(ALT_UP);
    screen.until("it is taken back", |text| {
        text.contains("> wrong") && !text.contains("then: wrong")
    });
    first.call("read", &json!({ "path": "missing" }));
    let second = model.next();
    assert_eq!(second.prompts(), ["begin\nhere", "steer"]);
    second.answer("so be it");
    let third = model.next();
    assert_eq!(third.prompts(), ["begin\nhere", "steer", "later"]);
    third.answer("it is later");
    screen.until("the end", |text| {
        text.contains("it is later") && text.contains("> wrong\nloopback")
    });
    let all = screen.all_lines().join("\n");
    for prompt in ["> begin", "> steer", "> later", "> wrong"] {
        assert_eq!(all.matches(&format!("\n{prompt}")).count(), 1, "{prompt} in {all}");
    }
    screen.press(&format!("{CTRL_C}{CTRL_D}"));
    assert_eq!(screen.wait().code(), Some(0));
}

#[test]
fn escape_stops_at_once_and_sends_what_waits_and_ctrl_c_gives_it_back() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (24, 80));
    screen.press("begin\r");
    let mut first = model.next();
    first.say("Some words\n\n");
    screen.until("the words", |text| text.contains("Some words"));
    screen.press("instead\r");
    screen.until("it waits", |text| text.contains("next: instead"));
    let since = Instant::now();
    screen.press(ESC);
    took_at_most(first.closed() - since, STOP, "a stop closes the connection at once");
    let mut second = model.next();
    assert_eq!(second.prompts(), ["begin", "instead"], "{:?}", second.request["messages"]);
    second.say("Other words");
    screen.until("other words", |text| text.contains("Other words"));
    screen.press("not this\r");
    screen.until("it waits, too", |text| text.contains("next: not this"));
    let since = Instant::now();
    screen.press(CTRL_C);
    took_at_most(second.closed() - since, STOP, "a stop closes the connection at once");
    screen.until("it is given back", |text| text.contains("\n> not this\nloopback"));
    screen.until("what was said until it has stopped", |text| {
        text.contains("stopped") && text.contains("Some words") && text.contains("Other words")
    });
    screen.press(CTRL_C);
    screen.until("an empty input", |text| text.contains("\n>\nloopback"));
    screen.press(CTRL_C);
    screen.until("the hint", |text| text.contains("press Ctrl-C again to leave"));
    // Where the first one comes too late for the one before, the second one does not.
    screen.press(&format!("{CTRL_C}{CTRL_C}"));
    assert_eq!(screen.wait().code(), Some(130), "{}", screen.text());
}

#[test]
fn a_signal_and_a_panic_leave_the_terminal_as_it_was() {
    for (fault, code) in [("", 143), ("crash@view.key", 70)] {
        let (place, model) = (sandbox(), PacedModel::start());
        let mut other = place.regatta(place.folder()).arg("--version").on_a_keyboard(24, 80);
        let before = other.settings();
        assert_eq!(other.wait().code(), Some(0));
        let mut screen = model.session(&place).fault(fault).on_a_keyboard(24, 80);
        screen.until("the status line", |text| text.contains("loopback/loop"));
        assert_ne!(screen.settings(), before, "the view has its own mode");
        match fault {
            "" => kill_process(screen.id(), Signal::TERM).expect("it runs"),
            _ => screen.press("x"),
        }
        assert_eq!(screen.wait().code(), Some(code), "{}", screen.text());
        assert_eq!(screen.settings(), before);
        let bytes = screen.bytes();
        assert!(bytes.rfind("\u{1b}[?25h") > bytes.rfind("\u{1b}[?25l"), "the cursor is visible");
    }
}

#[test]
fn prompts_of_before_come_back_with_the_keys_of_the_history() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut first = start(&place, &model, (24, 80));
    for prompt in ["look at the house", "look at the garden"] {
        first.press(&format!("{prompt}\r"));
        model.next().answer("Nice.");
        first.until("the end of the turn", |text| {
            text.contains(&format!("> {prompt}"))
                && text.ends_with("cost unknown")
                && !text.contains("works")
        });
    }
    first.press(CTRL_D);
    assert_eq!(first.wait().code(), Some(0));
    let mut second = start(&place, &model, (24, 80));
    second.press("mine\u{1b}[A");
    second.until("the newest one", |text| text.contains("> look at the garden\n"));
    second.press("\u{1b}[A");
    second.until("the older one", |text| text.contains("> look at the house\n"));
    second.press("\u{1b}[B");
    second.until("the newer one", |text| text.contains("> look at the garden\n"));
    second.press("\u{1b}[B");
    second.until("what was typed", |text| text.contains("> mine\n"));
    second.press("\u{12}hou");
    second.until("the one that is found", |text| {
        text.contains("search: hou") && text.contains("> look at the house\n")
    });
    second.press("\r\r");
    let exchange = model.next();
    assert_eq!(exchange.prompts(), ["look at the house"]);
    exchange.answer("Still nice.");
    second.until("the answer", |text| text.contains("Still nice.") && !text.contains("works"));
    second.press(CTRL_D);
    assert_eq!(second.wait().code(), Some(0));
}

#[test]
fn a_conversation_says_where_it_works_and_refuses_commands_that_are_not_there_by_name() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (24, 160));
    let folder = place.folder().join("work").canonicalize().unwrap();
    let intro = format!("loopback/loop uses its tools in {}, in place · /help\n", folder.display());
    screen.until("the place", |text| text.contains(&intro));
    screen.press("/tree now\r");
    screen.until("the refusal", |text| text.contains("`/tree` takes no value"));
    screen.press("/nope\r");
    screen.until("no such command", |text| text.contains("no such command: `/nope`"));
    screen.press("/help\r");
    screen.until("the help", |text| text.contains("/quit") && text.contains("Alt-Enter"));
    screen.press("/thinking hi");
    screen.until("the levels", |text| text.contains("▸ high"));
    screen.press("\r");
    screen.until("the level", |text| text.contains("thinking high ·"));
    screen.press("/model nope\r");
    screen.until("no such model", |text| text.contains("no model"));
    screen.press("/quit\r");
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
}
