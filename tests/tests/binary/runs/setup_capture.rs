//! What a set-up changes is no work of the task: captures compare with what it has left.

use std::collections::BTreeSet;
use std::path::Path;

use test_limit::{by_depth, sample};
use tests::sandbox::{Fingerprint, Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Runs one task after a set-up, landing nothing.
fn run(place: &Sandbox, repository: &Repository, setup: &str, script: &str) -> Finished {
    place.run_in(repository).words("--merge none --setup").arg(setup).exec(script).run()
}

/// Returns the patch of the run.
fn diff(place: &Sandbox, repository: &Repository) -> String {
    place.regatta(repository.root()).words("diff").run().expect_code(0).stdout
}

/// Returns the paths of a patch.
fn paths(patch: &str) -> BTreeSet<&str> {
    let heads = patch.lines().filter_map(|line| line.strip_prefix("diff --git a/"));
    heads.filter_map(|head| head.split(" b/").next()).collect()
}

/// A repository with a few files.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    for file in ["kept", "edited", "removed", "again", "moved", "deep/er/file"] {
        repository.write(file, format!("{file}\n"));
    }
    repository.write("long", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repository.write(".gitignore", "*.o\n");
    repository.commit("files");
    repository
}

/// Changes every kind of file there is.
const EVERYTHING: &str = "echo x >> edited; rm removed; mv moved moved.new; ln -s kept link; \
    chmod +x kept; rm -r deep; echo x > deep; mkdir -p new/folder; echo x > new/folder/file; \
    printf 'a\\0b' > binary; : > empty; echo x > ignored.o; mkfifo pipe; \
    git init -q vendor; echo x > vendor/file";

