//! What the task store gives back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::entry::{Change, Entry, Mode};
use crate::store::{Durability, TaskStore};
use crate::testing::{Sample, captured, git, path, prepare, raw, run, write};
use crate::{Captures, Scope};

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
    let patch = captures.diff(&done.capture, &Scope::Everything).unwrap();
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
    for (scope, expected) in [("a", "a/x"), ("b*", "b*"), ("ab", "ab")] {
        let patch = captures.diff(&capture, &Scope::Below(path(scope))).unwrap();
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
    captures.remove(&done[0]).unwrap();
    captures.remove(&done[0]).unwrap();
    assert_eq!(captures.list(&run("raaaa")).unwrap(), done[1..]);
    assert!(captures.diff(&done[0], &Scope::Everything).is_err());
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
                    let change = Change { path: path("f"), base: None, task };
                    let task = format!("t{number}").parse().unwrap();
                    let name = protocol::CaptureRef::of(&run("raaaa"), &task, attempt);
                    store.put_capture(&name, &[change], "x").unwrap();
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
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert!(!waiting.is_finished() && !place.join(name).exists());
        other.unlock().unwrap();
        waiting.join().unwrap();
    });
    assert!(place.join(name).is_file());
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
