//! Edits in place that keep the size and the modification time of a file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use engine::ports::{AttemptEnd, Reuse, Workspace};

use super::look::{Look, look};
use super::{CopyStats, is_in_pool, make_ahead};
use crate::backends::{FrozenRun, FrozenTree as _};
use crate::baseline::Snapshot;
use crate::testing::{Sample, faults, git, prepare};
use crate::tree::Tree;
use crate::workspace::Manifest;

/// Writes as many other bytes, and gives the file its time back.
fn overwrite(file: &Path) {
    let time = fs::metadata(file).unwrap().modified().unwrap();
    let other: Vec<u8> = fs::read(file).unwrap().iter().map(|byte| byte ^ 1).collect();
    fs::write(file, other).unwrap();
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

/// Captures a workspace, and returns how many files it has changed.
fn changed(frozen: &FrozenRun<Snapshot>, workspace: &Workspace) -> u64 {
    frozen.capture(workspace, &AttemptEnd::default()).unwrap().changes.files
}

#[test]
fn an_edit_in_place_right_after_its_file_was_restored_is_captured() {
    let sample = Sample::with(&[("one", "one\n"), ("sub/other", "other\n")]);
    let frozen = sample.freeze("raaaa");
    let mut used = Vec::new();
    for round in 0..60 {
        let workspace = prepare(&frozen, &format!("t{round}"));
        let file = workspace.root.join("sub/other");
        assert_eq!(fs::read(&file).unwrap(), b"other\n", "round {round}");
        overwrite(&file);
        used.push(fs::metadata(&workspace.root).unwrap().ino());
        assert_eq!(changed(&frozen, &workspace), 1, "round {round}");
        frozen.discard(&workspace, Reuse::Allowed).unwrap();
    }
    used.dedup();
    assert_eq!(used.len(), 1, "all have worked in one copy");
}

#[test]
fn an_edit_in_place_after_the_clock_was_set_back_is_captured() {
    let sample = Sample::with(&[("one", "one\n"), ("sub/other", "other\n")]);
    let frozen = sample.freeze("raaaa");
    let folder = &frozen.context.folder;
    for (task, replaced) in [("kept", false), ("replaced", true)] {
        let workspace = prepare(&frozen, task);
        // What changes now is older than the workspace.
        let manifest = Manifest::read(folder, &workspace.task).unwrap();
        Manifest { marker_ns: i64::MAX, ..manifest }.write(folder).unwrap();
        overwrite(&workspace.root.join("sub/other"));
        if replaced {
            fs::write(workspace.root.join("sub/new"), "new\n").unwrap();
        }
        assert_eq!(changed(&frozen, &workspace), 1 + u64::from(replaced));
        frozen.discard(&workspace, Reuse::Allowed).unwrap();
    }
}

#[test]
fn a_copy_that_was_made_ahead_is_as_new_and_no_task_makes_another() {
    let sample = Sample::with(&[("one", "one\n"), ("sub/other", "other\n")]);
    let frozen = sample.freeze("raaaa");
    make_ahead(&frozen, 3, &AtomicBool::new(false));
    let copies = || fs::read_dir(&frozen.context.folder).unwrap().flatten().filter(is_in_pool);
    let made: Vec<_> = copies().map(|copy| copy.metadata().unwrap().ino()).collect();
    assert_eq!(made.len(), 3);
    // What a process of another task writes to one of them is no part of it.
    frozen.pool.lend_unknown();
    let written = copies().next().unwrap().path().join("tree/sub/of-another");
    fs::write(written, "x").unwrap();
    for task in ["a", "b", "c"] {
        let workspace = prepare(&frozen, task);
        assert!(made.contains(&fs::metadata(&workspace.folder).unwrap().ino()), "{task}");
        assert!(!workspace.root.join("sub/of-another").exists(), "{task}");
        assert_eq!(git(&workspace.root, &["status", "--porcelain"]), "", "{task}");
        overwrite(&workspace.root.join("sub/other"));
        assert_eq!(changed(&frozen, &workspace), 1, "{task}");
    }
    assert_eq!(copies().count(), 0);
    make_ahead(&frozen, 3, &AtomicBool::new(false));
    assert_eq!(copies().count(), 0, "three were made");
}

#[test]
fn a_task_whose_copy_is_not_used_again_may_have_processes_until_it_ends() {
    let sample = Sample::with(&[("one", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let nothing_runs = || frozen.pool.is_still_true(frozen.pool.ended());
    for (reuse, expected) in [(Reuse::Allowed, true), (Reuse::Refused, false)] {
        assert!(nothing_runs(), "{reuse:?}");
        let workspace = prepare(&frozen, "own");
        frozen.pool.lend(&workspace.task, None);
        assert!(!nothing_runs(), "{reuse:?}");
        assert_eq!(changed(&frozen, &workspace), 0);
        frozen.discard(&workspace, reuse).unwrap();
        assert_eq!(nothing_runs(), expected, "{reuse:?}");
    }
}

#[test]
fn copies_are_made_ahead_while_they_are_needed_and_there_is_room() {
    let sample = Sample::with(&[("one", "one\n"), ("sub/other", "other\n")]);
    let faults = faults("fail@prepare.copy:2");
    let mut frozen = sample.try_freeze("raaaa", 1 << 28, &faults).unwrap();
    let run = frozen.context.folder.clone();
    let entries = || fs::read_dir(&run).unwrap().count();
    let before = entries();
    make_ahead(&frozen, 2, &AtomicBool::new(true));
    assert_eq!(entries(), before);
    make_ahead(&frozen, 2, &AtomicBool::new(false));
    assert_eq!(entries(), before, "the first copy has failed");
    let one = |frozen: &mut FrozenRun<Snapshot>, size| {
        let root = frozen.tree.table.folders.get_mut(&b""[..]).unwrap();
        std::mem::replace(&mut root.files.get_mut(OsStr::new("one")).unwrap().stat.size, size)
    };
    let size = one(&mut frozen, u64::MAX);
    make_ahead(&frozen, 3, &AtomicBool::new(false));
    assert_eq!(entries(), before, "there is no room");
    one(&mut frozen, size);
    make_ahead(&frozen, 3, &AtomicBool::new(false));
    assert_eq!(entries(), before + 1, "two were begun in vain");
    let workspace = prepare(&frozen, "a");
    assert_eq!(fs::read(workspace.root.join("sub/other")).unwrap(), b"other\n");
}

#[test]
fn a_file_that_is_not_older_than_its_workspace_counts_as_changed_in_it() {
    let sample = Sample::with(&[("one", "one\n"), ("sub/other", "other\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    let tree = Tree::open_at(&workspace.root).unwrap();
    let stats = CopyStats::record(&frozen, &workspace.folder, &tree).unwrap();
    let ctime = |path: &str| {
        let meta = fs::metadata(workspace.root.join(path)).unwrap();
        meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
    };
    let latest = ["", "one", "sub", "sub/other"].map(ctime).into_iter().max().unwrap();
    let differing = |marker_ns: i64| {
        let overwritten = &std::collections::BTreeSet::new();
        let (snapshot, stats, tree) = (&*frozen, &stats, &tree);
        let found = look(&Look { snapshot, stats, tree, marker_ns, overwritten }).unwrap();
        found.folders.values().map(|folder| folder.files.len()).sum::<usize>()
    };
    assert_eq!(differing(latest + 1), 0);
    assert_eq!(differing(ctime("sub/other")), usize::from(ctime("one") >= ctime("sub/other")) + 1);
    assert_eq!(differing(0), 2);
}
