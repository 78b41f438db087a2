//! Branches made in real repositories, judged by the git program.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use engine::fault::Faults;
use engine::ports::{IsolationError, LandingTask};
use protocol::{ConflictReason, Landed, LandingReport};

use crate::landing::tests::kit::{Kit, git, landed, write};

fn on(branch: &str) -> Landed {
    Landed::Landed { branch: Some(format!("regatta/r7k3f/{branch}")), joined: Vec::new() }
}

fn branches(kit: &Kit, tasks: &[LandingTask]) -> LandingReport {
    kit.branch("regatta", tasks).unwrap()
}

fn conflicts(landed: &Landed) -> Vec<(String, ConflictReason)> {
    let Landed::Conflicted { conflicts } = landed else { panic!("{landed:?}") };
    conflicts.iter().map(|c| (c.path.to_string(), c.reason)).collect()
}

/// Everything about the working tree, the index and the stash that branches must not change.
fn outside(kit: &Kit) -> impl PartialEq + std::fmt::Debug + use<> {
    let index = fs::read(kit.root.join(".git/index")).ok();
    (
        kit.snapshot(),
        index,
        kit.git(&["stash", "list"]),
        kit.git(&["status", "--porcelain", "-uall"]),
    )
}

fn assert_sound(kit: &Kit) {
    let found = kit.git(&["fsck", "--strict", "--no-dangling", "--unreachable"]);
    assert_eq!(found, "", "no broken object, and none that no branch needs");
}

#[test]
fn an_object_that_is_missing_is_an_error_unless_the_repository_is_a_partial_clone() {
    let kit = Kit::with(&[("file", "1\n"), ("beside", "2\n")]);
    let task = kit.task("task", |copy| write(copy, "file", "one\n"));
    let lost = kit.git(&["rev-parse", "HEAD:beside"]);
    let (folder, name) = lost.trim().split_at(2);
    fs::remove_file(kit.root.join(".git/objects").join(folder).join(name)).unwrap();
    let tasks = [task];
    let made = kit.branch_with(&Faults::default(), "regatta", &tasks);
    let report = format!("{made:?}");
    assert!(report.contains(lost.trim()), "{report}");
    assert_eq!(kit.git(&["for-each-ref", "refs/heads/regatta"]), "");
    kit.git(&["config", "remote.origin.promisor", "true"]);
    assert_eq!(landed(&branches(&kit, &tasks)), [&on("task")]);
}

#[test]
fn a_branch_has_what_git_would_have_committed() {
    let kit = Kit::with(&[
        ("text", "1\n"),
        ("gone", "2\n"),
        ("deep/er/gone", "3\n"),
        ("was/file/a", "4\n"),
        ("folder-to-be", "5\n"),
        ("run", "6\n"),
        ("rename", "7\n"),
    ]);
    let before = outside(&kit);
    let clone = kit.folder.path().join("clone");
    git(kit.folder.path(), &["clone", "-q", kit.root.to_str().unwrap(), clone.to_str().unwrap()]);
    let edit = |tree: &Path| {
        write(tree, "text", "one\n");
        for path in ["gone", "deep/er/gone", "was/file/a", "folder-to-be"] {
            fs::remove_file(tree.join(path)).unwrap();
        }
        fs::remove_dir(tree.join("was/file")).unwrap();
        write(tree, "was/file", "a file\n");
        write(tree, "folder-to-be/x/y", "y\n");
        fs::set_permissions(tree.join("run"), Permissions::from_mode(0o755)).unwrap();
        fs::rename(tree.join("rename"), tree.join("renamed")).unwrap();
        symlink("text", tree.join("link")).unwrap();
        write(tree, "with\nnew \"line\"", b"\0\xff");
    };
    let task = kit.task("all", edit);
    edit(&clone);
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "judge"]);
    assert_eq!(landed(&branches(&kit, &[task])), [&on("all")]);
    let tree = kit.git(&["rev-parse", "regatta/r7k3f/all^{tree}"]);
    assert_eq!(tree, git(&clone, &["rev-parse", "HEAD^{tree}"]));
    assert_eq!(kit.git(&["rev-parse", "regatta/r7k3f/all^"]), kit.git(&["rev-parse", "HEAD"]));
    let words = kit.git(&["log", "-1", "--format=%s|%an <%ae>", "regatta/r7k3f/all"]);
    assert!(words.starts_with("What all did|"), "{words}");
    assert_eq!(outside(&kit), before);
    assert_sound(&kit);
}

