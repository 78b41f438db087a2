//! A session that is continued on a terminal: what was said before is on the screen again.

use serde_json::json;
use tests::sandbox::{Sandbox, Screen};

use super::kit::{PacedModel, leave};
use crate::binary::sandbox;

/// Continues a session, and waits for a text on the screen.
fn go_on(place: &Sandbox, model: &PacedModel, how: &str, until: &str) -> Screen {
    let screen = model.session(place).words(how).on_a_keyboard(50, 80);
    screen.until(until, |text| text.contains(until) && text.contains("loopback/loop ·"));
    screen
}

#[test]
fn what_was_said_before_is_printed_when_a_session_is_continued_or_forked() {
    let (place, model) = (sandbox(), PacedModel::start());
    place.home().configure("compaction: { keepRecentTokens: 20 }\n");
    let mut screen = model.session(&place).on_a_keyboard(50, 80);
    screen.until("the status line", |text| text.contains("loopback/loop ·"));
    screen.press("hello\r");
    let mut answer = model.next();
    answer.say("A *first*\nparagraph.\n\n- one\n- two");
    answer.call("bash", &json!({ "command": "seq 9" }));
    model.next().answer("Done.");
    screen.until("the end", |text| text.contains("Done.") && !text.contains("works"));
    screen.press("stop\r");
    let mut second = model.next();
    second.say("Half of it");
    screen.until("a half", |text| text.contains("Half of it"));
    screen.press("\u{3}");
    screen.until("it has stopped", |text| text.contains("stopped"));
    leave(&mut screen);

    let said = "> hello\n\nA first paragraph.\n\n• one\n• two\n\n● bash seq 9\n  … 4 more lines, in \
                the session's log\n  5\n  6\n  7\n  8\n  9\n\nDone.\n\n> stop\n\nHalf of it\nstopped\n";
    let mut screen = go_on(&place, &model, "-c", "stopped");
    screen.until("all that was said", |text| text.contains(said));
    screen.press("and?\r");
    let third = model.next();
    assert_eq!(third.prompts(), ["hello", "stop", "and?"]);
    third.answer("So it is.");
    screen.until("the end", |text| text.contains("So it is.") && !text.contains("works"));
    let all = screen.all_lines().join("\n");
    assert_eq!(all.matches("> hello").count(), 1, "{all}");
    let id = leave(&mut screen);

    let mut copy = go_on(&place, &model, &format!("--fork {id}"), "So it is.");
    assert!(copy.text().contains(said), "{}", copy.text());
    copy.press("/compact\r");
    model.next().answer("They said hello, and so it is.");
    copy.until("the compaction", |text| text.contains("the conversation was compacted"));
    let id = leave(&mut copy);

    let mut compacted = go_on(&place, &model, &format!("-r {id}"), "was compacted");
    assert!(compacted.text().contains(said), "{}", compacted.text());
    leave(&mut compacted);
}
