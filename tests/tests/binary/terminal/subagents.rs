//! Subagents on a terminal: the tree of those at work, the question before their work lands, and their results.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, Script, marker, steps};
use tests::sandbox::{Sandbox, Screen};

use crate::binary::agents::subagents::{task, writer};
use crate::binary::sandbox;

const CTRL_D: &str = "\u{4}";

/// Begins a conversation that asks, and sends the prompt to which the model answers as `parent`.
fn begin(place: &Sandbox, model: &LoopbackModel, folder: &Path) -> Screen {
    let session = place.regatta(folder).words("--model").arg(model.route());
    let screen = session.arg("--base-url").arg(model.base_url()).on_a_keyboard(40, 100);
    screen.until("the status line", |text| text.contains("context"));
    screen.press(&format!("Hand it out. {}\r", marker("parent")));
    screen
}

/// The same answers, but the first one comes when something was sent, or the sender is gone.
fn held(answers: Vec<Answer>) -> (impl Script, Sender<()>) {
    let (mut answers, (sender, goes_on)) = (steps(answers), channel());
    let script = move |asked: &Asked| {
        if asked.answers() == 0 {
            let _gone = goes_on.recv();
        }
        answers.next(asked)
    };
    (script, sender)
}

#[test]
fn the_work_of_isolated_subagents_lands_after_a_yes_to_one_question_with_its_diff_and_else_is_kept()
{
    for (key, lands) in [("y", true), ("n", false)] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        let repository = place.repository();
        let ids = ["One", "Two"];
        let call = task(&ids, &json!({ "isolated": true }));
        model.talk("parent", steps(vec![call, Answer::text("That was all.")]));
        ids.iter().for_each(|id| model.talk(id, steps(writer(id))));
        let mut screen = begin(&place, &model, repository.root());
        screen.until("the question", |text| {
            text.contains(
                "\nLand the work of 2 subagents in your tree? y land · n keep · d details",
            )
        });
        screen.press("d");
        screen.until("the diff", |text| {
            let all = ["  1-One, 2-Two: this session asks before", "  +of One", "  +of Two"];
            all.iter().all(|part| text.contains(part))
        });
        assert!(!repository.path("One.txt").exists(), "nothing lands before the answer");
        screen.press(key);
        let text = screen.until("the end", |text| text.contains("That was all."));
        let result = model.asked("parent")[1].result();
        for id in ids {
            assert_eq!(repository.path(format!("{id}.txt")).exists(), lands, "{id}");
            let kept = format!("/{id}", id = ["1-One", "2-Two"][usize::from(id == "Two")]);
            assert_eq!(result.contains(&kept), !lands, "the result names what lands it: {result}");
        }
        let shown = match lands {
            true => "  ✓ 1-One  completed  landed 1 file +1 −0",
            false => "  ■ 1-One  kept  1 file +1 −0 · regatta apply ",
        };
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains("task-summary"), "{text}");
        assert!(text.contains("✓ 2-Two · "), "each has a line when it ends: {text}");
        screen.press(CTRL_D);
        assert_eq!(screen.wait().code(), Some(0));
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn the_tree_has_subagents_at_any_depth_a_question_names_the_one_that_asks_and_tasks_hides_it() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let end = |text: &str| Answer::yields(&json!(text));
    model.talk("parent", steps(vec![task(&["Outer"], &json!({})), Answer::text("That was all.")]));
    model.talk("Outer", steps(vec![task(&["Inner"], &json!({})), end("outer")]));
    let command = json!({ "command": "echo made > made.txt" });
    let (inner, goes_on) = held(vec![Answer::call("bash", &command), end("inner")]);
    model.talk("Inner", inner);
    let mut screen = begin(&place, &model, repository.root());
    let is_tree = |text: &str| {
        let all = ["subagents: 0 of 2 ended", " 1-Outer ", "   1-Outer.1-Inner "];
        all.iter().all(|part| text.contains(part))
    };
    screen.until("the tree", is_tree);
    screen.press("/tasks off\r");
    screen.until("no tree", |text| !text.contains("subagents: 0 of 2"));
    screen.press("/tasks verbose\r");
    screen.until("the tree again", is_tree);
    drop(goes_on);
    screen.until("the question", |text| {
        text.contains("\nallow 1-Outer.1-Inner: bash echo made > made.txt? y once")
    });
    screen.press("y");
    let text = screen.until("the end", |text| text.contains("That was all."));
    for ended in ["✓ 1-Outer.1-Inner · ", "✓ 1-Outer · ", "✓ 1-Outer  completed  outer"] {
        assert!(text.contains(ended), "{ended}: {text}");
    }
    assert_eq!(repository.text("made.txt"), "made\n");
    screen.press(CTRL_D);
    assert_eq!(screen.wait().code(), Some(0));
    place.expect_nothing_left(&repository);
}

#[test]
fn a_run_shows_the_subagents_of_its_tasks_below_them_and_prints_those_that_have_ended() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let call = task(&["One", "Two"], &json!({}));
    model.talk("parent", steps(vec![call, Answer::yields(&json!("done"))]));
    let goes_on = place.folder().join("go");
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", goes_on.display());
    let wait = Answer::call("bash", &json!({ "command": wait }));
    model.talk("One", steps([vec![wait], writer("One")].concat()));
    model.talk("Two", steps(writer("Two")));
    let run = place.regatta(repository.root()).words("run --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url());
    let run = run.arg(format!("Do it all. {}", marker("parent")));
    let mut screen = run.on_a_screen(24, 100);
    screen.until("the tree", |text| {
        let child = |line: &str| line.contains("  1-One ") && line.contains(" bash ");
        text.contains("✓ ") && text.contains("2-Two · ") && text.lines().any(child)
    });
    fs::write(goes_on, "").expect("a file can be written");
    assert_eq!(screen.wait().code(), Some(0));
    let lines = screen.all_lines();
    let ended = |name: &str| {
        let end = format!(" › {name} · ");
        lines.iter().filter(|line| line.starts_with("✓ ") && line.contains(&end)).count()
    };
    assert_eq!((ended("1-One"), ended("2-Two")), (1, 1), "{lines:#?}");
    place.expect_nothing_left(&repository);
}
