//! `--onto BRANCH`: the work becomes commits on a branch of the user. If it is checked out, its files
//! and the index come along, or nothing changes.

use std::fs;
use std::time::Duration;

use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

fn subjects(repository: &Repository, range: &str) -> Vec<String> {
    let log = repository.git(&["log", "--reverse", "--format=%s", range]);
    log.lines().map(str::to_owned).collect()
}

fn status(repository: &Repository) -> String {
    repository.git(&["status", "--porcelain", "--untracked-files=all"])
}

fn onto(place: &Sandbox, repository: &Repository, branch: &str, plan: &Plan) -> Finished {
    place.run_plan(repository, plan).words("--onto").arg(branch).run()
}

pub(crate) fn lines() -> String {
    (0..40).map(|line| format!("line {line}\n")).collect()
}

/// Two tasks with every kind of change.
pub(crate) fn two() -> Plan {
    let first = "echo new > new.txt; chmod +x list.txt; ln -s list.txt link; rm gone/away.txt";
    let second = "sed -i 's/^line 30$/thirty/' list.txt; mkdir -p deep/er; echo x > deep/er/x.txt
        git add deep; git commit -qm 'Go deep'";
    Plan::default().task("first", first).task("second", second)
}

pub(crate) fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    repository.write("list.txt", lines());
    repository.write("gone/away.txt", "gone\n");
    repository.commit("files");
    repository
}

#[test]
fn a_branch_that_is_not_checked_out_gets_the_commits_and_nothing_else_changes() {
    let place = sandbox();
    let repository = repository(&place);
    repository.git(&["branch", "side"]);
    repository.make_dirty();
    let (tree, dirt) = (repository.tree(), repository.dirt());
    let run = place.run_plan(&repository, &two()).words("--onto refs/heads/side");
    let finished = run.run().expect_code(0);
    assert_eq!(subjects(&repository, "main..side").len(), 3, "{finished}");
    assert_eq!(finished.events_of("task_landed")[0]["branch"], "side");
    assert_eq!(finished.events_of("run_started")[0]["onto"], "side");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(dirt, repository.dirt());
    assert_eq!(repository.git(&["branch", "--list"]).lines().count(), 2);
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    assert!(shown.stdout.contains("committed to side\n"), "{shown}");
    assert!(!shown.stdout.contains("git merge"), "{shown}");
    place.expect_nothing_left(&repository);
}

