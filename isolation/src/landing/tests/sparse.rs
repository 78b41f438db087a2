//! Sparse checkouts and partial clones: what is not checked out is neither replaced nor removed.

use std::fs;
use std::path::Path;

use engine::ports::{LandingTask, SettleChoice, SettleRequest};
use protocol::{ConflictReason, Landed};

use super::kit::{Kit, LANDED, git, landed, read, write};

const FILES: [(&str, &str); 3] =
    [("in/file", "one\n"), ("out/file", "of git\n"), ("out/deep/er", "two\n")];

/// A repository of which only the folder `in` is checked out.
fn sparse() -> Kit {
    let kit = Kit::with(&FILES);
    kit.git(&["sparse-checkout", "set", "in"]);
    assert!(!kit.root.join("out").exists());
    kit
}

fn settled(task: LandingTask, choice: SettleChoice) -> LandingTask {
    let settle = SettleRequest { all: Some(choice), ..task.settle.clone() };
    LandingTask { settle, ..task }
}

/// Returns the only conflict, as its path, its reason and the content of ours.
fn conflict(kit: &Kit, result: &Landed) -> (String, ConflictReason, Option<String>) {
    let Landed::Conflicted { conflicts } = result else { panic!("{result:?}") };
    let [conflict] = conflicts.as_slice() else { panic!("{conflicts:?}") };
    let content = |oid: &str| kit.store().read(git2::Oid::from_str(oid).unwrap()).unwrap();
    let ours = conflict.ours.as_ref().map(|ours| content(&ours.oid));
    let ours = ours.map(|ours| String::from_utf8(ours).unwrap());
    (conflict.path.to_string(), conflict.reason, ours)
}

#[test]
fn what_a_task_writes_where_nothing_is_checked_out_is_a_conflict_and_theirs_writes_the_file() {
    let kit = sparse();
    let (tree, git_folder) = (kit.snapshot(), kit.git_folder());
    let not_checked_out = ConflictReason::NotCheckedOut;
    type Row = (&'static str, &'static str, ConflictReason, Option<&'static str>);
    let rows: [Row; 4] = [
        ("out/file", "other\n", not_checked_out, Some("of git\n")),
        ("out/deep/er", "", not_checked_out, Some("two\n")),
        ("out", "a file\n", ConflictReason::InTheWay, None),
        ("out/file/below", "a file\n", ConflictReason::InTheWay, None),
    ];
    for (path, text, reason, ours) in rows {
        let task = kit.task("a", |copy| write(copy, path, text));
        let report = kit.land(&[task]);
        let expected = (path.to_owned(), reason, ours.map(str::to_owned));
        assert_eq!(conflict(&kit, landed(&report)[0]), expected);
        assert_eq!(kit.snapshot(), tree, "{path}");
    }
    let same = kit.task("same", |copy| write(copy, "out/file", "of git\n"));
    let ours =
        settled(kit.task("b", |copy| write(copy, "out/file", "other\n")), SettleChoice::Ours);
    assert_eq!(landed(&kit.land(&[same, ours])), [&LANDED; 2]);
    assert_eq!(kit.snapshot(), tree, "nothing is written that git has already");

    let change = |copy: &Path| {
        write(copy, "out/file", "other\n");
        write(copy, "out/new", "new\n");
        fs::remove_file(copy.join("in/file")).unwrap();
    };
    let theirs = settled(kit.task("c", change), SettleChoice::Theirs);
    assert_eq!(landed(&kit.land(&[theirs])), [&LANDED]);
    assert_eq!([read(&kit.root, "out/file"), read(&kit.root, "out/new")], ["other\n", "new\n"]);
    assert!(!kit.root.join("out/deep").exists());
    assert_eq!(kit.git_folder(), git_folder, "the index is as it was");
    let status = kit.git(&["status", "--porcelain"]);
    assert_eq!(status, " D in/file\n M out/file\n?? out/new\n");
}

#[test]
fn a_checkout_that_becomes_sparse_during_a_run_removes_nothing() {
    let kit = Kit::with(&FILES);
    let edit = kit.task("edit", |copy| write(copy, "out/file", "other\n"));
    let removal = kit.task("remove", |copy| fs::remove_file(copy.join("out/file")).unwrap());
    let beside = kit.task("beside", |copy| write(copy, "in/file", "other\n"));
    kit.git(&["sparse-checkout", "set", "in"]);
    let report = kit.land(&[edit, removal, beside]);
    let [edit, removal, beside] = landed(&report)[..] else { panic!("{report:?}") };
    for result in [edit, removal] {
        let expected =
            ("out/file".to_owned(), ConflictReason::NotCheckedOut, Some("of git\n".to_owned()));
        assert_eq!(conflict(&kit, result), expected);
    }
    assert_eq!(beside, &LANDED);
    assert_eq!(kit.git(&["status", "--porcelain"]), " M in/file\n");
}

#[test]
fn an_index_that_cannot_be_read_during_a_run_is_an_error_and_nothing_is_written() {
    let kit = sparse();
    let tree = kit.snapshot();
    let task = kit.task("a", |copy| write(copy, "out/file", "other\n"));
    kit.git(&["update-index", "--split-index"]);
    let index = fs::read(kit.root.join(".git/index")).unwrap();
    for (index, why) in [(&index[..], "split or sparse"), (b"DIRC\0\0\0\x03", "damaged")] {
        fs::write(kit.root.join(".git/index"), index).unwrap();
        let report = kit.land(std::slice::from_ref(&task));
        let [Landed::Unwritten { message }] = landed(&report)[..] else { panic!("{report:?}") };
        assert!(message.contains("are not checked out") && message.contains(why), "{message}");
        assert_eq!(kit.snapshot(), tree);
    }
}

#[test]
fn what_a_partial_clone_has_no_copy_of_is_a_conflict_and_branches_keep_it() {
    let from = Kit::with(&FILES);
    from.git(&["config", "uploadpack.allowFilter", "true"]);
    let folder = tempfile::tempdir().unwrap();
    let (root, url) = (folder.path().join("repo"), format!("file://{}", from.root.display()));
    let clone = ["clone", "-q", "--sparse", "--filter=blob:none", &url, root.to_str().unwrap()];
    git(folder.path(), &clone);
    git(&root, &["sparse-checkout", "set", "--no-cone", "/in/", "/out/deep/"]);
    let kit = Kit::over(folder, root);
    // Nothing may fetch what is missing.
    kit.git(&["config", "remote.origin.url", "file:///nowhere"]);
    let missing = kit.task("missing", |copy| write(copy, "out/file", "other\n"));
    let here = kit.task("here", |copy| write(copy, "out/new", "new\n"));
    let expected = ("out/file".to_owned(), ConflictReason::NotCheckedOut, None);
    let both = [missing.clone(), here];
    let report = kit.land(&both);
    assert_eq!(conflict(&kit, landed(&report)[0]), expected);
    assert_eq!(landed(&report)[1], &LANDED);
    let theirs = settled(missing, SettleChoice::Theirs);
    assert_eq!(landed(&kit.land(&[theirs])), [&LANDED]);
    assert_eq!(read(&kit.root, "out/file"), "other\n");
    let report = kit.branch("regatta", &both).unwrap();
    assert_eq!(conflict(&kit, landed(&report)[0]), expected);
    let files = kit.git(&["ls-tree", "-r", "--name-only", "regatta/r7k3f/here"]);
    assert_eq!(files, "in/file\nout/deep/er\nout/file\nout/new\n");
}
