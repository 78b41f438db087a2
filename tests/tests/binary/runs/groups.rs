//! One run in each of several repositories.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use test_limit::{Rounds, by_depth};
use tests::fuzz::Random;
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Makes `count` repositories, each with its own text in `shared.txt`, and one of them dirty.
fn repositories(place: &Sandbox, count: usize) -> Vec<Repository> {
    let made = (0..count).map(|at| {
        let repository = Repository::init(&place.folder().join(format!("repo-{at}")));
        repository.write("shared.txt", format!("of {at}\n"));
        repository.write("README.md", "# App\n");
        repository.commit("begin");
        repository
    });
    let made: Vec<_> = made.collect();
    made[0].write("README.md", "# App\n\nedited by the user\n");
    made
}

/// Begins a run in all of them.
fn run(place: &Sandbox, repositories: &[Repository]) -> Invocation {
    let run = place.regatta(place.folder()).words("run --json");
    repositories.iter().fold(run, |run, repository| run.arg("--repo").arg(repository.root()))
}

/// Returns the name of the group that events tell of; `None` if no run has begun.
fn group_of(events: &[Value]) -> Option<String> {
    let started = events.iter().find(|event| event["type"] == "run_started")?;
    Some(started["group"].as_str().expect("it is of a group").to_owned())
}

fn events(finished: &Finished) -> Vec<Value> {
    finished.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn one_engine_works_in_several_repositories_and_each_ends_as_it_does_alone() {
    let place = sandbox();
    let all = repositories(&place, by_depth(4, 12));
    let before: Vec<_> = all.iter().map(Repository::tree).collect();
    let busy = place.folder().join("busy");
    fs::create_dir(&busy).unwrap();
    let busy = busy.display();
    // How many tasks are at it is counted in a folder outside of the workspaces.
    let counted = |script: &str| {
        format!(
            "mkdir {busy}/$$; ls {busy} | wc -l >> {busy}.seen; ({script}); code=$?; rmdir {busy}/$$; exit $code"
        )
    };
    let mut plan = Plan::default()
        .task("first", &counted("echo first > shared.txt"))
        .task("second", &counted("echo second > shared.txt"))
        .task("fails", &counted("echo x > lost.txt; exit 3"));
    for extra in 3..by_depth(4, 10) {
        plan = plan
            .task(&format!("own-{extra}"), &counted(&format!("echo {extra} > own-{extra}.txt")));
    }
    let finished = run(&place, &all).words("--plan - --jobs 3").stdin(plan.text()).run();
    let finished = finished.expect_code(3);
    let told = events(&finished);
    let group = group_of(&told).expect("runs have begun");
    let begun = told.iter().filter(|event| event["type"] == "run_started");
    let roots: BTreeSet<_> =
        begun.map(|event| event["repo"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roots.len(), all.len(), "{finished}");
    assert!(told.iter().all(|event| event["run"].is_string()), "each line names its run");
    for repository in &all {
        assert!(roots.contains(&repository.root().display().to_string()));
        assert_eq!(repository.text("shared.txt"), "first\n", "the second is in conflict");
        assert!(repository.has("own-3.txt") && !repository.has("lost.txt"));
    }
    let seen = fs::read_to_string(format!("{busy}.seen")).unwrap();
    let most = seen.lines().map(|line| line.trim().parse::<usize>().unwrap()).max();
    assert!(most <= Some(3), "three at once, and {most:?} were seen");

    let of_group = |words: &str| place.regatta(place.folder()).words(words).arg(&group).run();
    let shown = of_group("runs show").expect_code(0);
    assert!(shown.stdout.matches("conflict").count() >= all.len(), "{shown}");
    let conflicts = of_group("conflicts").expect_code(0);
    assert_eq!(conflicts.stdout.matches("== ").count(), all.len(), "{conflicts}");
    let shown_of_conflicts = conflicts.stdout;
    let diff = of_group("diff --stat").expect_code(0);
    assert_eq!(diff.stdout.matches("== ").count(), all.len(), "{diff}");
    let latest = |at: &std::path::Path, words: &str| {
        place.regatta(at).words(words).run().expect_code(0).stdout
    };
    for (at, words) in [
        (place.folder(), "diff --stat"),
        (all[0].root(), "diff --stat @"),
        (all[1].root(), "diff --stat @"),
    ] {
        assert_eq!(latest(at, words), diff.stdout, "the latest run is the group: {words}");
    }
    let one_task = latest(all[1].root(), "diff --stat @/first");
    assert_eq!(one_task.matches("== ").count(), all.len(), "{one_task}");
    let only_here = latest(all[1].root(), "diff --stat @ --repo .");
    assert!(!only_here.contains("== ") && only_here.contains("shared.txt"), "{only_here}");
    let undone = of_group("undo").expect_code(0);
    let headings = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("== ")).map(str::to_owned).collect()
    };
    let newest_first: Vec<_> = headings(&shown_of_conflicts).into_iter().rev().collect();
    assert_eq!(headings(&undone.stdout), newest_first, "{undone}");
    assert!(undone.stdout.matches("taken back").count() >= all.len(), "{undone}");
    for (repository, before) in all.iter().zip(&before) {
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
        place.expect_nothing_left(repository);
    }
}