#[test]
fn the_files_and_the_index_of_a_branch_that_is_checked_out_come_along() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".gitattributes", "*.win text eol=crlf\n*.txt text\n");
    repository.write("a.win", "one\r\ntwo\r\n");
    repository.commit("windows");
    repository.make_dirty();
    let before = status(&repository);
    let third = "printf 'one\\r\\n2\\r\\n' > a.win; printf 'new\\r\\n' > deep.win";
    let plan = two().task("third", third);
    let finished = onto(&place, &repository, "main", &plan).expect_code(0);
    assert_eq!(finished.landed(), ["first", "second", "third"], "{finished}");
    assert_eq!(subjects(&repository, "HEAD~4..HEAD")[1..2], ["Go deep"]);
    // Line ends are those that git would write.
    assert_eq!(repository.text("a.win"), "one\r\n2\r\n", "{finished}");
    assert_eq!(repository.text("deep.win"), "new\r\n");
    assert_eq!(repository.git(&["show", "HEAD:a.win"]), "one\n2\n");
    assert_eq!(status(&repository), before, "{finished}");
    assert_eq!(repository.text("list.txt"), lines().replace("line 30\n", "thirty\n"));
    assert_eq!(repository.text("deep/er/x.txt"), "x\n");
    assert!(!repository.has("gone"), "{finished}");
    assert_eq!(fs::read_link(repository.path("link")).unwrap().to_str(), Some("list.txt"));
    assert_eq!(repository.faults(), "");
    assert!(!repository.has(".git/index.lock"));
    let reflog = repository.git(&["reflog", "-1", "--format=%gs"]);
    assert!(reflog.contains(&finished.run_name()), "{reflog}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_file_with_a_change_that_is_not_committed_is_a_conflict_and_the_rest_lands() {
    let place = sandbox();
    let repository = repository(&place);
    for name in ["staged.txt", "removed.txt"] {
        repository.write(name, lines());
    }
    repository.commit("more");
    repository.write("list.txt", lines() + "mine\n");
    repository.write("staged.txt", lines() + "mine\n");
    repository.git(&["add", "staged.txt"]);
    repository.write("staged.txt", lines());
    repository.git(&["rm", "-q", "--cached", "removed.txt"]);
    let index = || repository.git(&["ls-files", "--stage"]);
    let texts = || ["list.txt", "staged.txt", "removed.txt"].map(|name| repository.text(name));
    let (status_before, texts_before, head) =
        (status(&repository), texts(), repository.git(&["rev-parse", "HEAD"]));
    let index_before = index();
    let edit = |name: &str| format!("sed -i 's/^line 30$/thirty/' {name}");
    let plan = two()
        .task("staged", &edit("staged.txt"))
        .task("removed", &edit("removed.txt"))
        .task("third", "echo 3 > third.txt")
        .task("on", "echo 4 > on.txt")
        .after(&["second"]);
    let finished = onto(&place, &repository, "main", &plan).expect_code(4);
    assert_eq!(finished.landed(), ["third"], "{finished}");
    let conflicted = finished.events_of("task_conflicted");
    let found: Vec<_> = conflicted
        .iter()
        .map(|event| {
            let conflict = &event["conflicts"][0];
            assert_eq!(conflict["reason"], "uncommitted", "{finished}");
            [&event["task"], &conflict["path"]].map(|text| text.as_str().unwrap_or_default())
        })
        .collect();
    let expected = [
        ["first", "list.txt"],
        ["second", "list.txt"],
        ["staged", "staged.txt"],
        ["removed", "removed.txt"],
    ];
    assert_eq!(found, expected, "{finished}");
    assert_eq!(subjects(&repository, &format!("{}..HEAD", head.trim())).len(), 1);
    assert_eq!(status(&repository), status_before, "{finished}");
    let others: Vec<String> =
        index().lines().filter(|line| !line.ends_with("third.txt")).map(str::to_owned).collect();
    assert_eq!(others, index_before.lines().collect::<Vec<_>>(), "{finished}");
    assert_eq!(texts(), texts_before, "{finished}");

    // Once it is committed, the rest lands, too.
    repository.git(&["checkout", "-q", "HEAD", "list.txt", "staged.txt", "removed.txt"]);
    let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(status(&repository), "", "{applied}");
    assert_eq!(repository.text("on.txt"), "4\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn files_that_git_does_not_know_are_never_overwritten() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".gitignore", "ignored.txt\n");
    repository.commit("ignore");
    let script = |name: &str, more: &str| {
        format!("echo new > {name}.txt; {more} echo mine > \"$REGATTA_REPO/{name}.txt\"")
    };
    let plan = Plan::default()
        .task("a", &script("new", ""))
        .task("b", &script("ignored", "git add -f ignored.txt;"));
    let finished = onto(&place, &repository, "main", &plan).expect_code(4);
    assert_eq!(finished.landed(), [""; 0], "{finished}");
    assert_eq!(repository.text("new.txt"), "mine\n", "{finished}");
    assert_eq!(repository.text("ignored.txt"), "mine\n", "{finished}");
    assert_eq!(subjects(&repository, "HEAD")[1..], ["files", "ignore"], "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn what_is_no_branch_or_is_checked_out_elsewhere_is_refused_with_what_it_is_before_the_run() {
    let place = sandbox();
    let repository = repository(&place);
    repository.git(&["tag", "v1"]);
    repository.git(&["update-ref", "refs/remotes/origin/dev", "HEAD"]);
    let refused = |branch: &str, words: &[&str]| {
        onto(&place, &repository, branch, &two()).expect_refusal(words);
        place.expect_nothing_left(&repository);
    };
    refused("nowhere", &["`nowhere`", "no such branch", "git branch nowhere"]);
    refused("v1", &["`v1`", "is a tag"]);
    refused("HEAD", &["HEAD is not a branch", "--onto main"]);
    refused("origin/dev", &["branch of a remote", "git branch dev origin/dev"]);
    refused("a..b", &["`a..b`", "no such branch"]);
    refused("", &["--onto needs the name of a branch"]);
    expect_another_working_tree_is_refused(&place, &repository);
    repository.git(&["checkout", "-q", "--detach"]);
    refused("HEAD", &["HEAD is detached", "git switch -c"]);
    for merge in ["patch", "branch", "none"] {
        let run = place.run_in(&repository).words(&format!("--onto main --merge {merge}"));
        run.exec("true").run().expect_refusal(&["--onto cannot be used", merge]);
    }
    let new = Repository::init(&place.folder().join("new"));
    let run = place.run_in(&new).words("--onto main").exec("true").run();
    run.expect_refusal(&["no commit yet"]);
}

/// A branch that is checked out in another working tree is refused; there, it moves.
fn expect_another_working_tree_is_refused(place: &Sandbox, repository: &Repository) {
    let other = place.folder().join("other");
    repository.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        other.to_str().expect("the path is UTF-8"),
    ]);
    let refused = onto(place, repository, "side", &two());
    refused.expect_refusal(&[
        "`side`",
        "another working tree",
        other.to_str().expect("the path is UTF-8"),
    ]);
    place.expect_nothing_left(repository);
    let linked = Repository::at(&other);
    let main = onto(place, &linked, "main", &two());
    main.expect_refusal(&[
        "`main`",
        "another working tree",
        repository.root().to_str().expect("the path is UTF-8"),
    ]);
    let finished = onto(place, &linked, "side", &two()).expect_code(0);
    assert_eq!(subjects(&linked, "main..side").len(), 3, "{finished}");
    assert_eq!(status(&linked), "");
    assert_eq!(linked.text("new.txt"), "new\n");
    assert!(!repository.has("new.txt"));
}

