//! A repository that wants to run programs of its own, and one that wants to be believed.

use std::path::Path;

use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Every hook that git knows.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
];

/// Makes a repository in which everything that can name a program names one that leaves a canary.
fn armed(place: &Sandbox) -> (Repository, impl Fn() -> Vec<String>) {
    let repository = place.repository();
    let canaries = place.folder().join("canaries");
    std::fs::create_dir_all(&canaries).expect("a folder can be made");
    let program = place.folder().join("canary.sh");
    let script = format!("#!/bin/sh\n: > {}/\"canary-$$\"\ncat\n", canaries.display());
    std::fs::write(&program, script).expect("a file can be written");
    make_executable(&program);
    let program = program.to_str().expect("the folder has a plain name").to_owned();

    repository.write(".gitattributes", "*.evil filter=evil diff=evil merge=evil\n");
    repository.write("a.evil", "as it is\n");
    repository.commit("attributes");
    for hook in HOOKS {
        let hook = repository.path(format!(".git/hooks/{hook}"));
        std::fs::create_dir_all(hook.parent().expect("it has one")).expect("it can be made");
        std::fs::copy(&program, &hook).expect("a file can be copied");
        make_executable(&hook);
    }
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "gpg.program",
        "credential.helper",
    ] {
        repository.git(&["config", key, &program]);
    }
    for alias in ["status", "st", "commit"] {
        repository.git(&["config", &format!("alias.{alias}"), &format!("!{program}")]);
    }
    repository.git(&["config", "commit.gpgSign", "true"]);
    repository.git(&["config", "filter.evil.required", "true"]);
    let sung = move || {
        let entries = std::fs::read_dir(&canaries).expect("it can be listed");
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    (repository, sung)
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode can be set");
}

#[test]
fn hooks_fsmonitor_filters_and_aliases_never_run_and_a_filtered_path_is_kept_off_branches() {
    let place = sandbox();
    let (repository, sung) = armed(&place);
    let quiet = Vec::<String>::new();
    let before = sung();
    for canary in before {
        std::fs::remove_file(place.folder().join("canaries").join(canary)).unwrap();
    }
    let script = "echo more >> README.md; echo more >> a.evil; echo new > b.evil";
    let patch = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(sung(), quiet, "patch mode: {patch}");
    assert_eq!(repository.text("a.evil"), "as it is\nmore\n");
    assert_eq!(repository.text("b.evil"), "new\n");

    let script = "echo branch > branch.txt";
    let branch = place.run_in(&repository).words("--merge branch").exec(script).run();
    let branch = branch.expect_code(0);
    assert_eq!(sung(), quiet, "branch mode: {branch}");

    let run = place.run_in(&repository).words("--merge branch").exec("echo more >> a.evil");
    let finished = run.run().expect_code(4);
    let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["path"], "a.evil", "{finished}");
    assert_eq!(conflict["reason"], "filter", "{finished}");
    assert_eq!(sung(), quiet, "{finished}");

    for words in
        ["runs", "runs show", "diff", "conflicts", "apply --dry-run", "discard @ --dry-run"]
    {
        let said = place.regatta(repository.root()).words(words).run();
        assert_eq!(sung(), quiet, "{said}");
    }
}

#[test]
fn the_harmless_settings_of_a_repository_go_before_the_users() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".regatta/config.yml", "branch:\n  prefix: theirs\n");
    repository.commit("settings of its own");
    place.home().configure("branch:\n  prefix: mine\n");
    let run = place.run_in(&repository).words("--merge branch").exec("echo x > x.txt");
    let finished = run.run().expect_code(0);
    let branches = repository.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(
        branches.lines().collect::<Vec<_>>(),
        ["main", &format!("theirs/{}/t1", finished.run_name())]
    );
}

