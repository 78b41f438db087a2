//! What bounds an agent from outside: time, tokens, demands on its change, Ctrl-C while it waits.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::{by_depth, slowdown};
use tests::model::{Answer, Asked, LoopbackModel, Script, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox, eventually};

use super::work::{run_one, run_with};
use crate::binary::sandbox;

/// Writes its file and then says what `then` says.
fn writes_then(file: &str, then: Answer) -> impl Script + use<> {
    let write = json!({ "path": file, "content": "kept\n" });
    move |asked: &Asked| match asked.answers() {
        0 => Answer::call("write", &write),
        _ => then.clone(),
    }
}

fn expect_kept(place: &Sandbox, repository: &Repository, finished: &Finished) {
    expect_kept_of(place, repository, finished, ("t1", "kept.txt"));
}

/// Checks that the file of a task is in its capture, and nowhere else.
fn expect_kept_of(
    place: &Sandbox,
    repository: &Repository,
    finished: &Finished,
    (task, file): (&str, &str),
) {
    let capture = format!("{}/{task}/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, file), "kept\n", "{task}: {finished}");
    assert!(!repository.has(file), "{task}: {finished}");
    place.expect_nothing_left(repository);
}

#[test]
fn the_wall_clock_ends_an_agent_that_waits_for_its_model_or_its_command() {
    test_limit::waits("each agent waits for its end");
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    // One that ignores the first signal, which takes longer, is that of another test in quick depth.
    let ignores = by_depth("", "trap '' TERM; ");
    let sleeps = json!({ "command": format!("{ignores}sleep 300; echo never") });
    let waits = [
        ("silent", Answer::Silence),
        ("held", Answer::Held),
        ("sleeps", Answer::call("bash", &sleeps)),
    ];
    let mut plan = Plan::default();
    for (name, then) in waits.clone() {
        model.talk(name, writes_then(&format!("{name}.txt"), then));
        plan = plan.agent(name, &marker(name));
    }
    let began = Instant::now();
    let run = run_with(&place, &repository, &plan, &model);
    // Each of them writes its file earlier, on a busy machine too.
    let wall = by_depth(Duration::from_millis(700).mul_f64(slowdown()), Duration::from_secs(4));
    let wall = format!("wall={}ms", wall.as_millis());
    let finished = run.arg("--limit").arg(wall).run().expect_code(5);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(60), "it waits for something");
    for (name, _then) in waits {
        assert_eq!(finished.task(name)["failure"]["class"], "timeout", "{name}: {finished}");
        expect_kept_of(&place, &repository, &finished, (name, &format!("{name}.txt")));
    }
}

#[test]
fn at_its_token_limit_a_model_is_asked_to_yield_once_and_then_it_is_over() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    // Each answer says that it used 1,030 tokens.
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => Answer::call("write", &json!({ "path": "kept.txt", "content": "kept\n" })),
        answers => {
            assert_eq!(asked.forced().is_some(), answers == 2, "after {answers} answers");
            Answer::call("read", &json!({ "path": "README.md", "offset": answers }))
        }
    });
    let finished = run.words("--limit tokens=2000").run().expect_code(6);
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "budget", "{finished}");
    assert_eq!(
        failure["message"], "tokens 3090 of 2000: it did not yield what was asked for",
        "{failure}"
    );
    let limit = json!({ "type": "limit", "limit": "tokens", "used": 3090, "most": 2000 });
    assert_eq!(failure["detail"], limit, "{failure}");
    let shown = place.regatta(repository.root()).words("runs show @").run();
    assert!(shown.stdout.contains("tokens 3090 of 2000"), "{shown}");
    assert_eq!(model.requests(), 3);
    expect_kept(&place, &repository, &finished);
}

#[test]
fn ctrl_c_does_not_wait_for_a_provider_that_is_to_be_asked_again_later() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let later = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let later = later.with_header("retry-after", "50");
    let run = run_one(&place, &repository, &model, writes_then("kept.txt", later));
    let mut running = run.start();
    let retry =
        running.until_event("a retry", |event| event["event"]["type"] == "auto_retry_start");
    assert_eq!(retry["event"]["attempt"], 1, "{retry}");
    let began = Instant::now();
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(40), "it waits for something");
    expect_kept(&place, &repository, &finished);
}

