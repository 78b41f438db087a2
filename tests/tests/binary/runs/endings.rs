//! How a task can end: each way fails only its own task, with its own class, and its work is kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_limit::{by_depth, slowdown};
use tests::sandbox::{Finished, Plan, Sandbox};

use crate::binary::sandbox;

/// Returns the failure of a task, whose file `odd.txt` must be kept in its capture.
fn failure_with_work_kept(place: &Sandbox, finished: &Finished, task: &str) -> Value {
    let end = finished.task(task);
    assert_eq!(end["outcome"], "failed", "{finished}");
    let capture = format!("{}/{task}/1", finished.run_name());
    assert_eq!(end["capture"], format!("refs/tasks/{capture}"), "{finished}");
    assert_eq!(place.home().captured(&capture, "odd.txt"), "kept\n");
    end["failure"].clone()
}

#[test]
fn a_crashing_session_fails_only_its_own_task() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("before", "echo before > before.txt")
        .task("odd", "echo odd > odd.txt")
        .task("after", "echo after > after.txt");
    let run = place.run_plan(&repository, &plan).words("--jobs 1").fault("crash@session:2");
    let finished = run.run().expect_code(3);
    assert_eq!(finished.landed(), ["after", "before"], "{finished}");
    let end = finished.task("odd");
    assert_eq!(end["failure"]["class"], "crashed", "{finished}");
    let capture = format!("{}/odd/1", finished.run_name());
    assert!(place.home().captures().contains(&capture), "what it had is kept: {finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_command_that_fails_keeps_its_work() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("before", "echo before > before.txt")
        .task("exits", "echo kept > odd.txt; exit 42")
        .task("killed", "echo kept > odd.txt; kill -9 $$")
        .task("missing", "echo kept > odd.txt; no-such-command-anywhere --now")
        .task("after", "echo after > after.txt");
    let finished = place.run_plan(&repository, &plan).words("--jobs 1").run().expect_code(3);
    assert_eq!(finished.landed(), ["after", "before"], "{finished}");
    let ended = finished.names_in("task_finished");
    assert_eq!(ended, ["after", "before", "exits", "killed", "missing"], "{finished}");
    for (task, detail, words) in [
        ("exits", json!({ "type": "exit", "code": 42 }), &["42"][..]),
        ("killed", json!({ "type": "signal", "signal": 9 }), &["9"]),
        ("missing", json!({ "type": "exit", "code": 127 }), &["127", "find"]),
    ] {
        let failure = failure_with_work_kept(&place, &finished, task);
        assert_eq!(failure["class"], "command", "{task}");
        assert_eq!(failure["detail"], detail, "{task}");
        let message = failure["message"].as_str().unwrap();
        assert!(words.iter().all(|word| message.contains(word)), "{task}: {message}");
    }
    let said = finished.events_of("task_progress");
    let said = said.iter().any(|event| event.to_string().contains("no-such-command-anywhere"));
    assert!(said, "which one is missing, in the shell's words: {finished}");
    assert!(!repository.has("odd.txt"), "failed work does not land");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_command_that_ignores_term_is_killed_after_its_grace_and_keeps_its_work() {
    test_limit::waits("the task runs until its limit, and then for its grace period");
    let place = sandbox();
    let repository = place.repository();
    // On a busy machine it takes longer until the command has written its file.
    let wall = Duration::from_millis(300).mul_f64(slowdown());
    let began = Instant::now();
    let script = "trap '' TERM; echo kept > odd.txt; (trap '' TERM; sleep 100) & \
                  while :; do sleep 0.1; done";
    let run = place.run_in(&repository).words(&format!("--limit wall={}ms", wall.as_millis()));
    let run = run.exec(script);
    let finished = run.run().expect_code(5);
    let failure = failure_with_work_kept(&place, &finished, "t1");
    assert_eq!(failure["class"], "timeout");
    let took = began.elapsed();
    let grace = Duration::from_millis(700);
    assert!(took > wall + grace, "{wall:?} and {grace:?} of grace: {took:?}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_command_that_floods_its_output_is_stopped_and_keeps_its_work() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo kept > odd.txt; exec yes 'a line that is written again and again'";
    // On a busy machine it takes longer until there is as much as is kept.
    let short = Duration::from_millis(400).mul_f64(slowdown());
    let (wall, kept) = by_depth((short, 1_000_000), (Duration::from_secs(6), 10_000_000));
    let run = place.run_in(&repository).exec(script);
    let run = run.words(&format!("--limit wall={}ms", wall.as_millis()));
    let run = run.words(&format!("--limit output={}MB", kept / 1_000_000));
    let finished = run.run().expect_code(5);
    let failure = failure_with_work_kept(&place, &finished, "t1");
    assert_eq!(failure["class"], "timeout");
    let found = place.home().output(&finished.run_name(), "t1").len();
    assert!((kept / 10 * 9..kept / 10 * 11).contains(&found), "of {kept} are kept: {found}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_commands_yield_is_its_last_line_and_against_its_schema_breaks_the_contract_at_once() {
    let place = sandbox();
    let repository = place.repository();
    let schema = "schema = { type = \"object\", required = [\"files\"] }";
    let plan = Plan::default()
        .task("json", "echo first; echo '{\"files\": 3}'; echo last >&2")
        .task("text", "echo first; echo plain words; echo")
        .task("none", "echo only an error >&2")
        .task("bad", "echo kept > bad.txt; echo '{\"file\": 3}'")
        .with(schema)
        .task("good", "echo '{\"files\": 3}'")
        .with(schema)
        .task("lazy", "true")
        .with("must_change = true")
        // What a command leaves in its group dies with its task.
        .task("leaves", "(trap '' TERM HUP; sleep 1000 </dev/null >/dev/null 2>&1) & echo started");
    let finished = place.run_plan(&repository, &plan).run().expect_code(3);
    assert_eq!(finished.task("json")["yield"], json!({ "files": 3 }), "{finished}");
    assert_eq!(finished.task("text")["yield"], "plain words", "{finished}");
    assert_eq!(finished.task("none")["yield"], Value::Null, "{finished}");
    for task in ["json", "text", "none", "good", "leaves"] {
        assert_eq!(finished.task(task)["outcome"], "done", "{task}: {finished}");
    }
    let failure = finished.task("bad")["failure"].clone();
    assert_eq!(failure["class"], "contract", "{finished}");
    assert!(failure["message"].as_str().unwrap().contains("files"), "{failure}");
    assert_eq!(finished.events_of("contract_reminded"), Vec::<Value>::new());
    let capture = format!("{}/bad/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, "bad.txt"), "kept\n");
    assert_eq!(finished.task("lazy")["failure"]["class"], "contract", "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_task_gets_its_variables_and_none_of_gits_or_the_providers() {
    let place = sandbox();
    let repository = place.repository();
    let script = "env > env.txt; cat /dev/stdin > stdin.txt; pwd -P > pwd.txt";
    let run = place.run_in(&repository).exec(script);
    let run = run.env("OPENAI_API_KEY", "canary").env("ANTHROPIC_API_KEY", "canary");
    let run = run.env("GIT_INDEX_FILE", ".git/other").env("BUILD_TOKEN", "stays");
    let finished = run.run().expect_code(0);
    let variables = repository.text("env.txt");
    let value = |name: &str| {
        let line = variables.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.map(str::to_owned)
    };
    assert_eq!(value("REGATTA_RUN"), Some(finished.run_name()));
    assert_eq!(value("REGATTA_TASK").as_deref(), Some("t1"));
    assert_eq!(value("REGATTA_ATTEMPT").as_deref(), Some("1"));
    assert_eq!(value("REGATTA_REPO").as_deref(), repository.root().to_str());
    assert_eq!(value("REGATTA_WORKSPACE").as_deref(), Some(repository.text("pwd.txt").trim()));
    assert_eq!(value("BUILD_TOKEN").as_deref(), Some("stays"));
    assert_eq!(value("GIT_INDEX_FILE"), None);
    assert!(!variables.contains("canary"), "{variables}");
    assert_eq!(repository.text("stdin.txt"), "");
}

#[test]
fn a_task_that_takes_its_workspace_away_fails_and_nothing_is_said_to_be_kept() {
    let place = sandbox();
    let repository = place.repository();
    let away = place.folder().join("away");
    let plan = Plan::default()
        .task("tree", "rm -rf \"$REGATTA_WORKSPACE\"")
        .task("folder", "rm -rf \"${REGATTA_WORKSPACE%/tree}\"")
        .task("moved", &format!("mv \"$REGATTA_WORKSPACE\" {}; exit 3", away.display()));
    let finished = place.run_plan(&repository, &plan).run().expect_code(5);
    for task in ["tree", "folder", "moved"] {
        let message = finished.task(task)["failure"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("/{task}/tree is gone")), "{message}");
        assert!(!message.contains("is kept"), "{message}");
    }
    // Nor is there anything to say about it at the next start.
    let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(listed.stderr, "", "{listed}");
    place.expect_nothing_left(&repository);
    assert!(away.join("README.md").exists(), "what was moved away is the task's");
}

#[test]
fn a_file_too_large_to_be_held_fails_its_task_and_keeps_its_workspace() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).exec("truncate -s 1T huge.bin; echo x > x.txt").run();
    let finished = finished.expect_code(5);
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "workspace", "{finished}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("huge.bin") && message.contains("is kept at"), "{message}");
    // The next start finds it, says so, and lives.
    let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert!(listed.stderr.contains("kept"), "{listed}");
}
