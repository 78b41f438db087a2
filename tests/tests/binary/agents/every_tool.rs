//! One task that uses each of its tools, each call with what only the result before has said.

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::Plan;

use crate::binary::sandbox;

/// What no script knows before it has read it.
const NONCE: &str = "m4x7";

/// Returns the last word of a result that begins so, without this beginning.
fn behind<'a>(result: &'a str, beginning: &str) -> &'a str {
    let found = result.rsplit_once(beginning).unwrap_or_else(|| panic!("{beginning}: {result}")).1;
    let is_part = |letter: char| letter.is_ascii_alphanumeric();
    &found[..found.find(|letter| !is_part(letter)).unwrap_or(found.len())]
}

/// Follows the clues from a name to a notebook, a command, a file and a command in the background.
fn all(asked: &Asked) -> Answer {
    let result = if asked.answers() == 0 { String::new() } else { asked.result() };
    let call = |tool: &str, arguments| Answer::call(tool, &arguments);
    match asked.answers() {
        0 => call("find", json!({ "pattern": "*.clue" })),
        1 => call("grep", json!({ "pattern": "next is \\w+", "path": result })),
        2 => call("ls", json!({ "path": behind(&result, "next is ") })),
        3 => call(
            "read",
            json!({ "path": format!("k2/{}.ipynb", behind(&result, "book-").to_owned()) }),
        ),
        4 => {
            let content = format!("key = 'key-{}'", behind(&result, "secret "));
            let path = "k2/q9.ipynb";
            call(
                "notebook",
                json!({ "path": path, "action": "edit", "cell": 0, "content": content }),
            )
        }
        5 => {
            assert!(result.starts_with("Edited cell 0"), "{result}");
            call("bash", json!({ "command": "grep -o 'key-[a-z0-9]*' k2/q9.ipynb" }))
        }
        6 => {
            let key = behind(&result, "key-");
            call(
                "write",
                json!({ "path": format!("made/{key}.txt"), "content": format!("first {key}\n") }),
            )
        }
        7 => {
            let path = result.split_whitespace().find(|word| word.starts_with("made/"));
            let path = path.expect("write names its file");
            let command = format!("until [ -e $TMPDIR/go ]; do sleep 0.02; done; cat {path}");
            call("bash", json!({ "command": command, "background": true }))
        }
        8 => {
            let id = behind(&result, "Background command ");
            call("bash", json!({ "command": format!(": > $TMPDIR/go; echo job {id}") }))
        }
        9 => call("job", json!({ "action": "wait", "id": behind(&result, "job ") })),
        10 => {
            let key = behind(&result, "first ");
            let edit =
                json!({ "oldText": format!("first {key}"), "newText": format!("last {key}") });
            call("edit", json!({ "path": format!("made/{key}.txt"), "edits": [edit] }))
        }
        _ => Answer::yields(&json!(format!("last {}", behind(&result, "+last ")))),
    }
}

/// Finds the file of the first run, and patches it.
fn patches(asked: &Asked) -> Answer {
    let result = if asked.answers() == 0 { String::new() } else { asked.result() };
    match asked.answers() {
        0 => Answer::call("find", &json!({ "pattern": "made/*.txt" })),
        1 => {
            let key = behind(&result, "made/");
            let patch = format!(
                "*** Begin Patch\n*** Update File: {result}\n-last {key}\n+patched {key}\n*** End Patch"
            );
            Answer::call("apply_patch", &json!({ "input": patch }))
        }
        _ => Answer::yields(&json!(behind(&result, "+patched "))),
    }
}

#[test]
fn a_task_uses_each_of_its_tools_with_what_only_the_one_before_has_said_and_its_end_lands() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("clues/n7.clue", "begin\nnext is k2\n");
    let cell = json!({ "cell_type": "code", "id": "a", "metadata": {}, "execution_count": null,
        "outputs": [], "source": [format!("# secret {NONCE}")] });
    let book = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    repository.write("k2/q9.ipynb", book.to_string());
    repository.write("k2/book-q9", "");
    repository.commit("clues");
    let model = LoopbackModel::start();
    model.talk("all", all);
    model.talk("patches", patches);
    let plan = Plan::default().top(&format!("model = {:?}", model.route()));
    let run = |task: &str, mode: &str| {
        let plan = plan.clone().agent(task, &marker(task));
        let run = place.run_plan(&repository, &plan).arg("--base-url").arg(model.base_url());
        place.home().configure(&format!("edit: {{ mode: {mode} }}"));
        let finished = run.run();
        assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
        finished.expect_code(0).task(task)["yield"].clone()
    };
    assert_eq!(run("all", "replace"), format!("last {NONCE}"));
    let asked = model.asked("all");
    let used: Vec<_> =
        model.said("all").into_iter().filter_map(|(_, answer)| name(&answer)).collect();
    let offered = asked[0].tools().into_iter().filter(|tool| *tool != "task");
    let unused: Vec<_> = offered.filter(|tool| !used.iter().any(|name| name == tool)).collect();
    assert_eq!(unused, Vec::<&str>::new());
    assert_eq!(run("patches", "apply_patch"), NONCE);
    assert_eq!(repository.text(format!("made/{NONCE}.txt")), format!("patched {NONCE}\n"));
    assert!(repository.text("k2/q9.ipynb").contains(&format!("key-{NONCE}")));
    place.expect_nothing_left(&repository);
}

/// Returns the name of the tool that an answer calls.
fn name(answer: &Answer) -> Option<String> {
    answer.said().and_then(|said| said.calls.first()).map(|call| call.name.clone())
}
