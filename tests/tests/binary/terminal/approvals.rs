//! The questions about calls of tools on a terminal.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use test_limit::eventually;
use tests::sandbox::{Sandbox, Screen};

use super::kit::{Exchange, PacedModel, leave};
use crate::binary::sandbox;

/// How long the terminal may take.
const PATIENCE: Duration = Duration::from_secs(60);

const ESC: &str = "\u{1b}";
const CTRL_D: &str = "\u{4}";

/// Returns what the tool has answered that was called last.
fn result(exchange: &Exchange) -> String {
    let messages = exchange.request["messages"].as_array().cloned().unwrap_or_default();
    messages.last().map(|message| message["content"].to_string()).unwrap_or_default()
}

/// Begins a conversation in the folder `work`.
fn start(place: &Sandbox, model: &PacedModel, columns: u16) -> Screen {
    let screen = model.asking_session(place).on_a_keyboard(24, columns);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen
}

#[test]
fn a_command_is_asked_about_shown_refused_asked_again_and_allowed_for_the_session() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, 80);
    screen.press("begin\r");
    let command = json!({ "command": "echo first line &&\necho made >> made.txt" });
    model.next().call("bash", &command);
    screen.until("the question", |text| text.contains("allow bash echo first line"));
    screen.until("its keys", |text| {
        text.contains("made.txt?\ny once · s session · a always · n no · d details")
    });
    screen.press("d");
    // Its lines are in the question, too.
    screen.until("the whole command", |text| text.matches("  echo made >> made.txt").count() > 1);
    screen.press("n");
    let refused = model.next();
    assert!(result(&refused).contains("the user said no"), "{:?}", result(&refused));
    screen.until("it is answered", |text| !text.contains("allow bash"));
    refused.call("bash", &command);
    screen.until("the same question", |text| text.contains("allow bash echo first line"));
    screen.press(ESC);
    let again = model.next();
    assert!(result(&again).contains("the user said no"), "{:?}", result(&again));
    screen.until("it is answered again", |text| !text.contains("allow bash"));
    again.call("bash", &command);
    screen.until("the question once more", |text| text.contains("allow bash echo first line"));
    screen.press("s");
    let allowed = model.next();
    assert!(result(&allowed).contains("first line"), "{:?}", result(&allowed));
    allowed.call("bash", &command);
    let unasked = model.next();
    assert!(result(&unasked).contains("first line"), "{:?}", result(&unasked));
    unasked.answer("all is done");
    screen.until("the end", |text| text.contains("all is done") && !text.contains("allow bash"));
    let made =
        fs::read_to_string(place.folder().join("work").join("made.txt")).expect("it was made");
    assert_eq!(made, "made\nmade\n");
    screen.press("/approvals\r");
    screen.until("the mode", |text| text.contains("approval mode ask (the default in place): "));
    screen.press("/approvals yolo\r");
    screen.until("the change", |text| text.contains("approval mode yolo: what no rule denies"));
    screen.press("go on\r");
    model.next().call("bash", &json!({ "command": "echo other words" }));
    let unasked = model.next();
    assert!(result(&unasked).contains("other words"), "{:?}", result(&unasked));
    unasked.answer("that was all");
    screen.until("the end", |text| text.contains("that was all"));
    screen.press(CTRL_D);
    assert_eq!(screen.wait().code(), Some(0));
}

