//! The ways to settle a conflict that need a program or a person, over the same conflicts as the
//! choices of a side.

use std::time::Duration;

use test_limit::sample;
use tests::sandbox::{Repository, Sandbox};

use super::cases::{CASES, Case, Choice, Form, begin, cells, relabel};
use crate::binary::sandbox;

/// The reasons of conflicts of which a program can write the file.
const OF_CONTENT: [&str; 5] = ["content", "binary", "both_added", "mode", "untracked"];

fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    begin(&repository);
    repository
}

/// Returns whether there is a file that a program can write.
fn is_written(case: &Case) -> bool {
    OF_CONTENT.contains(&case.reason) && case.name != "links"
}

/// Returns the tree that git makes of a conflict whose file a program writes.
fn tree_of_a_tool(case: &Case, place: &Sandbox, cmd: &str) -> String {
    let git = case.merged_in_git(place, Choice::Markers, Form::default());
    for (key, value) in [
        ("merge.tool", "t"),
        ("mergetool.t.cmd", cmd),
        ("mergetool.t.trustExitCode", "true"),
        ("mergetool.keepBackup", "false"),
        ("mergetool.prompt", "false"),
    ] {
        git.git(&["config", key, value]);
    }
    git.git(&["mergetool"]);
    git.tree_id()
}

#[test]
fn what_a_tool_or_a_resolver_writes_gives_the_tree_that_git_mergetool_gives() {
    test_limit::raise(Duration::from_secs(300), "in full depth, two ways for each conflict");
    let place = sandbox();
    let repository = repository(&place).watched();
    let cmd = "cat \"$LOCAL\" \"$REMOTE\" > \"$MERGED\"";
    let escaped = cmd.replace('"', "\\\"");
    let config = format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = \"{escaped}\"\n");
    std::fs::write(place.folder().join("user/.gitconfig"), config).expect("it can be written");
    let script = "cat \"$REGATTA_OURS\" \"$REGATTA_THEIRS\" > \"$REGATTA_RESULT\"";
    // Of a conflict without lines there is no file to be written: that is in each sample.
    let (written, others): (Vec<&Case>, Vec<&Case>) =
        CASES.iter().partition(|case| is_written(case));
    let cells = [cells(&["tool", "resolver"], written, 2), cells(&["resolver", "tool"], others, 1)];
    for (by, case) in cells.concat() {
        let run = case.run(&place, &repository);
        let before = repository.tree();
        let apply = place.regatta(repository.root()).words("apply @ theirs");
        let applied = match by {
            "tool" => apply.words("--tool").run(),
            _ => apply.words("--resolve").arg(script).run(),
        };
        if !is_written(case) {
            applied.expect_refusal(&["choose --ours or --theirs"]);
            assert_eq!(repository.tree(), before, "{} {by}", case.name);
            continue;
        }
        let expected = tree_of_a_tool(case, &place, cmd);
        let applied = applied.expect_code(0);
        assert_eq!(repository.tree_id(), expected, "{} {by}: {run} {applied}", case.name);
    }
}

#[test]
fn what_lands_without_the_conflicts_leaves_their_paths_as_git_leaves_those_of_our_commit() {
    let place = sandbox();
    let repository = repository(&place).watched();
    for case in sample(CASES, 3) {
        let run = case.run(&place, &repository);
        let applied = place.regatta(repository.root()).words("apply @ theirs --clean").run();
        let applied = applied.expect_code(4);
        let git = case.merged_in_git(&place, Choice::Markers, Form::default());
        let unmerged = git.git(&["diff", "--name-only", "--diff-filter=U"]);
        let renamed = git.git(&["diff", "--name-only", "--diff-filter=D", "--no-renames", "ours"]);
        for path in unmerged.lines().chain(renamed.lines()) {
            git.git(&["rm", "--quiet", "-f", "--cached", "--ignore-unmatch", path]);
            let _gone = std::fs::remove_file(git.path(path));
            // A path that our commit does not have is removed.
            let _absent = git.try_git(&["checkout", "--quiet", "ours", "--", path]);
        }
        assert_eq!(repository.tree_id(), git.tree_id(), "{}: {run} {applied}", case.name);
    }
}

