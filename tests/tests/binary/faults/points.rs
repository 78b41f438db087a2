//! Failpoints: compiled in with debug assertions, and only then.

use std::collections::BTreeSet;

use actors::Job;
use test_limit::sample;
use tests::failpoints;
use tests::sandbox::{Sandbox, skip};

use crate::binary::sandbox;

#[test]
fn a_debug_build_obeys_fault_words_and_names_one_that_is_none() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).exec("true").env("REGATTA_FAULT", "fail@capture.begin");
    let finished = run.run().expect_code(5);
    assert_eq!(finished.task("t1")["outcome"], "failed", "{finished}");
    let run = place.run_in(&repository).exec("true").env("REGATTA_FAULT", "explode@everywhere");
    run.run().expect_refusal(&["REGATTA_FAULT", "explode@everywhere"]);
}

#[test]
fn a_release_build_ignores_fault_words() {
    // CI builds the release binary for its measurements and says here where it is.
    let Ok(release) = std::env::var("REGATTA_RELEASE") else {
        return skip("a_release_build_ignores_fault_words", "REGATTA_RELEASE names no binary");
    };
    let place = Sandbox::new(&release);
    let repository = place.repository();
    for words in ["kill@capture.begin", "fail@capture.begin:*", "explode@everywhere"] {
        let run = place.run_in(&repository).exec("date +%N > x.txt").env("REGATTA_FAULT", words);
        let finished = run.run().expect_code(0);
        assert_eq!(finished.landed(), ["t1"], "{words}: {finished}");
        assert_eq!(place.home().captures().len(), place.home().ledger_tasks().len());
    }
    expect_no_failpoints(&release);
}

/// Checks that the program has neither failpoints nor what plans faults.
fn expect_no_failpoints(program: &str) {
    let jobs = Job::ALL.iter().map(|job| job.begin().to_owned());
    let mut names: BTreeSet<_> = failpoints::names().into_iter().chain(jobs).collect();
    assert!(names.len() >= 80, "{} failpoints", names.len());
    // A name without a dot is a word that a program may have.
    names.retain(|name| name.contains('.'));
    names.extend(["REGATTA_FAULT", "a fault was planned", "is not a fault"].map(str::to_owned));
    let program = std::fs::read(program).expect("the program can be read");
    let text = String::from_utf8_lossy(&program);
    let found: Vec<_> = names.iter().filter(|name| text.contains(&***name)).collect();
    assert_eq!(found, Vec::<&String>::new());
}

#[test]
fn a_run_that_cannot_have_the_lock_of_landings_does_not_begin_and_leaves_nothing_behind() {
    for words in ["", "--isolation none"] {
        let place = sandbox();
        let repository = place.repository();
        let (before, git) = (repository.tree(), repository.dot_git());
        let run = place.run_in(&repository).words(words).exec("echo x > x.txt");
        let refused = run.fault("fail@landing.lock").run();
        let lock = format!("cannot lock {} for landing", repository.path(".git").display());
        refused.expect_refusal(&[&lock, "a fault was planned here"]);
        assert_eq!(refused.stderr.lines().count(), 2, "{refused}");
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "{refused}");
        assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new(), "{refused}");
        assert_eq!(place.home().stores(), Vec::<std::path::PathBuf>::new(), "{refused}");
        place.expect_nothing_left(&repository);
        let listed = place.regatta(repository.root()).words("runs --json").run().expect_code(0);
        assert_eq!((listed.json(), &*listed.stderr), (serde_json::json!([]), ""), "{refused}");
        let run = place.run_in(&repository).words(words).exec("echo x > x.txt");
        assert_eq!(run.run().expect_code(0).names_in("task_finished"), ["t1"]);
    }
}