#[test]
fn a_write_is_asked_about_its_diff_shown_refused_asked_again_and_allowed_for_the_session() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, 80);
    let file = place.folder().join("work").join("notes.txt");
    fs::write(&file, "first\nsecond\n").expect("a file can be written");
    screen.press("begin\r");
    let read = json!({ "path": "notes.txt" });
    model.next().call("read", &read); // reading is not asked about
    let edit = json!({ "path": "notes.txt", "old_text": "second", "new_text": "changed" });
    model.next().call("edit", &edit);
    let is_asked = |text: &str| text.contains("allow edit notes.txt?");
    screen.until("the question", is_asked);
    screen.press("d");
    screen.until("the diff", |text| text.contains("-second") && text.contains("+changed"));
    screen.press("n");
    let refused = model.next();
    assert!(result(&refused).contains("the user said no"), "{:?}", result(&refused));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "first\nsecond\n");
    screen.until("it is answered", |text| !is_asked(text));
    refused.call("edit", &edit);
    screen.until("the same question", is_asked);
    screen.press("s");
    let allowed = model.next();
    assert!(!result(&allowed).contains("was refused"), "{:?}", result(&allowed));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "first\nchanged\n");
    // Each tool may change this file now, and none another one.
    allowed.call("write", &json!({ "path": "./notes.txt", "content": "third\n" }));
    let unasked = model.next();
    assert!(!result(&unasked).contains("was refused"), "{:?}", result(&unasked));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "third\n");
    unasked.call("write", &json!({ "path": "other.txt", "content": "new\n" }));
    screen.until("the question about another file", |text| text.contains("allow write other.txt?"));
    screen.press("d");
    screen.until("the diff of a new file", |text| text.contains("+new"));
    screen.press("n");
    let refused = model.next();
    assert!(result(&refused).contains("the user said no"), "{:?}", result(&refused));
    assert!(!place.folder().join("work").join("other.txt").exists());
    refused.answer("all is done");
    screen.until("the end", |text| text.contains("all is done") && !text.contains("allow write"));
    screen.press(CTRL_D);
    assert_eq!(screen.wait().code(), Some(0));
}

#[test]
fn a_model_asks_the_user_who_chooses_an_option_or_none() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, 80);
    screen.press("begin\r");
    let first = model.next();
    assert!(first.request["tools"].to_string().contains("\"ask\""), "{}", first.request["tools"]);
    let options = json!(["SQLite", "Postgres"]);
    let asked = json!({ "question": "Which database?", "options": options, "recommended": 1 });
    first.call("ask", &json!({ "questions": [asked] }));
    let keys = "1 SQLite · 2 Postgres (recommended) · n none of these · d details";
    screen.until("the question", |text| text.contains(&format!("\nWhich database?\n{keys}")));
    assert!(!screen.text().contains("allow"), "{}", screen.text());
    screen.press("2");
    let answered = model.next();
    assert!(result(&answered).contains("User selected: Postgres"), "{:?}", result(&answered));
    answered
        .call("ask", &json!({ "questions": [{ "question": "And where?", "options": options }] }));
    screen.until("the next question", |text| text.contains("And where? 1 SQLite"));
    screen.press(ESC);
    let answered = model.next();
    assert!(result(&answered).contains("chose none of these"), "{:?}", result(&answered));
    answered.answer("all is done");
    screen.until("the end", |text| text.contains("all is done") && !text.contains("1 SQLite"));
    screen.press(CTRL_D);
    assert_eq!(screen.wait().code(), Some(0));
}

#[test]
fn always_holds_in_the_next_session_of_the_repository_and_in_no_other_folder() {
    let (place, model) = (sandbox(), PacedModel::start());
    let command = json!({ "command": "make it > made.txt; touch other" });
    let mut screen = start(&place, &model, 100);
    screen.press("begin\r");
    model.next().call("bash", &command);
    screen.until("the question", |text| text.contains("s session · a always · n no"));
    screen.press("d");
    screen.until("the rules", |text| {
        text.contains("always: `edit(./made.txt)`, `bash(make it)`,\n  `bash(touch other)`")
    });
    screen.press("a");
    let allowed = model.next();
    assert!(!result(&allowed).contains("was refused"), "{:?}", result(&allowed));
    allowed.answer("done");
    leave(&mut screen);
    let other = place.folder().join("other");
    fs::create_dir_all(&other).expect("a folder can be made");
    for (folder, is_refused) in [(place.folder().join("work"), false), (other, true)] {
        let print = place.regatta(&folder).words("-p --model loopback/loop --base-url");
        let print = print.arg(model.url()).arg("again").start();
        model.next().call("bash", &command);
        let answer = model.next();
        assert_eq!(result(&answer).contains("was refused"), is_refused, "{:?}", result(&answer));
        answer.answer("done");
        let finished = print.wait();
        assert_eq!(finished.stderr.contains("refused; --approval"), is_refused, "{finished}");
    }
}

