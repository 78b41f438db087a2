//! The user's uncommitted work: in every workspace, in no patch, and untouched.

use tests::sandbox::Plan;

use crate::binary::sandbox;

#[test]
fn a_task_sees_all_changes_but_what_is_ignored_which_is_told_and_its_patch_holds_none_of_them() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write(".gitignore", "target/\n");
    repository.commit("ignore");
    repository.write("target/built", "big\n");
    repository.make_dirty();
    let (dirt, git) = (repository.dirt(), repository.dot_git());

    let script = "set -e
        grep -q 'in the index' mine/staged.txt
        grep -q 'and then again' mine/both.txt
        grep -q 'in the tree' mine/unstaged.txt
        grep -q 'new in the index' mine/new.txt
        grep -q 'never added' mine/untracked/notes.txt
        test ! -e target; mkdir target; touch target/x
        git status --porcelain --untracked-files=all > status.txt
        git diff --cached --name-only | sort > staged.txt
        echo appended >> README.md";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);

    assert_eq!(dirt, repository.dirt(), "{finished}");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(finished.task("t1")["changes"]["files"], 3, "{finished}");
    let told = finished.events_of("degraded");
    assert!(told.iter().any(|event| event.to_string().contains("ignored")), "{finished}");
    assert!(!repository.has("target/x"), "{finished}");
    let status = repository.text("status.txt");
    let expected = repository.git(&["status", "--porcelain", "--untracked-files=all", "mine"]);
    let without = |line: &&str| !line.ends_with("status.txt");
    let status: Vec<_> = status.lines().filter(without).collect();
    assert_eq!(status, expected.lines().collect::<Vec<_>>(), "git status inside and outside");

    let diff = place.regatta(repository.root()).words("diff").run().expect_code(0);
    assert!(!diff.stdout.contains(" b/mine/"), "{diff}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_tasks_edit_of_a_dirty_file_lands_as_that_edit_alone() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.make_dirty();
    let index = repository.read(".git/index");
    let plan = Plan::default()
        .task("unstaged", "echo 'by the task' >> mine/unstaged.txt")
        .task("staged", "sed -i '1i by the task' mine/staged.txt")
        .task("untracked", "echo 'by the task' >> mine/untracked/notes.txt")
        .task("removed", "rm mine/new.txt");
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(finished.landed().len(), 4, "{finished}");
    assert_eq!(repository.text("mine/unstaged.txt"), "unstaged\nin the tree\nby the task\n");
    assert_eq!(repository.text("mine/staged.txt"), "by the task\nstaged\nin the index\n");
    assert_eq!(repository.text("mine/untracked/notes.txt"), "never added\nby the task\n");
    assert!(!repository.has("mine/new.txt"));
    assert_eq!(index, repository.read(".git/index"));
    for task in ["unstaged", "staged", "untracked"] {
        assert_eq!(finished.task(task)["changes"]["added"], 1, "{task} in {finished}");
        assert_eq!(finished.task(task)["changes"]["removed"], 0, "{task} in {finished}");
    }
}

#[test]
fn a_task_that_depends_on_a_change_that_is_not_committed_conflicts_and_says_so_where_work_is_committed()
 {
    for merge in ["branch", "stack"] {
        let place = sandbox();
        let repository = place.repository();
        repository.make_dirty();
        let (tree, dirt) = (repository.tree(), repository.dirt());
        let plan = Plan::default()
            .task("unstaged", "sed -i 's/in the tree/by the task/' mine/unstaged.txt")
            .task("staged", "sed -i 's/in the index/by the task/' mine/staged.txt")
            .task("untracked", "echo 'by the task' >> mine/untracked/notes.txt")
            .task("free", "echo free > free.txt");
        let run = place.run_plan(&repository, &plan).words(&format!("--merge {merge}"));
        let finished = run.run().expect_code(4);
        assert_eq!(finished.landed(), ["free"], "{finished}");
        for event in finished.events_of("task_conflicted") {
            assert_eq!(event["conflicts"][0]["reason"], "uncommitted", "{finished}");
        }
        assert_eq!(finished.events_of("task_conflicted").len(), 3, "{finished}");
        let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
        let told = "mine/staged.txt, it has a change that is not committed";
        assert!(shown.stdout.contains(told), "{shown}");
        assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
        assert_eq!(dirt, repository.dirt());
        let branch = finished.events_of("task_landed")[0]["branch"].clone();
        let branch = branch.as_str().unwrap();
        let names = repository.git(&["diff", "--name-only", "HEAD", branch]);
        assert_eq!(names, "free.txt\n", "{merge}");
        place.expect_nothing_left(&repository);
    }
}
