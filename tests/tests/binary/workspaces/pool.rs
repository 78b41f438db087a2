//! The copies of a run serve one task after the other.

use std::collections::BTreeSet;
use std::io::Write as _;

use serde_json::json;
use tests::model::{Answer, Asked, Call, LoopbackModel, marker};
use tests::sandbox::Plan;

use crate::binary::agents::work::run_with;
use crate::binary::sandbox;

/// What a task does to be told from others by its copy.
const WHICH_COPY: &str = "stat -c %i .";

#[test]
fn a_run_makes_at_most_one_copy_more_than_tasks_run_at_once_and_each_task_has_its_own_place() {
    let place = sandbox();
    let repository = place.repository();
    let script =
        "test ! -e ignored.log && test ! -e new.txt && test -z \"$(git status --porcelain)\" \
                  && test \"$(basename \"$(dirname \"$PWD\")\")\" = \"$REGATTA_TASK\" || exit 9
                  echo x > ignored.log; echo x > new.txt; rm README.md; git add -A; git commit -qm x
                  rm new.txt; git checkout -q HEAD~1 README.md";
    let plan = (0..12).fold(Plan::default(), |plan, task| {
        plan.task(&format!("t{task}"), &format!("{script}; {WHICH_COPY}"))
    });
    let run = place.run_plan(&repository, &plan).words("--jobs 2");
    let finished = run.run().expect_code(0);
    let copies: BTreeSet<_> =
        (0..12).map(|task| finished.task(&format!("t{task}"))["yield"].to_string()).collect();
    assert!(copies.len() <= 3, "{copies:?}: {finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn copies_for_tasks_that_begin_later_are_made_while_others_work() {
    // A copy that cannot be used is thrown away, which may happen once, and says why in the log.
    let is_right = |_| copies_are_made_for_later_tasks();
    assert!((0..3).any(is_right), "in none of three runs");
}

/// Returns whether the first task of a run finds the copies of the others, and these get them.
fn copies_are_made_for_later_tasks() -> bool {
    let place = sandbox();
    let repository = place.repository();
    // One of three copies is that of the first task.
    let wait = "n=0; while ! test -e ../../.pool-1 && [ $n -lt 1000 ]; do sleep 0.01; n=$((n + 1)); done; \
                echo \"[$(stat -c %i . ../../.pool-*/tree | paste -sd,)]\"";
    let first = Plan::default().top("jobs = 3").task("first", wait);
    let plan = (0..6)
        .fold(first, |plan, task| plan.task(&format!("t{task}"), WHICH_COPY).after(&["first"]));
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let made = finished.task("first")["yield"].as_array().expect("three numbers").clone();
    if made.len() != 3 {
        let run = finished.run_name();
        let log = place.home().log(&run);
        let _unread = writeln!(std::io::stderr(), "{} copies were made: {log}", made.len());
        return false;
    }
    for task in 0..3 {
        let used = &finished.task(&format!("t{task}"))["yield"];
        assert!(made.contains(used), "{used}: {finished}");
    }
    place.expect_nothing_left(&repository);
    true
}

#[test]
fn a_run_that_ends_or_is_killed_while_copies_are_made_ahead_leaves_nothing() {
    let faults = [
        ("fail@prepare.copy:30", "false", 5),
        ("slow@prepare.copy:*", "false", 5),
        ("kill@prepare.copy:30", "sleep 60", 128 + 9),
    ];
    for (fault, script, code) in faults {
        let place = sandbox();
        let repository = place.repository();
        for folder in 0..20 {
            repository.write(format!("{folder}/file.txt"), "x\n");
        }
        repository.commit("folders");
        let first = Plan::default().top("jobs = 8").task("first", script);
        let plan = (0..8)
            .fold(first, |plan, task| plan.task(&format!("t{task}"), "true").after(&["first"]));
        let _ended = place.run_plan(&repository, &plan).fault(fault).run().expect_code(code);
        let _started = place.regatta(repository.root()).words("runs").run().expect_code(0);
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_copy_that_cannot_be_restored_is_removed_and_a_new_one_is_made() {
    let place = sandbox();
    let repository = place.repository();
    let plan = (0..6).fold(Plan::default(), |plan, task| {
        plan.task(&format!("t{task}"), &format!("echo {task} > {task}.txt; ls ?.txt | wc -l"))
    });
    let run = place.run_plan(&repository, &plan).words("--jobs 1").fault("fail@pool.restore:2");
    let finished = run.run().expect_code(0);
    for task in 0..6 {
        assert_eq!(finished.task(&format!("t{task}"))["yield"], 1, "{finished}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn a_change_of_a_carried_file_during_a_run_reaches_no_task() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", "deps/\n");
    repository.commit("ignore");
    repository.write("deps/lib", "as it was\n");
    repository.write("deps/gone", "as it was\n");
    let change = "cd \"$REGATTA_REPO\"/deps; echo later > lib; rm gone; echo later > new";
    let look = "grep -q 'as it was' deps/lib && test -e deps/gone && test ! -e deps/new \
                && echo mine > deps/lib && rm deps/gone && touch deps/mine";
    let plan =
        ["first", "second", "third"].iter().fold(Plan::default().top("jobs = 1"), |plan, it| {
            let look = format!("set -e; test ! -e deps/mine; {look}");
            plan.task(it, &if *it == "second" { format!("{look}; {change}") } else { look })
        });
    for fault in [None, Some("fail@pool.restore:*")] {
        repository.write("deps/lib", "as it was\n");
        repository.write("deps/gone", "as it was\n");
        let _old = std::fs::remove_file(repository.path("deps/new"));
        let run = place.run_plan(&repository, &plan).words("--carry deps/");
        let run = fault.iter().fold(run, |run, fault| run.fault(fault));
        let _finished = run.run().expect_code(0);
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn agents_that_only_write_and_agents_that_run_commands_find_every_copy_as_new() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", "*.log\n");
    repository.write("shared/list.txt", "as it was\n");
    repository.commit("begin");
    let model = LoopbackModel::start();
    let mut plan = Plan::default();
    for task in 0..12 {
        let name = format!("t{task}");
        let own = format!("work/{task}.txt");
        let look =
            "test -z \"$(git status --porcelain)\" && test ! -e x.log && cat shared/list.txt";
        let script = move |asked: &Asked| match asked.answers() {
            0 if task % 3 == 2 => Answer::call("bash", &json!({ "command": look })),
            0 => Answer::call("read", &json!({ "path": "shared/list.txt" })),
            1 => {
                assert!(asked.result().contains("as it was"), "{}", asked.result());
                let write = |path: &str, text: &str| {
                    Call::new("write", &json!({ "path": path, "content": text }))
                };
                let new = format!("shared/deep/{task}/x.txt");
                let calls = [(own.as_str(), "own\n"), (&new, "new\n"), ("x.log", "ignored\n")];
                Answer::calls(calls.map(|(path, text)| write(path, text)).to_vec())
            }
            _ => Answer::yields(&json!("done")),
        };
        model.talk(&name, script);
        plan = plan.agent(&name, &format!("Do it. {}", marker(&name)));
    }
    let run = run_with(&place, &repository, &plan, &model).words("--jobs 2");
    let finished = run.run().expect_code(0);
    assert_eq!(finished.landed().len(), 12, "{finished}");
    for task in 0..12 {
        assert_eq!(repository.text(format!("work/{task}.txt")), "own\n", "{finished}");
        assert_eq!(repository.text(format!("shared/deep/{task}/x.txt")), "new\n", "{finished}");
    }
    assert!(!repository.has("x.log"), "{finished}");
    assert_eq!(model.take_violations(), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

#[test]
fn a_file_that_a_task_replaces_in_a_copy_that_nobody_uses_reaches_no_other_task() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("d/f", "as it was\n");
    repository.commit("begin");
    let evil = "while ! test -e ../../.pool-0; do sleep 0.01; done; \
                sed -i 's/.*/evil/' ../../.pool-0/tree/d/f";
    let look = "cat d/f; git status --porcelain";
    let plan = Plan::default()
        .top("jobs = 2")
        .task("a", "true")
        .task("b", evil)
        .task("c1", look)
        .after(&["b"])
        .task("c2", look)
        .after(&["b"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    for task in ["c1", "c2"] {
        assert_eq!(finished.task(task)["yield"], "as it was", "{finished}");
    }
    assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
    assert_eq!(repository.text("d/f"), "as it was\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_program_ends_before_the_copies_of_its_run_are_removed_and_the_next_start_or_gc_removes_them() {
    test_limit::waits("a program waits a while for what goes on in the background");
    for gc in [false, true] {
        let place = sandbox();
        let repository = place.repository();
        let plan = (0..4).fold(Plan::default(), |plan, task| {
            plan.task(&format!("t{task}"), &format!("echo {task} > {task}.txt"))
        });
        // The gate stays closed.
        let gate = place.folder().join("gate");
        let run = place.run_plan(&repository, &plan).words("--jobs 2");
        let finished = run.wait_at("removal.begin", &gate).run().expect_code(0);
        assert_eq!(finished.landed().len(), 4, "{finished}");
        assert!(gate.exists(), "the removal has begun: {finished}");
        let left = place.home().workspaces();
        assert!(!left.is_empty(), "{finished}");
        let is_given_up =
            |path: &String| path.split('/').nth(1).is_some_and(|run| run.starts_with(".gone-"));
        assert!(left.iter().all(is_given_up), "{left:?}");
        if gc {
            let _cleared = place.regatta(repository.root()).words("gc").run().expect_code(0);
        } else {
            let start = || place.regatta(repository.root()).words("runs").run().expect_code(0);
            // A start does not wait for the removal, and may end before it.
            let gone = (0..20).any(|_| {
                let started = start();
                assert!(!started.stdout.contains("interrupted"), "{started}");
                place.home().workspaces().is_empty()
            });
            assert!(gone, "{:?}", place.home().workspaces());
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn the_environment_of_a_task_is_the_same_in_the_files_of_another_as_in_new_ones() {
    let begin = "git config user.name Eve; export LEFT=behind; cd ..; echo x > left.log";
    let look = "env | LC_ALL=C sort > environment.txt; git config --list >> environment.txt";
    let seen = [None, Some("fail@pool.restore:*")].map(|fault| {
        let place = sandbox();
        let repository = place.repository();
        let plan = Plan::default()
            .task("first", &format!("{WHICH_COPY}; {begin}"))
            .task("second", &format!("{look}; {WHICH_COPY}"))
            .after(&["first"]);
        let plan = plan.task("third", WHICH_COPY).after(&["second"]);
        let run = place.run_plan(&repository, &plan).words("--jobs 1");
        let run = fault.iter().fold(run, |run, fault| run.fault(fault));
        let finished = run.run().expect_code(0);
        let copies = ["second", "third"].map(|task| finished.task(task)["yield"].to_string());
        assert_eq!(copies[0] == copies[1], fault.is_none(), "{finished}");
        place.expect_nothing_left(&repository);
        let text = repository.text("environment.txt");
        assert!(text.contains("REGATTA_TASK=second"), "{text}");
        let workspaces = text.split("/workspaces/").nth(1).expect("the tree is a workspace");
        let (of_repository, _) = workspaces.split_once('/').expect("it is in a folder");
        let own = [
            (finished.run_name(), "RUN"),
            (place.folder().display().to_string(), "PLACE"),
            (of_repository.to_owned(), "REPOSITORY"),
        ];
        // By the first the sandbox finds its processes, and each task has its own second.
        let own_lines = ["REGATTA_TEST_MARK=", "TMPDIR="];
        let is_own = |line: &&str| own_lines.iter().any(|begin| line.starts_with(begin));
        let text = text.lines().filter(|line| !is_own(line));
        let text = text.collect::<Vec<_>>().join("\n");
        own.iter().fold(text, |text, (name, word)| text.replace(name.as_str(), word))
    });
    assert_eq!(seen[0], seen[1]);
}
