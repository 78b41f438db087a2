//! How a session on a terminal ends from outside.

use rustix::process::{Signal, kill_process};

use super::kit::{PacedModel, leave};
use crate::binary::sandbox;

#[test]
fn a_terminated_session_has_every_message_that_was_complete() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = model.session(&place).on_a_keyboard(40, 80);
    screen.until("the status line", |text| text.contains("loopback/loop ·"));
    let before = screen.settings();
    screen.press("first\r");
    model.next().answer("The whole answer.");
    screen.until("the end", |text| text.contains("whole answer.") && !text.contains("works"));
    screen.press("!echo ran\r");
    screen.until("the command", |text| text.contains("\n  ran\n"));
    screen.press("second\r");
    let mut answer = model.next();
    answer.say("A half");
    screen.until("a half", |text| text.contains("A half"));
    kill_process(screen.id(), Signal::TERM).expect("it runs");
    assert_eq!(screen.wait().code(), Some(143), "{}", screen.text());
    assert_ne!(screen.settings(), before, "the mode of the view is over");
    assert!(screen.text().contains("continue with: regatta --resume"), "{}", screen.text());
    let mut again = model.session(&place).words("-c").on_a_keyboard(40, 80);
    again.until("what was said", |text| {
        text.contains("> first\n\nThe whole answer.\n\n! echo ran\n  ran\n\n> second\n")
    });
    again.press("third\r");
    let answer = model.next();
    assert_eq!(answer.prompts()[0], "first");
    assert_eq!(answer.prompts()[2..], ["second", "third"]);
    answer.answer("Good.");
    again.until("the end", |text| text.contains("Good.") && !text.contains("works"));
    leave(&mut again);
}
