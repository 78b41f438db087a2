//! The user at work while a run lands.

use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tests::sandbox::{Fingerprint, Plan, eventually};

use super::sandbox;

#[test]
fn a_save_at_the_moment_of_landing_survives() {
    let place = sandbox();
    let repository = place.repository();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.commit("notes");
    // Half a second passes between the landing's last look at the file and its exchange.
    let plan = Plan::default().task("top", "sed -i 's/^line 2$/line two/' notes.txt");
    let mut running = place.run_plan(&repository, &plan).fault("slow@landing.exchange").start();
    running.until("landing_started");
    eventually(Duration::from_secs(30), "the landing is about to change the tree", || {
        let journals = Fingerprint::of(&place.home().data().join("landings"));
        journals.paths().any(|path| path.extension().is_some_and(|end| end == "committed"))
    });
    // Into the middle of that half second.
    std::thread::sleep(Duration::from_millis(150));
    repository.write("notes.txt", lines.replace("line 39\n", "line 39, saved just now\n"));
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
    let repository = place.repository();
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
    let repository = place.repository();
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
fn a_repository_that_another_engine_is_landing_in_is_waited_for_and_that_is_said() {
    let place = sandbox();
    let repository = place.repository();
    let held = File::open(repository.path(".git")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let mut running = place.run_in(&repository).exec("echo x > x.txt").start();
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
    let repository = place.repository();
    let held = File::open(repository.path(".git")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let run = place.regatta(repository.root()).words("run").exec("echo x > x.txt");
    let running = run.start();
    // The task's capture is there before its landing begins to wait.
    eventually(Duration::from_secs(30), "the task is captured", || {
        !place.home().stores().is_empty() && !place.home().captures().is_empty()
    });
    flock(&held, FlockOperation::Unlock).unwrap();
    let finished = running.wait().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{finished}");
}

#[test]
fn a_read_only_tree_is_refused_before_anything_is_done() {
    let place = sandbox();
    let repository = place.repository();
    // Root writes everywhere, so the tree is bound read-only over itself.
    let Err(why) = super::disk::ReadOnly::over(repository.root()).map(|_bound| {
        let finished = place.run_in(&repository).exec("echo x > x.txt").run();
        finished.expect_refusal(&["read-only", "  try: "]);
    }) else {
        return place.expect_nothing_left(&repository);
    };
    tests::sandbox::skip("a_read_only_tree_is_refused_before_anything_is_done", &why);
}
