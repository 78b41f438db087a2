//! What a capture holds, judged by git.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use engine::fault::Faults;
use protocol::{CaptureRef, ChangeSummary, FailureClass, LeftOut, LeftOutEntry, LeftOutKind};

use crate::baseline::ContentLocation;
use crate::file_entry::{Change, Mode};
use crate::git_texts::GitTexts;
use crate::testing::{
    Sample, captured, faults, git, path, prepare, prepare_after, raw, run, try_capture, write,
};
use crate::workspace::discard;

fn chmod(file: impl AsRef<std::path::Path>, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// The paths of a capture with what was and what is: `-` for nothing, else mode and bytes.
fn read(sample: &Sample, capture: &CaptureRef) -> Vec<(String, String, String)> {
    let store = sample.store();
    let side = |entry: Option<crate::file_entry::Entry>| match entry {
        None => "-".to_owned(),
        Some(entry) => {
            let bytes = store.read(entry.oid).unwrap();
            format!("{:o} {}", entry.mode.to_git(), String::from_utf8_lossy(&bytes))
        }
    };
    let changes = store.changes(capture).unwrap().into_iter();
    changes
        .map(|Change { path, base, task, .. }| (path.to_string(), side(base), side(task)))
        .collect()
}

#[test]
fn a_capture_has_every_kind_of_change_and_nothing_else() {
    let sample = Sample::with(&[
        ("edited", "one\n"),
        ("same", "one\n"),
        ("touched", "one\n"),
        ("removed", "one\n"),
        ("mode", "one\n"),
        ("to-link", "one\n"),
        ("to-folder", "one\n"),
        ("folder/a", "one\n"),
        ("folder/b", "one\n"),
        ("from", "one\n"),
        (".gitignore", "*.o\n"),
    ]);
    sample.write("dirty", "users\n");
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let at = |name: &str| workspace.root.join(name);
    write(&workspace.root, "edited", "two\n");
    write(&workspace.root, "touched", "one\n");
    write(&workspace.root, "dirty", "tasks\n");
    write(&workspace.root, "new/er", "new\n");
    write(&workspace.root, "empty", "");
    write(&workspace.root, "x.o", "ignored\n");
    write(&workspace.root, raw(b"odd \"\xff\nname"), "odd\n");
    fs::remove_file(at("removed")).unwrap();
    chmod(at("mode"), 0o755);
    fs::remove_file(at("to-link")).unwrap();
    symlink("/etc/passwd", at("to-link")).unwrap();
    fs::remove_file(at("to-folder")).unwrap();
    write(&workspace.root, "to-folder/in", "in\n");
    fs::remove_dir_all(at("folder")).unwrap();
    write(&workspace.root, "folder", "a file\n");
    fs::rename(at("from"), at("to")).unwrap();
    let done = captured(&snapshot, &workspace);
    assert_eq!(done.capture.as_str(), "refs/tasks/raaaa/a/1");
    let expected = [
        ("dirty", "100644 users\n", "100644 tasks\n"),
        ("edited", "100644 one\n", "100644 two\n"),
        ("empty", "-", "100644 "),
        ("folder", "-", "100644 a file\n"),
        ("folder/a", "100644 one\n", "-"),
        ("folder/b", "100644 one\n", "-"),
        ("from", "100644 one\n", "-"),
        ("mode", "100644 one\n", "100755 one\n"),
        ("new/er", "-", "100644 new\n"),
        ("\"odd \\\"\\377\\nname\"", "-", "100644 odd\n"),
        ("removed", "100644 one\n", "-"),
        ("to", "-", "100644 one\n"),
        ("to-folder", "100644 one\n", "-"),
        ("to-folder/in", "-", "100644 in\n"),
        ("to-link", "100644 one\n", "120000 /etc/passwd"),
    ];
    let expected = expected.map(|(path, was, is)| (path.into(), was.into(), is.into()));
    assert_eq!(read(&sample, &done.capture), expected);
    git(&sample.paths().store, &["fsck", "--strict"]);
}

#[test]
fn a_summary_counts_what_git_diff_numstat_counts() {
    let lines = |range: std::ops::Range<u32>| {
        range.map(|line| format!("line {}\n", line % 7)).collect::<String>()
    };
    let sample = Sample::with(&[
        ("long", &lines(0..300)),
        ("unended", "no end"),
        ("removed", &lines(0..40)),
        ("mode", "x\n"),
        ("binary", "a\0b\n"),
        ("kind", "x\ny\n"),
    ]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let at = |name: &str| workspace.root.join(name);
    let edited = lines(0..300).replace("line 3\nline 4\n", "line 4\nother\nline 3\n");
    write(&workspace.root, "long", edited);
    write(&workspace.root, "unended", "no end\n");
    write(&workspace.root, "added", lines(3..20));
    write(&workspace.root, "binary", "c\0d\n\n\n");
    fs::remove_file(at("removed")).unwrap();
    chmod(at("mode"), 0o755);
    fs::remove_file(at("kind")).unwrap();
    symlink("long", at("kind")).unwrap();
    let changes = captured(&snapshot, &workspace).changes;
    git(&workspace.root, &["add", "-A"]);
    let numstat = git(&workspace.root, &["diff", "--cached", "--numstat", "--no-renames"]);
    let mut expected = ChangeSummary::default();
    for line in numstat.lines() {
        let mut columns = line.split('\t').map(|column| column.parse::<u64>().unwrap_or(0));
        expected.files += 1;
        expected.added += columns.next().unwrap();
        expected.removed += columns.next().unwrap();
    }
    assert_eq!(changes, expected, "{numstat}");
}

#[test]
fn a_renamed_file_is_counted_by_the_lines_that_have_changed_in_it() {
    let lines = |range: std::ops::Range<u32>| {
        range.map(|line| format!("line {line}\n")).collect::<String>()
    };
    let (pure, edited) = (lines(0..30), lines(100..140));
    let sample = Sample::with(&[("pure", &pure), ("edited", &edited), ("gone", "gone\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let at = |name: &str| workspace.root.join(name);
    fs::create_dir(at("new")).unwrap();
    fs::rename(at("pure"), at("new/pure")).unwrap();
    let alone = captured(&snapshot, &workspace);
    assert_eq!(alone.changes, ChangeSummary { files: 2, added: 0, removed: 0 });
    let (store, texts) = (sample.store(), GitTexts::of(&sample.root));
    let kept = crate::capture::summary((&store, &texts), alone.capture.clone()).unwrap();
    assert_eq!(kept, alone, "what is read later is the same");
    fs::remove_file(at("edited")).unwrap();
    write(&workspace.root, "new/edited", edited.replace("line 120\n", "one\ntwo\n"));
    write(&workspace.root, "new/other", "added\n");
    fs::remove_file(at("gone")).unwrap();
    let changes = captured(&snapshot, &workspace).changes;
    git(&workspace.root, &["add", "-A"]);
    let shown = git(&workspace.root, &["diff", "--cached", "--shortstat", "-M"]);
    assert_eq!(shown.trim(), "4 files changed, 3 insertions(+), 2 deletions(-)");
    assert_eq!(changes, ChangeSummary { files: 6, added: 3, removed: 2 });
}

#[test]
fn a_task_that_changes_nothing_is_captured_too() {
    let sample = Sample::with(&[("file", "x\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let done = captured(&snapshot, &workspace);
    assert_eq!(done.changes, ChangeSummary::default());
    assert_eq!(sample.store().changes(&done.capture).unwrap(), []);
    assert_eq!(sample.store().captures(&run("raaaa")).unwrap(), [done.capture]);
}

#[test]
fn an_edit_that_keeps_size_and_time_is_found() {
    let sample = Sample::with(&[("file", "one\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    let file = workspace.root.join("file");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "two\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let done = captured(&snapshot, &workspace);
    assert_eq!(done.changes, ChangeSummary { files: 1, added: 1, removed: 1 });
}

#[test]
fn line_ends_that_a_task_turns_into_those_of_the_commit_are_a_change() {
    let sample = Sample::empty();
    sample.write(".gitattributes", "*.txt text eol=crlf\n");
    sample.write("turned.txt", "a\r\nb\r\n");
    sample.write("same.txt", "a\r\nb\r\n");
    // What is older than the index, and not young, is known by its blob.
    for name in ["turned.txt", "same.txt"] {
        sample.of_yesterday(name);
    }
    sample.commit();
    let snapshot = sample.freeze_tomorrow("raaaa");
    for name in ["turned.txt", "same.txt"] {
        let frozen = snapshot.table.get(&path(name)).unwrap();
        let ContentLocation::Crlf(oid) = frozen.source else { panic!("{name}: {frozen:?}") };
        assert_eq!(sample.git(&["cat-file", "blob", &oid.to_string()]), "a\nb\n", "{name}");
    }
    let workspace = prepare(&snapshot, "a");
    write(&workspace.root, "turned.txt", "a\nb\n");
    write(&workspace.root, "same.txt", "a\r\nb\r\n");
    let done = captured(&snapshot, &workspace);
    let change = ("turned.txt", "100644 a\r\nb\r\n", "100644 a\nb\n");
    let expected = [(change.0.into(), change.1.into(), change.2.into())];
    assert_eq!(read(&sample, &done.capture), expected);
}

#[test]
fn what_a_task_did_not_touch_need_not_be_restored() {
    let sample = Sample::empty();
    // Only a program could restore it, and none is run.
    sample.write(".gitattributes", "*.psd filter=art\n");
    sample.write("a.psd", "art\n");
    sample.of_yesterday("a.psd");
    sample.commit();
    let snapshot = sample.freeze_tomorrow("raaaa");
    assert!(matches!(snapshot.table.get(&path("a.psd")).unwrap().source, ContentLocation::Blob(_)));
    let workspace = prepare(&snapshot, "a");
    sample.write("a.psd", "the user's\n");
    write(&workspace.root, "new.txt", "new\n");
    let done = captured(&snapshot, &workspace);
    assert_eq!(done.changes, ChangeSummary { files: 1, added: 1, removed: 0 });
}

#[test]
fn what_a_task_committed_or_staged_is_captured_like_everything_else() {
    let sample = Sample::with(&[("file", "one\n"), (".gitignore", "*.log\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    write(&workspace.root, "file", "two\n");
    write(&workspace.root, "new", "new\n");
    write(&workspace.root, "ignored.log", "x\n");
    write(&workspace.root, "logs/forced.log", "x\n");
    git(&workspace.root, &["add", "-A"]);
    git(&workspace.root, &["add", "-f", "logs"]);
    git(&workspace.root, &["commit", "-q", "-m", "Mine"]);
    git(&workspace.root, &["checkout", "-q", "-b", "elsewhere"]);
    let done = captured(&snapshot, &workspace);
    assert_eq!(done.changes, ChangeSummary { files: 3, added: 3, removed: 1 });
    fs::write(workspace.folder.join("git/index"), "garbage").unwrap();
    assert_eq!(captured(&snapshot, &workspace).changes.files, 2);
}

#[test]
fn what_is_tracked_although_ignored_and_made_again_is_captured() {
    let sample = Sample::with(&[(".gitignore", "*.log\nold/\n"), ("keep", "x\n")]);
    for name in ["users.log", "tasks.log", "old/users"] {
        sample.write(name, "one\n");
    }
    git(&sample.root, &["add", "--force", "users.log", "tasks.log", "old/users"]);
    fs::remove_file(sample.root.join("users.log")).unwrap();
    fs::remove_dir_all(sample.root.join("old")).unwrap();
    let snapshot = sample.freeze("raaaa");
    let first = prepare(&snapshot, "first");
    fs::remove_file(first.root.join("tasks.log")).unwrap();
    let removed = captured(&snapshot, &first);

    let second = prepare_after(&snapshot, "second", &[("first", &removed.capture)]).unwrap();
    for name in ["users.log", "tasks.log", "old/users", "nobodys.log", "old/nobodys"] {
        write(&second.root, name, "two\n");
    }
    let made = captured(&snapshot, &second);
    let added = |name: &str| (name.to_owned(), "-".to_owned(), "100644 two\n".to_owned());
    let expected = [added("old/users"), added("tasks.log"), added("users.log")];
    assert_eq!(read(&sample, &made.capture), expected);
}

#[test]
fn a_dependant_begins_with_its_predecessors_work_and_its_capture_has_only_its_own() {
    let files = [("a", "one\n"), ("b", "one\n"), ("gone/x", "one\n"), ("old/x", "one\n")];
    let sample = Sample::with(&files);
    let snapshot = sample.freeze("raaaa");
    let first = prepare(&snapshot, "first");
    write(&first.root, "a", "first\n");
    write(&first.root, "added", "first\n");
    write(&first.root, "kept", "first\n");
    fs::remove_dir_all(first.root.join("gone")).unwrap();
    fs::remove_dir_all(first.root.join("old")).unwrap();
    write(&first.root, "gone", "a file\n");
    let first = captured(&snapshot, &first).capture;
    let second = prepare_after(&snapshot, "second", &[("first", &first)]).unwrap();
    assert_eq!(fs::read(second.root.join("a")).unwrap(), b"first\n");
    assert_eq!(fs::read(second.root.join("gone")).unwrap(), b"a file\n");
    assert!(!second.root.join("old").exists());
    write(&second.root, "a", "second\n");
    write(&second.root, "b", "second\n");
    fs::remove_file(second.root.join("added")).unwrap();
    let second = captured(&snapshot, &second).capture;
    let expected = [
        ("a", "100644 first\n", "100644 second\n"),
        ("added", "100644 first\n", "-"),
        ("b", "100644 one\n", "100644 second\n"),
    ];
    let expected = expected.map(|(path, was, is)| (path.into(), was.into(), is.into()));
    assert_eq!(read(&sample, &second), expected);
    let third =
        prepare_after(&snapshot, "third", &[("first", &first), ("second", &second)]).unwrap();
    assert_eq!(fs::read(third.root.join("a")).unwrap(), b"second\n");
    assert!(!third.root.join("added").exists());
    assert_eq!(captured(&snapshot, &third).changes.files, 0);
}

#[test]
fn predecessors_that_conflict_are_named_and_nothing_is_made() {
    let sample = Sample::with(&[("a", "one\n")]);
    let snapshot = sample.freeze("raaaa");
    let [left, right] = ["left", "right"].map(|task| {
        let workspace = prepare(&snapshot, task);
        write(&workspace.root, "a", task);
        captured(&snapshot, &workspace).capture
    });
    let both = [("left", &left), ("right", &right)];
    let failure = prepare_after(&snapshot, "last", &both).unwrap_err().to_failure();
    assert_eq!(failure.class, FailureClass::Dependency);
    assert_eq!(failure.message, "the work of left and right conflicts on a");
    assert!(!snapshot.context.folder.join("last").exists());
}

#[test]
fn what_a_task_puts_into_a_repository_of_its_own_is_captured_and_special_files_are_not() {
    let sample = Sample::with(&[("file", "x\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    write(&workspace.root, "clone/file", "x\n");
    git(&workspace.root.join("clone"), &["init", "-q"]);
    let pipe = workspace.root.join("pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, pipe, kind, rustix::fs::Mode::RUSR, 0).unwrap();
    let captured = captured(&snapshot, &workspace);
    let changes = sample.store().changes(&captured.capture).unwrap();
    let paths: Vec<_> = changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["clone/file"]);
    let left_out: Vec<_> = captured.left_out.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(left_out, [LeftOutKind::Repository, LeftOutKind::Fifo]);
    assert!(!captured.holds_uncaptured_files());
}

#[test]
fn a_capture_needs_nothing_of_the_users_repository_afterwards() {
    let sample = Sample::with(&[("file", "one\n")]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    write(&workspace.root, "file", "two\n");
    let done = captured(&snapshot, &workspace);
    fs::remove_dir_all(&sample.root).unwrap();
    let change = sample_change(&sample.paths().store, &done.capture);
    assert_eq!(change, (b"one\n".to_vec(), b"two\n".to_vec(), Mode::File));
}

fn sample_change(store: &std::path::Path, capture: &CaptureRef) -> (Vec<u8>, Vec<u8>, Mode) {
    let store = crate::store::TaskStore::open(store).unwrap();
    let change = store.changes(capture).unwrap().remove(0);
    assert_eq!(change.path, path("file"));
    let (base, task) = (change.base.unwrap(), change.task.unwrap());
    (store.read(base.oid).unwrap(), store.read(task.oid).unwrap(), task.mode)
}

#[test]
fn a_capture_that_fails_says_why_and_the_workspace_stays() {
    let sample = Sample::with(&[("file", "one\n")]);
    let plans = [
        ("fail@capture.begin", FailureClass::Workspace),
        ("full@capture.blobs", FailureClass::Resources),
        ("full@capture.ref", FailureClass::Resources),
    ];
    for (plan, class) in plans {
        let snapshot = sample.try_freeze("raaaa", 0, &faults(plan)).unwrap();
        let workspace = prepare(&snapshot, "a");
        write(&workspace.root, "file", "two\n");
        let error = try_capture(&snapshot, &workspace).unwrap_err();
        assert_eq!(error.to_failure().class, class, "{plan}");
        assert_eq!(sample.store().captures(&run("raaaa")).unwrap(), []);
        assert_eq!(fs::read(workspace.root.join("file")).unwrap(), b"two\n");
        let done = captured(&snapshot, &workspace);
        sample.store().remove(&done.capture).unwrap();
        discard(&workspace.folder, &Faults::default(), &snapshot.context.removals).unwrap();
        snapshot.close().unwrap();
    }
}

#[test]
fn what_an_interrupted_write_left_is_nobodys_work_unless_somebody_tracks_it() {
    let sample = Sample::with(&[(".regatta-1-1.tmp", "tracked\n"), ("a", "one\n")]);
    sample.write(".regatta-2-1.tmp", "half of a");
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    assert!(!workspace.root.join(".regatta-2-1.tmp").exists());
    write(&workspace.root, ".regatta-1-1.tmp", "edited\n");
    write(&workspace.root, ".regatta-3-1.tmp", "half of a");
    write(&workspace.root, "folder/.regatta-3-2.tmp", "half of a");
    let done = captured(&snapshot, &workspace);
    let edited = (".regatta-1-1.tmp", "100644 tracked\n", "100644 edited\n");
    let expected = [edited].map(|(path, was, is)| (path.into(), was.into(), is.into()));
    assert_eq!(read(&sample, &done.capture), expected);
}

#[test]
fn the_files_in_what_is_left_out_are_counted_at_any_depth_and_under_any_name() {
    let sample = Sample::with(&[("file", "x\n")]);
    let library = Sample::with(&[("lib", "x\n")]);
    let url = library.root.display().to_string();
    sample.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "sub"]);
    sample.commit();
    sample.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "a");
    assert_eq!(captured(&snapshot, &workspace).left_out, LeftOut::default());
    for name in ["sub/.git", "sub/deep/er/x", "sub/.GIT/x", "sub/git~1", ".git./.git/x"] {
        write(&workspace.root, name, "work\n");
    }
    symlink("/nowhere", workspace.root.join("sub/link")).unwrap();
    fs::create_dir(workspace.root.join(".GIT")).unwrap();
    let done = captured(&snapshot, &workspace);
    assert!(done.holds_uncaptured_files());
    assert_eq!(done.changes.files, 0);
    let entry = |path: &str, kind| LeftOutEntry { path: path.to_owned(), kind };
    let expected = LeftOut {
        entries: vec![
            entry(".GIT", LeftOutKind::GitTwin { files: 0 }),
            entry(".git.", LeftOutKind::GitTwin { files: 1 }),
            entry("sub", LeftOutKind::Submodule { files: 5 }),
        ],
        total: 3,
        files: 6,
        workspace: Some(workspace.root.display().to_string()),
    };
    assert_eq!(done.left_out, expected);
}
