//! What a workspace holds when it is ready.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use engine::ports::CancelToken;

use crate::backends::LandingWait;
use crate::testing::{
    Sample, captured, faults, freeze_at, git, prepare, prepare_after, raw, write,
};
use crate::workspace::{discard, tree_of};

/// Everything below `root` that is not git's: mode, time and bytes.
fn tree(root: &Path) -> BTreeMap<Vec<u8>, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    collect(root, root, &mut found);
    found
}

fn collect(root: &Path, at: &Path, found: &mut BTreeMap<Vec<u8>, (u32, i64, i64, Vec<u8>)>) {
    use std::os::unix::ffi::OsStrExt as _;
    for entry in fs::read_dir(at).unwrap().flatten() {
        let (path, meta) = (entry.path(), fs::symlink_metadata(entry.path()).unwrap());
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        if name == b".git" {
            continue;
        }
        if meta.is_dir() {
            collect(root, &path, found);
            continue;
        }
        let bytes = match meta.is_symlink() {
            true => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            false => fs::read(&path).unwrap(),
        };
        found.insert(name, (meta.mode(), meta.mtime(), meta.mtime_nsec(), bytes));
    }
}

/// A repository in every state a file can be in.
fn dirty() -> Sample {
    let sample = Sample::with(&[
        ("clean", "clean\n"),
        ("src/deep/er/file", "deep\n"),
        ("staged", "one\n"),
        ("unstaged", "one\n"),
        ("both", "one\n"),
        ("removed", "one\n"),
        ("staged-removed", "one\n"),
        ("mode", "#!/bin/sh\n"),
        ("to-link", "one\n"),
        (".gitignore", "*.o\nbuild/\n"),
    ]);
    sample.write(raw(b"odd \xff\nname"), "odd\n");
    symlink("clean", sample.root.join("link")).unwrap();
    sample.commit();
    sample.write("staged", "two\n");
    sample.write("both", "two\n");
    sample.write("added", "new\n");
    sample.git(&["add", "staged", "both", "added"]);
    sample.git(&["rm", "-q", "staged-removed"]);
    sample.write("both", "three\n");
    sample.write("unstaged", "two\n");
    sample.write("untracked/file", "new\n");
    sample.write("x.o", "ignored\n");
    sample.write("build/y", "ignored\n");
    fs::remove_file(sample.root.join("removed")).unwrap();
    fs::remove_file(sample.root.join("to-link")).unwrap();
    symlink("nowhere", sample.root.join("to-link")).unwrap();
    fs::set_permissions(sample.root.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    sample
}

#[test]
fn a_workspace_is_the_users_tree_with_its_times_and_without_what_git_ignores() {
    let sample = dirty();
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let mut expected = tree(&sample.root);
    expected.retain(|path, _| !path.ends_with(b".o") && !path.starts_with(b"build/"));
    assert_eq!(tree(&workspace.root), expected);
}

#[test]
fn git_in_a_workspace_shows_exactly_the_users_status_log_and_staged_changes() {
    let sample = dirty();
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    for question in [
        &["status", "--porcelain=v2", "--branch"][..],
        &["diff", "--cached"],
        &["diff"],
        &["log", "--format=%H %s", "--all"],
        &["for-each-ref"],
        &["config", "user.email"],
        &["symbolic-ref", "HEAD"],
    ] {
        assert_eq!(git(&workspace.root, question), sample.git(question), "{question:?}");
    }
    git(&workspace.root, &["commit", "-q", "-am", "Mine"]);
    assert_eq!(sample.git(&["log", "--format=%s"]), "Work\nWork\n");
    git(&sample.root, &["fsck", "--strict"]);
}

#[test]
fn making_a_workspace_leaves_the_users_repository_byte_for_byte_as_it_was() {
    let sample = dirty();
    let everything = |root: &Path| {
        let mut found = tree(root);
        found.extend(tree(&root.join(".git")));
        found
    };
    let before = everything(&sample.root);
    let snapshot = sample.freeze("raaaa");
    prepare(&snapshot, "a");
    assert_eq!(everything(&sample.root), before);
}

#[test]
fn a_workspace_has_the_frozen_bytes_whatever_the_user_did_since() {
    let sample = dirty();
    let snapshot = sample.freeze("raaaa");
    let before = prepare(&snapshot, "before");
    sample.write("clean", "changed later\n");
    sample.write("unstaged", "changed later\n");
    sample.write("untracked/file", "changed later\n");
    sample.write("later", "new\n");
    fs::remove_dir_all(sample.root.join("src")).unwrap();
    sample.write("src", "a file now\n");
    sample.git(&["add", "-A"]);
    let after = prepare(&snapshot, "after");
    assert_eq!(tree(&after.root), tree(&before.root));
}

#[test]
fn a_clean_file_with_converted_lines_comes_back_as_git_checks_it_out() {
    let sample = Sample::with(&[
        (".gitattributes", "*.crlf text eol=crlf\n*.id ident\n"),
        ("a.crlf", "one\r\ntwo\r\n"),
        ("b.id", "$Id$\n"),
    ]);
    fs::remove_file(sample.root.join("b.id")).unwrap();
    fs::remove_file(sample.root.join("a.crlf")).unwrap();
    sample.git(&["checkout", "--", "."]);
    let expected = (fs::read(sample.root.join("a.crlf")), fs::read(sample.root.join("b.id")));
    // Old enough that its stat alone says that it is clean.
    for name in ["a.crlf", "b.id"] {
        sample.of_yesterday(name);
    }
    sample.git(&["update-index", "--refresh"]);
    let snapshot = sample.freeze_tomorrow("raaaa");
    sample.write("a.crlf", "changed\n");
    sample.write("b.id", "changed\n");
    let workspace = prepare(&snapshot, "a");
    let read = |name| fs::read(workspace.root.join(name)).unwrap();
    assert_eq!((read("a.crlf"), read("b.id")), (expected.0.unwrap(), expected.1.unwrap()));
}

#[test]
fn a_file_comes_back_where_the_last_commit_has_something_else() {
    let sample = Sample::with(&[
        (".gitattributes", "* text=auto\n"),
        ("was-folder/in", "in\n"),
        ("was-file", "x\n"),
    ]);
    for link in ["staged", "in-the-tree"] {
        symlink("target", sample.root.join(link)).unwrap();
    }
    sample.commit();
    fs::remove_dir_all(sample.root.join("was-folder")).unwrap();
    fs::remove_file(sample.root.join("was-file")).unwrap();
    let all = ["staged", "was-folder", "was-file/in", "in-the-tree"];
    for name in all {
        let _a_link_or_gone = fs::remove_file(sample.root.join(name));
        sample.write(name, "target");
    }
    sample.git(&["add", "-A", "staged", "was-folder", "was-file"]);
    // Old enough that the stat is trusted: then only what differs from its blob is pinned.
    let snapshot = sample.freeze_tomorrow("raaaa");
    for name in all {
        sample.write(name, "changed\n");
    }
    let workspace = prepare(&snapshot, "a");
    for name in all {
        assert_eq!(fs::read(workspace.root.join(name)).unwrap(), b"target", "{name}");
    }
}

#[test]
fn a_changed_file_whose_bytes_only_a_filter_could_restore_ends_the_task_and_leaves_nothing() {
    let sample = Sample::with(&[(".gitattributes", "*.lfs filter=lfs\n"), ("a.lfs", "big\n")]);
    sample.of_yesterday("a.lfs");
    sample.git(&["update-index", "--refresh"]);
    let snapshot = sample.freeze_tomorrow("raaaa");
    sample.write("a.lfs", "changed\n");
    let error = crate::testing::prepare_after(&snapshot, "a", &[]).unwrap_err();
    let failure = error.to_failure();
    assert_eq!(failure.class, protocol::FailureClass::Workspace);
    assert!(failure.message.contains("a.lfs"), "{}", failure.message);
    assert!(!snapshot.context.folder.join("a").exists());
}

#[test]
fn a_full_disk_while_copying_is_told_as_such_and_leaves_nothing() {
    let sample = dirty();
    let snapshot = sample.try_freeze("raaaa", 1 << 20, &faults("full@prepare.copy:2")).unwrap();
    let error = crate::testing::prepare_after(&snapshot, "a", &[]).unwrap_err();
    assert_eq!(error.to_failure().class, protocol::FailureClass::Resources);
    assert!(!snapshot.context.folder.join("a").exists());
    prepare(&snapshot, "a");
}

#[test]
fn work_of_predecessors_in_the_journal_stays_there_when_a_workspace_begins_with_it() {
    let sample = Sample::with(&[("file", "0\n"), ("other", "0\n")]);
    let snapshot = sample.freeze("raaaa");
    let journal = sample.paths().store.join("captures.journal");
    let references = || git(&sample.paths().store, &["for-each-ref", "refs/tasks"]);
    let mut before: Vec<(String, protocol::CaptureRef)> = Vec::new();
    for number in 0..8 {
        let predecessors: Vec<_> =
            before.iter().map(|(task, capture)| (task.as_str(), capture)).collect();
        let size = fs::metadata(&journal).map_or(0, |file| file.len());
        let task = format!("t{number}");
        let workspace = prepare_after(&snapshot, &task, &predecessors).unwrap();
        assert_eq!(
            fs::read(workspace.root.join("file")).unwrap(),
            format!("{number}\n").as_bytes()
        );
        assert_eq!(fs::metadata(&journal).map_or(0, |file| file.len()), size, "before {task}");
        write(&workspace.root, "file", format!("{}\n", number + 1));
        let captured = captured(&snapshot, &workspace);
        assert_eq!(captured.changes.files, 1, "{task}");
        before.push((task, captured.capture));
    }
    assert_eq!(references(), "", "git does not have them yet");
    assert_eq!(sample.store().captures(&"raaaa".parse().unwrap()).unwrap().len(), before.len());
    assert_eq!(references().lines().count(), before.len());
    git(&sample.paths().store, &["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn a_workspace_that_stands_is_never_made_over() {
    let sample = dirty();
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    write(&workspace.root, "work", "mine\n");
    assert!(crate::testing::prepare_after(&snapshot, "a", &[]).is_err());
    assert!(workspace.root.join("work").exists());
    discard(&workspace.folder, &faults(""), &snapshot.context.removals).unwrap();
    prepare(&snapshot, "a");
}

#[test]
fn closing_a_run_removes_its_folder_and_keeps_one_with_a_workspace_in_it() {
    let sample = dirty();
    let (done, kept) = (sample.freeze("raaaa"), sample.freeze("rbbbb"));
    let workspace = prepare(&done, "a");
    discard(&workspace.folder, &faults(""), &done.context.removals).unwrap();
    let workspace = prepare(&kept, "a");
    done.close().unwrap();
    kept.close().unwrap();
    assert!(!done.context.folder.exists());
    assert!(tree_of(&workspace.folder).exists());
    let pins = git(&sample.paths().store, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(pins, "refs/pins/rbbbb\n");
}

#[test]
fn empty_submodules_odd_repositories_and_special_files_are_left_out_and_told() {
    let sample = Sample::with(&[("file", "x\n")]);
    let other = Sample::with(&[("inside", "x\n")]);
    let url = other.root.display().to_string();
    sample.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "sub"]);
    sample.commit();
    sample.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    sample.write("nested/file", "x\n");
    std::os::unix::fs::symlink("../.git", sample.root.join("nested/.git")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sample.root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    assert!(fs::read_dir(workspace.root.join("sub")).unwrap().next().is_none());
    assert!(!workspace.root.join("nested").exists());
    assert!(!workspace.root.join("pipe").exists());
    let told: Vec<_> = snapshot.notices.iter().map(|notice| notice.why.as_str()).collect();
    assert!(told.iter().any(|why| why.contains("nested")), "{told:?}");
    assert!(told.iter().any(|why| why.contains("pipe")), "{told:?}");
    let facts = sample.repo().notices;
    assert!(facts.iter().any(|notice| notice.from == "submodules"), "{facts:?}");
    assert_eq!(git(&workspace.root, &["status", "--porcelain"]), "");
}

#[test]
fn flags_that_hide_edits_and_a_sparse_checkout_deceive_nobody() {
    let sample = Sample::with(&[("hidden", "one\n"), ("in/file", "x\n"), ("out/file", "x\n")]);
    sample.git(&["update-index", "--assume-unchanged", "hidden"]);
    sample.write("hidden", "two\n");
    sample.git(&["sparse-checkout", "set", "--no-cone", "/hidden", "/in/"]);
    assert!(!sample.root.join("out").exists());
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    assert_eq!(fs::read(workspace.root.join("hidden")).unwrap(), b"two\n");
    assert!(!workspace.root.join("out").exists());
    let status = ["status", "--porcelain=v2"];
    assert_eq!(git(&workspace.root, &status), sample.git(&status));
    assert_eq!(captured(&snapshot, &workspace).changes.files, 0);
}

#[test]
fn more_untracked_bytes_than_allowed_are_refused_with_the_largest_files_before_anything_is_made() {
    let sample = Sample::with(&[("file", "x\n")]);
    sample.write("big", "x".repeat(3000));
    sample.write("bigger", "x".repeat(4000));
    let error = sample.try_freeze("raaaa", 6999, &faults("")).err().unwrap();
    let engine::ports::IsolationError::Refused { because, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        because,
        "they are 6.8 KiB in 2 files, and the limit is 6.8 KiB; \
         the largest: bigger (3.9 KiB), big (2.9 KiB)"
    );
    assert!(!sample.paths().workspaces.exists());
    assert!(!sample.paths().store.exists());
    assert!(sample.try_freeze("raaaa", 7000, &faults("")).is_ok());
}

#[test]
fn a_repository_without_a_commit_has_workspaces_too() {
    let sample = Sample::empty();
    sample.write("file", "x\n");
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let status = ["status", "--porcelain=v2", "--branch"];
    assert_eq!(git(&workspace.root, &status), sample.git(&status));
    assert_eq!(fs::read(workspace.root.join("file")).unwrap(), b"x\n");
}

#[test]
fn a_linked_worktree_and_its_references_are_seen_as_they_are() {
    let sample = Sample::with(&[("file", "x\n")]);
    sample.git(&["branch", "other"]);
    sample.git(&["worktree", "add", "-q", "../linked", "other"]);
    let linked = sample.root.parent().unwrap().join("linked");
    write(&linked, "file", "y\n");
    let repo = crate::repository::Repo::open(&linked).unwrap();
    let paths = sample.all_places().of(&repo.root);
    let request = engine::ports::FreezeRequest {
        run: "raaaa".parse().unwrap(),
        mode: protocol::IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry: engine::ports::CarryRequest::default(),
        union: Vec::new(),
    };
    let snapshot = {
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        freeze_at(&repo, &paths, &faults(""), &request, landings).unwrap()
    };
    let workspace = prepare(&snapshot, "a");
    for question in [&["status", "--porcelain=v2", "--branch"][..], &["for-each-ref"]] {
        assert_eq!(git(&workspace.root, question), git(&linked, question));
    }
}
