//! `regatta undo` of branches that landings have made in nested repositories: those that were not
//! moved are removed, the others are named.

use serde_json::Value;
use test_limit::{Depth, depth, sample};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::nested::kit::{CheckedOut, KINDS, Kind, Nest};
use crate::binary::sandbox;

fn say(place: &Sandbox, nest: &Nest, words: &str) -> Finished {
    place.regatta(nest.outer.root()).words(words).run()
}

/// Returns the branches of Regatta in a repository.
fn made(repository: &Repository) -> Vec<String> {
    let list = repository.git(&["branch", "--list", "--format=%(refname:short)", "regatta/*"]);
    list.lines().map(str::to_owned).collect()
}

/// Adds a commit to a branch that is not checked out.
fn add_commit(repository: &Repository, branch: &str) {
    let tree = repository.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let commit = ["commit-tree", "-p", branch, "-m", "mine", tree.trim()];
    let commit = repository.git(&commit);
    repository.git(&["branch", "--force", branch, commit.trim()]);
}

/// Two tasks: one works in both repositories, the other in the nested one only.
fn plan() -> Plan {
    Plan::default()
        .task("both", "echo x > x.txt; echo x > lib/x.txt")
        .task("inner", "echo y > lib/y.txt; git -C lib add y.txt; git -C lib commit -qm y")
}

#[test]
fn branches_in_nested_repositories_that_nobody_has_moved_are_removed_with_those_around_them() {
    let kinds = sample(KINDS, 1).into_iter().map(|kind| ("branch", kind));
    for (mode, kind) in kinds.chain([("stack", Kind::Submodule)]) {
        let place = sandbox();
        let nest = Nest::of(&place, kind);
        let before = [&nest.outer, &nest.lib].map(CheckedOut::of);
        let run = place.run_plan(&nest.outer, &plan()).words("--merge").words(mode);
        let finished = run.run().expect_code(0);
        let name = finished.run_name();
        let count = if mode == "branch" { 2 } else { 1 };
        assert_eq!(made(&nest.lib).len(), count, "{finished}");
        let would = say(&place, &nest, &format!("undo {name} --dry-run")).expect_code(0);
        assert!(would.stdout.contains(" in lib is removed"), "{would}");
        assert_eq!(made(&nest.lib).len(), count, "{would}");
        let undone = say(&place, &nest, &format!("undo {name} --json")).expect_code(0);
        let document: Value = serde_json::from_str(&undone.stdout).expect("it is JSON");
        let branches = document["branches"].as_array().expect("a list");
        let nested = branches.iter().filter(|branch| branch["nested"] == "lib");
        assert_eq!(nested.count(), count, "{undone}");
        assert_eq!(document["tasks"].as_array().expect("a list").len(), 2, "{undone}");
        assert_eq!((made(&nest.lib), made(&nest.outer)), (vec![], vec![]), "{undone}");
        let again = say(&place, &nest, &format!("undo {name}")).expect_code(0);
        assert!(again.stdout.contains("was taken back already"), "{again}");
        let _done = say(&place, &nest, &format!("apply {name} --again")).expect_code(0);
        assert_eq!(made(&nest.lib).len(), count, "it has landed again");
        let _done = say(&place, &nest, &format!("undo {name}")).expect_code(0);
        assert_eq!((made(&nest.lib), made(&nest.outer)), (vec![], vec![]));
        assert_eq!(before, [&nest.outer, &nest.lib].map(CheckedOut::of), "{mode} {kind:?}");
        place.expect_nothing_left(&nest.outer);
    }
}

