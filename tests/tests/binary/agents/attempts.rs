//! The reference of an attempt says by itself how the attempt ended and what its model used.

use std::collections::BTreeMap;

use serde_json::json;
use tests::model::{Answer, LoopbackModel, marker, steps};
use tests::sandbox::{Plan, Sandbox};

use super::work::run_with;
use crate::binary::sandbox;

/// Returns the trailers of the last commit that this reference of the task store leads to, as git has
/// them.
fn trailers(place: &Sandbox, capture: &str) -> BTreeMap<String, String> {
    let reference = format!("refs/tasks/{capture}");
    let format = "--format=%(trailers:only,unfold)";
    let text = place.home().store_git(&["log", "-1", format, &reference]);
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    let ours = lines.filter_map(|(key, value)| Some((key.strip_prefix("Regatta-")?, value)));
    ours.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns trailers as they are expected.
fn expected(run: &str, task: &str, rest: &[(&str, &str)]) -> BTreeMap<String, String> {
    let named = [("Run", run), ("Task", task), ("Attempt", "1")];
    named.iter().chain(rest).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_capture_says_how_its_attempt_ended_and_what_its_model_used() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let write = json!({ "path": "agent.txt", "content": "by the agent\n" });
    let answers = vec![Answer::call("write", &write), Answer::yields(&json!("done"))];
    model.talk("agent", steps(answers));
    let plan = Plan::default()
        .task("good", "echo good > good.txt")
        .task("bad", "echo bad > bad.txt; exit 3")
        .task("idle", "true")
        .with("must_change = true")
        .agent("agent", &format!("Write it. {}", marker("agent")));
    let run = run_with(&place, &repository, &plan, &model).run().expect_code(3);
    let name = run.run_name();
    let of = |task: &str| trailers(&place, &format!("{name}/{task}/1"));
    assert_eq!(of("good"), expected(&name, "good", &[("Outcome", "done")]));
    assert_eq!(of("bad"), expected(&name, "bad", &[("Outcome", "failed: command")]));
    assert_eq!(of("idle"), expected(&name, "idle", &[("Outcome", "failed: contract")]));
    let usage = &run.task("agent")["usage"];
    let count = |part: &str| usage[part].as_u64().expect("a number");
    let tokens: u64 = ["input", "output", "cache_read", "cache_write"].map(count).iter().sum();
    assert!(tokens > 0, "{run}");
    let tokens = tokens.to_string();
    // What a token of this model costs is not known.
    let used = [("Outcome", "done"), ("Turns", "2"), ("Tokens", &tokens), ("Cost", "unknown")];
    assert_eq!(of("agent"), expected(&name, "agent", &used));
}

#[test]
fn what_a_dead_engine_left_is_captured_as_interrupted_and_nothing_else_is_claimed() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).exec("echo work > work.txt").fault("kill@capture.begin");
    let died = run.run();
    assert_eq!(died.code, 128 + 9, "{died}");
    let _recovered = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let name = died.run_name();
    let unknown = ["Turns", "Tokens", "Cost"].map(|key| (key, "unknown"));
    let rest: Vec<_> = [("Outcome", "interrupted")].into_iter().chain(unknown).collect();
    assert_eq!(trailers(&place, &format!("{name}/t1/1")), expected(&name, "t1", &rest));
}
