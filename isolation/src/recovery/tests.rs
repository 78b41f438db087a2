//! What becomes of what a dead engine left.

mod power_cut;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::fault::{FaultHooks, Faults};
use engine::ports::{OpenRun, Recovered, Uncaptured};
use protocol::ChangeSummary;

use crate::run_lock::RunLock;
use crate::testing::{Sample, captured, faults, fifo, find, in_time, prepare, run, write};

/// Ends an engine as kill -9 does: its locks go, its files stay.
fn kill(frozen: crate::backends::FrozenRun<crate::baseline::Snapshot>) {
    drop(frozen);
}

/// Finds what was left. Nothing is removed.
fn found(sample: &Sample) -> Recovered {
    let found = find(sample, &faults(""), &[]);
    found.map(|found| found.recovered).unwrap_or_default()
}

/// Finds what was left and removes what may go.
fn recover(sample: &Sample) -> Recovered {
    try_recover(sample, &faults(""))
}

fn try_recover(sample: &Sample, faults: &Faults) -> Recovered {
    let Some(found) = find(sample, faults, &[]) else {
        return Recovered::default();
    };
    found.cleanup.finish(&BTreeSet::new()).unwrap();
    found.recovered
}

#[test]
fn a_dead_engines_workspaces_are_captured_and_then_removed() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    write(&prepare(&frozen, "worked").root, "file", "two\n");
    prepare(&frozen, "idle");
    write(&frozen.context.folder.join(".new-unfinished-x"), "tree/file", "half\n");
    write(&frozen.context.folder.join(".gone-x"), "left", "over\n");
    kill(frozen);
    let recovered = recover(&sample);
    assert_eq!(recovered.dead, [run("raaaa")]);
    let tasks: Vec<_> = recovered
        .tasks
        .iter()
        .map(|task| (task.task.as_str(), task.captured.as_ref().unwrap().changes.files))
        .collect();
    assert_eq!(tasks, [("idle", 0), ("worked", 1)]);
    assert!(!sample.paths().workspaces.exists());
    assert_eq!(sample.store().captures(&run("raaaa")).unwrap().len(), 2);
    assert_eq!(recover(&sample), Recovered::default());
}

#[test]
fn the_folder_of_an_ended_run_whose_removal_was_cut_off_is_gone_when_a_command_goes_on() {
    let sample = Sample::with(&[("file", "one\n")]);
    let workspaces = sample.paths().workspaces;
    for file in 0..500 {
        write(&workspaces.join(".gone-raaaa-0"), format!("a/tree/{file}"), "left\n");
    }
    assert_eq!(found(&sample), Recovered::default());
    assert!(!workspaces.exists());
}

#[test]
fn nothing_is_removed_before_what_was_found_is_recorded() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    kill(frozen);
    let first = found(&sample);
    assert!(workspace.root.exists());
    let second = found(&sample);
    assert_eq!(first, second);
    assert_eq!(sample.store().captures(&run("raaaa")).unwrap().len(), 1);
    assert_eq!(recover(&sample), first);
    assert!(!workspace.root.exists());
}

#[test]
fn a_recovery_killed_at_any_step_is_repeated_by_the_next() {
    let kill_it = || std::panic::resume_unwind(Box::new("killed"));
    for point in [
        "recover.begin",
        "recover.finish",
        "recover.remove",
        "capture.discard",
        "capture.discarded",
        "capture.begin",
        "capture.ref",
    ] {
        let mut kills = 0;
        for number in 1..test_limit::by_depth(2, 9) {
            let sample = Sample::with(&[("file", "one\n")]);
            let frozen = sample.freeze("raaaa");
            for task in ["a", "b"] {
                write(&prepare(&frozen, task).root, "file", task);
            }
            kill(frozen);
            let means = FaultHooks { kill: kill_it, wait: || {} };
            let plan = Faults::read(&format!("kill@{point}:{number}"), means).unwrap();
            let ended = catch_unwind(AssertUnwindSafe(|| try_recover(&sample, &plan)));
            kills += usize::from(ended.is_err());
            let _rest = recover(&sample);
            let store = sample.store();
            let captures = store.captures(&run("raaaa")).unwrap();
            let work = |capture| store.changes(capture).unwrap().remove(0).task.unwrap().oid;
            let work = captures.iter().map(|capture| store.read(work(capture)).unwrap());
            assert_eq!(work.collect::<Vec<_>>(), [b"a", b"b"], "{point}:{number}");
            assert!(!sample.paths().workspaces.exists(), "{point}:{number}");
            if ended.is_ok() {
                break;
            }
        }
        assert!(kills > 0, "nothing reaches {point}");
    }
}

