//! A session on a terminal that cannot move its cursor, and one with everything that a terminal can.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use test_limit::{eventually, within};
use tests::sandbox::{Sandbox, Screen};

use super::kit::{PacedModel, leave, without_times};
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// Starts a session on a dumb terminal, and waits for its prompt.
fn start(place: &Sandbox, model: &PacedModel) -> Screen {
    let dumb = "TERM=dumb NO_COLOR=1 exec \"$0\" \"$@\"";
    let screen = model.session(place).shell(dumb).on_a_keyboard(40, 160);
    screen.until("the prompt", |text| text.contains("/help\n>"));
    screen
}

#[test]
fn on_a_dumb_terminal_a_conversation_is_plain_lines_without_an_escape() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model);
    screen.type_line("hello");
    let mut answer = model.next();
    assert_eq!(answer.prompts(), ["hello"]);
    answer.say("A **first** line\u{1b}[2J\u{202e}.\n\n```rust\nfn main() {}\n```\n");
    answer.call("bash", &json!({ "command": "echo out" }));
    model.next().answer("Done.");
    let text = screen.until("the end", |text| text.contains("cost unknown\n>"));
    let (_, said) = text.split_once("· /help\n").expect("it says where it works");
    let expected = "> hello\n\nA first line.\n\n  fn main() {}\n● bash echo out\n\nDone.\n\n\
                    #s · 1 call · 200 tokens · cost unknown\n>";
    assert_eq!(without_times(said), expected, "{text}");

    screen.type_line("!echo mine; exit 2");
    screen
        .until("its output", |text| text.contains("! echo mine; exit 2\n  mine\n  exit code 2\n>"));
    screen.type_line("/nope");
    screen.until("the refusal", |text| text.contains("no such command: `/nope`"));
    screen.type_line("wait");
    let mut answer = model.next();
    answer.say("Some words\n\n");
    screen.until("the words", |text| text.contains("\nSome words"));
    screen.type_line("more");
    screen.until("what waits", |text| text.contains("next: more"));
    kill_process(screen.id(), Signal::INT).expect("it runs");
    screen.until("it has stopped", |text| {
        text.contains("not sent: more") && text.contains("stopped")
    });
    kill_process(screen.id(), Signal::INT).expect("it runs");
    screen.until("the hint", |text| text.contains("press Ctrl-C again to leave"));
    leave(&mut screen);
    let bytes = screen.bytes();
    assert!(!bytes.contains('\u{1b}'), "{bytes:?}");

    let mut screen = start(&place, &model);
    kill_process(screen.id(), Signal::INT).expect("it runs");
    screen.until("the hint", |text| text.contains("press Ctrl-C again to leave"));
    // Two within a second leave. On a busy machine the second one may come later, and is a first one.
    eventually(Duration::from_secs(60), "two of them leave", || {
        if !screen.has_ended() {
            kill_process(screen.id(), Signal::INT).expect("it runs");
        }
        within(Duration::from_millis(500), || screen.has_ended())
    });
    assert_eq!(screen.wait().code(), Some(130), "{}", screen.text());
}

/// Commands of other agents, and some that are almost one of this program.
const ELSEWHERE: &str = "add add-dir bashes bug changelog clean commit config context \
    continue copy debug doctor editor effort export feedback history hooks ide init list login \
    logout mcp memory mention mode models output-style permissions plan plugin prompts redo rename reset \
    review rewind run sandbox save sessions settings share skills stats status stop subagents summarize \
    think tokens tools undo usage modle thinkng resum nwe";

#[test]
fn a_slash_command_of_another_agent_says_what_does_the_same_here_and_reaches_no_model() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model);
    assert!(ELSEWHERE.split(' ').filter(|name| !name.is_empty()).count() >= 60);
    for name in ELSEWHERE.split(' ').filter(|name| !name.is_empty()) {
        screen.type_line(&format!("/{name}"));
        // The refusal ends with what to do instead.
        let refused = format!("no such command: `/{name}`; ");
        let is_whole =
            |text: &str| text.split_once(&refused).is_some_and(|(_, rest)| rest.contains('\n'));
        let text = screen.until("the refusal", is_whole);
        let instead = text.split_once(&refused).expect("it is there").1.lines().next();
        assert!(instead.is_some_and(|it| !it.is_empty() && it != "see /help"), "{name}: {text}");
    }
    // This one is here, too.
    screen.type_line("/agents");
    screen.until("the agents", |text| text.contains("quick_task") && text.contains("bundled"));
    screen.type_line("hello");
    let answer = model.next();
    assert_eq!(answer.prompts(), ["hello"], "nothing else was sent");
    answer.answer("Done.");
    leave(&mut screen);
}

#[test]
fn without_an_argument_a_conversation_begins_on_every_terminal() {
    let (place, model) = (sandbox(), PacedModel::start());
    write_models(
        &place,
        &format!(
            "providers:\n  first: {{ baseUrl: \"{}\", api: openai-completions, auth: none, \
             models: [{{ id: loop }}] }}\n",
            model.url()
        ),
    );
    place.home().configure("modelRoles:\n  default: first/loop\n");
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    fs::write(folder.join("AGENTS.md"), "Be brief.").expect("it can be written");
    for set_terminal in ["TERM=dumb", "unset TERM;", "TERM="] {
        let script = format!("{set_terminal} exec \"$0\"");
        let mut screen = place.regatta(&folder).shell(&script).on_a_keyboard(40, 160);
        let read = "in place · has read AGENTS.md · /help\n>";
        screen.until("the context file and the prompt", |text| text.contains(read));
        screen.press("\u{4}");
        assert_eq!(screen.wait().code(), Some(0), "{set_terminal}: {}", screen.text());
        let bytes = screen.bytes();
        assert!(!bytes.contains('\u{1b}'), "{set_terminal}: {bytes:?}");
    }
}

#[test]
fn code_is_in_colours_and_the_status_line_counts_seconds_and_tokens() {
    test_limit::waits("a second, which the status line counts");
    let (place, model) = (sandbox(), PacedModel::start());
    for (setting, is_coloured) in [("", true), ("NO_COLOR=1", false)] {
        let shell = format!("{setting} exec \"$0\" \"$@\"");
        let mut screen = model.session(&place).shell(&shell).on_a_keyboard(24, 80);
        screen.until("the status line", |text| text.contains("· 0 tokens · $0.00"));
        screen.press("code\r");
        let mut answer = model.next();
        answer.say("```rust\nfn main() {}\n```\n");
        if is_coloured {
            for seconds in 1..=test_limit::by_depth(1, 2) {
                let counts = |text: &str| {
                    (seconds..60).any(|count| text.contains(&format!("works {count}s ·")))
                };
                screen.until("another second", counts);
            }
        }
        answer.end();
        screen.until("the tokens", |text| {
            text.contains("fn main() {}") && text.ends_with("· 100 tokens · cost unknown")
        });
        let bytes = screen.bytes();
        assert_eq!(bytes.contains("\u{1b}[0;35mfn"), is_coloured, "{bytes:?}");
        let is_colour = |part: &&str| part.split('m').next().is_some_and(|it| it.contains(";3"));
        assert_eq!(bytes.split("\u{1b}[0").any(|part| is_colour(&part)), is_coloured);
        leave(&mut screen);
    }
}
