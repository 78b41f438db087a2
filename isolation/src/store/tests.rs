//! What the task store gives back.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use test_limit::eventually;

use crate::backends::RunContext;
use crate::captured_work::CapturedWork as _;
use crate::file_entry::{Change, Entry, Mode};
use crate::store::{Contents, Durability, OwnCommit, Series, TaskStore};
use crate::testing::{Sample, captured, git, path, prepare, raw, run, write};
use crate::{Captures, FrozenFile, PathFilter};

#[test]
fn git_applies_the_patch_of_a_capture_and_gets_the_tasks_tree() {
    let sample = Sample::with(&[
        ("edited", "one\ntwo\nthree\n"),
        ("unended", "no end"),
        ("removed", "one\n"),
        ("mode", "x\n"),
        ("kind", "x\n"),
        ("folder/a", "x\n"),
        ("crlf", "one\r\ntwo\r\n"),
    ]);
    sample.write("binary", [0, 1, 2, 3].repeat(200));
    sample.commit();
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    let at = |name: &str| workspace.root.join(name);
    write(&workspace.root, "edited", "one\n2\nthree\n");
    write(&workspace.root, "unended", "no end still");
    write(&workspace.root, "binary", [3, 1, 0, 7].repeat(100));
    write(&workspace.root, "empty", "");
    write(&workspace.root, "crlf", "one\r\n2\r\n");
    write(&workspace.root, raw(b"odd \"\xff\nname"), "odd\n");
    fs::remove_file(at("removed")).unwrap();
    fs::set_permissions(at("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(at("kind")).unwrap();
    symlink("edited", at("kind")).unwrap();
    fs::remove_dir_all(at("folder")).unwrap();
    write(&workspace.root, "folder", "a file\n");
    let done = captured(&frozen, &workspace);
    let captures = Captures::of(&sample.root, &sample.all_places());
    let patch = captures.diff(&done.capture, &PathFilter::Everything).unwrap();
    let file = sample.root.parent().unwrap().join("patch");
    fs::write(&file, patch).unwrap();
    sample.git(&["apply", "--whitespace=nowarn", file.to_str().unwrap()]);
    let tree = |root: &Path| {
        git(root, &["add", "-A"]);
        git(root, &["write-tree"])
    };
    assert_eq!(tree(&sample.root), tree(&workspace.root));
}

#[test]
fn a_patch_of_one_folder_has_that_folder_and_nothing_else() {
    let sample = Sample::with(&[("a/x", "one\n"), ("ab", "one\n"), ("b*", "one\n")]);
    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    for name in ["a/x", "ab", "b*"] {
        write(&workspace.root, name, "two\n");
    }
    let capture = captured(&frozen, &workspace).capture;
    let captures = Captures::of(&sample.root, &sample.all_places());
    for (filter, expected) in [("a", "a/x"), ("b*", "b*"), ("ab", "ab")] {
        let patch = captures.diff(&capture, &PathFilter::Below(path(filter))).unwrap();
        let patch = String::from_utf8(patch).unwrap();
        let named: Vec<_> = patch.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
        assert_eq!(named, [expected]);
    }
    assert_eq!(captures.paths(&capture).unwrap(), ["a/x", "ab", "b*"].map(path));
}

#[test]
fn captures_are_listed_per_run_and_go_when_they_are_removed() {
    let sample = Sample::with(&[("file", "one\n")]);
    let captures = Captures::of(&sample.root, &sample.all_places());
    assert_eq!(captures.list(&run("raaaa")).unwrap(), []);
    let (first, second) = (sample.freeze("raaaa"), sample.freeze("raaaab"));
    let tasks = ["auth", "auth.tests"];
    let done = tasks.map(|task| captured(&first, &prepare(&first, task)).capture);
    captured(&second, &prepare(&second, "other"));
    assert_eq!(captures.list(&run("raaaa")).unwrap(), done);
    captures.remove(&run("raaaa"), &done[0]).unwrap();
    captures.remove(&run("raaaa"), &done[0]).unwrap();
    assert_eq!(captures.list(&run("raaaa")).unwrap(), done[1..]);
    assert!(captures.diff(&done[0], &PathFilter::Everything).is_err());
}

#[test]
fn many_threads_make_and_fill_one_store_at_once() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("app.git");
    std::thread::scope(|scope| {
        for number in 0..8u32 {
            let place = &place;
            scope.spawn(move || {
                let store = TaskStore::open(place).unwrap();
                for attempt in 0..10 {
                    let oid = store.write(format!("{number}").as_bytes()).unwrap();
                    let task = Some(Entry { mode: Mode::File, oid });
                    let changes = vec![Change::new(path("f"), None, task)];
                    let contents = Contents { changes, ..Contents::default() };
                    let task = format!("t{number}").parse().unwrap();
                    let name = protocol::CaptureRef::of(&run("raaaa"), &task, attempt);
                    store.put_capture(&name, &contents, "x").unwrap();
                    let pins = format!("refs/pins/r{number}");
                    store
                        .hold(
                            &pins,
                            &[(b"a/b".to_vec(), Entry { mode: Mode::Link, oid })],
                            Durability::Buffered,
                        )
                        .unwrap();
                    store.release(&pins).unwrap();
                    store.release(&pins).unwrap();
                }
            });
        }
    });
    let store = TaskStore::open(&place).unwrap();
    assert_eq!(store.captures(&run("raaaa")).unwrap().len(), 80);
    git(&place, &["fsck", "--strict"]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn who_changes_a_reference_waits_for_who_changes_another() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("app.git");
    let store = TaskStore::open(&place).unwrap();
    let entry = Entry { mode: Mode::File, oid: store.write(b"kept\n").unwrap() };
    let name = "refs/tasks/r7k3f/auth/1";
    let other = fs::File::open(&place).unwrap();
    other.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let store = TaskStore::open(&place).unwrap();
            store.hold(name, &[(b"task/a".to_vec(), entry)], Durability::Synced).unwrap();
        });
        eventually(Duration::from_secs(60), "it waits", || is_waited_for(&other));
        assert!(!waiting.is_finished() && !place.join(name).exists());
        other.unlock().unwrap();
        waiting.join().unwrap();
    });
    assert!(place.join(name).is_file());
}

