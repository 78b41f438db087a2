//! Landings in nested repositories that depend on other tasks, on a set-up, or were cut short, and
//! what the commands for kept work say of them.

use test_limit::{by_depth, sample};
use tests::sandbox::{Plan, Repository};

use super::kit::{CheckedOut, Kind, Nest, list};
use crate::binary::sandbox;

/// The subjects of the commits of a branch that HEAD does not have, oldest first.
fn subjects(repository: &Repository, branch: &str) -> Vec<String> {
    let log = repository.git(&["log", "--reverse", "--format=%s", &format!("HEAD..{branch}")]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn a_task_sees_what_its_predecessors_did_in_a_nested_repository_and_branches_build_on_theirs() {
    let plan = || {
        Plan::default()
            .task(
                "first",
                "sed -i s/^5$/five/ lib/list.txt; echo x > lib/made.txt; rm lib/late.txt; echo x > x",
            )
            .task(
                "second",
                "grep -q ^five$ lib/list.txt && test ! -e lib/late.txt && echo y >> lib/made.txt",
            )
            .after(&["first"])
    };
    for mode in sample(["--merge patch", "--merge branch", "--merge stack", "--onto main"], 2) {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let before = CheckedOut::of(&nest.lib);
        let run = place.run_plan(&nest.outer, &plan()).words(mode);
        let finished = run.run().expect_code(0);
        assert_eq!(finished.landed(), ["first", "second"], "{finished}");
        let name = finished.run_name();
        let made = match mode {
            "--merge patch" => {
                nest.expect_same_git(&finished);
                nest.lib.text("made.txt")
            }
            "--merge branch" => {
                let branch = format!("regatta/{name}/second");
                assert_eq!(subjects(&nest.lib, &branch).len(), 2, "{finished}");
                nest.lib.git(&["show", &format!("{branch}:made.txt")])
            }
            _ => {
                assert_eq!(subjects(&nest.lib, &format!("regatta/{name}")).len(), 2);
                nest.lib.git(&["show", &format!("regatta/{name}:made.txt")])
            }
        };
        assert_eq!(made, "x\ny\n", "{mode} {finished}");
        if mode == "--onto main" {
            // The branch of the run is in the nested repository, whose files stay, and that is told.
            assert_eq!(nest.outer.text("x"), "x\n", "{finished}");
            assert_eq!(before, CheckedOut::of(&nest.lib), "{finished}");
            assert_eq!(nest.outer.git(&["status", "--porcelain"]), "", "{finished}");
            let told = finished.events_of("degraded");
            assert!(told.iter().any(|notice| notice["from"] == "the work in lib"), "{finished}");
        }
    }
}

#[test]
fn what_a_setup_does_in_a_nested_repository_is_no_work() {
    for mode in ["patch", "branch"] {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let setup =
            "cd lib; echo setup >> other.txt; echo made > setup.txt; git commit -q -a -m setup";
        let run = place.run_in(&nest.outer).words("--merge").words(mode).arg("--setup").arg(setup);
        let finished = run.exec("sed -i s/^5$/five/ lib/list.txt").run().expect_code(0);
        assert_eq!(finished.task("t1")["changes"]["files"], 1, "{finished}");
        if mode == "patch" {
            assert_eq!(nest.status(), " M list.txt\n", "{finished}");
            nest.expect_same_git(&finished);
        } else {
            let branch = format!("regatta/{}/t1", finished.run_name());
            let paths = ["log", "--format=%s", "--name-only", &format!("HEAD..{branch}")];
            assert_eq!(nest.lib.git(&paths), "sed -i …\n\nlist.txt\n", "{finished}");
            let outer = nest.outer.git(&["branch", "--list", "regatta/*"]);
            assert_eq!(outer, "", "the submodule's commit is the set-up's: {finished}");
        }
    }
}

#[test]
fn a_landing_that_is_killed_between_two_repositories_is_completed_by_the_next_one() {
    for (mode, point) in [("branch", "landing.ref:3"), ("stack", "landing.ref:1")] {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let before = [&nest.outer, &nest.lib].map(CheckedOut::of);
        let script =
            "sed -i s/^5$/five/ lib/list.txt; git -C lib commit -q -a -m 'My own'; echo x > x";
        let run = place.run_in(&nest.outer).words("--merge").words(mode);
        let killed = run.exec(script).fault(&format!("kill@{point}")).run();
        assert_eq!(killed.code, 128 + 9, "{killed}");
        let name = killed.run_name();
        let branch =
            if mode == "branch" { format!("regatta/{name}/t1") } else { format!("regatta/{name}") };
        assert_eq!(subjects(&nest.lib, &branch), ["My own"], "{killed}");
        assert_eq!(nest.outer.git(&["branch", "--list", "regatta/*"]), "", "{killed}");
        let apply = place.regatta(nest.outer.root()).words("apply").arg(&name).run().expect_code(0);
        assert_eq!(subjects(&nest.lib, &branch), ["My own"], "{apply}");
        let link = nest.outer.git(&["rev-parse", &format!("{branch}:lib")]);
        assert_eq!(link, nest.lib.git(&["rev-parse", &branch]), "{apply}");
        assert_eq!(nest.outer.git(&["show", &format!("{branch}:x")]), "x\n");
        assert_eq!(before, [&nest.outer, &nest.lib].map(CheckedOut::of), "{apply}");
    }
}

#[test]
fn commands_for_kept_work_name_nested_files_by_their_whole_paths() {
    let place = sandbox();
    let nest = Nest::of(&place, Kind::Untracked);
    let call = |words: &str| place.regatta(nest.outer.root()).words(words).run();
    let run = place.run_in(&nest.outer).words("--merge none");
    let script = "sed -i s/^5$/five/ lib/list.txt; echo x > lib/x.txt; echo y > y.txt";
    let name = run.exec(script).run().run_name();
    let diff = call(&format!("diff {name}/t1")).expect_code(0);
    for path in ["lib/list.txt", "lib/x.txt", "y.txt"] {
        assert!(diff.stdout.contains(&format!("a/{path} b/{path}\n")), "{diff}");
    }
    nest.lib.write("list.txt", list().replace("\n5\n", "\nmine\n"));
    let index = call(&format!("apply {name}/t1 --markers --index"));
    index.expect_refusal(&["a part of it is in lib, which is a repository of its own"]);
    let branch = call(&format!("apply {name}/t1 --branch kept"));
    branch.expect_refusal(&["a part of it is in lib, which is a repository of its own"]);
    let applied = call(&format!("apply {name}/t1 --markers lib/list.txt"));
    assert!(nest.lib.text("list.txt").contains("<<<<<<<"), "{applied}");
    assert_eq!(nest.lib.text("x.txt"), "x\n");
    assert_eq!(nest.outer.text("y.txt"), "y\n");
    nest.expect_same_git(&applied);
}

/// Removes the branch `other` of the user's submodule with its commit, as the verification of a run: the
/// work is captured by then.
const FORGET: &str = "cd \"$REGATTA_REPO/lib\" && git branch -q -D other && \
                      git reflog expire --expire=now --all && git gc -q --prune=now";

#[test]
fn a_submodule_whose_new_commit_is_gone_is_a_conflict_that_says_so_and_the_rest_can_land() {
    let ways = [
        ("branch", "clean"),
        ("stack", "fetch"),
        ("branch", "ours"),
        ("stack", "clean"),
        ("branch", "fetch"),
    ];
    for (mode, way) in sample(ways, 2) {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let tree = nest.lib.git(&["rev-parse", "HEAD^{tree}"]);
        let commit = ["commit-tree", "-p", "HEAD", "-m", "nothing new", tree.trim()];
        let commit = nest.lib.git(&commit).trim().to_owned();
        nest.lib.git(&["branch", "other", &commit]);
        let copy = place.folder().join("copy.git").display().to_string();
        nest.lib.git(&["clone", "--quiet", "--bare", ".", &copy]);
        let link = nest.outer.git(&["rev-parse", "HEAD:lib"]);
        let plan = Plan::default()
            .task("moves", "git -C lib checkout -q other; echo x > x.txt")
            .task("stays", "echo y > y.txt");
        let run = place.run_plan(&nest.outer, &plan).words("--merge").words(mode);
        let kept = run.arg("--verify").arg(FORGET).run().expect_code(4);
        assert_eq!(kept.landed(), ["stays"], "{kept}");
        let conflicted = &kept.events_of("task_conflicted")[0];
        let conflict = &conflicted["conflicts"][0];
        assert_eq!(conflict["path"], "lib", "{conflicted}");
        assert_eq!(conflict["reason"], "missing_commit", "{conflicted}");
        assert_eq!(conflict["theirs"]["oid"], commit.as_str(), "{conflicted}");
        let say = |words: &str| place.regatta(nest.outer.root()).words(words).run();
        let listed = say("conflicts @").expect_code(0);
        for words in ["apply", "--ours lib", "fetch the commit into", &commit[..7]] {
            assert!(listed.stdout.contains(words), "{words}: {listed}");
        }
        for words in ["runs show", "apply @ moves --dry-run", "apply @ moves"] {
            let said = say(words);
            assert!(said.stdout.contains(&format!("lacks the commit {commit}")), "{said}");
        }
        let name = kept.run_name();
        let branch = match mode {
            "branch" => format!("regatta/{name}/moves"),
            _ => format!("regatta/{name}"),
        };
        let (applied, expected) = match way {
            "fetch" => {
                nest.lib.git(&["fetch", "--quiet", &copy, "other"]);
                (say("apply @ moves").expect_code(0), format!("{commit}\n"))
            }
            way => {
                let applied = say(&format!("apply @ moves --{way}")).expect_code(0);
                assert!(applied.stderr.contains("lib stays where it is"), "{applied}");
                (applied, link)
            }
        };
        let link = nest.outer.git(&["rev-parse", &format!("{branch}:lib")]);
        assert_eq!(link, expected, "{mode} {way}: {applied}");
        assert_eq!(nest.outer.git(&["show", &format!("{branch}:x.txt")]), "x\n", "{applied}");
    }
}

#[test]
fn an_edit_follows_a_nested_file_that_was_renamed_with_git_and_written_anew() {
    let rename =
        "cd lib && git mv list.txt numbers.txt && sed -i '4,$s/.*/another text/' numbers.txt";
    let rename_in_a_commit = "cd lib && git mv list.txt numbers.txt && git commit -q -m move && \
         sed -i '4,$s/.*/another text/' numbers.txt && git commit -q -a -m anew";
    let some = vec![(rename, "patch"), (rename_in_a_commit, "stack")];
    let others = [(rename, "stack"), (rename_in_a_commit, "patch")];
    for (rename, mode) in by_depth(some.clone(), [some, others.into()].concat()) {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let plan =
            Plan::default().task("rename", rename).task("edit", "sed -i s/^2$/two/ lib/list.txt");
        let run = place.run_plan(&nest.outer, &plan).words("--merge").words(mode);
        let finished = run.run().expect_code(0);
        assert_eq!(finished.landed(), ["edit", "rename"], "{finished}");
        let landed = match mode {
            "patch" => nest.lib.text("numbers.txt"),
            _ => nest.lib.git(&["show", &format!("regatta/{}:numbers.txt", finished.run_name())]),
        };
        assert_eq!(landed, format!("1\ntwo\n3\n{}", "another text\n".repeat(17)), "{mode}");
    }
}
