//! What the subagents of a call get from their caller and from the settings, and what they wait for.

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::json;
use test_limit::eventually;
use tests::model::{Answer, Asked, LoopbackModel, marker, steps};

use super::subagents::{session, task, write};
use crate::binary::sandbox;

#[test]
fn an_agent_that_the_settings_disable_is_not_offered_and_gets_no_tasks() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    place.home().configure("task: { disabledAgents: [explore] }\n");
    let call = task(&["One"], &json!({ "agent": "explore" }));
    model.talk("parent", steps(vec![call, Answer::text("well")]));
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    drop(ended.expect_code(0));
    let offered = model.asked("parent")[0].body["tools"].to_string();
    assert!(offered.contains("quick_task") && !offered.contains("explore"), "{offered}");
    let refusal = model.asked("parent")[1].result();
    let why = "Agent \"explore\" is disabled (task.disabledAgents). Available: ";
    assert!(refusal.contains(why), "{refusal}");
    assert!(model.asked("One").is_empty());
    let listed = place.regatta(repository.root()).words("agents").run().expect_code(0);
    let note = "`explore` of Regatta is disabled by `task.disabledAgents`";
    assert!(listed.stderr.contains(note) && !listed.stdout.contains("explore"), "{listed}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_subagent_has_the_limits_and_the_schema_of_the_task_that_calls() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    repository.write("bug.json", r#"{ "type": "object", "required": ["bug"] }"#);
    repository.commit("a schema");
    let bug = || Answer::yields(&json!({ "bug": "none" }));
    let call = task(&["Loops", "Wrong"], &json!({}));
    model.talk("parent", steps(vec![call, bug()]));
    let read = || Answer::call("read", &json!({ "path": "README.md" }));
    model.talk("Loops", steps((0..9).map(|_| read()).collect()));
    model.talk("Wrong", steps(vec![Answer::yields(&json!({ "other": 1 })), bug()]));
    let run = place.regatta(repository.root());
    let run = run.words("run --limit turns=3 --schema bug.json --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url());
    drop(run.arg(format!("Do it all. {}", marker("parent"))).run().expect_code(0));
    assert!(model.asked("Loops").len() <= 4, "{}", model.asked("Loops").len());
    let result = model.asked("parent")[1].result();
    assert!(result.contains("1/2 succeeded") && result.contains("turns 4 of 3"), "{result}");
    let told = model.asked("Wrong")[1].reminder().expect("its first result lacks the bug");
    assert!(told.contains("bug"), "{told}");
    place.expect_nothing_left(&repository);
}

#[test]
fn the_first_failure_cancels_the_rest_also_where_the_rest_works_elsewhere() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let items = json!([
        { "id": "Fails", "assignment": format!("Do it. {}", marker("Fails")), "isolated": true },
        { "id": "Waits", "assignment": format!("Do it. {}", marker("Waits")) },
    ]);
    let call = json!({ "agent": "task", "fail_fast": true, "tasks": items });
    model.talk("parent", steps(vec![Answer::call("task", &call), Answer::text("well")]));
    let (begun, waits) = channel::<()>();
    model.talk("Waits", move |_: &Asked| {
        begun.send(()).expect("the other one waits for it");
        Answer::Silence
    });
    model.talk("Fails", move |_: &Asked| {
        waits.recv_timeout(Duration::from_secs(60)).expect("the other one begins");
        let data = json!({ "result": { "error": "it cannot be done" } });
        Answer::call("yield", &data)
    });
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    drop(ended.expect_code(0));
    let result = model.asked("parent")[1].result();
    assert!(result.contains("0/2 succeeded (1 cancelled)"), "{result}");
    assert!(result.contains("it cannot be done"), "{result}");
    place.expect_nothing_left(&repository);
}

#[test]
fn another_terminal_sees_that_a_task_waits_for_its_subagents_and_how_many_have_ended() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    model.talk(
        "parent",
        steps(vec![
            task(&["Ends", "Waits"], &json!({})),
            write("a.txt", "a\n"),
            Answer::yields(&json!("ok")),
        ]),
    );
    model.talk("Ends", steps(vec![Answer::yields(&json!("ok"))]));
    let (release, released) = channel::<()>();
    model.talk("Waits", move |_: &Asked| {
        released.recv_timeout(Duration::from_secs(60)).expect("the test goes on");
        Answer::yields(&json!("ok"))
    });
    let run = place.regatta(repository.root()).words("run --json --jobs 1 --model");
    let run = run.arg(model.route()).arg("--base-url").arg(model.base_url());
    let running = run.arg(format!("Do it all. {}", marker("parent"))).start();
    let why = || place.regatta(repository.root()).words("why @").run().stdout;
    let waits = "waits for its subagents: 1 of 2 have ended";
    eventually(Duration::from_secs(60), "one has ended", || why().contains(waits));
    release.send(()).expect("it waits");
    drop(running.wait().expect_code(0));
    assert!(
        why().contains("has ended; 1 task: 1 done; the work of 1 task has landed"),
        "{}",
        why()
    );
    place.expect_nothing_left(&repository);
}
