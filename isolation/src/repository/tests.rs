//! Which repositories are opened, which are refused, and what is said about each.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use engine::ports::IsolationError;

use crate::repository::Repo;
use crate::testing::{Sample, git, write};

/// Why a folder is refused: what, because, hint.
fn refusal(at: &Path) -> (String, String, String) {
    match Repo::open(at) {
        Err(IsolationError::Refused { what, because, hint }) => (what, because, hint),
        other => panic!("{} was not refused: {other:?}", at.display()),
    }
}

#[track_caller]
fn refused_for(sample: &Sample, because: &str, hint: &str) {
    let before = listing(&sample.root);
    let (what, why, how) = refusal(&sample.root);
    assert!(what.starts_with("cannot "), "{what}");
    assert!(what.contains(sample.root.to_str().unwrap()), "{what}");
    assert!(why.contains(because), "{why}");
    assert!(how.contains(hint), "{how}");
    assert_eq!(listing(&sample.root), before);
}

fn listing(root: &Path) -> String {
    let mut find = Command::new("find");
    let output = find.arg(root).args(["-printf", "%p %T@ %s\n"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs git where it is to fail.
fn fails(sample: &Sample, arguments: &[&str]) {
    let mut run = Command::new("git");
    let output = run.args(arguments).current_dir(&sample.root).output().unwrap();
    assert!(!output.status.success(), "git {arguments:?}");
}

fn sample() -> Sample {
    Sample::with(&[("file", "one\n"), ("sub/file", "one\n")])
}

#[test]
fn a_folder_inside_a_repository_opens_it_with_that_subfolder() {
    let sample = sample();
    let repo = Repo::open(&sample.root.join("sub")).unwrap();
    assert_eq!((repo.root.as_path(), repo.subfolder.as_path()), (&*sample.root, Path::new("sub")));
    assert_eq!(Repo::open(&sample.root).unwrap().subfolder, Path::new(""));
    assert_eq!(repo.notices, []);
}

#[test]
fn a_folder_without_a_repository_a_missing_one_and_a_file_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let (_, because, hint) = refusal(home.path());
    assert_eq!(because, "it is not in a git repository");
    assert!(hint.contains("git init"));
    assert!(refusal(&home.path().join("no")).1.contains("No such file"));
    write(home.path(), "file", "x");
    assert_eq!(refusal(&home.path().join("file")).1, "it is not a folder");
}

#[test]
fn a_bare_repository_and_the_inside_of_a_git_directory_are_refused() {
    let sample = sample();
    assert!(refusal(&sample.root.join(".git")).1.contains("git directory"));
    assert!(refusal(&sample.root.join(".git/objects")).1.contains("git directory"));
    let bare = sample.root.parent().unwrap().join("bare.git");
    sample.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(refusal(&bare).1.contains("no working tree"));
    sample.git(&["config", "core.bare", "true"]);
    assert!(refusal(&sample.root).1.contains("no working tree"));
}

#[test]
fn a_working_tree_that_is_elsewhere_is_refused_unless_it_contains_the_folder() {
    let sample = sample();
    let other = sample.root.parent().unwrap().join("other");
    fs::create_dir(&other).unwrap();
    sample.git(&["config", "core.worktree", other.to_str().unwrap()]);
    assert!(refusal(&sample.root).1.contains("core.worktree"));
    sample.git(&["config", "core.worktree", sample.root.parent().unwrap().to_str().unwrap()]);
    let repo = Repo::open(&sample.root).unwrap();
    assert_eq!(repo.subfolder, Path::new("app"));
}

#[test]
fn a_repository_in_the_middle_of_something_is_refused_by_its_name_and_a_bisect_is_told() {
    let sample = sample();
    sample.git(&["checkout", "-q", "-b", "other"]);
    sample.write("file", "other\n");
    sample.commit();
    sample.git(&["checkout", "-q", "main"]);
    sample.write("file", "main\n");
    sample.commit();
    for (start, named, abort) in [
        (&["merge", "other"][..], "a merge", "git merge --abort"),
        (&["rebase", "other"], "a rebase", "git rebase --abort"),
        (&["cherry-pick", "other"], "a cherry-pick", "git cherry-pick --abort"),
        (&["revert", "--no-edit", "HEAD~1"], "a revert", "git revert --abort"),
    ] {
        fails(&sample, start);
        refused_for(&sample, named, abort);
        sample.git(&abort.split(' ').skip(1).collect::<Vec<_>>());
    }
    sample.git(&["bisect", "start"]);
    assert!(sample.repo().notices[0].why.contains("bisect"));
}

#[test]
fn conflicts_of_a_stash_pop_are_refused_though_nothing_is_in_progress() {
    let sample = sample();
    sample.write("file", "stashed\n");
    sample.git(&["stash", "-q"]);
    sample.write("file", "main\n");
    sample.commit();
    fails(&sample, &["stash", "pop"]);
    refused_for(&sample, "conflicts", "git status");
}

#[test]
fn indexes_that_libgit2_cannot_read_are_refused_with_the_line_that_mends_them() {
    let sparse = sample();
    sparse.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "none"]);
    refused_for(&sparse, "'sdir'", "sparse-checkout reapply --no-sparse-index");
    sparse.git(&["sparse-checkout", "reapply", "--no-sparse-index"]);
    sparse.repo();

    let split = sample();
    split.git(&["update-index", "--split-index"]);
    refused_for(&split, "'link'", "update-index --no-split-index");
    split.git(&["update-index", "--no-split-index"]);
    split.repo();

    let cut = sample();
    let index = cut.root.join(".git/index");
    let bytes = fs::read(&index).unwrap();
    let mut flipped = bytes.clone();
    flipped[30] ^= 1; // in the device of the first entry
    for damaged in [&bytes[..bytes.len() / 2], &flipped] {
        fs::write(&index, damaged).unwrap();
        let (what, _, hint) = refusal(&cut.root);
        assert!(what.contains("index is damaged"), "{what}");
        assert!(hint.contains("reset"), "{hint}");
    }
}

