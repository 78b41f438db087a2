//! Every kind of change lands as git would have it.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use engine::ports::LandingNotice;
use protocol::{ConflictReason, Landed};
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::kit::{Kit, LANDED, landed, read, snapshot, write};

const ODD: [&[u8]; 4] = [b"with space", b"with\nnewline", b"not\xffutf8", b"quote\"$(id)'"];

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A repository with one of everything.
fn everything() -> Kit {
    let kit = Kit::with(&[
        ("text", "one\ntwo\nthree\n"),
        ("gone", "1\n"),
        ("deep/er/gone", "2\n"),
        ("was/file/a", "3\n"),
        ("was/file/b/c", "4\n"),
        ("folder-to-be", "5\n"),
        ("run", "#!/bin/sh\n"),
        ("rename-me", "6\n"),
        ("crlf", "a\r\nb\r\n"),
        ("binary", "\0\u{1}\u{2}"),
        ("to-link", "7\n"),
        ("empty", ""),
        ("keep/me", "8\n"),
    ]);
    symlink("text", kit.root.join("link")).unwrap();
    symlink("nowhere", kit.root.join("from-link")).unwrap();
    kit.git(&["add", "-A"]);
    kit.git(&["commit", "-q", "-m", "links"]);
    kit
}

fn change_everything(copy: &Path) {
    let gone = ["gone", "deep/er/gone", "was/file/a", "was/file/b/c", "folder-to-be"];
    for path in gone.into_iter().chain(["to-link", "link", "from-link"]) {
        fs::remove_file(copy.join(path)).unwrap();
    }
    for path in ["deep/er", "deep", "was/file/b", "was/file"] {
        fs::remove_dir(copy.join(path)).unwrap();
    }
    write(copy, "text", "one\n2\nthree\nfour");
    write(copy, "was/file", "now it is one\n");
    write(copy, "folder-to-be/with/something", "new\n");
    // Who may read it may run it: what that is depends on the mask of this process.
    let run = fs::metadata(copy.join("run")).unwrap().mode();
    chmod(&copy.join("run"), run & 0o777 | (run & 0o444) >> 2);
    fs::rename(copy.join("rename-me"), copy.join("renamed")).unwrap();
    write(copy, "crlf", "a\r\nB\r\n");
    write(copy, "binary", b"\0\xff\xfe");
    symlink("text", copy.join("to-link")).unwrap();
    symlink("../elsewhere", copy.join("link")).unwrap();
    write(copy, "from-link", "a file\n");
    write(copy, "empty", "no longer\n");
    write(copy, "new/empty", "");
    for name in ODD {
        write(copy, OsStr::from_bytes(name), name);
    }
}

#[test]
fn every_kind_of_change_lands_and_git_sees_what_it_sees_in_the_task() {
    let kit = everything();
    let git_folder = kit.git_folder();
    let mut expected = None;
    let judge = |tree: &Path| {
        let tree = format!("--work-tree={}", tree.display());
        let git = ["--git-dir=.git", &tree];
        let ask = |words: &[&str]| kit.git(&[&git[..], words].concat());
        (ask(&["status", "--porcelain", "-z", "-uall"]), ask(&["diff", "--binary", "-M"]))
    };
    let task = kit.task("all", |copy| {
        change_everything(copy);
        expected = Some((snapshot(copy), judge(copy)));
    });
    let report = kit.land(&[task]);
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(expected, Some((kit.snapshot(), judge(&kit.root))));
    assert_eq!(kit.git_folder(), git_folder, "nothing below .git may change");
    assert_eq!(kit.open_journals(), Vec::<String>::new());
    assert!(kit.git(&["diff", "--summary"]).contains("mode change 100644 => 100755 run"));
}

