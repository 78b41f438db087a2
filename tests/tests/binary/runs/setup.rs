//! Set-up commands: they run in each workspace before its task, and end as the task ends.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use tests::sandbox::{Finished, Plan, Repository, Running, Sandbox, eventually};

use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns what the end of the task `t1` says about its failure.
fn failure(finished: &Finished) -> (String, String) {
    let failure = &finished.task("t1")["failure"];
    let word = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
    (word("class"), word("message"))
}

/// Starts a run whose set-up has made a file, and does not end.
fn setting_up(place: &Sandbox, repository: &Repository) -> Running {
    let ready = place.folder().join("ready");
    let setup = format!("echo x > made.txt; touch '{}'; sleep 300", ready.display());
    let run = place.run_in(repository).arg("--setup").arg(setup).exec("echo never").start();
    eventually(Duration::from_secs(60), "the set-up is at work", || ready.exists());
    fs::remove_file(&ready).expect("it is there");
    run
}

#[test]
fn each_workspace_is_set_up_before_its_task_with_the_environment_of_the_task() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", "made/\n");
    repository.commit("ignore what the set-up makes");
    let setup = "mkdir made; echo \"$REGATTA_TASK $REGATTA_ITEM $PWD\" > made/by";
    let run = place.run_in(&repository).words("--each - --setup").arg(setup).stdin("a\nb c\n");
    let script = "cat made/by made/count; test \"$(cat made/by)\" = \
                  \"$REGATTA_TASK {{item}} $REGATTA_WORKSPACE\"";
    let finished = run.words("--setup").arg("echo 2 > made/count").exec(script).run();
    let finished = finished.expect_code(0);
    assert_eq!(finished.events_of("workspace_set_up").len(), 2, "{finished}");
    let started = &finished.events_of("run_started")[0];
    assert_eq!(started["needs"]["setup"], json!([setup, "echo 2 > made/count"]));
    assert!(!repository.has("made"), "it is made in the workspaces only");
    place.expect_nothing_left(&repository);
}

#[test]
fn an_agents_workspace_is_set_up_before_its_session() {
    let place = sandbox();
    let repository = place.repository();
    let scenario = place.folder().join("scenario.toml");
    let text = "version = 1\n[[scenario]]\n[[scenario.turn]]\n\
                calls = [{ tool = 'read', arguments = { path = 'made.txt' } }]\n\
                [[scenario.turn]]\nremember = { made = 'nonce-(\\d+)' }\n\
                calls = [{ tool = 'yield', arguments = { result = { data = '{{made}}' } } }]\n";
    fs::write(&scenario, text).expect("a scenario can be written");
    let run = place.run_in(&repository).arg("--setup").arg("echo nonce-4711 > made.txt");
    let run = run.arg("--model").arg(format!("offline/{}", scenario.display()));
    let finished = run.arg("read it").run().expect_code(0);
    assert_eq!(finished.task("read-it")["yield"], json!("4711"), "{finished}");
    assert!(!repository.has("made.txt"));
}

#[test]
fn the_command_line_goes_before_the_plan_and_the_plan_before_the_settings() {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("isolation:\n  setup: echo settings > who\n");
    let of_settings = place.run_in(&repository).exec("cat who").run().expect_code(0);
    assert_eq!(of_settings.task("t1")["yield"], "settings");
    let plan = Plan::default().top("setup = ['echo plan > who']").task("t1", "cat who");
    let of_plan = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(of_plan.task("t1")["yield"], "plan");
    let run = place.run_plan(&repository, &plan).arg("--setup").arg("echo typed > who");
    assert_eq!(run.run().expect_code(0).task("t1")["yield"], "typed");
    let none = Plan::default().top("setup = []").task("t1", "test ! -e who");
    let _none = place.run_plan(&repository, &none).run().expect_code(0);
    let variable = place.run_in(&repository).env("REGATTA_ISOLATION_SETUP", "echo a >> who\nls");
    assert_eq!(variable.exec("cat who").run().expect_code(0).task("t1")["yield"], "a");
}

#[test]
fn a_setup_that_fails_is_the_failure_of_its_task_and_nothing_of_it_is_captured() {
    let place = sandbox();
    let repository = place.repository();
    let setup = "echo x > made.txt; echo y >> src/run.rs; echo said; exit 3";
    let plan = Plan::default().task("t1", "echo never").task("t2", "echo never").after(&["t1"]);
    let run = place.run_plan(&repository, &plan).arg("--setup").arg("true");
    let finished = run.arg("--setup").arg(setup).arg("--setup").arg("touch third").run();
    let finished = finished.expect_code(5);
    let (class, message) = failure(&finished);
    assert_eq!(class, "command");
    assert!(message.starts_with("set-up `echo x > made.txt; "), "{message}");
    assert!(message.contains("code 3") && !message.contains('\n'), "{message}");
    assert_eq!(finished.task("t1")["failure"]["detail"]["code"], 3);
    assert_eq!(finished.task("t2")["failure"]["class"], "dependency");
    assert_eq!(finished.task("t1")["changes"]["files"], 0, "{finished}");
    place.expect_nothing_left(&repository);

    let log = regatta(&place, &repository, "logs").expect_code(0).stdout;
    assert!(log.contains("\nset-up · ") && log.contains("\nsaid\n"), "{log}");
    assert!(log.contains("t1 has no log: it ended in its set-up\n"), "{log}");
    assert!(!log.contains("touch third"), "{log}");
}

