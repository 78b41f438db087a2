//! Ctrl-C and SIGTERM: waiting, running and deaf tasks.

use std::time::{Duration, Instant, SystemTime};

use protocol::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use tests::sandbox::{Finished, Plan, Repository, Running, Sandbox, eventually};

use crate::binary::sandbox;

/// Starts two tasks that run for ever, one of them deaf to TERM, and two that wait for room; comes
/// back when the first two are at work.
fn at_work(place: &Sandbox, repository: &Repository) -> Running {
    let outside = place.folder().join("at-work");
    std::fs::create_dir_all(&outside).expect("a folder can be made");
    let loops = "while :; do sleep 0.05; done";
    let mark = format!("echo kept > $REGATTA_TASK.txt; : > {}/$REGATTA_TASK", outside.display());
    let plan = Plan::default()
        .task("polite", &format!("{mark}; {loops}"))
        .task("deaf", &format!("trap '' TERM INT; {mark}; {loops}"))
        .task("waiting", "echo never > waiting.txt")
        .task("also-waiting", "echo never > also-waiting.txt");
    let running = place.run_plan(repository, &plan).words("--jobs 2").start();
    eventually(Duration::from_secs(60), "both are at work", || {
        outside.join("polite").exists() && outside.join("deaf").exists()
    });
    std::fs::remove_dir_all(&outside).expect("it can be removed");
    running
}

/// Checks that all four tasks were cancelled, what ran is kept, and nothing landed.
fn expect_cancelled(
    place: &Sandbox,
    repository: &Repository,
    running: Running,
    code: i32,
) -> Finished {
    let tree = repository.tree();
    let finished = running.wait().expect_code(code);
    let ends = finished.names_in("task_finished");
    assert_eq!(ends, ["also-waiting", "deaf", "polite", "waiting"], "{finished}");
    for task in &ends {
        assert_eq!(finished.task(task)["outcome"], "cancelled", "{task} in {finished}");
    }
    let run = finished.run_name();
    for task in ["polite", "deaf"] {
        let text = place.home().captured(&format!("{run}/{task}/1"), &format!("{task}.txt"));
        assert_eq!(text, "kept\n", "{task} in {finished}");
    }
    assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    let last = finished.events().pop().unwrap_or_default();
    assert_eq!(last["type"], "run_finished", "{finished}");
    assert_eq!(last["exit_code"], code, "{finished}");
    place.expect_nothing_left(repository);
    finished
}

/// Returns when the task that was deaf to TERM had ended, in milliseconds since 1970.
fn end_of_deaf(finished: &Finished) -> i64 {
    let mut told = finished.events_of("task_progress").into_iter();
    let found = told.find(|event| event["task"] == "deaf" && event["phase"] == "capturing");
    let at = found.unwrap_or_else(|| panic!("{finished}"))["at"].clone();
    serde_json::from_value::<Timestamp>(at).expect("an event has a time").as_millisecond()
}

#[test]
fn ctrl_c_and_sigterm_cancel_waiting_running_and_deaf_tasks_capture_and_land_nothing() {
    test_limit::waits("one of the tasks uses its grace period");
    let cancelled = |signal: Signal, code: i32| {
        let place = sandbox();
        let repository = place.repository();
        let running = at_work(&place, &repository);
        let asked = SystemTime::UNIX_EPOCH.elapsed().expect("it is past 1970").as_millis();
        running.signal(signal);
        let finished = expect_cancelled(&place, &repository, running, code);
        let asked = i64::try_from(asked).expect("it is before the end of time");
        let had = end_of_deaf(&finished) - asked;
        assert!(had >= 690, "it had {had} ms of its grace: {finished}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| cancelled(Signal::INT, 130));
        scope.spawn(|| cancelled(Signal::TERM, 143));
    });
}