#[test]
fn the_users_own_changes_stay_and_merge_with_the_tasks() {
    let kit = everything();
    write(&kit.root, "keep/me", "staged\n");
    kit.git(&["add", "keep/me"]);
    write(&kit.root, "keep/me", "staged\nand not\n");
    write(&kit.root, "untracked", "mine\n");
    let task = kit.task("all", change_everything);
    // After the run began, the user goes on.
    write(&kit.root, "text", "zero\none\ntwo\nthree\n");
    chmod(&kit.root.join("crlf"), 0o755);
    let (index, stash) =
        (fs::read(kit.root.join(".git/index")).unwrap(), kit.git(&["stash", "list"]));
    let report = kit.land(&[task]);
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "text"), "zero\none\n2\nthree\nfour");
    assert_eq!(read(&kit.root, "crlf"), "a\r\nB\r\n");
    assert_eq!(fs::metadata(kit.root.join("crlf")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(read(&kit.root, "keep/me"), "staged\nand not\n");
    assert_eq!(read(&kit.root, "untracked"), "mine\n");
    assert_eq!(fs::read(kit.root.join(".git/index")).unwrap(), index);
    assert_eq!(kit.git(&["stash", "list"]), stash);
}

#[test]
fn a_conflict_leaves_no_trace_in_the_tree_and_everything_else_lands() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "2\n")]);
    let first = kit.task("first", |copy| write(copy, "a", "first\n"));
    let second = kit.task("second", |copy| {
        write(copy, "a", "second\n");
        write(copy, "b", "second\n");
    });
    let third = kit.task("third", |copy| write(copy, "c", "third\n"));
    let report = kit.land(&[first, second, third]);
    let [first, second, third] = landed(&report)[..] else { panic!("{report:?}") };
    assert_eq!((first, third), (&LANDED, &LANDED));
    let Landed::Conflicted { conflicts } = second else { panic!("{second:?}") };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].reason, ConflictReason::Content);
    assert_eq!(conflicts[0].with, Some("first".parse().unwrap()));
    let ours = git2::Oid::from_str(&conflicts[0].ours.as_ref().unwrap().oid).unwrap();
    assert_eq!(kit.store().read(ours).unwrap(), b"first\n");
    let names: Vec<_> = kit.snapshot().into_keys().collect();
    assert_eq!(names, [b"a", b"b", b"c"]);
    assert_eq!(read(&kit.root, "a") + &read(&kit.root, "b"), "first\n2\n");
}

#[test]
fn a_rename_takes_an_edit_of_the_user_along() {
    let kit = Kit::with(&[("old", "1\n")]);
    let rename = kit.task("rename", |copy| {
        fs::rename(copy.join("old"), copy.join("new")).unwrap();
    });
    write(&kit.root, "old", "edited\n");
    let report = kit.land(&[rename]);
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "new"), "edited\n");
    assert!(!kit.root.join("old").exists());
}

#[test]
fn ignored_files_in_a_folder_that_is_to_become_a_file_are_in_the_way() {
    let kit = Kit::with(&[("d/x", "1\n"), (".gitignore", "*.o\n")]);
    let task = kit.task("task", |copy| {
        fs::remove_dir_all(copy.join("d")).unwrap();
        write(copy, "d", "file\n");
    });
    write(&kit.root, "d/deep/built.o", "object\n");
    let before = kit.snapshot();
    let report = kit.land(std::slice::from_ref(&task));
    let Landed::Conflicted { conflicts } = landed(&report)[0] else { panic!("{report:?}") };
    assert_eq!(
        (conflicts[0].path.as_bytes(), conflicts[0].reason),
        (&b"d"[..], ConflictReason::InTheWay)
    );
    assert_eq!(kit.snapshot(), before);
    // Folders alone are not.
    fs::remove_file(kit.root.join("d/deep/built.o")).unwrap();
    assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
    assert_eq!(read(&kit.root, "d"), "file\n");
}

#[test]
fn another_repository_in_the_tree_is_not_touched() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "nested/new", "1\n"));
    fs::create_dir(kit.root.join("nested")).unwrap();
    super::kit::git(&kit.root.join("nested"), &["init", "-q"]);
    let report = kit.land(&[task]);
    assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
    assert!(!kit.root.join("nested/new").exists());
}