#[test]
fn a_run_started_from_a_git_hook_works_on_the_tree_it_was_started_in() {
    // With the variables of a hook of another repository.
    let place = sandbox();
    let repository = place.repository();
    let other = Repository::init(&place.folder().join("other"));
    other.write("other.txt", "other\n");
    other.commit("other");
    let before = (other.tree(), other.dot_git());
    let run = place.run_in(&repository).exec("git rev-parse --show-toplevel; echo x > x.txt");
    let run = run
        .env("GIT_DIR", other.path(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", other.path(".git/index"))
        .env("GIT_PREFIX", "");
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{finished}");
    assert_eq!(before.0.differences(&other.tree()), Vec::<String>::new());
    assert_eq!(before.1.differences(&other.dot_git()), Vec::<String>::new());

    // From a real hook.
    let call = place.run_in(&repository).exec("echo y > y.txt").into_command();
    let mut script = String::from("#!/bin/sh\nset -e\n");
    for (name, value) in call.get_envs() {
        let (name, value) = (name.to_string_lossy(), value.unwrap_or_default().to_string_lossy());
        script.push_str(&format!("export {name}='{value}'\n"));
    }
    let arguments: Vec<_> =
        call.get_args().map(|argument| format!("'{}'", argument.to_string_lossy())).collect();
    let output = place.folder().join("events");
    script.push_str(&format!(
        "'{}' {} > '{}'\n",
        place.binary().display(),
        arguments.join(" "),
        output.display()
    ));
    repository.write(".git/hooks/post-commit", script);
    make_executable(&repository.path(".git/hooks/post-commit"));
    repository.write("README.md", "committed\n");
    repository.git(&["commit", "--quiet", "--all", "--message", "with a hook"]);
    assert_eq!(repository.text("y.txt"), "y\n", "{}", std::fs::read_to_string(output).unwrap());
    assert_eq!(repository.git(&["status", "--porcelain"]), "?? x.txt\n?? y.txt\n");
    place.expect_nothing_left(&repository);
}

/// What a task puts in the place of files of its git, in a shell where `$d` is its `.git`. `others` is
/// another repository, whose commit `theirs` would be the only one of the task if it were read.
fn odd_git_files(others: &str, theirs: &str) -> [String; 10] {
    [
        // A commit of another repository, which only these alternates lead to.
        format!("echo {others}/objects >> $d/objects/info/alternates; echo {theirs} > $d/HEAD"),
        format!(
            "rm $d/objects/info/alternates; ln -s {others}/objects/info/alternates \
                 $d/objects/info/alternates; echo {theirs} > $d/HEAD"
        ),
        format!("rm -rf $d/objects; ln -s {others}/objects $d/objects; echo {theirs} > $d/HEAD"),
        format!("rm -rf $d; ln -s {others} $d"),
        // What would block its reader, or fill the memory.
        "rm $d/objects/info/alternates; mkfifo $d/objects/info/alternates; \
         echo 1111111111111111111111111111111111111111 > $d/HEAD"
            .to_owned(),
        "rm $d/index; mkfifo $d/index".to_owned(),
        "rm $d/index; ln -s /dev/zero $d/index".to_owned(),
        "truncate -s 900G $d/index || truncate -s 4G $d/index".to_owned(),
        "echo DIRC > $d/index".to_owned(),
        "rm $d/HEAD; mkfifo $d/HEAD".to_owned(),
    ]
}

#[test]
fn what_a_task_puts_in_place_of_its_own_git_files_holds_up_no_capture_and_leads_nowhere() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", "*.o\n");
    repository.commit("ignore");
    let other = Repository::init(&place.folder().join("other"));
    let from = repository.root().to_str().expect("the folder has a plain name");
    other.git(&["pull", "--quiet", from, "main"]);
    other.write("theirs", "theirs\n");
    other.commit("of-another-repository");
    let theirs = other.git(&["rev-parse", "HEAD"]);
    let scripts = odd_git_files(&other.path(".git").display().to_string(), theirs.trim());
    // Each task has a copy of its own.
    let plan = Plan::default().top(&format!("jobs = {}", scripts.len()));
    let plan = scripts.iter().enumerate().fold(plan, |plan, (number, script)| {
        let work = "echo work > work; echo o > x.o; d=$(git rev-parse --git-dir)";
        plan.task(&format!("t{number}"), &format!("{work}; {script}"))
    });
    let run = place.run_plan(&repository, &plan).words("--merge branch");
    let finished = run.run().expect_code(0);
    for (number, script) in scripts.iter().enumerate() {
        let task = format!("t{number}");
        assert_eq!(finished.task(&task)["changes"]["files"], 1, "{script}: {finished}");
        let branch = format!("regatta/{}/{task}", finished.run_name());
        let found = repository.git(&["log", "-1", "--format=%s", &branch]);
        assert!(!found.contains("of-another-repository"), "{script}: {found}");
    }
    place.expect_nothing_left(&repository);
}

/// Returns the bytes of an index without entries whose cached trees go down a million levels, and of
/// one that announces two thousand million trees.
fn odd_indexes() -> [Vec<u8>; 2] {
    let deep = [&b"a\0-1 1\n".repeat(1_000_000)[..], b"a\0-1 0\n"].concat();
    [deep, b"\0-1 2000000000\n".to_vec()].map(|trees| {
        let length = u32::try_from(trees.len()).expect("they are small").to_be_bytes();
        // A checksum of zeros is none.
        [b"DIRC\0\0\0\x02\0\0\0\0TREE", &length[..], &trees, &[0; 20]].concat()
    })
}

#[test]
fn an_index_with_endless_cached_trees_ends_no_engine_whoever_wrote_it() {
    for index in odd_indexes() {
        let place = sandbox();
        let repository = place.repository();
        let odd = place.folder().join("odd");
        std::fs::write(&odd, &index).expect("a file can be written");
        // A file below an ignored folder makes the engine look for tracked files there.
        let script = format!(
            "echo ignored > .gitignore; mkdir ignored; touch ignored/x; \
             cp {} $(git rev-parse --git-dir)/index",
            odd.display()
        );
        let finished = place.run_in(&repository).exec(&script).run().expect_code(0);
        assert_eq!(repository.text(".gitignore"), "ignored\n", "{finished}");
        place.expect_nothing_left(&repository);

        repository.write(".git/index", &index);
        let refused = place.run_in(&repository).exec("true").run();
        refused.expect_refusal(&["its index is damaged", "git -C", "reset"]);
        place.expect_nothing_left(&repository);
    }
}