#[test]
fn logs_shows_the_output_and_the_time_of_the_setup_apart() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).arg("--setup").arg("echo out; echo err >&2");
    let finished = run.exec("echo work").run().expect_code(0);
    let took = finished.events_of("workspace_set_up")[0]["ms"].as_u64();
    assert_eq!(finished.task("t1")["setup_ms"].as_u64(), took);
    assert!(took <= finished.task("t1")["ms"].as_u64(), "it is a part of the task's time");
    let text = regatta(&place, &repository, "logs").expect_code(0).stdout;
    let (setup, work) = text.split_once("$ echo work").expect("the work comes after the set-up");
    assert!(setup.starts_with("t1 · no change\nset-up · "), "{text}");
    assert!(setup.contains("out\n") && setup.contains("err\n") && !setup.contains("\nwork\n"));
    assert!(work.contains("work\n") && !work.contains("out\n"), "{text}");
    let json = regatta(&place, &repository, "logs --json").expect_code(0).json();
    let output = json[0]["setup"][0]["output"].as_str().expect("it is a text");
    assert_eq!(json[0]["setup"][0]["command"], "echo out; echo err >&2");
    assert!(output.contains("out\n") && output.contains("err\n"), "{json}");
    assert_eq!(json[0]["output"], "work\n");
}

#[test]
fn a_setup_that_hangs_is_stopped_at_the_tasks_wall_limit() {
    test_limit::waits("the set-up runs until the limit");
    let place = sandbox();
    let repository = place.repository();
    let began = Instant::now();
    let run = place.run_in(&repository).words("--limit wall=1s --setup").arg("sleep 300 & wait");
    let finished = run.exec("echo never").run().expect_code(5);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(60), &finished);
    let (class, message) = failure(&finished);
    assert_eq!(class, "timeout");
    assert!(message.starts_with("wall "), "{message}");
    assert!(message.ends_with("s of 1.0s: its set-up was stopped"), "{message}");
    place.expect_no_process(Duration::from_secs(1));
    place.expect_nothing_left(&repository);
}

#[test]
fn the_wall_limit_counts_from_the_setup_on() {
    test_limit::waits("the set-up and the task run until the limit");
    let place = sandbox();
    let repository = place.repository();
    // The set-up is over earlier, on a busy machine too.
    let wall = Duration::from_millis(1500).mul_f64(test_limit::slowdown());
    let run = place.run_in(&repository).arg("--limit").arg(format!("wall={}ms", wall.as_millis()));
    let run = run.arg("--setup").arg("timeout 0.5 tail -f /dev/null; true");
    let finished = run.exec("tail -f /dev/null").run().expect_code(5);
    let (class, message) = failure(&finished);
    assert_eq!((class.as_str(), message.contains("set-up")), ("timeout", false), "{message}");
    let task = finished.task("t1");
    let (ms, setup_ms) = (task["ms"].as_u64().unwrap(), task["setup_ms"].as_u64().unwrap());
    assert!(setup_ms >= 500, "{task}");
    // It had what the set-up had left.
    let work = Duration::from_millis(ms.saturating_sub(setup_ms));
    test_limit::took_at_most(work, wall, &task);
}

#[test]
fn of_a_setup_that_floods_its_output_beginning_and_end_are_kept() {
    let place = sandbox();
    let repository = place.repository();
    let setup = "echo first; yes | head -c 20000000; echo last";
    let run = place.run_in(&repository).words("--limit output=20KB --setup").arg(setup);
    let finished = run.exec("echo work").run().expect_code(0);
    let kept = place.home().data().join("artifacts").join(finished.run_name()).join("t1");
    let kept = fs::read(kept.join("setup-1.log")).expect("it is there");
    assert!(kept.len() < 21_000, "{} bytes are kept", kept.len());
    assert!(kept.starts_with(b"first\ny\n") && kept.ends_with(b"y\nlast\n"));
    assert_eq!(place.home().output(&finished.run_name(), "t1"), b"work\n");
}