#[test]
fn a_ledger_that_fails_at_any_write_costs_nobody_their_work() {
    for write in sample(1..=12, 3) {
        let place = sandbox();
        let repository = place.repository();
        let run = place.run_in(&repository).words("--jobs 2 --each -").stdin("1\n2\n3\n");
        let run = run.exec("echo x > x-{{item}}.txt").fault(&format!("fail@ledger.append:{write}"));
        let finished = run.run();
        assert!(matches!(finished.code, 0 | 1 | 70), "write {write}: {finished}");
        let _next = place.regatta(repository.root()).words("runs").run().expect_code(0);
        let landed = (1..=3).filter(|item| repository.has(format!("x-{item}.txt"))).count();
        assert!(landed == 0 || landed == 3, "write {write}: {landed} landed of {finished}");
        for event in finished.stdout.lines().filter(|line| line.contains("\"task_captured\"")) {
            let event: serde_json::Value = serde_json::from_str(event).unwrap();
            let capture = event["capture"].as_str().unwrap().trim_start_matches("refs/tasks/");
            assert!(place.home().captures().iter().any(|kept| kept == capture), "{capture}");
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_pillar_that_falls_ends_the_engine_with_70_and_says_so() {
    let place = sandbox();
    let repository = place.repository();
    let before = repository.tree();
    let run = place.run_in(&repository).words("--jobs 2 --each -").stdin("1\n2\n3\n4\n5\n6\n");
    let run = run.exec("echo x > x-{{item}}.txt").fault("fail@ledger.append:6");
    let finished = run.run().expect_code(70);
    assert!(finished.stderr.contains("error: "), "{finished}");
    assert!(finished.stderr.contains("ledger"), "{finished}");
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "nothing lands");
    let _next = place.regatta(repository.root()).words("runs").run().expect_code(0);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_full_disk_of_the_ledger_is_a_matter_of_resources_and_told_once_and_what_is_done_is_kept() {
    // Each task of one job has two entries, and others if it has changes. The end of the first one is lost,
    // and then that of the second.
    for (write, code, done) in [(1, 5, 0), (4, 5, 0), (9, 3, 1)] {
        let place = sandbox();
        let repository = place.repository();
        let before = repository.tree();
        let run = place.run_in(&repository).words("--jobs 1 --each -").stdin("1\n2\n3\n");
        let run = run.exec("echo x > x-{{item}}.txt");
        let full = run.fault(&format!("full@ledger.append:{write}")).run().expect_code(code);
        let end = &full.events_of("run_finished")[0];
        assert_eq!((&end["exit_code"], &end["done"]), (&code.into(), &done.into()), "{full}");
        let last = full.task("3");
        assert_eq!(last["failure"]["class"], "resources", "{last}");
        assert_eq!(full.stderr.matches("no storage space").count(), 1, "{full}");
        let said = format!("error: cannot write the ledger at {}", place.home().data().display());
        assert!(full.stderr.contains(&said), "{full}");
        assert!(full.stderr.contains("try: make room"), "{full}");
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "{full}");
        let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
        // The tasks that were at work when the ledger was full may have one, too.
        let captures = place.home().captures().len();
        assert!((done..=done + 2).contains(&captures), "{captures}: {listed}");
        place.expect_nothing_left(&repository);
        // The next start has recorded the end as it was told.
        let run = full.run_name();
        let words = format!("runs show {run}");
        let shown = place.regatta(repository.root()).words(&words).run().expect_code(0);
        assert!(shown.stdout.contains(&format!("finished · exit {code}")), "{shown}");
        assert!(shown.stdout.contains("no storage space"), "{shown}");
        assert!(shown.stdout.contains("failed: resources"), "{shown}");
        assert!(shown.stdout.contains(&format!("{} failed", 3 - done)), "{shown}");
        assert!(!shown.stdout.contains("interrupted"), "{shown}");
    }
}

#[test]
fn a_panic_at_any_step_ends_in_a_report_and_never_in_a_wait() {
    let points = [
        ("prepare.copy", 3, 2),
        ("capture.begin", 3, 2),
        ("capture.discard", 0, 3),
        ("landing.begin", 4, 0),
        ("session", 3, 2),
        ("ledger.append:5", 70, 0),
        // Jobs of actors: tests/tests/jobs.rs has each of them.
        ("job.runs.open", 70, 0),
        ("job.run.land", 4, 0),
        ("job.task.work", 3, 2),
        ("job.task.capture", 3, 2),
        ("job.workspace.prepare.end", 3, 2),
        ("job.workspace.capture.end", 3, 2),
        ("job.executor.run", 3, 2),
        ("job.repository.close", 0, 3),
        ("job.ledger.append:5", 70, 0),
    ];
    for (point, code, landed) in sample(points, 4) {
        let place = sandbox();
        let repository = place.repository();
        let run = place.run_in(&repository).words("--jobs 1 --each -").stdin("1\n2\n3\n");
        let run = run.exec("echo x > x-{{item}}.txt").fault(&format!("crash@{point}"));
        let finished = run.run().expect_code(code);
        let there = (1..=3).filter(|item| repository.has(format!("x-{item}.txt"))).count();
        assert_eq!(there, landed, "{point}: {finished}");
        assert_eq!(finished.landed().len(), landed, "{point}: {finished}");
        let _next = place.regatta(repository.root()).words("runs").run().expect_code(0);
        place.expect_nothing_left(&repository);
    }
}