#[test]
fn a_terminal_that_closes_cancels_unless_that_was_to_be_ignored_as_nohup_has_it() {
    let place = sandbox();
    let repository = place.repository();
    let (ready, go) = (place.folder().join("ready"), place.folder().join("go"));
    let waits = format!(
        "echo x > x.txt; : > {}; while ! [ -e {} ]; do sleep 0.02; done",
        ready.display(),
        go.display()
    );
    let hung_up = |first: &str| {
        let running = place.run_in(&repository).exec(&waits).after(first).start();
        eventually(Duration::from_secs(60), "it is at work", || ready.exists());
        std::fs::remove_file(&ready).expect("it was there");
        running.signal(Signal::HUP);
        running
    };
    // The tests may run below a `nohup` themselves.
    let hears = "exec env --default-signal=HUP \"$0\" \"$@\"";
    let heard = hung_up(hears).wait().expect_code(143);
    assert_eq!(heard.task("t1")["outcome"], "cancelled", "{heard}");
    assert!(!repository.has("x.txt"), "{heard}");

    let ignoring = hung_up("trap '' HUP");
    std::fs::write(&go, "").expect("a file can be written");
    let finished = ignoring.wait().expect_code(0);
    assert_eq!(finished.landed(), ["t1"], "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_second_ctrl_c_grants_no_grace_and_still_captures() {
    let place = sandbox();
    let repository = place.repository();
    let running = at_work(&place, &repository);
    let began = Instant::now();
    running.interrupt("stopping: ");
    running.interrupt("stopping at once");
    expect_cancelled(&place, &repository, running, 130);
    let took = began.elapsed();
    test_limit::took_at_most(took, Duration::from_secs(30), "it waits for something");
}

#[test]
fn a_third_ctrl_c_leaves_the_capturing_to_the_next_start() {
    let place = sandbox();
    let repository = place.repository();
    let mut running = at_work(&place, &repository);
    let run = running.next_event().expect("a run begins with an event")["run"].clone();
    // While the first two are heard, the deaf task's grace keeps the engine busy.
    for answer in ["stopping: ", "stopping at once", ""] {
        running.interrupt(answer);
    }
    let finished = running.wait();
    assert_eq!(finished.code, 130, "{finished}");
    place.expect_no_process(Duration::from_secs(1));
    let next = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    let run = run.as_str().expect("a run has a name");
    for task in ["polite", "deaf"] {
        let captures = place.home().captures();
        assert!(captures.contains(&format!("{run}/{task}/1")), "{task} in {finished}\n{next}");
        let text = place.home().captured(&format!("{run}/{task}/1"), &format!("{task}.txt"));
        assert_eq!(text, "kept\n");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn a_cancelled_run_prints_how_to_apply_its_work_and_that_can_be_typed() {
    let place = sandbox();
    let repository = place.repository();
    let ready = place.folder().join("ready");
    let script = format!("echo kept > polite.txt; : > {}; sleep 100", ready.display());
    let running = place.regatta(repository.root()).words("run").exec(&script).start();
    eventually(Duration::from_secs(60), "it is at work", || ready.exists());
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    let target =
        said.split("regatta apply ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let target = target.unwrap_or_else(|| panic!("the line to type in {finished}"));
    let applied = place.regatta(repository.root()).words("apply").arg(target).run();
    let _applied = applied.expect_code(0);
    assert_eq!(repository.text("polite.txt"), "kept\n");
}

#[test]
fn ctrl_c_while_the_tree_is_looked_at_ends_with_130_and_leaves_nothing_of_the_run() {
    test_limit::waits("the look waits two seconds for whoever is landing");
    let place = sandbox();
    let repository = place.repository();
    let _nothing = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let runs = || place.home().ledger("SELECT number FROM run", |row| row.get::<_, i64>(0)).len();
    // The look waits two seconds for a landing. A slower one tries again.
    let held = std::fs::File::open(repository.path(".git")).expect("there is a git folder");
    flock(&held, FlockOperation::LockExclusive).expect("nobody lands");
    let stopped = (0..10).find_map(|_| {
        let before = runs();
        let running = place.run_in(&repository).exec("sleep 1000").start();
        eventually(Duration::from_secs(60), "the ledger has the run", || runs() > before);
        running.signal(Signal::INT);
        let finished = running.wait().expect_code(130);
        finished.stdout.is_empty().then_some((finished, before))
    });
    let (finished, before) = stopped.expect("one of them is stopped in time");
    assert_eq!(runs(), before, "it is withdrawn: {finished}");
    assert!(finished.stderr.contains("stopped before anything was started"), "{finished}");
    flock(&held, FlockOperation::Unlock).expect("it is held");
    place.expect_nothing_left(&repository);
}