/// Whether anybody waits for the lock on this file.
fn is_waited_for(locked: &fs::File) -> bool {
    let end = format!(":{} 0 EOF", locked.metadata().unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("-> FLOCK") && line.ends_with(&end))
}

#[test]
fn a_lock_that_a_dead_writer_left_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("app.git");
    let store = TaskStore::open(&place).unwrap();
    let entry = Entry { mode: Mode::File, oid: store.write(b"kept\n").unwrap() };
    let name = "refs/tasks/r7k3f/auth/1";
    let leave_locks = || {
        fs::create_dir_all(place.join("refs/tasks/r7k3f/auth")).unwrap();
        fs::write(place.join(format!("{name}.lock")), "").unwrap();
        fs::write(place.join("packed-refs.lock"), "").unwrap();
    };
    leave_locks();
    store.hold(name, &[(b"task/a".to_vec(), entry)], Durability::Synced).unwrap();
    assert!(place.join(name).is_file());
    leave_locks();
    store.release(name).unwrap();
    assert!(!place.join(name).exists());
}

/// A capture with these lines at the end of its message.
fn capture_with(store: &TaskStore, contents: &Contents, message: &str) -> protocol::CaptureRef {
    let name = protocol::CaptureRef::of(&run("raaaa"), &"a".parse().unwrap(), 1);
    store.put_capture(&name, contents, message).unwrap();
    name
}

fn renamed(store: &TaskStore) -> Contents {
    let entry = |bytes: &[u8]| Some(Entry { mode: Mode::File, oid: store.write(bytes).unwrap() });
    let (old, new) = (path(b"old \xff"), path("new"));
    let added = Change { from: Some(old.clone()), ..Change::new(new, None, entry(b"x\n")) };
    let changes = vec![added, Change::new(old, entry(b"x\n"), None)];
    Contents {
        changes,
        message: Some("Move it\n\nall\n".to_owned()),
        setup: [path(b"set \xff")].into(),
        nested: Vec::new(),
        start: None,
        series: Series::default(),
    }
}

#[test]
fn a_capture_says_what_was_renamed_and_git_reads_it_as_gone_and_new() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("app.git");
    let store = TaskStore::open(&place).unwrap();
    let contents = renamed(&store);
    let name = capture_with(&store, &contents, "raaaa/a 1");
    assert_eq!(store.contents(&name).unwrap(), contents);
    assert_eq!(store.changes(&name).unwrap(), contents.changes);
    let message = git(&place, &["log", "-1", "--format=%B", name.as_str()]);
    assert!(message.contains("Capture-Version: 2\nCapture-Rename: {"), "{message}");
    assert!(message.contains("\nCapture-Message: \"Move it\\n\\nall\\n\"\n"), "{message}");
}