#[test]
fn a_capture_that_no_ledger_knows_is_found_although_its_workspace_is_gone() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\nthree\n");
    let done = captured(&frozen, &workspace);
    fs::remove_dir_all(&frozen.context.folder).unwrap();
    kill(frozen);
    let open = OpenRun { run: run("raaaa"), captures: BTreeSet::new() };
    let look = |open: OpenRun| find(&sample, &faults(""), &[open]).unwrap().recovered;
    let recovered = look(open);
    assert_eq!(recovered.dead, [run("raaaa")]);
    assert_eq!(recovered.tasks[0].captured.as_ref(), Ok(&done));
    let known = OpenRun { run: run("raaaa"), captures: [done.capture].into() };
    assert_eq!(look(known).tasks, []);
}

#[test]
fn a_living_engines_workspaces_are_left_alone() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    assert_eq!(recover(&sample), Recovered::default());
    assert!(workspace.root.exists());
    let open = OpenRun { run: run("raaaa"), captures: BTreeSet::new() };
    let found = find(&sample, &faults(""), &[open]).unwrap();
    assert_eq!(found.recovered, Recovered::default());
    write(&workspace.root, "file", "two\n");
    assert_eq!(captured(&frozen, &workspace).changes.files, 1);
    assert_eq!(sample.store().captures(&run("raaaa")).unwrap().len(), 1);
}

#[test]
fn a_run_of_the_ledger_without_a_folder_is_dead_whatever_the_clock_says() {
    let sample = Sample::with(&[("file", "one\n")]);
    let open = OpenRun { run: run("raaaa"), captures: BTreeSet::new() };
    let found = find(&sample, &faults(""), &[open]).unwrap();
    assert_eq!(found.recovered.dead, [run("raaaa")]);
}

#[test]
fn a_workspace_that_was_captured_before_the_engine_died_is_not_captured_twice() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    let done = captured(&frozen, &workspace);
    kill(frozen);
    assert_eq!(recover(&sample).tasks[0].captured.as_ref(), Ok(&done));
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
    let second = recover(&sample).tasks[0].captured.clone().unwrap();
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
    fs::write(broken.context.folder.join(".baseline"), "garbage").unwrap();
    write(&broken.context.folder.join(".gone-x"), "left", "over\n");
    let broken_folder = broken.context.folder.clone();
    kill(broken);
    kill(whole);
    let recovered = recover(&sample);
    assert_eq!(recovered.dead, [run("raaaa"), run("rbbbb")]);
    let Err(Uncaptured::Kept(why)) = &recovered.tasks[0].captured else { panic!("{recovered:?}") };
    assert!(why.contains("it is damaged"), "{why}");
    assert!(recovered.tasks[1].captured.is_ok());
    assert_eq!(fs::read(kept.root.join("file")).unwrap(), b"precious\n");
    assert!(!broken_folder.join(".gone-x").exists());
}

#[test]
fn a_workspace_without_its_manifest_is_kept_and_told() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "precious\n");
    // A task that empties its own folder does not reach the manifest.
    for entry in fs::read_dir(&workspace.folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "tree" {
            let _folder =
                fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
        }
    }
    let folder = frozen.context.folder.clone();
    kill(frozen);
    let manifest = folder.join(".manifests/a.json");
    assert!(manifest.exists());
    fs::remove_file(manifest).unwrap();
    for _ in 0..2 {
        let recovered = recover(&sample);
        let Err(Uncaptured::Kept(_)) = &recovered.tasks[0].captured else {
            panic!("{recovered:?}")
        };
        assert_eq!(fs::read(workspace.root.join("file")).unwrap(), b"precious\n");
    }
}