#[test]
fn a_setup_that_removes_or_replaces_its_workspace_fails_and_what_it_writes_outside_is_left_there() {
    let place = sandbox();
    let repository = place.repository();
    let outside = place.folder().join("outside");
    fs::create_dir(&outside).expect("a folder can be made");
    fs::write(outside.join("file.txt"), "mine\n").expect("a file can be written");
    let replace = format!("rm -rf \"$PWD\"; ln -s '{}' \"$PWD\"", outside.display());
    for (setup, words) in [
        ("rm -rf \"$PWD\"", "its set-up has removed its workspace or moved it away"),
        (replace.as_str(), "after its set-up: cannot open "),
    ] {
        let run = place.run_in(&repository).arg("--setup").arg(setup);
        let finished = run.exec("echo x > x.txt").run().expect_code(5);
        let (class, message) = failure(&finished);
        assert_eq!(class, "workspace", "{message}");
        assert!(message.starts_with(words) && !message.contains("; then"), "{message}");
        place.expect_nothing_left(&repository);
    }
    let there: Vec<_> = fs::read_dir(&outside).expect("it is there").collect();
    assert_eq!(there.len(), 1, "nothing was written or removed through the link");
    assert_eq!(fs::read(outside.join("file.txt")).expect("it is there"), b"mine\n");

    let setup = "echo x > \"$REGATTA_REPO/outside.txt\"; echo y > ../beside.txt";
    let run = place.run_in(&repository).arg("--setup").arg(setup);
    let finished = run.exec("echo z > work.txt").run().expect_code(0);
    assert_eq!(finished.task("t1")["changes"]["files"], 1, "{finished}");
    assert_eq!(repository.text("outside.txt"), "x\n");
    assert_eq!(repository.text("work.txt"), "z\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_run_with_a_setup_says_what_each_workspace_gets_and_once_that_it_is_not_confined() {
    let place = sandbox();
    let repository = place.repository();
    let call = |words: &str| place.regatta(repository.root()).words("run --each -").words(words);
    let run = |words: &str| {
        let finished = call(words).stdin("a\nb\n").exec("true {{item}}").run().expect_code(0);
        format!("{}{}", finished.stdout, finished.stderr)
    };
    let note = "set-up commands are not confined: files that they write outside";
    for words in ["--setup true --setup true", "--setup true --dry-run"] {
        let said = run(words);
        assert_eq!(said.matches(note).count(), 1, "{words}: {said}");
    }
    assert!(!run("--jobs 1").contains("confined"));
    let dry = || {
        let call = place.regatta(repository.root()).words("run --dry-run --carry .env --setup");
        call.arg("npm ci").exec("true")
    };
    let text = dry().run().expect_code(0).stdout;
    assert!(text.contains("copies ignored files that match .env into each workspace"), "{text}");
    assert!(text.contains("sets up each workspace with `npm ci`"), "{text}");
    let json = dry().arg("--json").run().expect_code(0).json();
    assert_eq!(json["needs"]["setup"], json!(["npm ci"]));
    assert_eq!(json["needs"]["carry"], json!([".env"]));
    let help = place.regatta(repository.root()).words("run --help").run().expect_code(0).stdout;
    let help: Vec<_> = help.split_whitespace().collect();
    assert!(
        help.join(" ").contains("It is not confined: files that it writes elsewhere stay there")
    );
}

#[test]
fn ctrl_c_and_a_kill_end_a_setup_and_capture_nothing_of_it() {
    let place = sandbox();
    let repository = place.repository();
    let run = setting_up(&place, &repository);
    run.signal(Signal::INT);
    let finished = run.wait().expect_code(130);
    assert_eq!(finished.task("t1")["outcome"], "cancelled");
    assert_eq!(finished.task("t1")["changes"]["files"], 0, "{finished}");
    place.expect_no_process(Duration::from_secs(1));
    place.expect_nothing_left(&repository);

    let run = setting_up(&place, &repository);
    let _killed = run.kill();
    place.expect_no_process(Duration::from_secs(1));
    let shown = regatta(&place, &repository, "runs show --json").expect_code(0).json();
    assert_eq!(shown["tasks"][0]["state"], "interrupted", "{shown}");
    assert_eq!(regatta(&place, &repository, "diff").expect_code(0).stdout, "");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_setup_that_cannot_be_run_is_refused_before_anything_starts() {
    let place = sandbox();
    let repository = place.repository();
    for (words, setup, said) in [
        ("", " ", "--setup: a set-up command is empty"),
        ("", "touch {{item}}", "$REGATTA_ITEM"),
        ("--isolation none", "true", "`--setup` cannot be used with isolation `none`"),
    ] {
        let run = place.run_in(&repository).words(words).arg("--setup").arg(setup);
        run.exec("true").run().expect_refusal(&[said]);
    }
    // The settings are for runs with workspaces.
    place.home().configure("isolation:\n  setup: [exit 1]\n  carry: [.env]\n");
    let run = place.run_in(&repository).words("--isolation none").exec("true");
    let _in_place = run.run().expect_code(0);
}
