//! `regatta logs --follow`: what tasks say and do is printed as it comes, until they have ended.

use std::fs;
use std::time::Duration;

use serde_json::json;
use test_limit::eventually;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Plan, Sandbox};

use crate::binary::agents::work::run_with;
use crate::binary::sandbox;

/// A script that prints a line, waits for a file and prints another.
fn waits(place: &Sandbox, name: &str) -> String {
    let gate = place.folder().join(name);
    format!(
        "echo {name} begins; while [ ! -e '{}' ]; do sleep 0.02; done; printf ends",
        gate.display()
    )
}

#[test]
fn the_output_of_tasks_is_printed_while_they_run_with_the_name_of_each() {
    let place = sandbox();
    let repository = place.repository();
    let changes = format!("printf x > b.txt; {}", waits(&place, "two"));
    let plan = Plan::default().task("a", &waits(&place, "one")).task("bb", &changes);
    let mut running = place.run_plan(&repository, &plan).start();
    let run = running.until("run_started")["run"].as_str().unwrap().to_owned();
    let follow = place.regatta(repository.root()).words("logs -f --color never").arg(&run).start();
    let folder = place.home().data().join("artifacts").join(&run);
    eventually(Duration::from_secs(60), "both print", || {
        ["a", "bb"].iter().all(|task| folder.join(task).join("output.log").exists())
    });
    fs::write(place.folder().join("two"), "").unwrap();
    running
        .until_event("bb ends", |event| event["type"] == "task_finished" && event["task"] == "bb");
    fs::write(place.folder().join("one"), "").unwrap();
    let _landed = running.wait().expect_code(0);
    let told = follow.wait().expect_code(0).stdout;
    let lines = |name: &str| -> Vec<_> {
        told.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>()
    };
    assert_eq!(lines("a  │ ")[..2], ["one begins", "ends"], "{told}");
    assert_eq!(lines("bb │ ")[..2], ["two begins", "ends"], "{told}");
    // Its work lands when the other one has ended, too, which may be known already.
    let end = lines("bb │ ")[2];
    assert!(["done · ", "landed · "].iter().any(|word| end.starts_with(word)), "{told}");
}

#[test]
fn a_session_is_printed_entry_by_entry_and_as_json_if_asked() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let gate = place.folder().join("gate");
    let waiting = gate.clone();
    model.talk("t1", move |asked: &Asked| match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "src/run.rs" })),
        1 => {
            eventually(Duration::from_secs(60), "the gate opens", || waiting.exists());
            Answer::yields(&json!("done"))
        }
        _ => Answer::nothing(),
    });
    let plan = Plan::default().agent("t1", &format!("Do it. {}", marker("t1")));
    let mut running = run_with(&place, &repository, &plan, &model).start();
    let run = running.until("task_started")["run"].as_str().unwrap().to_owned();
    let text = place.regatta(repository.root()).words("logs --follow").arg(format!("{run}/t1"));
    let text = text.start();
    let lines = place.regatta(repository.root()).words("logs --follow --json").arg(&run);
    let mut lines = lines.start();
    lines.until_event("a result", |line| line["entry"]["message"]["role"] == "toolResult");
    fs::write(&gate, "").unwrap();
    let _landed = running.wait().expect_code(0);
    let end = lines.until_event("the end", |line| !line["state"].is_null());
    assert_eq!((end["task"].as_str(), end["state"].as_str()), (Some("t1"), Some("done")));
    let _ended = lines.wait().expect_code(0);
    let told = text.wait().expect_code(0).stdout;
    for words in ["prompt", "Do it.", "read", "src/run.rs", "yield"] {
        assert_eq!(told.matches(words).count().min(1), 1, "{words} in {told}");
    }
    assert!(told.trim_end().lines().last().unwrap().starts_with("no change · "), "{told}");
}

#[test]
fn a_run_whose_engine_is_killed_is_followed_to_its_end() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default().task("a", &waits(&place, "never"));
    let mut running = place.run_plan(&repository, &plan).start();
    let run = running.until("workspace_ready")["run"].as_str().unwrap().to_owned();
    let follow = place.regatta(repository.root()).words("logs --follow --json").arg(&run);
    let mut follow = follow.start();
    follow.until_event("its first line", |line| line["output"] == "never begins");
    let _killed = running.kill();
    let end = follow.until_event("the end", |line| !line["state"].is_null());
    assert_eq!(end["state"], "interrupted");
    let _ended = follow.wait().expect_code(0);
}
