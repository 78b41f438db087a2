//! `regatta why`, from another terminal while a run goes on, and after it.

use std::time::Duration;

use serde_json::Value;
use test_limit::eventually;
use tests::sandbox::Plan;

use crate::binary::sandbox;

#[test]
fn each_task_of_a_run_that_goes_on_says_what_it_waits_for_and_after_it_how_it_ended() {
    let place = sandbox();
    let repository = place.repository();
    let gate = place.folder().join("gate");
    let wait = format!("while [ ! -e {} ]; do sleep 0.02; done", gate.display());
    let plan = Plan::default()
        .task("api", &wait)
        .with("priority = 1")
        .task("docs", "exit 3")
        .after(&["api"])
        .task("lint", "true");
    let running = place.run_plan(&repository, &plan).words("--jobs 1").start();
    let process = running.id().as_raw_nonzero();
    let why = |words: &str| place.regatta(repository.root()).words("why").words(words).run();
    let works = |text: &str| text.contains("api has worked for ");
    eventually(Duration::from_secs(60), "the first works", || works(&why("@").stdout));
    let text = why("@").expect_code(0).stdout;
    assert!(text.contains("goes on: of 3 tasks, 0 have ended, 1 works and 2 wait\n"), "{text}");
    let engine = format!("what it does at the moment, its engine (pid {process}) knows\n");
    assert!(text.contains(&engine), "{text}");
    assert!(text.contains("\ndocs waits until `api` is done\n"), "{text}");
    let limit = "\nlint waits for a place: 1 task of its run works at once (`--jobs`)\n";
    assert!(text.contains(limit), "{text}");
    let one = why("@/api").expect_code(0).stdout;
    assert!(one.contains("/api has worked for ") && one.contains("\n  regatta logs "), "{one}");
    let document: Value = why("@ --json").expect_code(0).json();
    let states: Vec<_> = (0..3).map(|at| document["tasks"][at]["state"].clone()).collect();
    assert_eq!(states, ["working", "predecessors", "limit"], "{document}");
    std::fs::write(&gate, "").expect("it can be made");
    drop(running.wait().expect_code(3));
    let text = why("@").expect_code(0).stdout;
    assert!(text.contains("has ended; 3 tasks: 2 done, 1 failed; "), "{text}");
    assert!(text.contains("\ndocs has failed (command): "), "{text}");
    assert!(!text.contains("\nlint "), "{text}");
    let one = why("@/lint").expect_code(0).stdout;
    assert!(one.ends_with("/lint is done, and has changed nothing\n"), "{one}");
    why("@/nothing").expect_refusal(&["no task `nothing`"]);
}
