//! Commands that the user of a session runs with `!` and `!!`.

use std::fs;
use std::time::Duration;

use tests::sandbox::{Sandbox, Screen};

use super::kit::{PacedModel, leave};
use crate::binary::sandbox;

const ESC: &str = "\u{1b}";

fn start(place: &Sandbox, model: &PacedModel) -> Screen {
    let screen = model.session(place).on_a_keyboard(40, 80);
    screen.until("the status line", |text| text.contains("loopback/loop ·"));
    screen
}

/// Returns the messages of the role in the only session of a home.
fn logged(place: &Sandbox, role: &str) -> Vec<serde_json::Value> {
    let files = place.home().session_files();
    let text = fs::read_to_string(files.last().expect("there is a session")).expect("it is text");
    let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let messages = entries.map(|entry: serde_json::Value| entry["message"].clone());
    messages.filter(|message| message["role"] == role).collect()
}

#[test]
fn what_a_command_came_to_is_in_the_log_and_the_next_request_but_not_with_two_marks() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model);
    screen.press("!seq 8; exit 3\r");
    screen.until("the output", |text| {
        text.contains("! seq 8; exit 3\n  … 3 more lines, in the session's log\n  4\n  5\n  6\n  7\n  8\n  exit code 3\n")
    });
    screen.press("!!pwd; echo secret\r");
    screen.until("the other output", |text| {
        text.contains("!! pwd; echo secret\n") && text.contains("\n  secret\n")
    });
    screen.press("what was it?\r");
    let exchange = model.next();
    assert_eq!(
        exchange.prompts(),
        [
            "Ran `seq 8; exit 3`\n```\n1\n2\n3\n4\n5\n6\n7\n8\n```\n\nCommand exited with code 3",
            "what was it?"
        ]
    );
    exchange.answer("Eight numbers.");
    screen.until("the answer", |text| text.contains("Eight numbers.") && !text.contains("works"));
    let id = leave(&mut screen);
    let ran = logged(&place, "bashExecution");
    let words = |at: usize| {
        (
            ran[at]["command"].clone(),
            ran[at]["exitCode"].clone(),
            ran[at]["excludeFromContext"].clone(),
        )
    };
    assert_eq!(words(0), ("seq 8; exit 3".into(), 3.into(), serde_json::Value::Null));
    assert_eq!(words(1), ("pwd; echo secret".into(), 0.into(), true.into()));
    let folder = place.folder().join("work").canonicalize().unwrap();
    assert_eq!(ran[1]["output"], format!("{}\nsecret", folder.display()));

    let mut again = model.session(&place).words(&format!("-r {id}")).on_a_keyboard(40, 80);
    again.until("the output again", |text| {
        text.contains("\n  8\n  exit code 3\n") && text.contains("\n  secret\n")
    });
    again.press("and now?\r");
    assert!(!format!("{:?}", model.next().request).contains("secret"));
    again.press("\u{3}");
    again.until("it has stopped", |text| text.contains("stopped"));
    leave(&mut again);
}

#[test]
fn a_command_runs_while_the_model_works_and_escape_stops_it_and_sends_what_waited() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model);
    screen.press("begin\r");
    let mut first = model.next();
    first.say("Some words\n\n");
    screen.until("the words", |text| text.contains("Some words"));
    screen.press("!echo meanwhile\r");
    screen.until("its output", |text| text.contains("! echo meanwhile\n  meanwhile\n"));
    first.answer("and more.");
    screen.until("the end", |text| text.contains("and more.") && !text.contains("works"));
    screen.press("now?\r");
    let second = model.next();
    assert_eq!(second.prompts(), ["begin", "Ran `echo meanwhile`\n```\nmeanwhile\n```", "now?"]);
    second.answer("Yes.");
    screen.until("the answer", |text| text.contains("Yes.") && !text.contains("works"));

    let there = place.folder().join("there");
    screen.press(&format!("!echo begun; sleep 600 & touch {}; wait\r", there.display()));
    screen.until("its output", |text| {
        text.contains("! echo begun") && text.contains("\n  begun\n") && text.contains("runs ")
    });
    screen.press("go on\r");
    screen.until("what waits", |text| text.contains("sends: go on"));
    screen.press("!pwd\r");
    screen.until("one at a time", |text| text.contains("a command runs already; Esc stops it"));
    screen.press("\u{15}");
    assert!(place.processes().alive().iter().any(|(_, words)| words.contains("sleep 600")));
    screen.press(ESC);
    let exchange = model.next();
    let prompts = exchange.prompts();
    assert_eq!(prompts[4], "go on");
    assert!(prompts[3].ends_with("begun\n```\n\n(command cancelled)"), "{prompts:?}");
    exchange.answer("Well.");
    screen.until("the end", |text| {
        text.contains("  stopped\n") && text.contains("Well.") && !text.contains("works")
    });
    test_limit::eventually(Duration::from_secs(20), "the command is gone", || {
        !place.processes().alive().iter().any(|(_, words)| words.contains("sleep 600"))
    });
    assert_eq!(logged(&place, "bashExecution")[1]["cancelled"], true);
    leave(&mut screen);
}