#[test]
fn a_group_that_is_killed_keeps_what_was_done_in_each_repository() {
    let mut rounds = Rounds::new("kill_groups", 2, 20);
    for seed in rounds.by_ref() {
        let place = sandbox();
        let all = repositories(&place, 3);
        let before: Vec<_> = all.iter().map(Repository::tree).collect();
        let plan = (0..4).fold(Plan::default(), |plan, task| {
            plan.task(&format!("task-{task}"), &format!("echo done > {task}.txt"))
        });
        let mut running = run(&place, &all).words("--plan - --jobs 4").stdin(plan.text()).start();
        for _ in 0..Random::new(seed).between(1, 90) {
            if running.next_event().is_none() {
                break;
            }
        }
        let killed = running.kill();
        let told = events(&killed);
        let Some(group) = group_of(&told) else { continue };
        place.expect_no_process(std::time::Duration::from_secs(1));
        let applied = place.regatta(place.folder()).words("apply").arg(&group).run();
        assert!([0, 4].contains(&applied.code), "{applied}");
        let place_of = |run: &Value| {
            let begun = told.iter().find(|it| it["type"] == "run_started" && it["run"] == *run);
            let root = begun.expect("its run has begun")["repo"].as_str().unwrap().to_owned();
            all.iter().find(|it| it.root().display().to_string() == root).unwrap()
        };
        for event in told.iter().filter(|event| event["type"] == "task_finished") {
            let task = event["task"].as_str().unwrap().trim_start_matches("task-");
            let file = format!("{task}.txt");
            assert_eq!(place_of(&event["run"]).text(&file), "done\n", "{killed}\n{applied}");
        }
        let undone = place.regatta(place.folder()).words("undo").arg(&group).run();
        for (repository, before) in all.iter().zip(&before) {
            let left = before.differences(&repository.tree());
            assert_eq!(left, Vec::<String>::new(), "{applied}\n{undone}");
            place.expect_nothing_left(repository);
        }
    }
    rounds.done().report("R1", 1, "groups killed at a random event");
}

#[test]
fn a_repository_that_cannot_be_opened_is_told_and_the_others_are_done() {
    let place = sandbox();
    let all = repositories(&place, 2);
    let list = place.folder().join("list");
    let [first, second] = [&all[0], &all[1]].map(|it| it.root().display().to_string());
    fs::write(&list, format!("# ours\n{first}\nmissing\n{second}\n")).unwrap();
    let listed = || place.regatta(place.folder()).words("run --repos").arg(&list);
    let done = listed().exec("echo new > new.txt").run().expect_code(3);
    assert!(done.stderr.contains("no run in missing: cannot open missing"), "{done}");
    assert!(done.stdout.contains("2 of 3 repositories · 2 tasks"), "{done}");
    assert!(all.iter().all(|repository| repository.text("new.txt") == "new\n"));
    let dry = listed().words("--dry-run").exec("true").run().expect_code(3);
    assert_eq!(dry.stdout.matches("true").count(), 2, "{dry}");

    let told = listed().words("--json").exec("true").run().expect_code(3);
    let left_out: Vec<_> = events(&told);
    let left_out: Vec<_> =
        left_out.iter().filter(|event| event["type"] == "repository_left_out").collect();
    assert_eq!(left_out.len(), 1, "{told}");
    assert_eq!(left_out[0]["repo"], "missing");
    assert_eq!(left_out[0]["why"], "cannot open missing: No such file or directory", "{told}");
    assert!(left_out[0]["group"].is_string());

    all[0].write("only.go", "package only\n");
    all[0].commit("go");
    let both = place.regatta(place.folder()).words("run --repo repo-1 --repo repo-0 --each *.go");
    let done = both.exec("echo edited >> {{item}}").run().expect_code(0);
    assert!(done.stderr.contains("matches no tracked file"), "{done}");
    assert_eq!(all[0].text("only.go"), "package only\nedited\n");

    let none = place.regatta(place.folder()).words("run --repo no --repo nowhere");
    none.exec("true").run().expect_refusal(&["cannot open no"]);
    let twice = place.regatta(place.folder()).words("runs --repo repo-0 --repo repo-1").run();
    twice.expect_refusal(&["`--repo` cannot be used more than once"]);
    let same = place.regatta(place.folder()).words("run --repo repo-0 --repo repo-0/.");
    same.exec("true").run().expect_refusal(&["is named twice"]);
}

#[test]
fn a_command_settles_the_conflicts_of_each_run_of_a_group_when_all_have_ended() {
    let place = sandbox();
    let all = repositories(&place, 2);
    let plan = Plan::default()
        .task("first", "echo first > shared.txt")
        .task("second", "echo second > shared.txt");
    let resolver = r#"cat "$REGATTA_OURS" "$REGATTA_THEIRS" > "$REGATTA_RESULT""#;
    let run = run(&place, &all).words("--plan - --resolve").arg(resolver).stdin(plan.text()).run();
    let run = run.expect_code(0);
    let told = events(&run);
    let resolved = told.iter().filter(|event| event["type"] == "conflicts_resolved");
    let runs: BTreeSet<_> = resolved.map(|event| event["run"].to_string()).collect();
    assert_eq!(runs.len(), 2, "{run}");
    for repository in &all {
        assert_eq!(repository.text("shared.txt"), "first\nsecond\n");
        place.expect_nothing_left(repository);
    }
}

#[test]
fn settings_of_a_project_that_hold_for_the_engine_are_named_once_and_do_not_count_in_a_group() {
    let place = sandbox();
    let all = repositories(&place, 2);
    let settings = "edit:\n  mode: apply_patch\nretry:\n  maxRetries: 2\nlimits:\n  turns: 3\n";
    all[0].write(".regatta/config.yml", settings);
    let plan = Plan::default().task("one", "true");
    let run = run(&place, &all).words("--plan -").stdin(plan.text()).run().expect_code(0);
    let file = all[0].root().join(".regatta/config.yml");
    let warning = format!(
        "warning: {}: `edit.mode`, `retry.maxRetries` do not count in several repositories at once",
        file.display()
    );
    assert_eq!(run.stderr.matches(&warning).count(), 1, "{run}");
    assert_eq!(run.stderr.matches("do not count").count(), 1, "{run}");
}
