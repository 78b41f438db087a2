//! What becomes of a dead engine's workspaces.

use std::fs;

use engine::ports::Uncaptured;
use protocol::ChangeSummary;

use crate::sweep::sweep;
use crate::testing::{Sample, captured, faults, prepare, run, write};

/// Ends an engine as kill -9 does: its locks go, its files stay.
fn kill(frozen: crate::baseline::Frozen) {
    drop(frozen);
}

#[test]
fn a_dead_engines_workspaces_are_captured_and_then_removed() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    write(&prepare(&frozen, "worked").root, "file", "two\n");
    prepare(&frozen, "idle");
    let half = frozen.folder.join("half-made");
    fs::create_dir_all(half.join("tree")).unwrap();
    write(&frozen.folder.join(".gone-x"), "left", "over\n");
    kill(frozen);
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    assert_eq!(swept.dead, [run("raaaa")]);
    let found: Vec<_> = swept
        .tasks
        .iter()
        .map(|task| (task.task.as_str(), task.captured.as_ref().unwrap().changes.files))
        .collect();
    assert_eq!(found, [("idle", 0), ("worked", 1)]);
    assert!(!sample.places().workspaces.exists());
    let store = sample.store();
    assert_eq!(store.captures(&run("raaaa")).unwrap().len(), 2);
    let again = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    assert!(again.dead.is_empty());
}

#[test]
fn a_living_engines_workspaces_are_left_alone() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    assert!(swept.dead.is_empty() && swept.tasks.is_empty());
    assert!(workspace.root.exists());
}

#[test]
fn a_workspace_that_was_captured_before_the_engine_died_is_not_captured_twice() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    let done = captured(&frozen, &workspace);
    kill(frozen);
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    assert_eq!(swept.tasks[0].captured.as_ref(), Ok(&done));
    assert_eq!(sample.store().captures(&run("raaaa")).unwrap(), [done.capture]);
}

#[test]
fn a_workspace_that_changed_after_it_was_captured_is_captured_beside_it() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    let done = captured(&frozen, &workspace);
    write(&workspace.root, "file", "three\nfour\n");
    kill(frozen);
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    let second = swept.tasks[0].captured.clone().unwrap();
    assert_eq!(second.capture.as_str(), "refs/tasks/raaaa/a/2");
    assert_eq!(second.changes, ChangeSummary { files: 1, added: 2, removed: 1 });
    let all = sample.store().captures(&run("raaaa")).unwrap();
    assert_eq!(all, [done.capture, second.capture]);
}

#[test]
fn what_cannot_be_looked_at_is_kept_and_told_and_the_rest_goes_on() {
    let sample = Sample::with(&[("file", "one\n")]);
    let (broken, whole) = (sample.freeze("raaaa"), sample.freeze("rbbbb"));
    let kept = prepare(&broken, "a");
    write(&kept.root, "file", "precious\n");
    prepare(&whole, "b");
    fs::write(broken.folder.join(".baseline"), "garbage").unwrap();
    write(&broken.folder.join(".gone-x"), "left", "over\n");
    let broken_folder = broken.folder.clone();
    kill(broken);
    kill(whole);
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    assert_eq!(swept.dead, [run("raaaa"), run("rbbbb")]);
    let Err(Uncaptured::Kept(why)) = &swept.tasks[0].captured else { panic!("{:?}", swept.tasks) };
    assert!(why.contains("it is damaged"), "{why}");
    assert!(swept.tasks[1].captured.is_ok());
    assert_eq!(fs::read(kept.root.join("file")).unwrap(), b"precious\n");
    assert!(!broken_folder.join(".gone-x").exists());
}

#[test]
fn a_workspace_that_its_task_took_away_is_told_once_and_what_is_left_of_it_goes() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    fs::remove_dir_all(prepare(&frozen, "removed").root).unwrap();
    let inside = prepare(&frozen, "inside");
    write(&inside.root, "file", "precious\n");
    let moved = inside.folder.join("moved");
    fs::rename(&inside.root, &moved).unwrap();
    kill(frozen);
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    let [inside, removed] = &swept.tasks[..] else { panic!("{:?}", swept.tasks) };
    // What a task has put beside is work, and a tree that cannot be found is no reason to drop it.
    assert!(matches!(inside.captured, Err(Uncaptured::Kept(_))), "{inside:?}");
    assert_eq!(fs::read(moved.join("file")).unwrap(), b"precious\n");
    let Err(Uncaptured::Gone(why)) = &removed.captured else { panic!("{removed:?}") };
    assert!(why.contains("/raaaa/removed/tree is gone"), "{why}");
    fs::remove_dir_all(&moved).unwrap();
    let again = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    let told: Vec<_> = again.tasks.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(told, ["inside"], "its last trace has gone meanwhile");
    assert!(!sample.places().workspaces.exists());
}

#[test]
fn the_users_edits_since_the_engine_died_are_not_taken_for_the_tasks() {
    let sample = Sample::with(&[("file", "one\n"), ("other", "one\n")]);
    sample.write("other", "dirty\n");
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    kill(frozen);
    sample.write("file", "users\n");
    sample.write("other", "users\n");
    sample.commit();
    let swept = sweep(&sample.repo(), &sample.places(), &faults("")).unwrap();
    let done = swept.tasks[0].captured.clone().unwrap();
    assert_eq!(done.changes, ChangeSummary { files: 1, added: 1, removed: 1 });
    let change = sample.store().changes(&done.capture).unwrap().remove(0);
    assert_eq!(sample.store().read(change.base.unwrap().oid).unwrap(), b"one\n");
}
