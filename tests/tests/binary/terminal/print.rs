//! Print mode on a terminal: a line that shows what it does, and goes away.

use std::fs;

use serde_json::json;

use super::kit::PacedModel;
use crate::binary::sandbox;

#[test]
fn print_mode_on_a_terminal_shows_the_phase_the_tool_and_the_tokens_in_a_line_that_goes_away() {
    let (place, model) = (sandbox(), PacedModel::start());
    let folder = place.folder().join("work");
    let pipe = folder.join("gate");
    let mut screen = model.session(&place).words("-p hello").on_a_screen(24, 200);
    let answer = model.next();
    screen.until("the phase", |text| text.contains("thinks · "));
    fs::write(&pipe, "").expect("it can be written");
    answer.call("bash", &json!({ "command": "while test -e gate; do sleep 0.01; done" }));
    screen.until("the tool and the tokens", |text| {
        text.contains("bash while test -e gate") && text.ends_with("s · 100 tokens")
    });
    fs::remove_file(&pipe).expect("it is there");
    let mut answer = model.next();
    answer.say("It is ");
    screen.until("the answer begins", |text| text.contains("answers · "));
    answer.say("done.");
    answer.end();
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
    let text = screen.text();
    let lines: Vec<_> = text.lines().collect();
    let [first, answer] = lines.as_slice() else { panic!("two lines, not {text}") };
    assert!(first.starts_with("note: the session works in "), "{text}");
    assert_eq!(*answer, "It is done.");

    for words in ["-q -p hello", "-p --mode json hello", "-p --progress none hello"] {
        let mut screen = model.session(&place).words(words).on_a_screen(24, 200);
        model.next().answer("done");
        assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
        assert!(!screen.bytes().contains("thinks · "), "{words}: {}", screen.text());
    }
}
