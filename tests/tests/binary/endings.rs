//! How a task can end: each way fails only its own task, with its own class, and its work is kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::sandbox;

/// Runs `script` as the task `odd` between two that end well, and returns what it came to. Each may
/// take so many seconds, which has to be plenty for the good ones on a busy machine.
fn between_two_good_ones(
    place: &Sandbox,
    repository: &Repository,
    seconds: u32,
    script: &str,
) -> Finished {
    let plan = Plan::default()
        .task("before", "echo before > before.txt")
        .task("odd", script)
        .task("after", "echo after > after.txt");
    let run = place.run_plan(repository, &plan).words("--jobs 1");
    let run = run.arg("--limit").arg(format!("wall={seconds}s"));
    let finished = run.run().expect_code(3);
    assert_eq!(finished.landed(), ["after", "before"], "{finished}");
    assert_eq!(finished.names_in("task_finished"), ["after", "before", "odd"], "{finished}");
    place.expect_nothing_left(repository);
    finished
}

/// Returns the failure of `odd`, whose file `odd.txt` must be kept in its capture.
fn failure_with_work_kept(place: &Sandbox, finished: &Finished) -> Value {
    let end = finished.task("odd");
    assert_eq!(end["outcome"], "failed", "{finished}");
    let capture = format!("{}/odd/1", finished.run_name());
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
    let finished = between_two_good_ones(&place, &repository, 60, "echo kept > odd.txt; exit 42");
    let failure = failure_with_work_kept(&place, &finished);
    assert_eq!(failure["class"], "command");
    assert_eq!(failure["detail"], json!({ "type": "exit", "code": 42 }));
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("42"), "{message}");
    assert!(!repository.has("odd.txt"), "failed work does not land");
}

#[test]
fn a_command_that_is_killed_keeps_its_work() {
    let place = sandbox();
    let repository = place.repository();
    let finished =
        between_two_good_ones(&place, &repository, 60, "echo kept > odd.txt; kill -9 $$");
    let failure = failure_with_work_kept(&place, &finished);
    assert_eq!(failure["class"], "command");
    assert_eq!(failure["detail"], json!({ "type": "signal", "signal": 9 }));
}

#[test]
fn a_command_that_ignores_term_is_killed_after_its_grace_and_keeps_its_work() {
    let place = sandbox();
    let repository = place.repository();
    let began = Instant::now();
    let script = "trap '' TERM; echo kept > odd.txt; (trap '' TERM; sleep 100) & \
                  while :; do sleep 0.1; done";
    let finished = between_two_good_ones(&place, &repository, 3, script);
    let failure = failure_with_work_kept(&place, &finished);
    assert_eq!(failure["class"], "timeout");
    let took = began.elapsed();
    assert!(took > Duration::from_millis(3700), "three seconds and 700 ms of grace: {took:?}");
}

#[test]
fn a_command_that_floods_its_output_is_stopped_and_keeps_its_work() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo kept > odd.txt; exec yes 'a line that is written again and again'";
    let finished = between_two_good_ones(&place, &repository, 6, script);
    let failure = failure_with_work_kept(&place, &finished);
    assert_eq!(failure["class"], "timeout");
    let kept = place.home().output(&finished.run_name(), "odd").len();
    assert!((9_000_000..11_000_000).contains(&kept), "10 MB of output are kept: {kept}");
}

#[test]
fn a_command_that_cannot_be_found_says_so() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).exec("no-such-command-anywhere --now").run();
    let finished = finished.expect_code(5);
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "command");
    assert_eq!(failure["detail"], json!({ "type": "exit", "code": 127 }));
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("127") && message.contains("find"), "{message}");
    let said = finished.events_of("task_progress");
    let said = said.iter().any(|event| event.to_string().contains("no-such-command-anywhere"));
    assert!(said, "which one, in the shell's words: {finished}");
}

#[test]
fn a_task_that_changes_nothing_is_a_success_and_says_so() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.regatta(repository.root()).words("run").exec("true");
    let finished = run.run().expect_code(0);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(said.contains("no change"), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_task_that_must_change_something_and_does_not_breaks_its_contract() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default().task("lazy", "true").with("must_change = true");
    let finished = place.run_plan(&repository, &plan).run().expect_code(5);
    assert_eq!(finished.task("lazy")["failure"]["class"], "contract", "{finished}");
}

#[test]
fn a_commands_yield_is_the_last_line_of_its_standard_output() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("json", "echo first; echo '{\"files\": 3}'; echo last >&2")
        .task("text", "echo first; echo plain words; echo")
        .task("none", "echo only an error >&2");
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(finished.task("json")["yield"], json!({ "files": 3 }), "{finished}");
    assert_eq!(finished.task("text")["yield"], "plain words", "{finished}");
    assert_eq!(finished.task("none")["yield"], Value::Null, "{finished}");
}

#[test]
fn a_yield_against_its_schema_breaks_the_contract_at_once() {
    let place = sandbox();
    let repository = place.repository();
    let schema = "schema = { type = \"object\", required = [\"files\"] }";
    let plan = Plan::default()
        .task("bad", "echo kept > bad.txt; echo '{\"file\": 3}'")
        .with(schema)
        .task("good", "echo '{\"files\": 3}'")
        .with(schema);
    let finished = place.run_plan(&repository, &plan).run().expect_code(3);
    let failure = finished.task("bad")["failure"].clone();
    assert_eq!(failure["class"], "contract", "{finished}");
    assert!(failure["message"].as_str().unwrap().contains("files"), "{failure}");
    assert_eq!(finished.events_of("contract_reminded"), Vec::<Value>::new());
    assert_eq!(
        place.home().captured(&format!("{}/bad/1", finished.run_name()), "bad.txt"),
        "kept\n"
    );
}

#[test]
fn what_a_command_leaves_in_its_group_dies_with_its_task() {
    let place = sandbox();
    let repository = place.repository();
    let script = "(trap '' TERM HUP; sleep 1000 </dev/null >/dev/null 2>&1) & echo started";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(finished.task("t1")["outcome"], "done");
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
    let scripts = [
        "rm -rf \"$REGATTA_WORKSPACE\"".to_owned(),
        "rm -rf \"${REGATTA_WORKSPACE%/tree}\"".to_owned(),
        format!("mv \"$REGATTA_WORKSPACE\" {}; exit 3", away.display()),
    ];
    for script in scripts {
        let finished = place.run_in(&repository).exec(&script).run().expect_code(5);
        let message = finished.task("t1")["failure"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("/t1/tree is gone"), "{message}");
        assert!(!message.contains("is kept"), "{message}");
        // Nor is there anything to say about it at the next start.
        let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
        assert_eq!(listed.stderr, "", "{script}: {listed}");
        place.expect_nothing_left(&repository);
    }
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