#[test]
fn a_commit_that_the_user_makes_meanwhile_is_kept_and_the_work_follows_it() {
    for branch in ["main", "side"] {
        let place = sandbox();
        let repository = repository(&place);
        repository.git(&["branch", "side"]);
        let gate = place.folder().join("gate");
        let run = place.run_plan(&repository, &two()).words("--onto").arg(branch);
        let running = run.wait_at("landing.ref", &gate).start();
        eventually(Duration::from_secs(60), "the commits are made", || gate.exists());
        // The commit is made without the files, as by a push.
        let tree = repository.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        let meanwhile = ["commit-tree", "-p", branch, "-m", "meanwhile", tree.trim()];
        let commit = repository.git(&meanwhile);
        repository.git(&["update-ref", &format!("refs/heads/{branch}"), commit.trim()]);
        fs::remove_file(&gate).unwrap();
        let finished = running.wait().expect_code(0);
        let log = subjects(&repository, &format!("{branch}~4..{branch}"));
        assert_eq!((log.len(), log[0].as_str()), (4, "meanwhile"), "{finished}");
        assert_eq!(status(&repository), "", "{finished}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn an_index_that_another_program_has_locked_keeps_the_work() {
    test_limit::waits("a landing waits two seconds for the lock of the index");
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let plan = two().task("lock", "touch \"$REGATTA_REPO/.git/index.lock\"");
    let finished = onto(&place, &repository, "main", &plan).expect_code(4);
    assert!(finished.stdout.contains("another git process holds it"), "{finished}");
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
    fs::remove_file(repository.path(".git/index.lock")).unwrap();
    let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(status(&repository), "", "{applied}");
    assert_eq!(subjects(&repository, "HEAD~3..HEAD").len(), 3);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_branch_whose_engine_was_killed_has_all_of_it_or_nothing_with_its_files_and_index() {
    let points = [
        ("landing.begin", 1..=1),
        ("landing.ref", 1..=5),
        ("landing.exchange", 1..=3),
        ("landing.journal", 1..=1),
        ("landing.record", 1..=9),
        ("landing.done", 1..=1),
    ];
    let kills = points.into_iter().flat_map(|(point, times)| times.map(move |time| (point, time)));
    for (point, time) in sample(kills, 3) {
        let place = sandbox();
        let repository = repository(&place);
        let call = place.run_plan(&repository, &two()).words("--onto main");
        let killed = call.fault(&format!("kill@{point}:{time}")).run();
        let context = format!("{point}:{time}: {killed}");
        let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
        let commits = subjects(&repository, "HEAD").len();
        assert!([2, 5].contains(&commits), "{context} {listed}");
        assert_eq!(status(&repository), "", "{context} {listed}");
        assert!(!repository.has(".git/index.lock"), "{context} {listed}");
        assert_eq!(repository.has("new.txt"), commits == 5, "{context} {listed}");
        let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
        assert_eq!(subjects(&repository, "HEAD").len(), 5, "{context} {applied}");
        assert_eq!(status(&repository), "", "{context} {applied}");
        assert_eq!(repository.text("deep/er/x.txt"), "x\n");
        assert_eq!(repository.faults(), "", "{context}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn commits_that_git_would_sign_or_run_hooks_for_are_told_once_and_not_in_patch_mode() {
    let place = sandbox();
    let repository = repository(&place);
    repository.git(&["config", "commit.gpgsign", "true"]);
    let hook = place.folder().join("ran");
    let script = format!("#!/bin/sh\ntouch {}\nexit 1\n", hook.display());
    repository.write(".git/hooks/pre-commit", &script);
    repository.make_executable(".git/hooks/pre-commit");
    for (merge, expected) in [("branch", 2), ("stack", 2), ("patch", 0)] {
        let run = place.run_in(&repository).words(&format!("--merge {merge}"));
        let finished = run.exec("date +%N > x.txt").run().expect_code(0);
        let told = finished.events_of("degraded");
        let about = |word: &str| told.iter().filter(|it| it.to_string().contains(word)).count();
        assert_eq!(about("commit.gpgsign") + about("pre-commit"), expected, "{merge}: {finished}");
        assert!(!hook.exists(), "{finished}");
    }
    repository.git(&["config", "--unset", "commit.gpgsign"]);
    repository.git(&["config", "core.hooksPath", "hooks"]);
    repository.write("hooks/commit-msg", &script);
    repository.make_executable("hooks/commit-msg");
    let run = place.run_in(&repository).words("--merge stack").exec("echo x > y.txt").run();
    let told = run.expect_code(0).events_of("degraded");
    let told: Vec<_> = told.iter().map(|it| it["from"].clone()).collect();
    assert!(told.contains(&"hooks (commit-msg)".into()), "{told:?}");
}

#[test]
fn a_plan_says_onto_which_branch_work_goes_and_when_and_the_command_line_is_stronger() {
    let place = sandbox();
    let repository = place.repository();
    repository.git(&["branch", "side"]);
    let plan =
        Plan::default().top("onto = \"side\"").top("land = \"eager\"").task("a", "echo a > a.txt");
    let run = |words: &str| place.run_plan(&repository, &plan).words(words).run().expect_code(0);
    let finished = run("");
    let started = &finished.events_of("run_started")[0];
    assert_eq!((&started["merge"], &started["land"]), (&"stack".into(), &"eager".into()));
    assert_eq!(repository.git(&["show", "side:a.txt"]).trim(), "a");
    assert!(!repository.has("a.txt"));
    // The work can go elsewhere, and land at the end.
    let finished = run("--merge patch --land end");
    assert_eq!(finished.events_of("run_started")[0]["land"], serde_json::Value::Null);
    assert_eq!(repository.text("a.txt"), "a\n");
    let refused =
        Plan::default().top("onto = \"side\"").top("merge = \"branch\"").task("a", "true");
    let refused = place.run_plan(&repository, &refused).run();
    refused.expect_refusal(&["`onto` cannot be used with merge `branch`"]);
    let refused = Plan::default().top("land = \"soon\"").task("a", "true");
    let refused = place.run_plan(&repository, &refused).run();
    refused.expect_refusal(&["the times are end and eager"]);
    place.expect_nothing_left(&repository);
}