#[test]
fn only_what_the_task_changes_after_its_setup_is_captured() {
    let place = sandbox();
    let repository = repository(&place);
    let before = Fingerprint::of(repository.root());
    let captured = |setup: &str, script: &str, expected: &[&str]| {
        let finished = run(&place, &repository, setup, script);
        let patch = diff(&place, &repository);
        assert_eq!(paths(&patch), expected.iter().copied().collect(), "{script}: {patch}");
        let task = finished.task("t1");
        assert_eq!(task["changes"]["files"], expected.len(), "{script}: {patch}");
        assert!(task.get("left_out").is_none(), "{script}: {task}");
        patch
    };
    // It runs through files, as a build does, and writes what is ignored.
    let script = "cat edited new/folder/file vendor/file link; touch later.o; git status --short";
    captured(EVERYTHING, script, &[]);
    let script = "echo y >> new/folder/file; rm link empty; echo z > own; mv binary bin; \
                  echo same > again; echo moved > moved; touch edited";
    // What the set-up had made and the task removed was never there.
    let patch = captured(EVERYTHING, script, &["again", "bin", "new/folder/file", "own"]);
    assert!(patch.contains("+++ b/new/folder/file\n@@ -0,0 +1,2 @@\n+x\n+y\n"), "{patch}");
    // The same bytes written again are no change, and a change with the old time is one.
    let setup = "echo x > made; echo abc > swapped; echo x >> edited";
    let script = "cat made > m; cat m > made; rm m; cp edited e; mv e edited; \
                  cp -p swapped s; echo abd > swapped; touch -r s swapped; rm s";
    let patch = captured(setup, script, &["swapped"]);
    assert!(patch.contains("+abd"), "{patch}");
    // A large new file is no work either, unless the task changes it.
    let size = by_depth(4_000_000, 40_000_000);
    let setup = format!("head -c {size} /dev/zero > large; head -c {size} /dev/zero > other");
    captured(&setup, "cat large > /dev/null; echo x >> other", &["other"]);
    assert_eq!(before.differences(&Fingerprint::of(repository.root())), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

#[test]
fn a_patch_after_a_setup_applies_to_the_users_tree_becomes_a_branch_and_lands_alone() {
    let place = sandbox();
    let repository = repository(&place);
    let setup = "sed -i s/1/one/ long; echo x >> edited; echo x >> kept; echo x > made";
    let script = "sed -i s/9/nine/ long; rm edited; echo y >> made; git checkout -q kept";
    let call = || place.run_in(&repository).arg("--setup").arg(setup).exec(script);
    let branch = call().words("--merge branch").run().expect_code(0);
    let patch = diff(&place, &repository);
    assert_eq!(paths(&patch), ["edited", "long", "made"].into(), "{patch}");
    assert!(repository.git_accepts(&["apply", "--check", "-"], patch.as_bytes()), "{patch}");
    let name = format!("regatta/{}/t1", branch.run_name());
    let changed = repository.git(&["diff", "--name-status", "HEAD", &name]);
    assert_eq!(changed, "D\tedited\nM\tlong\nA\tmade\n");
    let finished = call().run().expect_code(0);
    assert_eq!(finished.landed(), ["t1"]);
    assert!(!repository.has("edited"));
    // What the task adds to a file of the set-up lands without what the set-up did.
    assert_eq!(repository.text("long"), "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert_eq!(repository.text("kept"), "kept\n");
    assert_eq!(repository.text("made"), "x\ny\n");
}

#[test]
fn a_task_that_changes_the_lines_of_its_setup_conflicts_and_says_with_what() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    for words in ["--merge patch", "--merge branch"] {
        let call = place.run_in(&repository).words(words).arg("--setup").arg("echo x >> edited");
        let finished = call.exec("echo y >> edited").run().expect_code(4);
        let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
        assert_eq!(conflict["reason"], "setup", "{finished}");
        let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0).stdout;
        let said = "edited, it changed the same lines as its set-up, which does not land";
        assert!(shown.contains(said), "{shown}");
    }
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
}

#[test]
fn a_submodule_that_a_setup_fills_is_not_told_until_the_task_changes_it() {
    let place = sandbox();
    let library = Repository::init(&place.folder().join("library"));
    library.write("lib.txt", "lib\n");
    library.commit("library");
    let repository = place.repository();
    let url = library.root().to_str().expect("it is a text");
    repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "lib",
    ]);
    repository.commit("a submodule");
    repository.git(&["submodule", "--quiet", "deinit", "--force", "lib"]);
    let setup = format!("git clone --quiet '{url}' cloned && cp -r cloned/. lib && rm -rf cloned");
    let quiet = run(&place, &repository, &setup, "cat lib/lib.txt && git -C lib status");
    assert!(quiet.task("t1").get("left_out").is_none(), "{quiet}");
    place.expect_nothing_left(&repository);
    let loud = run(&place, &repository, &setup, "echo more >> lib/lib.txt");
    let left_out = &loud.task("t1")["left_out"];
    assert_eq!(left_out["entries"][0]["kind"], "submodule", "{loud}");
    let workspace = left_out["workspace"].as_str().expect("it is kept");
    let kept = std::fs::read(Path::new(workspace).join("lib/lib.txt")).expect("it is there");
    assert_eq!(kept, b"lib\nmore\n");
}

#[test]
fn dependants_get_the_work_of_their_predecessors_and_a_setup_of_their_own() {
    let place = sandbox();
    let repository = repository(&place);
    let setup = "echo \"$REGATTA_TASK\" >> setups; sed -i s/1/one/ long; echo x >> edited";
    let plan = Plan::default()
        .task("first", "sed -i s/5/five/ long; cp setups first.txt")
        .task("second", "sed -i s/9/nine/ long; cp setups second.txt")
        .after(&["first"]);
    let run = place.run_plan(&repository, &plan).arg("--setup").arg(setup);
    let finished = run.run();
    assert_eq!(repository.text("long"), "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n", "{finished}");
    assert_eq!(repository.text("first.txt"), "first\n");
    assert_eq!(repository.text("second.txt"), "second\n");
    assert!(!repository.has("setups"), "{finished}");
}

