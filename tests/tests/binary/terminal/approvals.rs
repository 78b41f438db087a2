//! The questions about calls of tools on a terminal.

use std::fs;

use serde_json::json;

use super::conversation::start;
use super::kit::{Exchange, PacedModel};
use crate::binary::sandbox;

const ESC: &str = "\u{1b}";
const CTRL_D: &str = "\u{4}";

/// Returns what the tool has answered that was called last.
fn result(exchange: &Exchange) -> String {
    let messages = exchange.request["messages"].as_array().cloned().unwrap_or_default();
    messages.last().map(|message| message["content"].to_string()).unwrap_or_default()
}

#[test]
fn a_command_is_asked_about_shown_refused_asked_again_and_allowed_for_the_session() {
    let (place, model) = (sandbox(), PacedModel::start());
    place.home().configure("approvals: { mode: ask }");
    let mut screen = start(&place, &model, (24, 80));
    screen.press("begin\r");
    let command = json!({ "command": "echo first line &&\necho made >> made.txt" });
    model.next().call("bash", &command);
    screen.until("the question", |text| text.contains("allow bash echo first line"));
    screen.until("its keys", |text| text.contains("? y once · s session · n no · d details"));
    screen.press("d");
    screen.until("the whole command", |text| text.contains("  echo made >> made.txt"));
    screen.press("n");
    let refused = model.next();
    assert!(result(&refused).contains("the user said no"), "{:?}", result(&refused));
    refused.call("bash", &command);
    screen.until("the same question", |text| text.contains("allow bash echo first line"));
    screen.press(ESC);
    let again = model.next();
    assert!(result(&again).contains("the user said no"), "{:?}", result(&again));
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
    screen.press(CTRL_D);
    assert_eq!(screen.wait().code(), Some(0));
}
