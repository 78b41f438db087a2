//! Edits in place that keep the size and the modification time of a file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use engine::ports::{AttemptEnd, Reuse, Workspace};

use super::CopyStats;
use super::look::{Look, look};
use crate::backends::{FrozenRun, FrozenTree as _};
use crate::baseline::Snapshot;
use crate::testing::{Sample, prepare};
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