#[test]
fn an_engine_killed_after_a_setup_or_while_it_records_one_leaves_only_the_work_of_the_task() {
    let place = sandbox();
    let repository = repository(&place);
    for (fault, work) in [("kill@capture.begin", &["work"][..]), ("kill@setup.manifest", &[])] {
        let call = place.run_in(&repository).arg("--setup").arg(EVERYTHING).exec("echo w > work");
        let killed = call.fault(fault).run();
        assert_eq!(killed.code, 128 + 9, "{fault}: {killed}");
        let patch = diff(&place, &repository);
        assert_eq!(paths(&patch), work.iter().copied().collect(), "{fault}: {patch}");
        assert_eq!(patch.is_empty(), work.is_empty(), "{fault}: {patch}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn ignored_files_of_a_setup_are_no_work_when_the_task_ends_their_being_ignored() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".gitignore", "*.o\nmodules/\n");
    repository.commit("ignore");
    let setup = "mkdir -p modules/a; echo made > modules/a/x; echo made > x.o";
    let script = ": > .gitignore; echo mine > modules/mine; echo more >> modules/a/x; \
                  mkdir modules/b; mv x.o modules/b/moved";
    let _run = run(&place, &repository, setup, script).expect_code(0);
    let patch = diff(&place, &repository);
    let expected = [".gitignore", "modules/a/x", "modules/b/moved", "modules/mine"];
    assert_eq!(paths(&patch), BTreeSet::from(expected), "{patch}");
    let _run = run(&place, &repository, setup, ": > .gitignore; echo x > new").expect_code(0);
    let patch = diff(&place, &repository);
    assert_eq!(paths(&patch), BTreeSet::from([".gitignore", "new"]), "{patch}");
}

#[test]
fn the_message_of_a_commit_of_the_setup_is_not_that_of_the_task() {
    let place = sandbox();
    let repository = repository(&place);
    let setup = "git -c user.name=s -c user.email=s@s commit --quiet --allow-empty -m of-setup";
    let subject = |script: &str| {
        let run = place.run_in(&repository).words("--merge branch --setup").arg(setup);
        let run = run.exec(script).run().expect_code(0).run_name();
        repository.git(&["log", "-1", "--format=%s", &format!("regatta/{run}/t1")])
    };
    assert!(!subject("echo x > new").contains("of-setup"));
    let commits = "echo x > new; git add new; \
                   git -c user.name=t -c user.email=t@t commit --quiet -m of-task";
    assert_eq!(subject(commits).trim(), "of-task");
}

/// Returns what a task lands after a set-up: its status in the user's tree, with ignored files.
fn landed(place: &Sandbox, setup: &str, script: &str) -> Vec<String> {
    let repository = place.repository();
    repository.write(".gitignore", "*.o\n");
    repository.write("sub/.gitignore", "*.a\n");
    repository.write("sub/file", "file\n");
    repository.commit("files");
    let call = place.run_in(&repository).arg("--setup").arg(setup).exec(script);
    let finished = call.run().expect_code(0);
    assert!(finished.task("t1").get("left_out").is_none(), "{finished}");
    let status = repository.git(&["status", "--porcelain", "--ignored", "-uall"]);
    place.expect_nothing_left(&repository);
    std::fs::remove_dir_all(repository.root()).expect("it can be removed");
    status.lines().map(str::to_owned).collect()
}

#[test]
fn what_a_setup_ignores_hides_no_work() {
    let place = sandbox();
    let made = "mkdir -p dist/deep; echo s > dist/deep/made; echo s > s.log; mkfifo dist/pipe; \
                git init -q dist/clone; mkdir dist/.GIT";
    let work = "mkdir -p dist/deep sub/dist; touch dist/deep/of-task; echo t > t.log; \
                echo t > sub/t.log; echo t > sub/dist/t; echo t > t.o; cat s.log dist/deep/made";
    let found = ["?? dist/deep/of-task", "?? sub/dist/t", "?? sub/t.log", "?? t.log"];
    // In the file of the root, and in that of a folder; by a file that ignores itself; for the whole
    // repository.
    for ignore in [
        "printf 'dist/\\n*.log\\n' >> .gitignore",
        "printf 'dist/\\n*.log\\n' >> .gitignore; printf '*\\n' >> sub/.gitignore",
        "printf '*\\n' >> .gitignore",
        "d=$(git rev-parse --git-dir); mkdir -p $d/info; echo '*' >> $d/info/exclude",
        "d=$(git rev-parse --git-dir); echo '*' > $d/own; git config core.excludesFile $d/own",
    ] {
        let orders = [format!("{made}; {ignore}"), format!("{ignore}; {made}")];
        for setup in sample(orders, 1) {
            assert_eq!(landed(&place, &setup, work), found, "{setup}");
        }
    }
}

#[test]
fn what_a_setup_ignores_for_itself_or_no_longer_is_work_only_when_it_is_the_tasks() {
    let place = sandbox();
    // As a tool does that makes a folder for itself.
    let setup = "mkdir .venv; echo '*' > .venv/.gitignore; echo s > .venv/made";
    assert!(landed(&place, setup, "echo t > .venv/cache").is_empty());
    let setup = "mkdir .venv; echo '*' > .venv/.gitignore; echo .venv >> .gitignore";
    assert!(landed(&place, setup, "echo t > .venv/cache").is_empty());
    // In a folder of the user's it hides no work, even if it ignores itself.
    for rules in ["*", "of-task"] {
        let setup = format!("echo '{rules}' > src/.gitignore; echo s > src/of-setup");
        assert_eq!(landed(&place, &setup, "echo t > src/of-task"), ["?? src/of-task"]);
    }
    // It ends the ignoring of files of its own.
    for shrink in [": > .gitignore", "rm .gitignore", "echo '!x.o' >> .gitignore"] {
        let setup = format!("echo s > s.o; {shrink}; echo s > u.o; echo s > x.o");
        // Ignored where it lands, as a file that was added by force is.
        let found = landed(&place, &setup, "echo t >> x.o; cat s.o u.o");
        assert_eq!(found, ["!! x.o"], "{shrink}");
    }
}

#[test]
fn the_rules_of_a_task_count_beside_those_that_its_setup_changed() {
    let place = sandbox();
    let setup = "echo dist >> .gitignore; mkdir dist; echo s > dist/made";
    // At the same place as the set-up, which is a conflict, but no reason to lose anything.
    let repository = repository(&place);
    let script = "echo '*.tmp' >> .gitignore; touch a.tmp a.o dist/work";
    let _finished = run(&place, &repository, setup, script);
    let patch = diff(&place, &repository);
    assert_eq!(paths(&patch), [".gitignore", "dist/work"].into(), "{patch}");
    // Elsewhere, it lands without what the set-up did.
    repository.write(".gitignore", "*.o\n\n# Ours.\n*.b\n\n# The last ones.\n*.c\n");
    repository.commit("rules");
    let script = "sed -i '1i *.tmp' .gitignore; sed -i /b$/d .gitignore; \
                  touch a.tmp a.o a.b a.c dist/work";
    let finished = run(&place, &repository, setup, script);
    let patch = diff(&place, &repository);
    assert_eq!(paths(&patch), [".gitignore", "a.b", "dist/work"].into(), "{finished}{patch}");
    // What the task takes back is as the user has it.
    let _finished = run(&place, &repository, setup, "git checkout -q .gitignore; touch dist/work");
    assert_eq!(paths(&diff(&place, &repository)), ["dist/work"].into());
    let _finished = run(&place, &repository, setup, "rm .gitignore; touch dist/work a.o");
    assert_eq!(paths(&diff(&place, &repository)), [".gitignore", "a.o", "dist/work"].into());
}