#[test]
fn what_a_task_put_beside_its_workspace_is_kept_and_told() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    prepare(&frozen, "a");
    write(&frozen.context.folder, "notes.txt", "precious\n");
    let notes = frozen.context.folder.join("notes.txt");
    kill(frozen);
    for _ in 0..2 {
        let recovered = recover(&sample);
        assert!(recovered.kept[0].contains("notes.txt"), "{recovered:?}");
        assert_eq!(fs::read(&notes).unwrap(), b"precious\n");
    }
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
    let recovered = recover(&sample);
    let [inside, removed] = &recovered.tasks[..] else { panic!("{recovered:?}") };
    // What a task has put beside is work, and a tree that cannot be found is no reason to drop it.
    assert!(matches!(inside.captured, Err(Uncaptured::Kept(_))), "{inside:?}");
    assert_eq!(fs::read(moved.join("file")).unwrap(), b"precious\n");
    let Err(Uncaptured::Gone(why)) = &removed.captured else { panic!("{removed:?}") };
    assert!(why.contains("/raaaa/removed/tree is gone"), "{why}");
    fs::remove_dir_all(&moved).unwrap();
    let again = recover(&sample);
    let told: Vec<_> = again.tasks.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(told, ["inside"], "its last trace has gone meanwhile");
    assert!(!sample.paths().workspaces.exists());
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
    let done = recover(&sample).tasks[0].captured.clone().unwrap();
    assert_eq!(done.changes, ChangeSummary { files: 1, added: 1, removed: 1 });
    let change = sample.store().changes(&done.capture).unwrap().remove(0);
    assert_eq!(sample.store().read(change.base.unwrap().oid).unwrap(), b"one\n");
}

#[test]
fn an_empty_folder_of_a_run_goes_and_one_that_is_claimed_stays() {
    let sample = Sample::with(&[("file", "one\n")]);
    let folder = sample.paths().workspaces.join("raaaa");
    fs::create_dir_all(&folder).unwrap();
    let claimed = RunLock::acquire(&sample.paths().workspaces.join("rbbbb")).unwrap();
    recover(&sample);
    assert!(!folder.exists());
    assert!(sample.paths().workspaces.join("rbbbb").exists());
    drop(claimed);
}

#[test]
fn a_run_can_begin_in_an_empty_folder_while_a_recovery_is_not_over() {
    let sample = Sample::with(&[("file", "one\n")]);
    let begins = sample.paths().workspaces.join("raaaa");
    // As a run that has made its folder and not locked it yet.
    fs::create_dir_all(&begins).unwrap();
    let dead = sample.freeze("rbbbb");
    prepare(&dead, "a");
    kill(dead);
    let recovery = find(&sample, &faults(""), &[]).unwrap();
    assert!(recovery.recovered.dead.contains(&run("rbbbb")));
    let lock = RunLock::acquire(&begins).unwrap();
    recovery.cleanup.finish(&BTreeSet::new()).unwrap();
    assert!(RunLock::try_acquire(&begins).unwrap().is_none());
    assert!(begins.exists());
    drop(lock);
}

#[test]
fn a_fifo_in_place_of_a_manifest_or_a_table_holds_up_nobody() {
    for place in [".manifests/a.json", ".baseline"] {
        let sample = Sample::with(&[("file", "one\n")]);
        let frozen = sample.freeze("raaaa");
        let workspace = prepare(&frozen, "a");
        write(&workspace.root, "file", "precious\n");
        let file = frozen.context.folder.join(place);
        fs::remove_file(&file).unwrap();
        fifo(&file);
        kill(frozen);
        let recovered = in_time(move || recover(&sample));
        let Err(Uncaptured::Kept(_)) = &recovered.tasks[0].captured else {
            panic!("{recovered:?}")
        };
    }
}

#[test]
fn temporary_objects_and_locks_of_the_dead_go_and_those_of_the_living_stay() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let store = sample.store();
    let at = sample.paths().store;
    let left = [
        at.join("objects/tmp_object_git2_a1b2c3"),
        at.join("refs/tasks/raaaa/a/1.lock"),
        at.join("packed-refs.lock"),
        at.parent().unwrap().join(".store-x/HEAD"),
    ];
    for file in &left {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    kill(frozen);
    crate::store::remove_leftovers(&at);
    assert!(left[0].exists(), "somebody may be writing");
    drop(store);
    recover(&sample);
    for file in &left {
        assert!(!file.exists(), "{}", file.display());
    }
}

#[test]
fn a_workspace_with_files_that_no_capture_can_hold_is_kept_by_every_recovery() {
    let sample = Sample::with(&[("file", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "file", "two\n");
    write(&workspace.root, ".GIT/x", "work\n");
    let done = captured(&frozen, &workspace);
    kill(frozen);
    for _ in 0..2 {
        assert_eq!(recover(&sample).tasks[0].captured.as_ref(), Ok(&done));
        assert_eq!(fs::read(workspace.root.join(".GIT/x")).unwrap(), b"work\n");
    }
    fs::remove_dir_all(workspace.root.join(".GIT")).unwrap();
    let recovered = recover(&sample);
    assert_eq!(recovered.tasks[0].captured.as_ref().unwrap().capture, done.capture);
    assert!(!workspace.folder.exists());
}
