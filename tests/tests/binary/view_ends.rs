//! How a session on a terminal ends from outside, and between which models its keys change.

use std::fs;

use rustix::process::{Signal, kill_process};

use super::sandbox;
use super::view_kit::{PacedModel, leave};

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

#[test]
fn ctrl_p_goes_through_the_models_of_the_command_line_in_their_order() {
    let (place, model) = (sandbox(), PacedModel::start());
    let file = place.home().config_file().with_file_name("models.yml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let models = ["one", "two", "three", "four"].map(|id| format!("{{ id: {id} }}")).join(", ");
    let provider = format!(
        "providers: {{ gate: {{ baseUrl: \"{}\", api: openai-completions, auth: none, \
         models: [{models}] }} }}\n",
        model.url()
    );
    fs::write(file, provider).unwrap();
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).unwrap();
    let scoped = place.regatta(&folder).words("--models gate/t*,gate/one");
    let mut screen = scoped.on_a_keyboard(24, 80);
    let mut used = Vec::new();
    for _ in 0..4 {
        let text = screen.until("the status line", |text| {
            let status = text.lines().last().unwrap_or_default();
            status.starts_with("gate/") && used.last().is_none_or(|last| !status.starts_with(last))
        });
        let status = text.lines().last().unwrap_or_default();
        used.push(format!("{} ", status.split(' ').next().unwrap_or_default()));
        screen.press("\u{10}");
    }
    assert_eq!(used[0], used[3], "{used:?}");
    assert_eq!(used[..3], ["gate/three ", "gate/two ", "gate/one "]);
    leave_unused(&mut screen);
}

/// Leaves a session in which nothing was said.
fn leave_unused(screen: &mut tests::sandbox::Screen) {
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
}