#[test]
fn a_command_of_an_agent_that_takes_too_long_is_a_tool_error_and_leaves_nothing_running() {
    test_limit::waits("a command takes too long");
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    // Whole seconds, more of them on a busy machine: by then it has said something.
    let timeout = by_depth(Duration::from_secs(1).mul_f64(slowdown()).as_secs(), 2);
    let run = run_one(&place, &repository, &model, move |asked: &Asked| match asked.answers() {
        0 => {
            let script = "echo begun > kept.txt; echo said; trap '' TERM; (trap '' TERM HUP; \
                          sleep 300) & sleep 300";
            Answer::call("bash", &json!({ "command": script, "timeout": timeout }))
        }
        1 => {
            let result = asked.result();
            assert!(result.contains("said") && result.contains("timed out"), "{result}");
            Answer::call("bash", &json!({ "command": "sleep 300 >/dev/null 2>&1 & echo left" }))
        }
        _ => {
            assert!(asked.result().contains("left"), "{}", asked.result());
            Answer::yields(&json!("done"))
        }
    });
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("kept.txt"), "begun\n", "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn agents_and_commands_of_one_plan_build_on_each_other() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("second", |asked: &Asked| match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "first.txt" })),
        1 => {
            assert!(asked.result().contains("from a command"), "{}", asked.result());
            Answer::call("write", &json!({ "path": "second.txt", "content": "from a model\n" }))
        }
        _ => Answer::yields(&json!({ "done": true })),
    });
    let plan = Plan::default()
        .task("first", "echo from a command > first.txt")
        .agent("second", &marker("second"))
        .after(&["first"])
        .task("third", "cat first.txt second.txt > third.txt")
        .after(&["second"]);
    let finished = run_with(&place, &repository, &plan, &model).run().expect_code(0);
    assert_eq!(repository.text("third.txt"), "from a command\nfrom a model\n", "{finished}");
    assert_eq!(finished.task("first")["usage"], Value::Null, "a command uses no tokens");
    place.expect_nothing_left(&repository);
}

#[test]
fn each_item_gets_an_agent_of_its_own_with_its_own_words() {
    let place = sandbox();
    let repository = place.repository();
    let names = ["one", "two words", "dr$ei'"];
    for name in names {
        repository.write(format!("items/{name}.txt"), "x\n");
    }
    repository.commit("items");
    let model = LoopbackModel::start();
    model.otherwise(|talk| {
        let path = talk.to_owned();
        Box::new(move |asked: &Asked| match asked.answers() {
            0 => Answer::call("write", &json!({ "path": path, "content": "seen\n" })),
            _ => Answer::yields(&json!(asked.prompt())),
        })
    });
    let run = place.run_in(&repository).words("--each items/*.txt").arg("See [[{{item}}]].");
    let run = run.arg("--model").arg(model.route()).arg("--base-url").arg(model.base_url());
    let finished = run.run().expect_code(0);
    for name in names {
        assert_eq!(repository.text(format!("items/{name}.txt")), "seen\n", "{name}: {finished}");
    }
    assert_eq!(finished.landed().len(), 3, "{finished}");
}

#[test]
fn agents_in_place_work_in_the_users_own_tree() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => {
            let edit = json!({ "oldText": "run();", "newText": "go();" });
            Answer::call("edit", &json!({ "path": "src/main.rs", "edits": [edit] }))
        }
        _ => Answer::yields(&json!("done")),
    });
    let finished = run.words("--isolation none --approval-mode yolo").run().expect_code(0);
    assert_eq!(repository.text("src/main.rs"), "fn main() {\n    go();\n}\n", "{finished}");
    eventually(Duration::from_secs(30), "nothing runs", || place.processes().alive().is_empty());
}
