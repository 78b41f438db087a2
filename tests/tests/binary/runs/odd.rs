//! Odd repositories: what is refused, each with one message and a line to type, before anything is
//! written; and what works.

use std::fs;
use std::process::Command;

use test_limit::by_depth;
use tests::sandbox::{Fingerprint, Repository, Sandbox, skip};

use crate::binary::sandbox;

/// Checks that a run in `repository` is refused with these words, and that nothing has changed.
fn refused(place: &Sandbox, repository: &Repository, words: &[&str]) {
    let before = Fingerprint::of(repository.root());
    let finished = place.run_in(repository).exec("echo x > x.txt").run();
    finished.expect_refusal(words);
    assert!(finished.stderr.contains("\n  try: "), "what to do about it in {finished}");
    let after = Fingerprint::of(repository.root());
    assert_eq!(before.differences(&after), Vec::<String>::new(), "{finished}");
    place.expect_nothing_left(repository);
}

/// Checks that a run in `repository` lands a file, and returns what was told.
fn works(place: &Sandbox, repository: &Repository) -> Vec<String> {
    let git = Fingerprint::of(&repository.path(".git"));
    let finished = place.run_in(repository).exec("echo x > x.txt; git status").run();
    let finished = finished.expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{finished}");
    let after = Fingerprint::of(&repository.path(".git"));
    assert_eq!(git.differences(&after), Vec::<String>::new(), "{finished}");
    place.expect_nothing_left(repository);
    finished.events_of("degraded").iter().map(ToString::to_string).collect()
}

#[test]
fn a_repository_that_cannot_be_worked_in_is_refused_with_what_to_type_before_anything_is_written() {
    // Each reason has its row in `isolation/src/repository/tests.rs`.
    let place = sandbox();
    let repository = place.repository();
    repository.write("deep/er/file.txt", "x\n");
    repository.commit("deep");
    repository.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    let whole = "sparse-checkout reapply --no-sparse-index";
    refused(&place, &repository, &["index", "git -C", whole]);
    repository.git(&["sparse-checkout", "disable"]);

    let clone = place.folder().join("clone");
    let source = repository.root().to_str().unwrap();
    repository.git(&["clone", "--quiet", "--shared", source, clone.to_str().unwrap()]);
    for text in ["main\n", "main again\n"] {
        repository.write("README.md", text);
        repository.commit(text);
    }
    assert!(!repository.try_git(&["revert", "--no-edit", "HEAD~1"]).status.success());
    refused(&place, &repository, &["revert"]);
    repository.git(&["revert", "--abort"]);

    let index = repository.read(".git/index");
    repository.write(".git/index", &index[..index.len() / 2]);
    refused(&place, &repository, &["index"]);
    fs::rename(repository.root(), place.folder().join("moved")).unwrap();
    refused(&place, &Repository::at(&clone), &["HEAD", "fsck"]);

    let folder = place.folder().join("plain");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("file.txt"), "x\n").unwrap();
    let before = Fingerprint::of(&folder);
    let finished = place.regatta(&folder).words("run --json").exec("true").run();
    finished.expect_refusal(&["repository", folder.to_str().unwrap(), "git init"]);
    assert_eq!(before.differences(&Fingerprint::of(&folder)), Vec::<String>::new());
    let finished = place.regatta(place.folder()).words("run --repo no/such/folder").exec("true");
    finished.run().expect_refusal(&["no/such/folder"]);
    assert_eq!(place.home().leftovers(), Vec::<String>::new());
}

#[test]
fn a_repository_of_another_owner_is_refused_with_the_line_that_allows_it() {
    let place = sandbox();
    let repository = place.repository();
    let given = Command::new("chown").args(["-R", "12345:12345"]).arg(repository.root()).status();
    if !given.is_ok_and(|status| status.success()) {
        return skip("a_repository_of_another_owner_is_refused", "only root can give files away");
    }
    refused(&place, &repository, &["another user", "git config --global --add safe.directory"]);
    let allowed = place.run_in(&repository).env("GIT_CONFIG_COUNT", "1");
    let allowed = allowed.env("GIT_CONFIG_KEY_0", "safe.directory");
    let allowed = allowed.env("GIT_CONFIG_VALUE_0", repository.root());
    let _allowed_as_in_git = allowed.exec("echo x > x.txt").run().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n");
}