#[test]
fn a_branch_of_the_work_merges_with_git_as_the_work_itself_would() {
    let place = sandbox();
    let repository = repository(&place);
    let base = repository.git(&["rev-parse", "HEAD"]);
    for case in sample(CASES, 3) {
        let run = case.run(&place, &repository);
        let apply = place.regatta(repository.root()).words("apply @ theirs --branch theirs").run();
        let applied = apply.expect_code(0);
        repository.commit("ours");
        let merge = ["-c", "merge.directoryRenames=true", "merge", "theirs"];
        let _conflict = repository.try_git(&merge);
        relabel(&repository);
        let git = case.merged_in_git(&place, Choice::Markers, Form::default());
        relabel(&git);
        let unmerged = |of: &Repository| of.git(&["diff", "--name-only", "--diff-filter=U"]);
        assert_eq!(unmerged(&repository), unmerged(&git), "{}: {run} {applied}", case.name);
        assert_eq!(repository.tree_id(), git.tree_id(), "{}: {run} {applied}", case.name);
        repository.git(&["reset", "--quiet", "--hard", base.trim()]);
        repository.git(&["branch", "--quiet", "-D", "theirs"]);
    }
}

#[test]
fn work_that_was_merged_by_hand_counts_as_landed_where_runs_land_on_branches() {
    for merge in sample(["--merge stack", "--merge branch", "--onto main", "--onto side"], 2) {
        let place = sandbox();
        let repository = place.repository();
        repository.write("list.txt", "first\n");
        repository.commit("list");
        let user =
            "cd \"$REGATTA_REPO\"; echo mine >> list.txt; git commit -qam mine; git branch -f side";
        let plan = tests::sandbox::Plan::default()
            .task("alpha", "echo a > a.txt")
            .task("beta", &format!("echo beta >> list.txt; {user}"))
            .task("gamma", "echo g >> list.txt; echo g > g.txt")
            .after(&["beta"]);
        repository.git(&["branch", "side"]);
        let run = place.run_plan(&repository, &plan).words(merge).run().expect_code(4);
        let name = run.run_name();
        let listed = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
        assert!(listed.stdout.contains(&format!("apply {name}/beta --branch NAME")), "{listed}");
        assert!(!listed.stdout.contains("--markers"), "{merge}: {listed}");
        let again = place.regatta(repository.root()).words("apply").run().expect_code(4);
        assert!(again.stdout.contains("list.txt"), "{merge}: {again}");
        let made = place.regatta(repository.root()).words("apply @ beta --branch bb").run();
        let made = made.expect_code(0);
        let (onto, shown) = match merge {
            "--merge stack" => (format!("regatta/{name}"), format!("regatta/{name}")),
            "--merge branch" => ("main".to_owned(), format!("regatta/{name}/gamma")),
            "--onto main" => ("main".to_owned(), "main".to_owned()),
            _ => ("side".to_owned(), "side".to_owned()),
        };
        let told = match merge {
            "--merge branch" => "on the branch that is checked out".to_owned(),
            _ => format!("on the branch {onto}"),
        };
        assert!(made.stdout.contains(&format!("git merge bb    ({told})")), "{merge}: {made}");
        assert!(made.stdout.contains(&format!("after   regatta apply {name}")), "{merge}: {made}");
        repository.git(&["checkout", "--quiet", &onto]);
        assert!(!repository.try_git(&["merge", "bb"]).status.success());
        repository.write("list.txt", "first\nmine\nbeta\n");
        repository.git(&["commit", "--quiet", "-a", "-m", "merged"]);
        repository.git(&["checkout", "--quiet", "main"]);
        let applied = place.regatta(repository.root()).words("apply").run();
        let applied = applied.expect_code(0);
        let text = repository.git(&["show", &format!("{shown}:list.txt")]);
        assert_eq!(text, "first\nmine\nbeta\ng\n", "{merge}: {applied}");
        assert_eq!(repository.git(&["show", &format!("{shown}:g.txt")]), "g\n");
        let left = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
        assert!(left.stdout.contains("nothing conflicts"), "{merge}: {left}");
    }
}
