//! `regatta undo` of runs that have landed on branches: a branch that was not moved is removed or
//! moved back, with its files and the index if it is checked out; any other is left and named.

use std::time::Duration;

use serde_json::Value;
use test_limit::{Depth, depth, sample};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::landing::onto::{lines, repository, two};
use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

fn json(place: &Sandbox, repository: &Repository, words: &str, code: i32) -> Value {
    let finished = regatta(place, repository, &format!("{words} --json")).expect_code(code);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error} in {finished}"))
}

fn branches(repository: &Repository) -> Vec<String> {
    let list = repository.git(&["branch", "--list", "--format=%(refname:short)"]);
    list.lines().map(str::to_owned).collect()
}

fn commit_of(repository: &Repository, name: &str) -> String {
    repository.git(&["rev-parse", name]).trim().to_owned()
}

#[test]
fn the_branches_of_tasks_are_removed_unless_somebody_moved_them_or_has_them_checked_out() {
    let place = sandbox();
    let repository = repository(&place);
    let plan = ["a", "b", "c", "d"]
        .iter()
        .fold(Plan::default(), |plan, name| plan.task(name, &format!("echo {name} > {name}.txt")));
    let run = place.run_plan(&repository, &plan).words("--merge branch").run().expect_code(0);
    let name = run.run_name();
    let branch = |task: &str| format!("regatta/{name}/{task}");
    repository.make_dirty();
    let (tree, dirt) = (repository.tree(), repository.dirt());

    let one = json(&place, &repository, &format!("undo {name}/a"), 0);
    assert_eq!(one["branches"][0]["result"], "removed", "{one}");
    let names = branches(&repository);
    assert_eq!(names, ["main".to_owned(), branch("b"), branch("c"), branch("d")]);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(dirt, repository.dirt());

    repository.git(&["branch", "--force", &branch("b"), "main"]);
    let folder = place.folder().join("other");
    repository.git(&["worktree", "add", "-q", &folder.to_string_lossy(), &branch("c")]);
    let would = regatta(&place, &repository, &format!("undo {name} --dry-run")).expect_code(4);
    assert!(would.stdout.contains(&branch("d")), "{would}");
    assert_eq!(branches(&repository).len(), 4);
    let rest = regatta(&place, &repository, &format!("undo {name}")).expect_code(4);
    assert_eq!(branches(&repository), ["main".to_owned(), branch("b"), branch("c")], "{rest}");
    let moved = format!("the branch {}: it has other commits now", branch("b"));
    let busy = format!("the branch {}: it is checked out in another working tree", branch("c"));
    assert!(rest.stdout.contains(&moved) && rest.stdout.contains(&busy), "{rest}");

    repository.git(&["worktree", "remove", "--force", &folder.to_string_lossy()]);
    repository.git(&["branch", "-D", &branch("b")]);
    let last = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
    assert_eq!(branches(&repository), ["main"], "{last}");
    let _again = regatta(&place, &repository, &format!("apply {name} --again")).expect_code(0);
    assert_eq!(branches(&repository).len(), 5);
    let _undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
    assert_eq!(branches(&repository), ["main"]);
    assert_eq!(repository.faults(), "");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_stack_is_removed_unless_it_has_other_commits_and_one_task_of_it_is_not_taken_out() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.run_plan(&repository, &two()).words("--merge stack").run().expect_code(0);
    let name = run.run_name();
    let branch = format!("regatta/{name}");
    let alone = regatta(&place, &repository, &format!("undo {name}/first")).expect_code(1);
    assert!(alone.stderr.contains("git revert"), "{alone}");
    let made = commit_of(&repository, &branch);

    repository.git(&["switch", "-q", &branch]);
    let checked_out = regatta(&place, &repository, "undo @").expect_code(4);
    assert!(checked_out.stdout.contains("it is checked out"), "{checked_out}");
    repository.write("mine.txt", "mine\n");
    repository.commit("on top");
    let on_top = commit_of(&repository, &branch);
    repository.git(&["switch", "-q", "main"]);
    let left = regatta(&place, &repository, "undo @").expect_code(4);
    assert!(left.stdout.contains("it has other commits since"), "{left}");
    assert!(left.stdout.contains(&format!("git revert --no-edit {made}")), "{left}");
    assert_eq!(commit_of(&repository, &branch), on_top);

    repository.git(&["branch", "--force", &branch, &made]);
    let undone = json(&place, &repository, "undo @", 0);
    assert_eq!(undone["branches"][0]["result"], "removed", "{undone}");
    assert_eq!(branches(&repository), ["main"]);
    let twice = regatta(&place, &repository, "undo @").expect_code(0);
    assert!(twice.stdout.contains("was taken back already"), "{twice}");
    let _again = regatta(&place, &repository, "apply @ --again").expect_code(0);
    assert_eq!(branches(&repository), ["main".to_owned(), branch]);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_branch_of_the_user_moves_back_alone_or_with_its_files_and_its_index_if_it_is_checked_out() {
    let place = sandbox();
    for land in ["end", "eager"] {
        let repository = Repository::init(&place.folder().join(land));
        repository.write("list.txt", lines());
        repository.write("gone/away.txt", "gone\n");
        repository.commit("files");
        repository.write("mine/untracked.txt", "mine\n");
        let state = || {
            let status = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
            (commit_of(&repository, "HEAD"), status)
        };
        let (tree, before) = (repository.tree(), state());
        let run = place.run_plan(&repository, &two()).words("--onto main --land").arg(land);
        let name = run.run().expect_code(0).run_name();
        assert_ne!(before.0, state().0);

        repository.write("new.txt", "edited\n");
        let (landed, edited) = (state(), repository.tree());
        let dirty = regatta(&place, &repository, "undo @").expect_code(4);
        assert!(dirty.stdout.contains("not committed: new.txt"), "{dirty}");
        assert_eq!((&landed, Vec::new()), (&state(), edited.differences(&repository.tree())));
        repository.write("new.txt", "new\n");

        let undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
        assert_eq!(before, state(), "{undone}");
        assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new(), "{undone}");
        assert_eq!(repository.faults(), "");
        let _again = regatta(&place, &repository, "apply @ --again").expect_code(0);
        assert!(repository.has("new.txt") && before.0 != state().0, "{land}");
    }
    // A branch that is not checked out.
    let repository = repository(&place);
    repository.git(&["branch", "side"]);
    let (tree, before) = (repository.tree(), commit_of(&repository, "side"));
    let run = place.run_plan(&repository, &two()).words("--onto side").run().expect_code(0);
    let moved = commit_of(&repository, "side");
    assert_ne!(before, moved, "{run}");
    let undone = json(&place, &repository, "undo @", 0);
    let branch = &undone["branches"][0];
    assert_eq!((&branch["result"], &branch["to"]), (&"moved".into(), &before.as_str().into()));
    assert_eq!(commit_of(&repository, "side"), before);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    place.expect_no_process(Duration::from_secs(5));
}