#[test]
fn formats_that_are_not_supported_are_refused_with_what_can_be_done() {
    let reftable = Sample::empty();
    fs::remove_dir_all(reftable.root.join(".git")).unwrap();
    reftable.git(&["init", "-q", "--ref-format=reftable"]);
    refused_for(&reftable, "reftable", "git refs migrate --ref-format=files");

    let sha256 = Sample::empty();
    fs::remove_dir_all(sha256.root.join(".git")).unwrap();
    sha256.git(&["init", "-q", "--object-format=sha256"]);
    refused_for(&sha256, "SHA-256", "SHA-1");

    let newer = sample();
    newer.git(&["config", "core.repositoryformatversion", "2"]);
    refused_for(&newer, "version", "clone");
}

#[test]
fn above_a_bare_repository_the_refusal_names_the_worktrees() {
    let sample = sample();
    let home = sample.root.parent().unwrap().join("project");
    let bare = home.join(".bare");
    fs::create_dir(&home).unwrap();
    sample.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let (_, because, hint) = refusal(&bare);
    assert!(because.contains("bare") && hint.contains("git worktree add"), "{because}, {hint}");
    for name in ["next", "a b"] {
        let branch = name.replace(' ', "-");
        git(&bare, &["worktree", "add", "-q", "-b", &branch, &format!("../{name}")]);
    }
    let expected = format!("--repo '{0}/a b', or --repo {0}/next", home.display());
    // Without a `.git` beside the worktrees, and with one that leads to the bare repository.
    assert_eq!(refusal(&home).2, expected);
    write(&home, ".git", "gitdir: ./.bare\n");
    assert_eq!(refusal(&home).2, expected);
    assert_eq!(refusal(&bare).2, expected);
}