#[test]
fn the_git_configuration_of_the_environment_counts_for_identity_and_ignored_files() {
    let place = sandbox();
    let repository = place.repository();
    let [settings, ignored] = ["settings", "ignored"].map(|name| place.folder().join(name));
    fs::write(&ignored, "*.tmp\n").unwrap();
    fs::write(&settings, format!("[core]\nexcludesFile = {}\n", ignored.display())).unwrap();
    let call = place.run_in(&repository).words("--merge branch");
    let call = call.env("GIT_CONFIG_GLOBAL", &settings).env("GIT_CONFIG_COUNT", "1");
    let call = call.env("GIT_CONFIG_KEY_0", "user.name").env("GIT_CONFIG_VALUE_0", "Eve");
    let script = "echo x > x.tmp; echo x > x.txt; git config user.name";
    let finished = call.exec(script).run().expect_code(0);
    assert_eq!(finished.task("t1")["yield"], "Eve", "{finished}");
    let branch = format!("regatta/{}/t1", finished.run_name());
    assert_eq!(repository.git(&["log", "-1", "--format=%an", &branch]).trim(), "Eve");
    assert_eq!(repository.git(&["diff", "--name-only", "main", &branch]).trim(), "x.txt");
}

#[test]
fn a_repository_without_commits_a_linked_worktree_and_a_subfolder_work() {
    let place = sandbox();
    let main = Repository::init(&place.folder().join("app"));
    main.write("untracked.txt", "x\n");
    works(&place, &main);
    let run = place.run_in(&main).words("--merge branch").exec("echo y > y.txt");
    let finished = run.run().expect_code(0);
    let branch = format!("regatta/{}/t1", finished.run_name());
    assert_eq!(main.git(&["rev-list", "--count", &branch]).trim(), "1");

    main.write("src/run.rs", "pub fn run() {}\n");
    main.commit("begin");
    let linked = place.folder().join("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let repository = Repository::at(&linked);
    let (before, git) = (main.tree(), main.dot_git());
    // In a folder of it, which is where tasks begin.
    let run = place.regatta(place.folder()).words("run --json --repo").arg(linked.join("src"));
    let finished = run.exec("echo x > x.txt; test -f run.rs; pwd").run().expect_code(0);
    assert_eq!(repository.text("src/x.txt"), "x\n", "{finished}");
    let folder = finished.task("t1")["yield"].as_str().unwrap().to_owned();
    assert!(folder.ends_with("/src"), "{folder}");
    assert_eq!(before.differences(&main.tree()), Vec::<String>::new());
    assert_eq!(git.differences(&main.dot_git()), Vec::<String>::new());
    let run = place.regatta(&linked.join("src")).words("run --json --merge branch");
    let finished = run.exec("echo y > y.txt").run().expect_code(0);
    main.git(&["rev-parse", "--verify", &format!("regatta/{}/t1", finished.run_name())]);
}

#[test]
fn shallow_and_partial_clones_a_detached_head_packed_refs_extensions_and_a_bisect_work() {
    let place = sandbox();
    let source = place.repository();
    source.commit("one more");
    source.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", source.root().display());
    let clone = |name: &str, how: &str| {
        let clone = place.folder().join(name);
        source.git(&["clone", "--quiet", how, &url, clone.to_str().unwrap()]);
        Repository::at(&clone)
    };
    let repository = clone("shallow", "--depth=1");
    repository.git(&["pack-refs", "--all"]);
    repository.git(&["checkout", "--quiet", "--detach"]);
    repository.git(&["config", "feature.manyFiles", "true"]);
    repository.git(&["config", "core.untrackedCache", "false"]);
    repository.git(&["update-index", "--index-version=4", "--force-write-index"]);
    // Extensions that change nothing for a run.
    repository.git(&["config", "core.repositoryformatversion", "1"]);
    repository.git(&["config", "extensions.preciousObjects", "true"]);
    repository.git(&["config", "extensions.worktreeConfig", "true"]);
    repository.git(&["bisect", "start"]);
    let told = works(&place, &repository);
    assert!(told.iter().any(|line| line.contains("bisect")), "{told:?}");

    // While its objects are there.
    let partial = clone("partial", "--filter=blob:none");
    works(&place, &partial);
    partial.git(&["config", "core.repositoryformatversion", "1"]);
    partial.git(&["config", "extensions.partialClone", "origin"]);
    let finished = place.run_in(&partial).exec("echo y > y.txt").run().expect_code(0);
    assert_eq!(partial.text("y.txt"), "y\n", "{finished}");
}

#[test]
fn a_submodule_that_is_not_checked_out_is_told_and_a_checkout_works_as_a_repository() {
    let place = sandbox();
    let library = Repository::init(&place.folder().join("library"));
    library.write("lib.txt", "lib\n");
    library.commit("library");
    let repository = place.repository();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", library.root().to_str().unwrap(), "lib"];
    repository.git(&[&allow[..], &add[..]].concat());
    repository.commit("a submodule");
    let inside = Fingerprint::of(&repository.path("lib"));
    assert_eq!(works(&place, &repository), Vec::<String>::new());
    assert_eq!(inside.differences(&Fingerprint::of(&repository.path("lib"))), Vec::<String>::new());

    let checkout = Repository::at(&repository.path("lib"));
    let finished = place.run_in(&checkout).exec("echo y > y.txt").run().expect_code(0);
    assert_eq!(checkout.text("y.txt"), "y\n", "{finished}");

    repository.git(&["submodule", "--quiet", "deinit", "--force", "lib"]);
    let told = works(&place, &repository);
    assert!(told.iter().any(|line| line.contains("not checked out")), "{told:?}");
}

#[test]
fn large_files_behind_a_pointer_pipes_and_odd_nested_repositories_are_left_and_told() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n");
    repository
        .write("art.psd", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    repository.commit("a pointer");
    let made = Command::new("mkfifo").arg(repository.path("pipe")).status().unwrap();
    assert!(made.success());
    let nested = Repository::init(&repository.path("nested"));
    nested.write("inside.txt", "x\n");
    nested.commit("inside");
    fs::rename(nested.path(".git"), place.folder().join("elsewhere")).expect("it can be moved");
    nested.write(".git", format!("gitdir: {}\n", place.folder().join("elsewhere").display()));
    let told = works(&place, &repository);
    assert!(told.iter().any(|line| line.contains("lfs") || line.contains("filter")), "{told:?}");
    let told = told.join("\n");
    assert!(told.contains("pipe"), "{told}");
    assert!(told.contains("nested (its .git names"), "{told}");
}

#[test]
fn a_read_only_git_folder_works_in_patch_mode() {
    let place = sandbox();
    let repository = place.repository();
    match crate::binary::workspaces::disk::ReadOnly::over(&repository.path(".git")) {
        Ok(bound) => {
            works(&place, &repository);
            drop(bound);
        }
        Err(why) => skip("a_read_only_git_folder_works_in_patch_mode", &why),
    }
}

#[test]
fn a_path_of_hundreds_of_folders_becomes_commits() {
    let place = sandbox();
    let repository = place.repository();
    let path = "d/".repeat(by_depth(400, 1_600));
    let script = format!("mkdir -p {path} && echo x > {path}x.txt");
    for merge in ["branch", "stack"] {
        let call = place.run_in(&repository).words(&format!("--merge {merge}")).exec(&script);
        let finished = call.run().expect_code(0);
        let branch = match merge {
            "branch" => format!("regatta/{}/t1", finished.run_name()),
            _ => format!("regatta/{}", finished.run_name()),
        };
        assert_eq!(repository.git(&["show", &format!("{branch}:{path}x.txt")]), "x\n", "{merge}");
        place.expect_nothing_left(&repository);
    }
}