#[test]
fn changes_that_are_not_committed_are_in_no_branch() {
    let lines: String = (0..40).map(|line| format!("{line}\n")).collect();
    let kit = Kit::with(&[("merges", &lines), ("builds-on", "1\n"), ("free", "1\n")]);
    write(&kit.root, "merges", lines.replace("\n5\n", "\nmine\n"));
    write(&kit.root, "builds-on", "mine\n");
    kit.git(&["add", "builds-on"]);
    write(&kit.root, "untracked", "mine\n");
    let merges = kit.task("merges", |copy| {
        write(copy, "merges", lines.replace("\n5\n", "\nmine\n").replace("\n30\n", "\ntask\n"));
    });
    let builds = kit.task("builds", |copy| {
        write(copy, "builds-on", "mine and the task's\n");
        write(copy, "free", "2\n");
    });
    let untracked = kit.task("untracked", |copy| write(copy, "untracked", "changed\n"));
    let before = outside(&kit);
    let report = branches(&kit, &[merges, builds, untracked]);
    let [merges, builds, untracked] = landed(&report)[..] else { panic!("{report:?}") };
    assert_eq!(merges, &on("merges"));
    let printable = kit.git(&["show", "regatta/r7k3f/merges:merges"]);
    assert_eq!(printable, lines.replace("\n30\n", "\ntask\n"));
    assert_eq!(conflicts(builds), [("builds-on".to_owned(), ConflictReason::Uncommitted)]);
    assert_eq!(conflicts(untracked), [("untracked".to_owned(), ConflictReason::Uncommitted)]);
    assert_eq!(kit.git(&["branch", "--list", "regatta/*"]).lines().count(), 1);
    assert_eq!(outside(&kit), before);
    assert_sound(&kit);
}

#[test]
fn a_commit_made_meanwhile_that_disagrees_is_an_ordinary_conflict() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "task\n"));
    write(&kit.root, "a", "committed\n");
    kit.git(&["commit", "-q", "-am", "meanwhile"]);
    let report = branches(&kit, &[task]);
    assert_eq!(conflicts(landed(&report)[0]), [("a".to_owned(), ConflictReason::Content)]);
    let Landed::Conflicted { conflicts } = landed(&report)[0] else { unreachable!() };
    for (side, content) in [(&conflicts[0].ours, "committed\n"), (&conflicts[0].theirs, "task\n")] {
        let oid = git2::Oid::from_str(&side.as_ref().unwrap().oid).unwrap();
        assert_eq!(kit.store().read(oid).unwrap(), content.as_bytes());
    }
}

#[test]
fn line_ends_are_committed_as_git_commits_them() {
    let kit = Kit::with(&[(".gitattributes", "*.txt text eol=crlf\n"), ("a.txt", "1\n2\n3\n")]);
    fs::remove_file(kit.root.join("a.txt")).unwrap();
    kit.git(&["checkout", "a.txt"]);
    assert_eq!(fs::read(kit.root.join("a.txt")).unwrap(), b"1\r\n2\r\n3\r\n");
    let task = kit.task("task", |copy| {
        write(copy, "a.txt", "1\r\ntwo\r\n3\r\n");
        write(copy, "b.txt", "new\r\n");
    });
    assert_eq!(landed(&branches(&kit, &[task])), [&on("task")]);
    assert_eq!(kit.git(&["show", "regatta/r7k3f/task:a.txt"]), "1\ntwo\n3\n");
    assert_eq!(kit.git(&["show", "regatta/r7k3f/task:b.txt"]), "new\n");
    assert_sound(&kit);
}

