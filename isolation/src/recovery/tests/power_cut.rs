//! What a power cut has done to a workspace is not taken for the work of its task.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use engine::ports::{Uncaptured, Workspace};

use super::{kill, recover};
use crate::backends::FrozenRun;
use crate::baseline::Snapshot;
use crate::testing::{Sample, captured, prepare, prepare_after, run, write};
use crate::workspace::{Manifest, mark};

const FILES: &[(&str, &str)] = &[
    ("sub/deep/file", "content that must not be lost\n"),
    ("sub/other", "other content\n"),
    ("swapped/init", "not empty\n"),
    ("plain/init", ""),
];

/// Changes a file, or a tree.
type Change = fn(&Path);

/// Lets everything in a workspace be older than its task, as all of a new one is.
fn grow_old(frozen: &FrozenRun<Snapshot>, workspace: &Workspace) {
    let folder = &frozen.context.folder;
    let manifest = Manifest::read(folder, &workspace.task).unwrap();
    let marker_ns = mark(&workspace.folder).unwrap();
    Manifest { marker_ns, ..manifest }.write(folder).unwrap();
}

fn modified(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}

/// Writes other content, with the time of modification that the file has.
fn replace(file: &Path, bytes: &[u8]) {
    let time = modified(file);
    fs::write(file, bytes).unwrap();
    File::open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn files_that_a_power_cut_emptied_are_no_work_and_keep_the_workspace() {
    let damage: [(&str, Change); 6] = [
        ("sub/deep/file", |file| replace(file, b"")),
        ("sub/deep/file", |file| replace(file, b"content that")),
        // The time of modification may be lost as well.
        ("sub/deep/file", |file| fs::write(file, "").unwrap()),
        ("sub/deep/file", |file| fs::write(file, vec![0; 30]).unwrap()),
        ("sub/deep/file", |file| fs::remove_file(file).unwrap()),
        ("sub/deep/file", |file| fs::remove_dir_all(file.parent().unwrap()).unwrap()),
    ];
    for (number, (path, damage)) in damage.into_iter().enumerate() {
        let sample = Sample::with(FILES);
        let frozen = sample.freeze("raaaa");
        let workspace = prepare(&frozen, "a");
        damage(&workspace.root.join(path));
        grow_old(&frozen, &workspace);
        write(&workspace.root, "work", "done\n");
        kill(frozen);
        for _ in 0..2 {
            let found = recover(&sample);
            let Err(Uncaptured::Kept(why)) = &found.tasks[0].captured else {
                panic!("damage {number}: {found:?}")
            };
            assert!(why.contains(path) && why.contains("power cut"), "{why}");
            assert_eq!(fs::read(workspace.root.join("work")).unwrap(), b"done\n");
        }
        assert_eq!(sample.store().captures(&run("raaaa")).unwrap(), []);
    }
}

#[test]
fn a_predecessors_file_that_a_power_cut_emptied_is_no_work() {
    for bytes in [&b""[..], &[0; 8]] {
        let sample = Sample::with(FILES);
        let frozen = sample.freeze("raaaa");
        let first = prepare(&frozen, "first");
        write(&first.root, "sub/made", "by first");
        let work = captured(&frozen, &first);
        let second = prepare_after(&frozen, "second", &[("first", &work.capture)]).unwrap();
        fs::write(second.root.join("sub/made"), bytes).unwrap();
        grow_old(&frozen, &second);
        write(&second.root, "sub/work", "done\n");
        kill(frozen);
        let found = recover(&sample);
        let end = found.tasks.iter().find(|task| task.task.as_str() == "second").unwrap();
        assert!(matches!(&end.captured, Err(Uncaptured::Kept(_))), "{found:?}");
    }
}

#[test]
fn what_a_task_has_emptied_removed_and_renamed_is_captured_after_a_death_as_before_it() {
    let work: [(Change, u64); 6] = [
        (|root| fs::write(root.join("sub/deep/file"), "").unwrap(), 1),
        (|root| replace(&root.join("sub/deep/file"), b""), 1),
        (|root| fs::remove_file(root.join("sub/deep/file")).unwrap(), 1),
        (|root| fs::remove_dir_all(root.join("sub")).unwrap(), 2),
        // Older files come with their folders, and an empty one comes to where one was not empty.
        (
            |root| {
                fs::rename(root.join("swapped"), root.join("away")).unwrap();
                fs::rename(root.join("plain"), root.join("swapped")).unwrap();
            },
            3,
        ),
        (
            |root| {
                fs::rename(root.join("sub"), root.join("away")).unwrap();
                fs::rename(root.join("plain"), root.join("sub")).unwrap();
            },
            6,
        ),
    ];
    for (number, (work, files)) in work.into_iter().enumerate() {
        let sample = Sample::with(FILES);
        let frozen = sample.freeze("raaaa");
        let workspace = prepare(&frozen, "a");
        work(&workspace.root);
        kill(frozen);
        let found = recover(&sample);
        let changes = found.tasks[0].captured.as_ref().map(|captured| captured.changes.files);
        assert_eq!(changes, Ok(files), "work {number}");
    }
}

#[test]
fn zeros_in_a_file_that_looks_untouched_are_never_captured() {
    let sample = Sample::with(FILES);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    replace(&workspace.root.join("sub/other"), &[0; 14]);
    grow_old(&frozen, &workspace);
    write(&workspace.root, "sub/work", "done\n");
    kill(frozen);
    let found = recover(&sample);
    assert_eq!(found.tasks[0].captured.as_ref().map(|captured| captured.changes.files), Ok(1));
}