#[test]
fn a_symlink_on_the_way_is_never_followed() {
    let kit = Kit::with(&[("d/x", "1\n")]);
    let outside = kit.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "1\n").unwrap();
    let change = kit.task("change", |copy| write(copy, "d/x", "2\n"));
    let add = kit.task("add", |copy| write(copy, "d/y", "2\n"));
    let remove = kit.task("remove", |copy| fs::remove_file(copy.join("d/x")).unwrap());
    fs::remove_dir_all(kit.root.join("d")).unwrap();
    symlink(&outside, kit.root.join("d")).unwrap();
    let report = kit.land(&[change, add, remove]);
    let [change, add, remove] = landed(&report)[..] else { panic!("{report:?}") };
    assert!(matches!(change, Landed::Conflicted { .. }), "{change:?}");
    assert!(matches!(add, Landed::Conflicted { .. }), "{add:?}");
    assert_eq!(remove, &LANDED, "what is to be removed is not there any more");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("x")).unwrap(), b"1\n");
}

#[test]
fn permissions_and_other_names_of_a_file_stay() {
    let kit = Kit::with(&[("private", "1\n"), ("linked", "1\n"), ("script", "1\n")]);
    chmod(&kit.root.join("private"), 0o600);
    chmod(&kit.root.join("script"), 0o640);
    fs::hard_link(kit.root.join("linked"), kit.folder.path().join("other name")).unwrap();
    let inode = fs::metadata(kit.root.join("linked")).unwrap().ino();
    let private = fs::File::open(kit.root.join("private")).unwrap();
    let set = fsetxattr(&private, c"user.note", b"mine", XattrFlags::empty());
    if let Err(error) = &set {
        let why = format!("no attributes on this file system: {error}");
        test_limit::skip("permissions_and_other_names_of_a_file_stay", &why);
    }
    let task = kit.task("task", |copy| {
        write(copy, "private", "2\n");
        write(copy, "linked", "longer than before\n");
        chmod(&copy.join("script"), 0o755);
    });
    assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
    let mode = |path: &str| fs::metadata(kit.root.join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("private"), mode("script")), (0o600, 0o750));
    assert_eq!(fs::metadata(kit.root.join("linked")).unwrap().ino(), inode);
    assert_eq!(read(kit.folder.path(), "other name"), "longer than before\n");
    assert_eq!(read(&kit.root, "private"), "2\n");
    let private = fs::File::open(kit.root.join("private")).unwrap();
    let mut note = [0; 16];
    let note =
        fgetxattr(&private, c"user.note", &mut note[..]).map(|length| note[..length].to_vec());
    assert_eq!(note.ok(), set.ok().map(|()| b"mine".to_vec()));
}

#[test]
fn a_file_system_that_cannot_exchange_gets_the_same_in_two_steps() {
    let kit = everything();
    let mut expected = None;
    let task = kit.task("all", |copy| {
        change_everything(copy);
        expected = Some(snapshot(copy));
    });
    let report =
        kit.land_with(&super::kit::faults("fail@landing.exchange.support:*"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(Some(kit.snapshot()), expected);
    let told = kit.told.lock().unwrap();
    let weaker = told.iter().filter(|notice| matches!(notice, LandingNotice::NoExchange { .. }));
    assert_eq!(weaker.count(), 1, "{told:?}");
}

#[test]
fn landing_the_same_again_changes_nothing_and_says_that_it_is_there() {
    let kit = everything();
    let task = kit.task("all", change_everything);
    kit.land(std::slice::from_ref(&task));
    let before = kit.snapshot();
    assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
    assert_eq!(kit.snapshot(), before);
}

#[test]
fn an_unborn_branch_and_a_linked_worktree_are_landed_in_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("unborn");
    fs::create_dir(&root).unwrap();
    super::kit::git(&root, &["init", "-q"]);
    let unborn = Kit::over(folder, root);
    let task = unborn.task("task", |copy| write(copy, "first", "1\n"));
    assert_eq!(landed(&unborn.land(&[task])), [&LANDED]);

    let kit = Kit::with(&[("a", "1\n")]);
    let linked = kit.folder.path().join("linked");
    kit.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let Kit { folder, .. } = kit;
    let kit = Kit::over(folder, linked);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
    assert_eq!(read(&kit.root, "a"), "2\n");
}