/// What the undo of a landing on a branch may not leave half done.
fn state(repository: &Repository) -> (Vec<String>, String, String) {
    let refs = repository.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let status = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
    (refs.lines().map(str::to_owned).collect(), status, repository.tree_id())
}

#[test]
fn an_undo_of_branches_that_is_killed_anywhere_is_complete_or_not_begun_after_the_next_start() {
    test_limit::raise(Duration::from_secs(300), "in full depth, an undo is killed forty times");
    let all = ["--merge branch", "--merge stack", "--onto main"];
    let points = ["landing.record", "landing.ref", "landing.exchange", "landing.drop"];
    if depth() != Depth::Full {
        // Each fourth of the twelve is another point, in another mode.
        let some = points.iter().flat_map(|point| all.map(|options| (options, *point)));
        let some = sample(some, 3).into_iter();
        let kills = some.filter(|(options, point)| kill_an_undo(options, point, 1)).count();
        assert!(kills >= 1, "no undo was killed");
        return;
    }
    for options in all {
        let mut kills = 0;
        for point in points {
            kills += (1..).take_while(|number| kill_an_undo(options, point, *number)).count();
        }
        assert!(kills >= 4, "{options}: only {kills} kills");
    }
}

/// Kills an undo of branches at this hit of a point, and returns whether it came so far.
fn kill_an_undo(options: &str, point: &str, number: usize) -> bool {
    let place = sandbox();
    let repository = repository(&place);
    let before = state(&repository);
    let run = place.run_plan(&repository, &two()).words(options).run();
    let _landed = run.expect_code(0);
    let landed = state(&repository);
    let undo = place.regatta(repository.root()).words("undo @");
    let killed = undo.fault(&format!("kill@{point}:{number}")).run();
    let at = format!("{options}, {point}:{number}: {killed}");
    if killed.code == 0 {
        return false;
    }
    let _next = regatta(&place, &repository, "runs").expect_code(0);
    let now = state(&repository);
    assert!(now == before || now == landed, "{at}: {now:?}");
    place.expect_nothing_left(&repository);
    let _undone = regatta(&place, &repository, "undo @").expect_code(0);
    assert_eq!(state(&repository), before, "{at}");
    true
}