#[test]
fn a_broken_head_is_refused_with_gits_own_repair_line() {
    let garbage = sample();
    write(&garbage.root, ".git/HEAD", "garbage\n");
    assert!(matches!(Repo::open(&garbage.root), Err(IsolationError::Refused { .. })));

    let gone = sample();
    let other = Sample::with(&[("x", "y\n")]);
    let id = other.git(&["rev-parse", "HEAD"]);
    write(&gone.root, ".git/refs/heads/main", id);
    refused_for(&gone, "", "fsck");
}

#[test]
fn a_repository_of_another_user_is_refused_with_the_line_that_trusts_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sample = sample();
    let owner = Some(rustix::fs::Uid::from_raw(12_345));
    for folder in [sample.root.clone(), sample.root.join(".git")] {
        rustix::fs::chown(&folder, owner, None).unwrap();
    }
    let (_, because, hint) = refusal(&sample.root);
    assert_eq!(because, "it belongs to another user");
    let root = sample.root.display();
    assert_eq!(hint, format!("git config --global --add safe.directory {root}"));
}

#[test]
fn what_works_opens_without_a_word() {
    let sample = sample();
    sample.git(&["pack-refs", "--all"]);
    sample.git(&["repack", "-q", "-a", "-d", "--write-midx"]);
    sample.git(&["commit-graph", "write"]);
    sample.git(&["update-index", "--index-version", "4"]);
    sample.git(&["config", "extensions.worktreeConfig", "true"]);
    sample.git(&["config", "core.repositoryformatversion", "1"]);
    sample.git(&["config", "core.fsmonitor", "/bin/false"]);
    sample.git(&["checkout", "-q", "--detach"]);
    assert_eq!(sample.repo().notices, []);
    let shallow = sample.root.parent().unwrap().join("shallow");
    let url = format!("file://{}", sample.root.display());
    sample.git(&["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()]);
    assert_eq!(Repo::open(&shallow).unwrap().notices, []);
    git(&shallow, &["fsck"]);
}

#[test]
fn partial_clones_old_and_new_filters_and_sparse_checkouts_are_told() {
    let sample = sample();
    sample.git(&["config", "remote.origin.promisor", "true"]);
    assert!(sample.repo().notices[0].why.contains("partial clone"));
    sample.git(&["config", "--unset", "remote.origin.promisor"]);
    sample.git(&["config", "core.repositoryformatversion", "1"]);
    sample.git(&["config", "extensions.partialClone", "origin"]);
    assert!(sample.repo().notices[0].why.contains("partial clone"));
    sample.git(&["config", "--unset", "extensions.partialClone"]);
    sample.write("sub/.gitattributes", "# filter=no\n*.bin filter=lfs -text\n");
    sample.commit();
    assert!(sample.repo().notices[0].why.contains("filter"));
    sample.write("sub/.gitattributes", "*.txt working-tree-encoding=SHIFT-JIS\n");
    sample.commit();
    let encoding = &sample.repo().notices[0];
    assert_eq!(encoding.from, "the encoding SHIFT-JIS");
    assert!(encoding.to.ends_with("each change of one is a conflict"), "{encoding:?}");
    sample.git(&["sparse-checkout", "set", "other"]);
    let why: Vec<String> = sample.repo().notices.into_iter().map(|notice| notice.why).collect();
    assert!(
        why.iter().any(|why| why.ends_with("sparse checkout, which leaves out 2 files")),
        "{why:?}"
    );
}

#[test]
fn a_read_only_tree_is_refused_where_permissions_say_so() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let sample = sample();
    fs::set_permissions(&sample.root, fs::Permissions::from_mode(0o555)).unwrap();
    assert!(refusal(&sample.root).0.starts_with("cannot write in"));
    fs::set_permissions(&sample.root, fs::Permissions::from_mode(0o755)).unwrap();
}