#[test]
fn a_capture_of_the_first_version_is_read_and_one_of_a_later_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = TaskStore::open(&folder.path().join("app.git")).unwrap();
    let entry = Entry { mode: Mode::File, oid: store.write(b"x\n").unwrap() };
    let held = [(b"task/new".to_vec(), entry)];
    let read = |message: &str| {
        let name = protocol::CaptureRef::of(&run("raaaa"), &"a".parse().unwrap(), 1);
        store.write_reference(name.as_str(), &held, message, Durability::Buffered).unwrap();
        store.contents(&name).map_err(|error| error.to_failure().message)
    };
    let change = Change::new(path("new"), None, Some(entry));
    let plain = Contents { changes: vec![change], ..Contents::default() };
    assert_eq!(read("raaaa/a 1\n"), Ok(plain));
    let later = read("raaaa/a 1\n\nCapture-Version: 5\n").unwrap_err();
    assert!(later.contains("version 5 of its format is not known here"), "{later}");
    for lie in
        ["{\"from\":\"old\",\"to\":\"new\"}", "{\"from\":1}", "{\"from\":\"../a\",\"to\":\"new\"}"]
    {
        let refused = read(&format!("raaaa/a 1\n\nCapture-Version: 2\nCapture-Rename: {lie}\n"));
        assert!(refused.is_err(), "{lie}");
    }
}

#[test]
fn the_list_of_the_tree_a_run_began_with_is_kept_as_long_as_work_of_it_is() {
    let sample = Sample::with(&[("folder/a", "a\n"), ("b", "b\n"), (".gitignore", "ignored\n")]);
    sample.write("ignored", "x\n");
    sample.write("b", "not committed\n");
    let blob = |name: &str| sample.git(&["hash-object", name]).trim().to_owned();
    let expected: Vec<_> = [".gitignore", "b", "folder/a"]
        .map(|name| FrozenFile { path: path(name), mode: 0o100_644, oid: blob(name) })
        .into();
    let captures = Captures::of(&sample.root, &sample.all_places());
    let idle = sample.freeze("rbbbb");
    idle.close().unwrap();
    assert_eq!(captures.frozen(&run("rbbbb")).unwrap(), None, "no work of it is kept");

    let frozen = sample.freeze("raaaa");
    let workspace = prepare(&frozen, "a");
    write(&workspace.root, "new", "new\n");
    let done = captured(&frozen, &workspace);
    let RunContext { faults, removals, .. } = &frozen.context;
    crate::workspace::discard(&workspace.folder, faults, removals).unwrap();
    frozen.close().unwrap();
    sample.write("b", "changed since\n");
    assert_eq!(captures.frozen(&run("raaaa")).unwrap(), Some(expected));
    captures.remove(&run("raaaa"), &done.capture).unwrap();
    assert_eq!(captures.frozen(&run("raaaa")).unwrap(), None);
}

#[test]
fn the_commits_of_a_task_come_back_from_its_capture_and_damaged_ones_cost_none_of_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("app.git");
    let store = TaskStore::open(&place).unwrap();
    let entry = |bytes: &[u8]| Some(Entry { mode: Mode::File, oid: store.write(bytes).unwrap() });
    let commit = |subject: &str, paths: &[(&str, Option<Entry>)]| OwnCommit {
        author: "Ada \"A\"".to_owned(),
        email: "ada@example.org".to_owned(),
        time: 1_700_000_000,
        offset: -90,
        message: format!("{subject}\n\nCapture-Version: 9\n"),
        paths: paths.iter().map(|(name, entry)| (path(*name), *entry)).collect(),
    };
    let commits = vec![
        commit("one", &[("new", entry(b"1\n")), ("deep/x", entry(b"x\n"))]),
        commit("two", &[("new", entry(b"2\n")), ("deep/x", None)]),
    ];
    let series = Series { commits, has_merges: true, lost: None };
    let contents = Contents { series, ..renamed(&store) };
    let name = capture_with(&store, &contents, "raaaa/a 1");
    assert_eq!(store.contents(&name).unwrap(), contents);
    let lost = Contents { series: Series::lost("why"), ..contents.clone() };
    let name = capture_with(&store, &lost, "raaaa/a 1");
    assert_eq!(store.contents(&name).unwrap(), lost);

    let held = [
        (b"task/new".to_vec(), entry(b"2\n").unwrap()),
        (b"series/7/x".to_vec(), entry(b"x").unwrap()),
    ];
    for line in ["", "Capture-Commit: {}\n", "Capture-Commit: 1\n"] {
        let message = format!("raaaa/a 1\n\nCapture-Version: 3\n{line}");
        store.write_reference(name.as_str(), &held, &message, Durability::Buffered).unwrap();
        let read = store.contents(&name).unwrap();
        assert_eq!(read.series, Series::lost("they cannot be read"), "{line}");
        assert_eq!(read.changes.len(), 1);
    }
}
