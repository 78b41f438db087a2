//! The engine is killed with SIGKILL, anywhere.

use std::time::Duration;

use serde_json::Value;
use test_limit::{Rounds, by_depth, sample};
use tests::fuzz::Random;
use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// How many tasks the run has that is killed.
const TASKS: usize = 16;

/// What happens to the engine.
#[derive(Clone, Copy, Debug)]
enum Death<'words> {
    /// It kills itself at a fault point.
    At(&'words str),
    /// It is killed when it has told this many events.
    After(usize),
}

fn file(task: usize) -> String {
    format!("work/{task}.txt")
}

/// Each task changes a file of its own and has a child that ignores everything but SIGKILL.
fn plan() -> Plan {
    (0..TASKS).fold(Plan::default(), |plan, task| {
        let script = format!(
            "echo done >> {}; up=$( (trap '' TERM HUP INT; exec >/dev/null 2>&1; sleep 300) & )",
            file(task)
        );
        plan.task(&format!("task-{task}"), &script)
    })
}

fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    for task in 0..TASKS {
        repository.write(file(task), format!("{task}\n"));
    }
    repository.commit("something to work on");
    repository.make_dirty();
    repository
}

/// Runs the plan until `death`, and returns the events that the engine told before it.
fn until_death(place: &Sandbox, repository: &Repository, death: Death<'_>) -> Vec<Value> {
    let run = place.run_plan(repository, &plan()).words("--jobs 4");
    let finished = match death {
        Death::At(point) => run.fault(&format!("kill@{point}")).run(),
        Death::After(events) => {
            let mut running = run.start();
            for _ in 0..events {
                if running.next_event().is_none_or(|event| event["type"] == "run_finished") {
                    break;
                }
            }
            running.kill()
        }
    };
    // One that ended before it could be killed has nothing to be recovered from, and must be fine.
    let killed = finished.code == 128 + 9;
    assert!(killed || matches!(death, Death::After(_)), "{death:?} must strike: {finished}");
    place.expect_no_process(Duration::from_secs(1));
    let whole = finished.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns how many tasks' lines are in the user's tree.
fn landed(repository: &Repository) -> usize {
    let lands = |task: &usize| match repository.text(file(*task)) {
        text if text == format!("{task}\ndone\n") => true,
        text if text == format!("{task}\n") => false,
        text => panic!("{} is neither old nor new: {text:?}", file(*task)),
    };
    (0..TASKS).filter(lands).count()
}

/// Kills the engine, starts another command, and checks everything that must hold then.
fn survives(death: Death<'_>) {
    let place = sandbox();
    let repository = repository(&place);
    let dirt = repository.dirt();
    let told = until_death(&place, &repository, death);
    // The user goes on meanwhile, somewhere else.
    repository.write("mine/meanwhile.txt", "written after the death\n");
    repository.write("README.md", "# App\n\nedited after the death\n");

    let started = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let count = landed(&repository);
    assert!(count == 0 || count == TASKS, "{death:?}: {count} landed, neither all nor none");
    std::fs::remove_file(repository.path("mine/meanwhile.txt")).expect("it is still there");
    assert_eq!(repository.text("README.md"), "# App\n\nedited after the death\n");
    assert_eq!(dirt, repository.dirt(), "{death:?}: the user's work");
    assert_eq!(repository.faults(), "", "{death:?}");
    assert!(place.home().ledger_is_sound(), "{death:?}");
    assert!(!started.stdout.contains("running"), "{death:?}: {started}");
    place.expect_nothing_left(&repository);

    repository.git(&["commit", "--quiet", "--amend", "--all", "--message", "amended"]);
    repository.git(&["stash", "clear"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
    expect_work_kept(&place, &told, death);
    let again = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(again.stderr, "", "{death:?}: the second start has nothing to do: {again}");
}

/// Checks that the work of each task that was told as captured or finished is in the task store.
fn expect_work_kept(place: &Sandbox, told: &[Value], death: Death<'_>) {
    let safe = told
        .iter()
        .filter(|event| event["type"] == "task_captured" || event["type"] == "task_finished");
    for event in safe {
        let capture = event["capture"].as_str().expect("it was captured");
        let capture = capture.strip_prefix("refs/tasks/").expect("captures lie there");
        let task = event["task"].as_str().expect("it names its task");
        let number: usize = task.trim_start_matches("task-").parse().expect("tasks are numbered");
        let text = place.home().captured(capture, &file(number));
        assert_eq!(text, format!("{number}\ndone\n"), "{death:?}: {task}");
    }
    if !place.home().stores().is_empty() {
        let _clean = place.home().store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    }
}

#[test]
fn killed_at_random_moments_nothing_is_lost_and_nothing_is_left() {
    // A run reports about 130 events. The seed decides after which of them the engine is killed; the
    // rest is left to the machine.
    let mut rounds = Rounds::new("kill_moments", 2, 10);
    for seed in rounds.by_ref() {
        survives(Death::After(Random::new(seed).between(1, 130)));
    }
    rounds.done().report("R1", 1, "runs killed at a random event");
}

#[test]
fn killed_at_five_moments_of_the_landing_it_is_complete_or_not_begun() {
    let points = [
        "landing.temps:1",
        "landing.journal:1",
        "landing.exchange:1",
        "landing.exchange:9",
        "landing.exchange:16",
    ];
    for point in sample(points, 1) {
        survives(Death::At(point));
    }
}

#[test]
fn killed_at_five_moments_of_capturing_the_work_is_kept() {
    let points = [
        "capture.begin:3",
        "capture.blobs:5",
        "capture.ref:1",
        "capture.ref:9",
        "capture.discard:4",
        "capture.discarded:5",
    ];
    for point in sample(points, 1) {
        survives(Death::At(point));
    }
}

#[test]
fn killed_at_the_other_durable_writes_nothing_is_lost_and_nothing_is_left() {
    let points = [
        "prepare.copy:2",
        "pool.restore:2",
        "prepare.manifest:9",
        "ledger.append:1",
        "ledger.append:30",
        "landing.begin:1",
        "landing.intent:1",
        "landing.done:1",
    ];
    for point in sample(points, 1) {
        survives(Death::At(point));
    }
}

#[test]
fn killed_while_the_journal_of_captures_is_moved_nothing_is_lost_and_the_next_start_moves_it() {
    const POINTS: [&str; 3] = ["settle.objects", "settle.references", "settle.empty"];
    for point in by_depth(&[][..], &POINTS) {
        survives(Death::At(point));
    }
    let place = sandbox();
    let repository = repository(&place);
    let told = until_death(&place, &repository, Death::At("settle.objects"));
    for point in POINTS {
        let killed = place.regatta(repository.root()).words("runs");
        let killed = killed.fault(&format!("kill@{point}")).run();
        assert_eq!(killed.code, 128 + 9, "{point} must strike: {killed}");
    }
    let _started = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(place.home().captures().len(), TASKS);
    expect_work_kept(&place, &told, Death::At("settle.objects"));
    place.expect_nothing_left(&repository);
}
