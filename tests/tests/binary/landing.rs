//! The user at work while a run lands.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::json;
use tests::sandbox::{Plan, Repository, Sandbox, eventually};

use super::sandbox_on_disk as sandbox;

#[test]
fn a_save_at_the_moment_of_landing_survives() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.commit("notes");
    let plan = Plan::default().task("top", "sed -i 's/^line 2$/line two/' notes.txt");
    // Between the landing's last look at the file and its exchange.
    let gate = place.folder().join("gate");
    let run = place.run_plan(&repository, &plan).wait_at("landing.exchange", &gate);
    let running = run.start();
    eventually(Duration::from_secs(60), "the tree is about to change", || gate.exists());
    assert_eq!(repository.text("notes.txt"), lines);
    repository.write("notes.txt", lines.replace("line 39\n", "line 39, saved just now\n"));
    std::fs::remove_file(&gate).expect("it goes on then");
    let finished = running.wait().expect_code(0);
    let expected =
        lines.replace("line 39\n", "line 39, saved just now\n").replace("line 2\n", "line two\n");
    assert_eq!(repository.text("notes.txt"), expected, "{finished}");
    assert_eq!(finished.landed(), ["top"], "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn an_edit_of_the_user_during_the_run_is_merged_with_the_tasks() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.commit("notes");
    let script = "sed -i 's/^line 2$/line two/' notes.txt
        sed -i 's/^line 39$/line 39 by the user/' \"$REGATTA_REPO/notes.txt\"";
    let _finished = place.run_in(&repository).exec(script).run().expect_code(0);
    let expected = lines.replace("line 2\n", "line two\n");
    assert_eq!(
        repository.text("notes.txt"),
        expected.replace("line 39\n", "line 39 by the user\n")
    );
}

#[test]
fn an_edit_of_the_user_on_the_same_line_stays_and_the_tasks_work_is_kept() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("notes.txt", "white\n");
    repository.commit("notes");
    let script = "echo red > notes.txt; echo green > \"$REGATTA_REPO/notes.txt\"";
    let finished = place.run_in(&repository).exec(script).run().expect_code(4);
    assert_eq!(repository.text("notes.txt"), "green\n");
    let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["path"], "notes.txt", "{finished}");
    let capture = format!("{}/t1/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, "notes.txt"), "red\n");
}

#[test]
fn a_head_that_moved_during_the_run_is_told_and_the_work_lands_in_the_tree() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo red > red.txt
        git -C \"$REGATTA_REPO\" commit --quiet --allow-empty --message moved";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.text("red.txt"), "red\n");
    let told = finished.events_of("degraded");
    assert!(told.iter().any(|event| event.to_string().contains("HEAD")), "{finished}");
}