/// Starts a run of two tasks that ask, and returns the requests of both.
fn asking_run(place: &Sandbox, model: &PacedModel) -> (Screen, [Exchange; 2]) {
    let repository = place.repository();
    repository.write("README.md", "read me\n");
    repository.commit("a file");
    let run = place.regatta(repository.root());
    let run = run.words("run --jobs 2 --approval-mode ask --model loopback/loop --base-url");
    let screen = run.arg(model.url()).arg("do one").arg("do two").on_a_keyboard(30, 100);
    (screen, [model.next(), model.next()])
}

/// Waits for a question of a run whose line ends so, and returns the task that asks.
pub(super) fn asked(screen: &Screen, end: &str) -> String {
    let is_it = |line: &str| line.starts_with("allow ") && line.trim_end().ends_with(end);
    let text = screen.until(end, |shown| shown.lines().any(is_it));
    // Keys of the time before it was shown are dropped until the frame after the next.
    let shown = || screen.bytes().matches("allow ").count();
    let frames = shown() + 2;
    eventually(PATIENCE, "two more frames", || shown() >= frames);
    let line = text.lines().find_map(|line| line.strip_prefix("allow ")).unwrap_or_default();
    line.split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn tasks_of_a_run_ask_one_after_the_other_and_after_each_the_terminal_is_as_it_was() {
    let (place, model) = (sandbox(), PacedModel::start());
    let (mut screen, exchanges) = asking_run(&place, &model);
    let before = screen.settings();
    screen.press("y"); // it is no answer to a question that comes later
    for (exchange, number) in exchanges.into_iter().zip(1..) {
        exchange.call("bash", &json!({ "command": format!("echo {number} >> made.txt") }));
    }
    let first = asked(&screen, "? y once · s session · a always · n no · d details (1 more)");
    eventually(PATIENCE, "keys are read", || screen.settings() != before);
    screen.press("d");
    screen.until("all about the call", |text| text.contains("the approval mode `ask` asks about"));
    screen.press("n");
    let second = asked(&screen, "? y once · s session · a always · n no · d details");
    assert_ne!(first, second);
    let refused = model.next();
    assert!(result(&refused).contains("the user said no"), "{:?}", result(&refused));
    screen.press("y");
    let allowed = model.next();
    assert!(!result(&allowed).contains("was refused"), "{:?}", result(&allowed));
    eventually(PATIENCE, "the terminal is as it was", || screen.settings() == before);
    for exchange in [refused, allowed] {
        exchange.call("yield", &json!({ "data": "done" }));
    }
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
    assert!(screen.text().contains("refused"), "{}", screen.text());
    assert_eq!(screen.settings(), before);
}

#[test]
fn a_signal_ends_a_run_that_asks_and_leaves_the_terminal_as_it_was() {
    for signals in [1, 3] {
        let (place, model) = (sandbox(), PacedModel::start());
        let (mut screen, exchanges) = asking_run(&place, &model);
        let before = screen.settings();
        for exchange in exchanges {
            exchange.call("bash", &json!({ "command": "echo x > made.txt" }));
        }
        asked(&screen, "? y once · s session · a always · n no · d details (1 more)");
        eventually(PATIENCE, "keys are read", || screen.settings() != before);
        for _ in 0..signals {
            kill_process(screen.id(), Signal::INT).expect("it runs");
        }
        assert_eq!(screen.wait().code(), Some(130), "{}", screen.text());
        assert_eq!(screen.settings(), before, "after {signals}");
    }
}