#[test]
fn a_branch_in_a_nested_repository_that_somebody_moved_is_left_and_one_task_is_taken_back_alone() {
    for mode in ["branch", "stack"] {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Untracked);
        let run = place.run_plan(&nest.outer, &plan()).words("--merge").words(mode);
        let name = run.run().expect_code(0).run_name();
        let moved = match mode {
            "branch" => format!("regatta/{name}/inner"),
            _ => format!("regatta/{name}"),
        };
        add_commit(&nest.lib, &moved);
        let undone = say(&place, &nest, &format!("undo {name}")).expect_code(4);
        let told = format!("the branch {moved} in lib: it has other commits since");
        assert!(undone.stdout.contains(&told), "{undone}");
        assert!(undone.stdout.contains("try: git -C lib revert"), "{undone}");
        assert_eq!(made(&nest.lib), [moved.as_str()], "{undone}");
        assert_eq!(made(&nest.outer), Vec::<String>::new(), "{undone}");
        // Without the commit of the user's it can be taken back, once it is not checked out.
        nest.lib.git(&["branch", "--force", &moved, &format!("{moved}~1")]);
        nest.lib.git(&["switch", "--quiet", &moved]);
        let busy = say(&place, &nest, &format!("undo {name}")).expect_code(4);
        let told = format!("the branch {moved} in lib: it is checked out");
        assert!(busy.stdout.contains(&told), "{busy}");
        nest.lib.git(&["switch", "--quiet", "main"]);
        let _done = say(&place, &nest, &format!("undo {name}")).expect_code(0);
        assert_eq!(made(&nest.lib), Vec::<String>::new());
        // One task is taken back alone, unless it is a part of a stack.
        let _again = say(&place, &nest, &format!("apply {name} --again")).expect_code(0);
        let alone = say(&place, &nest, &format!("undo {name}/inner"));
        if mode == "branch" {
            let alone = alone.expect_code(0);
            assert_eq!(made(&nest.lib), [format!("regatta/{name}/both")], "{alone}");
        } else {
            alone.expect_refusal(&["cannot be taken back alone", "git revert"]);
        }
    }
}

#[test]
fn onto_a_branch_and_in_a_later_landing_the_branch_in_the_nested_repository_goes_back_too() {
    let place = sandbox();
    let nest = Nest::of(&place, Kind::Untracked);
    let before = CheckedOut::of(&nest.lib);
    let head = nest.outer.git(&["rev-parse", "main"]);
    let plan = plan().task("fails", "echo late > lib/z.txt; exit 3");
    let run = place.run_plan(&nest.outer, &plan).words("--onto main");
    let name = run.run().expect_code(3).run_name();
    let tip = nest.lib.git(&["rev-parse", &format!("regatta/{name}")]);
    let applied = say(&place, &nest, &format!("apply {name}/fails")).expect_code(0);
    assert_ne!(nest.lib.git(&["rev-parse", &format!("regatta/{name}")]), tip, "{applied}");
    let undone = say(&place, &nest, &format!("undo {name}")).expect_code(0);
    assert_eq!(made(&nest.lib), Vec::<String>::new(), "{undone}");
    assert_eq!(nest.outer.git(&["rev-parse", "main"]), head, "{undone}");
    assert_eq!(nest.outer.git(&["status", "--porcelain"]), "?? lib/\n", "{undone}");
    assert_eq!(before, CheckedOut::of(&nest.lib), "{undone}");
}

#[test]
fn an_undo_that_is_killed_between_two_repositories_is_completed_by_the_next_one() {
    let modes = ["branch", "stack"];
    if depth() != Depth::Full {
        let some = modes.iter().flat_map(|mode| (1..=4).map(move |hit| (*mode, hit)));
        for (mode, hit) in sample(some, 2) {
            assert!(kill_an_undo(mode, hit), "{mode} {hit}");
        }
        return;
    }
    for mode in modes {
        let kills = (1..).take_while(|hit| kill_an_undo(mode, *hit)).count();
        assert!(kills >= 4, "{mode}: {kills} kills");
    }
}

/// Kills an undo at this change of a branch, and returns whether it came so far.
fn kill_an_undo(mode: &str, hit: usize) -> bool {
    let place = sandbox();
    let nest = Nest::of(&place, Kind::Submodule);
    let run = place.run_plan(&nest.outer, &plan()).words("--merge").words(mode);
    let name = run.run().expect_code(0).run_name();
    let undo = place.regatta(nest.outer.root()).words("undo").arg(&name);
    let killed = undo.fault(&format!("kill@landing.ref:{hit}")).run();
    let is_over = killed.code == 0;
    if !is_over {
        assert_eq!(killed.code, 128 + 9, "{killed}");
        let next = say(&place, &nest, &format!("undo {name}")).expect_code(0);
        let branches = (made(&nest.lib), made(&nest.outer));
        assert_eq!(branches, (vec![], vec![]), "{mode} {hit} {killed} {next}");
    }
    assert_eq!((nest.lib.faults(), nest.outer.faults()), (String::new(), String::new()));
    !is_over
}