#[test]
fn a_landing_that_cannot_be_completed_is_named_and_later_work_is_kept_until_it_can() {
    let place = sandbox();
    let repository = place.repository().watched();
    for path in ["one.txt", "two.txt"] {
        repository.write(path, "white\n");
    }
    repository.commit("files");
    let script = "echo red > one.txt; echo red > two.txt";
    let run = place.run_in(&repository).exec(script).fault("kill@landing.exchange:2").run();
    let cut_short = run.expect_code(137).run_name();
    let all = "fail@landing.move:*";
    let later = place.run_in(&repository).exec("echo blue > three.txt").fault(all).run();
    let later = later.expect_code(4);
    let told = format!("cannot complete the landing of run {cut_short}, which was cut short: ");
    assert!(later.stdout.contains(&told), "{later}");
    assert!(!repository.has("three.txt"), "{later}");
    let _applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    let texts = ["one.txt", "two.txt", "three.txt"].map(|path| repository.text(path));
    assert_eq!(texts, ["red\n", "red\n", "blue\n"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_switch_of_branches_during_the_run_is_told_with_both_branches() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo red > red.txt; git -C \"$REGATTA_REPO\" switch --quiet --create other";
    let run = place.regatta(repository.root()).words("run").exec(script);
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("red.txt"), "red\n");
    let told = "note: the branch was switched during the run: the work lands in the tree";
    assert!(finished.stderr.contains(told), "{finished}");
    let told = finished.stderr.lines().find(|line| line.contains(told)).unwrap();
    assert!(told.contains("HEAD was main at ") && told.contains(" and is other at "), "{told}");
}

/// A task that writes `x.txt` when [`take_turn`] lets it.
fn late_task(place: &Sandbox) -> String {
    let folder = place.folder().display();
    format!("touch {folder}/began; until [ -e {folder}/go ]; do sleep 0.02; done; echo x > x.txt")
}

/// Takes the turn to land once the task works, for a run waits for landings before it begins, and
/// lets the task go on.
fn take_turn(place: &Sandbox, repository: &Repository) -> File {
    let (began, go) = (place.folder().join("began"), place.folder().join("go"));
    eventually(Duration::from_secs(60), "the task works", || began.exists());
    let held = File::open(repository.path(".git")).expect("there is one");
    flock(&held, FlockOperation::LockExclusive).expect("nobody lands");
    std::fs::write(go, "").expect("a file can be written");
    held
}

#[test]
fn a_repository_that_another_engine_is_landing_in_is_waited_for_and_that_is_said() {
    let place = sandbox();
    let repository = place.repository().watched();
    let mut running = place.run_in(&repository).exec(&late_task(&place)).start();
    let held = take_turn(&place, &repository);
    running.until("landing_waited");
    assert!(!repository.has("x.txt"), "nothing lands while another does");
    flock(&held, FlockOperation::Unlock).unwrap();
    let finished = running.wait().expect_code(0);
    assert_eq!(finished.landed(), ["t1"], "{finished}");
    assert_eq!(repository.text("x.txt"), "x\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_person_is_told_that_a_landing_waits() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = place.regatta(repository.root()).words("run").exec(&late_task(&place));
    let running = run.start();
    let held = take_turn(&place, &repository);
    landing_is_begun(&place);
    flock(&held, FlockOperation::Unlock).unwrap();
    let finished = running.wait().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{finished}");
}

#[test]
fn ctrl_c_while_a_landing_waits_its_turn_ends_the_run_at_once_and_lands_nothing() {
    for answers in [&["stopping: "][..], &["stopping: ", "stopping at once"]] {
        let place = sandbox();
        let repository = place.repository().watched();
        let before = repository.tree();
        let mut running = place.run_in(&repository).exec(&late_task(&place)).start();
        let held = take_turn(&place, &repository);
        running.until("landing_waited");
        let began = Instant::now();
        for answer in answers {
            running.interrupt(answer);
        }
        // The other engine has its turn all the while.
        let finished = running.wait().expect_code(130);
        let took = began.elapsed();
        test_limit::took_at_most(took, Duration::from_secs(30), format!("{answers:?}: {finished}"));
        assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
        assert_eq!(finished.names_in("task_kept"), Vec::<String>::new(), "{finished}");
        assert_eq!(finished.task("t1")["outcome"], "done", "{finished}");
        let last = finished.events().pop().unwrap();
        assert_eq!((&last["landed"], &last["kept"]), (&json!(0), &json!(1)));
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
        place.expect_nothing_left(&repository);
        flock(&held, FlockOperation::Unlock).unwrap();
        let run = finished.run_name();
        let applied = place.regatta(repository.root()).words("apply").arg(&run).run();
        let applied = applied.expect_code(0);
        assert_eq!(repository.text("x.txt"), "x\n", "{applied}");
    }
}

#[test]
fn a_run_that_was_stopped_while_its_landing_waited_says_how_to_land_its_work() {
    let place = sandbox();
    let repository = place.repository().watched();
    let running = place.regatta(repository.root()).words("run").exec(&late_task(&place)).start();
    let held = take_turn(&place, &repository);
    landing_is_begun(&place);
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    let told = finished.stdout.lines().find(|line| line.contains("regatta apply ")).map(str::trim);
    let line = told.unwrap_or_else(|| panic!("the line to type in {finished}"));
    assert!(line.ends_with("lands what is ready"), "{finished}");
    assert!(!repository.has("x.txt"), "{finished}");
    flock(&held, FlockOperation::Unlock).unwrap();
    let words = line.trim_end_matches("lands what is ready").trim().trim_start_matches("regatta ");
    let applied = place.regatta(repository.root()).words(words).run().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{applied}");
}

#[test]
fn ctrl_c_while_apply_waits_its_turn_lands_nothing_and_says_how_to_go_on() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = place.run_in(&repository).words("--merge none").exec("echo x > x.txt").run();
    let run = run.expect_code(0).run_name();
    let held = File::open(repository.path(".git")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let applying = place.regatta(repository.root()).words("apply").start();
    landing_is_begun(&place);
    applying.signal(Signal::INT);
    let stopped = applying.wait().expect_code(130);
    for said in ["waits: another engine", "all of it is kept", &format!("regatta apply {run}\n")] {
        assert!(stopped.stderr.contains(said), "`{said}` in {stopped}");
    }
    assert_eq!(stopped.stdout, "", "{stopped}");
    assert!(!repository.has("x.txt"), "{stopped}");
    flock(&held, FlockOperation::Unlock).unwrap();
    let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{applied}");
    place.expect_nothing_left(&repository);
}

/// Waits until the ledger knows that a landing is begun.
fn landing_is_begun(place: &Sandbox) {
    let query = "SELECT seq FROM transition WHERE type = 'landing_started'";
    eventually(Duration::from_secs(30), "the landing is begun", || {
        place.home().ledger(query, |row| row.get::<_, i64>(0)).len() == 1
    });
}

#[test]
fn a_read_only_tree_is_refused_before_anything_is_done() {
    let place = sandbox();
    let repository = place.repository().watched();
    // Root writes everywhere, so the tree is bound read-only over itself.
    let Err(why) = super::disk::ReadOnly::over(repository.root()).map(|_bound| {
        let finished = place.run_in(&repository).exec("echo x > x.txt").run();
        finished.expect_refusal(&["read-only", "  try: "]);
    }) else {
        return place.expect_nothing_left(&repository);
    };
    tests::sandbox::skip("a_read_only_tree_is_refused_before_anything_is_done", &why);
}

#[test]
fn apply_says_why_no_work_of_a_run_is_left_to_land() {
    let place = sandbox();
    let repository = place.repository().watched();
    let apply = |target: &str| {
        let words = format!("apply {target}");
        place.regatta(repository.root()).words(&words).run().expect_code(0).stdout
    };
    let _ran = place.run_in(&repository).exec("true").run().expect_code(0);
    assert!(apply("@").contains("nothing was changed"));

    let _ran = place.run_in(&repository).exec("echo x > x.txt").run().expect_code(0);
    assert!(apply("@").contains("everything of run"));
    assert!(apply("@/t1").contains("the work of task"));

    let kept = place.run_in(&repository).words("--merge none").exec("echo y > y.txt");
    let _kept = kept.run().expect_code(0);
    let _gone = place.regatta(repository.root()).words("discard @").run().expect_code(0);
    let said = apply("@");
    assert!(said.ends_with("is left to land: what had not landed was discarded\n"), "{said}");
    assert!(!repository.has("y.txt"));
}