#[test]
fn a_path_that_a_program_would_have_to_filter_is_refused_and_stays_where_it_is_unchanged() {
    let kit = Kit::with(&[("a.bin", "1\n"), ("b.bin", "1\n"), ("c", "1\n")]);
    write(&kit.root, ".git/info/attributes", "*.bin filter=lfs\n");
    let changes = kit.task("changes", |copy| write(copy, "a.bin", "2\n"));
    let others = kit.task("others", |copy| {
        fs::set_permissions(copy.join("a.bin"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(copy.join("b.bin")).unwrap();
        write(copy, "c", "2\n");
    });
    let report = branches(&kit, &[changes, others]);
    assert_eq!(conflicts(landed(&report)[0]), [("a.bin".to_owned(), ConflictReason::Filter)]);
    assert_eq!(landed(&report)[1], &on("others"));
    let changed = kit.git(&["diff", "--summary", "HEAD", "regatta/r7k3f/others"]);
    assert!(changed.contains("mode change 100644 => 100755 a.bin"), "{changed}");
    assert!(changed.contains("delete mode 100644 b.bin"), "{changed}");
}

#[test]
fn a_branch_grows_from_those_it_builds_on() {
    let kit = Kit::with(&[("a", "1\n")]);
    let top = kit.task("top", |copy| write(copy, "top", "1\n"));
    let left = over(&kit, "left", &["top"], &[("top", "1\n")], "left");
    let right = over(&kit, "right", &["top"], &[("top", "1\n")], "right");
    let idle = kit.captured("idle", &["right"], &[]);
    let last = over(
        &kit,
        "last",
        &["top", "left", "idle"],
        &[("top", "1\n"), ("left", "left\n"), ("right", "right\n")],
        "last",
    );
    let tasks = [top, left, right, idle, last];
    let report = branches(&kit, &tasks);
    let expected = [on("top"), on("left"), on("right"), Landed::Unchanged, on("last")];
    assert_eq!(landed(&report), expected.iter().collect::<Vec<_>>());
    let graph = "log --format=%s --topo-order --reverse regatta/r7k3f/last";
    let log = kit.git(&graph.split(' ').collect::<Vec<_>>());
    let mut log: Vec<_> = log.lines().collect();
    log.sort_unstable();
    let merge = "Merge the work of left, right";
    assert_eq!(
        log,
        [merge, "What last did", "What left did", "What right did", "What top did", "first"]
    );
    let files = kit.git(&["ls-tree", "--name-only", "regatta/r7k3f/last"]);
    assert_eq!(files, "a\nlast\nleft\nright\ntop\n");
    assert_sound(&kit);
    // Again, whole or in part: the same branches.
    let before = kit.git(&["show-ref"]);
    assert_eq!(branches(&kit, &tasks), report);
    assert_eq!(branches(&kit, &tasks[2..]).tasks, report.tasks[2..]);
    assert_eq!(kit.git(&["show-ref"]), before);
}

/// A task that adds one file to what its predecessors added.
fn over(kit: &Kit, name: &str, on: &[&str], had: &[(&str, &str)], file: &str) -> LandingTask {
    let before = tempfile::tempdir().unwrap();
    had.iter().for_each(|(path, content)| write(before.path(), path, content));
    let base = crate::landing::tests::kit::snapshot(before.path());
    write(before.path(), file, format!("{file}\n"));
    let after = crate::landing::tests::kit::snapshot(before.path());
    kit.captured(name, on, &kit.changes(&base, &after))
}

#[test]
fn what_builds_on_work_that_has_no_branch_waits() {
    let kit = Kit::with(&[("a", "1\n")]);
    write(&kit.root, "a", "mine\n");
    let bad = kit.task("bad", |copy| write(copy, "a", "task\n"));
    let next = over(&kit, "next", &["bad"], &[], "next");
    let report = branches(&kit, &[bad, next]);
    let waiting = Landed::Waiting { on: vec!["bad".parse().unwrap()] };
    assert_eq!(landed(&report)[1], &waiting);
}

#[test]
fn a_repository_without_a_commit_gets_a_branch_without_a_parent() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repo");
    fs::create_dir(&root).unwrap();
    git(&root, &["init", "-q"]);
    let kit = Kit::over(folder, root);
    let task = kit.task("task", |copy| write(copy, "first", "1\n"));
    assert_eq!(landed(&branches(&kit, &[task])), [&on("task")]);
    let count = kit.git(&["rev-list", "--count", "regatta/r7k3f/task"]);
    assert_eq!(count, "1\n");
    assert_sound(&kit);
}

#[test]
fn a_branch_that_is_in_the_way_is_named_and_other_work_on_a_branch_is_left_alone() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    kit.git(&["branch", "work/regatta"]);
    let refused = kit.branch("work/regatta", std::slice::from_ref(&task)).unwrap_err();
    let IsolationError::Refused { what, hint, .. } = refused else { panic!("{refused}") };
    assert!(what.contains("`work/regatta`") && hint.contains("branch.prefix"), "{what} {hint}");
    assert!(kit.branch("no good", std::slice::from_ref(&task)).is_err());

    kit.git(&["branch", "regatta/r7k3f/task"]);
    let before = kit.git(&["show-ref"]);
    let report = branches(&kit, &[task]);
    let Landed::Unwritten { message } = landed(&report)[0] else { panic!("{report:?}") };
    assert!(message.contains("regatta/r7k3f/task is there already"), "{message}");
    assert_eq!(kit.git(&["show-ref"]), before);
}

