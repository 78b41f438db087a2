//! `--land eager`: each task lands as it ends.

use std::time::Duration;

use test_limit::{by_depth, sample};
use tests::sandbox::{Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// A script that goes on when the file of the user's tree or the branch has what it waits for.
fn until(what: &str) -> String {
    format!("until {what}; do sleep 0.02; done")
}

fn fingerprint(repository: &Repository, branch: Option<&str>) -> String {
    match branch {
        Some(branch) => repository.git(&["rev-parse", &format!("{branch}^{{tree}}")]),
        None => repository.tree_id(),
    }
}

#[test]
fn a_task_lands_while_others_still_work_in_every_mode() {
    for merge in ["--merge patch", "--merge branch", "--merge stack", "--onto main", "--onto side"]
    {
        let place = sandbox();
        let repository = place.repository();
        repository.git(&["branch", "side"]);
        let there = match merge {
            "--merge patch" | "--onto main" => "test -e \"$REGATTA_REPO/first.txt\"",
            "--merge branch" => {
                "git -C \"$REGATTA_REPO\" show regatta/$REGATTA_RUN/first:first.txt 2>/dev/null"
            }
            "--merge stack" => {
                "git -C \"$REGATTA_REPO\" show regatta/$REGATTA_RUN:first.txt 2>/dev/null"
            }
            _ => "git -C \"$REGATTA_REPO\" show side:first.txt 2>/dev/null",
        };
        let plan = Plan::default()
            .top("jobs = 3")
            .task("second", &format!("{}; echo second > second.txt", until(there)))
            .task("first", "echo first > first.txt")
            .task("third", "cat first.txt; echo third >> first.txt")
            .after(&["first"]);
        let run = place.run_plan(&repository, &plan).words(merge).words("--land eager");
        let finished = run.run().expect_code(0);
        assert_eq!(finished.landed(), ["first", "second", "third"], "{merge}: {finished}");
        assert_eq!(finished.events_of("run_started")[0]["land"], "eager");
        let types: Vec<_> = finished.events().iter().map(|event| event["type"].clone()).collect();
        let at = |kind: &str| types.iter().position(|found| found == kind).unwrap();
        let last_end = types.iter().rposition(|found| found == "task_finished").unwrap();
        assert!(at("task_landed") < last_end, "{merge}: {finished}");
        let name = finished.run_name();
        let third = match merge {
            "--merge patch" | "--onto main" => repository.text("first.txt"),
            "--merge branch" => {
                let parent = repository.git(&["rev-parse", &format!("regatta/{name}/third~")]);
                let first = repository.git(&["rev-parse", &format!("regatta/{name}/first")]);
                assert_eq!(parent, first, "{finished}");
                repository.git(&["show", &format!("regatta/{name}/third:first.txt")])
            }
            "--merge stack" => repository.git(&["show", &format!("regatta/{name}:first.txt")]),
            _ => repository.git(&["show", "side:first.txt"]),
        };
        assert_eq!(third, "first\nthird\n", "{merge}: {finished}");
        let told = finished.events_of("degraded");
        assert!(!told.iter().any(|it| it.to_string().contains("HEAD")), "{merge}: {finished}");
        assert_eq!(repository.faults(), "");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn changes_that_do_not_meet_give_the_same_result_as_at_the_end() {
    for merge in ["patch", "stack"] {
        let made = ["end", "eager"].map(|land| {
            let place = sandbox();
            let repository = place.repository();
            let repository = if merge == "patch" { repository.watched() } else { repository };
            repository.write("list.txt", (0..90).map(|it| format!("{it}\n")).collect::<String>());
            repository.commit("list");
            let tasks = by_depth(4, 8);
            let plan = (0..tasks).fold(Plan::default(), |plan, task| {
                let script = format!(
                    "sed -i 's/^{0}$/task {task}/' list.txt; echo {task} > {task}.txt",
                    task * 10 + 5
                );
                plan.task(&format!("t{task}"), &script)
            });
            let run =
                place.run_plan(&repository, &plan).words(&format!("--merge {merge} --land {land}"));
            let finished = run.run().expect_code(0);
            assert_eq!(finished.landed().len(), tasks, "{finished}");
            let branch = format!("regatta/{}", finished.run_name());
            fingerprint(&repository, (merge == "stack").then_some(branch.as_str()))
        });
        assert_eq!(made[0], made[1], "{merge}");
    }
}

#[test]
fn a_task_that_conflicts_is_told_once_and_those_that_build_on_it_are_kept() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("colour.txt", "white\n");
    repository.commit("colour");
    let there = until("test \"$(cat \"$REGATTA_REPO/colour.txt\")\" = red");
    let plan = Plan::default()
        .top("jobs = 4")
        .task("red", "echo red > colour.txt")
        .task("blue", &format!("{there}; echo blue > colour.txt"))
        .task("on-blue", "echo more > more.txt")
        .after(&["blue"])
        .task("on-red", "grep -q red colour.txt; echo x > x.txt")
        .after(&["red"]);
    let run = place.run_plan(&repository, &plan).words("--land eager");
    let finished = run.run().expect_code(4);
    assert_eq!(finished.landed(), ["on-red", "red"], "{finished}");
    assert_eq!(finished.names_in("task_conflicted"), ["blue"], "{finished}");
    assert_eq!(finished.names_in("task_kept"), ["on-blue"], "{finished}");
    assert_eq!(repository.text("colour.txt"), "red\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_conflict_with_what_landed_before_names_its_task_in_every_mode_also_beside_a_dirty_file() {
    for merge in ["--merge patch", "--merge stack", "--onto main", "--onto side"] {
        let place = sandbox();
        let repository = place.repository();
        repository.write("colour.txt", "white\n");
        repository.write("dirty.txt", "one\n");
        repository.commit("files");
        repository.git(&["branch", "side"]);
        if merge == "--merge stack" {
            // A file with a change that is not committed makes no other conflict of it.
            repository.write("dirty.txt", "one\nnot committed\n");
        }
        let shown = match merge {
            "--merge patch" | "--onto main" => "cat \"$REGATTA_REPO/colour.txt\"",
            "--merge stack" => "git -C \"$REGATTA_REPO\" show regatta/$REGATTA_RUN:colour.txt",
            _ => "git -C \"$REGATTA_REPO\" show side:colour.txt",
        };
        let there = until(&format!("test \"$({shown} 2>/dev/null)\" = red"));
        let plan = Plan::default()
            .top("jobs = 4")
            .task("red", "echo red > colour.txt; echo red > new.txt; mkdir x; echo red > x/1")
            .task(
                "blue",
                &format!("{there}; echo blue > colour.txt; echo blue > new.txt; echo x > x"),
            );
        let run = place.run_plan(&repository, &plan).words(merge).words("--land eager");
        let finished = run.run().expect_code(4);
        let check = |conflicts: &serde_json::Value, at: &str| {
            let told: Vec<_> = conflicts.as_array().into_iter().flatten().collect();
            let reasons: Vec<_> = told.iter().map(|conflict| &conflict["reason"]).collect();
            assert_eq!(
                reasons,
                ["content", "both_added", "in_the_way"],
                "{merge} {at}: {finished}"
            );
            let with: Vec<_> = told.iter().map(|conflict| &conflict["with"]).collect();
            assert_eq!(with, ["red"; 3], "{merge} {at}: {finished}");
        };
        check(&finished.events_of("task_conflicted")[0]["conflicts"], "in the run");
        let listed = place.regatta(repository.root()).words("conflicts --json").run();
        check(&listed.expect_code(0).json()["conflicts"], "later");
        let dry = place.regatta(repository.root()).words("apply --dry-run").run().expect_code(4);
        assert!(dry.stdout.contains("with red"), "{merge}: {dry}");
        assert!(!dry.stdout.contains("an edit in your tree"), "{merge}: {dry}");
        if merge == "--merge patch" {
            repository.write("colour.txt", "green\n");
            let dry = place.regatta(repository.root()).words("apply --dry-run").run();
            let edited = "colour.txt, with an edit in your tree";
            assert!(dry.stdout.contains(edited), "{dry}");
        }
        if merge == "--merge stack" {
            assert_eq!(repository.text("dirty.txt"), "one\nnot committed\n", "{finished}");
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_run_that_is_stopped_keeps_what_has_landed_and_lands_nothing_more() {
    let place = sandbox();
    let repository = place.repository().watched();
    let plan = Plan::default()
        .task("first", "echo first > first.txt")
        .task("second", "echo second > second.txt; sleep 600");
    let run = place.run_plan(&repository, &plan).words("--land eager");
    let mut running = run.start();
    let _landed = running.until("task_landed");
    running.interrupt("stopping: ");
    let finished = running.wait().expect_code(130);
    assert_eq!(repository.text("first.txt"), "first\n", "{finished}");
    assert!(!repository.has("second.txt"), "{finished}");
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    assert!(shown.stdout.contains("landed  the work of 1 task"), "{shown}");
    place.expect_nothing_left(&repository);
}

/// Kills a run at a point, and returns whether it was.
fn killed(place: &Sandbox, repository: &Repository, merge: &str, point: &str, time: u32) -> bool {
    let plan = Plan::default()
        .top("jobs = 1")
        .task("a", "echo a > list.txt")
        .task("b", "echo b >> list.txt")
        .after(&["a"])
        .task("c", "echo c > c.txt");
    let run = place.run_plan(repository, &plan).words(&format!("{merge} --land eager"));
    let finished = run.fault(&format!("kill@{point}:{time}")).run();
    finished.code != 0
}

/// Checks what is known of a killed run and that the rest of its work can be applied.
fn expect_known(place: &Sandbox, repository: &Repository, merge: &str, context: &str) {
    let shell = place.regatta(repository.root());
    let runs = shell.words("runs --json").run().expect_code(0).json();
    let run = runs[0]["name"].as_str().expect("there is a run").to_owned();
    // Tasks that had not ended were never done; what they left is named to land.
    for task in ["a", "b", "c"] {
        let words = format!("apply {run}/{task}");
        let _applied = place.regatta(repository.root()).words(&words).run();
    }
    let file = |path: &str| match merge {
        "--merge stack" => {
            let object = format!("regatta/{run}:{path}");
            let shown = repository.try_git(&["show", &object]).stdout;
            String::from_utf8(shown).expect("it is a text")
        }
        _ if repository.has(path) => repository.text(path),
        _ => String::new(),
    };
    let (list, c) = (file("list.txt"), file("c.txt"));
    assert!(["a\n", "a\nb\n"].contains(&list.as_str()), "{context}: {list:?}");
    assert!(["", "c\n"].contains(&c.as_str()), "{context}: {c:?}");
    // What was killed before it had changed anything is an empty capture.
    let home = place.home();
    let is_work = |capture: &String| {
        !home.store_git(&["ls-tree", &format!("refs/tasks/{capture}")]).is_empty()
    };
    let captures = home.captures().iter().filter(|it| is_work(it)).count();
    let landed = 1 + usize::from(list.contains('b')) + usize::from(!c.is_empty());
    assert_eq!(captures, landed, "{context}");
    if merge != "--merge patch" {
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "{context}");
    }
    assert_eq!(repository.faults(), "", "{context}");
    place.expect_nothing_left(repository);
}

#[test]
fn what_had_landed_when_the_engine_was_killed_is_known_and_the_rest_can_be_applied() {
    let points =
        [("landing.begin", 3), ("landing.ref", 6), ("landing.record", 12), ("landing.exchange", 3)];
    for (row, merge) in ["--merge patch", "--merge stack", "--onto main"].into_iter().enumerate() {
        for (column, (point, times)) in points.into_iter().enumerate() {
            // In quick depth each point with one way to land, of those that come past it.
            if !by_depth((row + column) % 3 == 0, true) {
                continue;
            }
            for time in sample((1..=times).step_by(2), 1) {
                let place = sandbox();
                let repository = place.repository();
                if killed(&place, &repository, merge, point, time) {
                    expect_known(&place, &repository, merge, &format!("{merge} {point}:{time}"));
                }
            }
        }
    }
}

#[test]
fn two_runs_that_land_eagerly_into_one_repository_lose_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let plan = |name: &str| {
        (0..6).fold(Plan::default(), |plan, task| {
            plan.task(&format!("t{task}"), &format!("echo {task} > {name}-{task}.txt"))
        })
    };
    let start = |name: &str| {
        place.run_plan(&repository, &plan(name)).words("--onto main --land eager").start()
    };
    let (one, two) = (start("one"), start("two"));
    let (one, two) = (one.wait().expect_code(0), two.wait().expect_code(0));
    assert_eq!((one.landed().len(), two.landed().len()), (6, 6), "{one} {two}");
    eventually(Duration::from_secs(30), "both are over", || !repository.has(".git/index.lock"));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(repository.git(&["log", "--format=%s"]).lines().count(), 13);
    place.expect_nothing_left(&repository);
}
