//! What every task of a run starts from: the tree as it was when the run began, and nothing later.

use tests::sandbox::{Invocation, Plan};

use crate::binary::sandbox;

/// Lets every task work in a new copy: none can be restored.
const NEW_COPIES: &str = "fail@pool.restore:*";

/// A plan of which the second task begins when the first has changed the user's own tree.
fn change_then_look(change: &str, look: &str) -> Plan {
    let change = format!("cd \"$REGATTA_REPO\" && {change}");
    Plan::default().top("jobs = 1").task("change", &change).task("look", look)
}

#[test]
fn a_task_sees_nothing_that_changed_after_the_run_began_in_a_copy_used_again_and_in_a_new_one() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitattributes", "*.win text eol=crlf\n*.id ident\n");
    repository.write("clean.win", "one\r\ntwo\r\n");
    repository.write("clean.id", "$Id$\n");
    repository.write("gone.txt", "still here\n");
    repository.commit("clean files");
    std::fs::remove_file(repository.path("clean.id")).expect("the file is there");
    for fault in [None, Some(NEW_COPIES)] {
        repository.git(&["checkout", "--", "."]);
        for new in ["new.txt", "seen.txt"] {
            let _of_the_run_before = std::fs::remove_file(repository.path(new));
        }
        repository.write("README.md", "# App, edited\n");
        repository.write("notes.txt", "untracked\n");
        let change = "for f in clean.win clean.id README.md notes.txt src/run.rs; do \
                      echo later >> $f; done; rm gone.txt; echo later > new.txt";
        let look = "set -e
            test \"$(cat README.md)\" = '# App, edited'
            test \"$(cat notes.txt)\" = untracked
            test \"$(cat src/run.rs)\" = 'pub fn run() {}'
            test \"$(cat gone.txt)\" = 'still here'
            test ! -e new.txt
            printf 'one\\r\\ntwo\\r\\n' | cmp - clean.win
            ! grep later clean.id
            echo seen > seen.txt";
        let run = place.run_plan(&repository, &change_then_look(change, look));
        let finished = fault.into_iter().fold(run, Invocation::fault).run().expect_code(0);
        assert_eq!(finished.task("look")["changes"]["files"], 1, "{fault:?}: {finished}");
        assert_eq!(repository.text("seen.txt"), "seen\n", "{fault:?}");
        let own = repository.text("src/run.rs");
        assert_eq!(own, "pub fn run() {}\nlater\n", "the user's own edits, {fault:?}");
        assert_eq!(repository.text("new.txt"), "later\n", "{fault:?}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn edits_that_git_was_told_not_to_look_at_are_seen_all_the_same() {
    let place = sandbox();
    let repository = place.repository();
    for (flag, file) in [("--assume-unchanged", "src/run.rs"), ("--skip-worktree", "README.md")] {
        repository.git(&["update-index", flag, file]);
        repository.write(file, format!("edited behind {flag}\n"));
    }
    let script = "grep edited src/run.rs && grep edited README.md && echo by the task >> README.md";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.text("README.md"), "edited behind --skip-worktree\nby the task\n");
    let end = finished.task("t1");
    assert_eq!((&end["changes"]["added"], &end["changes"]["removed"]), (&1.into(), &0.into()));
}

#[test]
fn what_a_task_commits_in_its_copy_lands_as_changes_and_stays_out_of_the_users_git() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("old.txt", "old\n");
    repository.commit("old");
    let git = repository.dot_git();
    let script = "set -e; git log --oneline | grep -q begin
        echo one > one.txt; git add one.txt; git commit -q -m one
        git checkout -q -b elsewhere; git rm -q old.txt; echo two > two.txt
        git add .; git commit -q -m two; git stash list; git tag mine; git gc -q";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.text("one.txt"), "one\n", "{finished}");
    assert_eq!(repository.text("two.txt"), "two\n");
    assert!(!repository.has("old.txt"));
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}