#[test]
fn a_git_folder_that_cannot_be_written_keeps_the_work_and_says_so() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    // A file where a folder is needed stops root too.
    let pack = kit.root.join(".git/objects/pack");
    fs::remove_dir_all(&pack).unwrap();
    fs::write(&pack, "").unwrap();
    let before = outside(&kit);
    let report = kit.branch_with(&Faults::default(), "regatta", &[task]).unwrap();
    assert!(matches!(landed(&report)[0], Landed::Unwritten { .. }), "{report:?}");
    assert_eq!(outside(&kit), before);
}

#[test]
fn a_submodule_stays_and_what_lies_below_it_is_in_the_way() {
    let kit = Kit::with(&[("a", "1\n")]);
    let id = kit.git(&["rev-parse", "HEAD"]);
    kit.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", id.trim())]);
    kit.git(&["commit", "-q", "-m", "submodule"]);
    let below = kit.task("below", |copy| write(copy, "sub/x", "1\n"));
    let other = kit.task("other", |copy| write(copy, "a", "2\n"));
    let report = branches(&kit, &[below, other]);
    assert_eq!(conflicts(landed(&report)[0])[0].0, "sub/x");
    assert_eq!(landed(&report)[1], &on("other"));
    let entry = kit.git(&["ls-tree", "regatta/r7k3f/other", "sub"]);
    assert_eq!(entry, format!("160000 commit {}\tsub\n", id.trim()));
}

#[test]
fn many_branches_are_made_beside_each_other() {
    let kit = Kit::with(&[("a", "1\n")]);
    let count = test_limit::by_depth(8, 32);
    let tasks: Vec<_> = (0..count)
        .map(|number| over(&kit, &format!("t{number}"), &[], &[], &format!("file{number}")))
        .collect();
    let report = branches(&kit, &tasks);
    let all = landed(&report).iter().all(|landed| matches!(landed, Landed::Landed { .. }));
    assert!(all, "{report:?}");
    assert_eq!(kit.git(&["branch", "--list", "regatta/r7k3f/*"]).lines().count(), count);
    assert_sound(&kit);
}

#[test]
fn a_branch_is_whole_or_not_there_wherever_a_kill_comes() {
    let mut kills = 0;
    for number in 1..100 {
        let kit = Kit::in_memory(&[("a", "1\n")]);
        let top = kit.task("top", |copy| write(copy, "top", "1\n"));
        let next = over(&kit, "next", &["top"], &[("top", "1\n")], "next");
        let tasks = [top, next, over(&kit, "other", &[], &[], "other")];
        let before = outside(&kit);
        let report = kit.branch_or_die(&format!("kill@landing.ref:{number}"), &tasks);
        kit.git(&["fsck", "--strict", "--no-dangling"]);
        let names = kit.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/regatta"]);
        for name in names.lines() {
            let file = name.rsplit('/').next().unwrap();
            assert!(kit.git(&["ls-tree", "--name-only", name]).contains(file), "{name}");
        }
        let again = branches(&kit, &tasks);
        assert_eq!(landed(&again), [&on("top"), &on("next"), &on("other")]);
        assert_eq!(outside(&kit), before);
        if report.is_some() {
            break;
        }
        kills += 1;
    }
    assert_eq!(kills, 6);
}
