//! What cannot be settled on a branch, or only in part: changes that are not committed, filter
//! programs; and landings of settled work that are killed.

use std::time::Duration;

use test_limit::{Depth, depth, sample};
use tests::sandbox::Plan;

use super::branches::{Mode, in_ledger, regatta, two_conflicts};
use crate::binary::nested::kit::{Kind, Nest};
use crate::binary::sandbox;

#[test]
fn what_is_not_committed_becomes_no_commit_whatever_the_choice() {
    for mode in sample(Mode::ALL, 2) {
        let place = sandbox();
        let repository = place.repository();
        repository.write("list.txt", "first\n");
        repository.commit("list");
        repository.git(&["branch", "side"]);
        repository.write("list.txt", "mine\n");
        let plan = Plan::default().task("a", "echo a >> list.txt; echo a > a.txt");
        let run = place.run_plan(&repository, &plan).words(mode.words()).run().expect_code(4);
        let conflict = &run.events_of("task_conflicted")[0]["conflicts"][0];
        assert_eq!(conflict["reason"], "uncommitted", "{mode:?}: {run}");
        let before = repository.git(&["for-each-ref"]);
        for words in ["--theirs", "--union"] {
            let refused = regatta(&place, &repository, &format!("apply @ a {words}"));
            refused.expect_refusal(&["it has a change that is not committed", "--ours list.txt"]);
        }
        let tool = place.regatta(repository.root()).words("apply @ a --resolve").arg("true").run();
        tool.expect_refusal(&["it has a change that is not committed; commit that"]);
        assert_eq!(repository.git(&["for-each-ref"]), before, "{mode:?}");
        let listed = regatta(&place, &repository, "conflicts").expect_code(0);
        assert!(listed.stdout.contains("/a --ours list.txt\n"), "{mode:?}: {listed}");

        let kept = regatta(&place, &repository, "apply @ a --ours").expect_code(0);
        assert!(kept.stdout.contains("ours kept: list.txt"), "{mode:?}: {kept}");
        let branch = mode.branch(&run, "a");
        assert_eq!(repository.git(&["show", &format!("{branch}:a.txt")]), "a\n", "{mode:?}");
        assert_eq!(repository.git(&["show", &format!("{branch}:list.txt")]), "first\n");
        assert_eq!(repository.text("list.txt"), "mine\n", "{mode:?}: {kept}");
        assert_eq!(repository.git(&["status", "--porcelain"]), " M list.txt\n", "{mode:?}");
        assert_eq!(in_ledger(&place, "a"), "landed", "{mode:?}: {kept}");
    }
}

#[test]
fn a_path_that_git_would_filter_stays_as_it_is_and_the_rest_is_committed() {
    for (words, code) in [("--ours", 0), ("--clean", 4)] {
        let place = sandbox();
        let repository = place.repository();
        repository.write("a.up", "a\n");
        repository.commit("files");
        repository.write(".git/info/attributes", "*.up filter=up\n");
        let plan = Plan::default().task("a", "echo b > a.up; echo b > b.txt");
        let run = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(4);
        let refused = regatta(&place, &repository, "apply @ a --theirs");
        refused.expect_refusal(&["git would run a filter program to commit it"]);
        let landed = regatta(&place, &repository, &format!("apply @ a {words}"));
        let landed = landed.expect_code(code);
        let branch = Mode::Stack.branch(&run, "a");
        let changed = repository.git(&["diff", "--name-only", &format!("HEAD..{branch}")]);
        assert_eq!(changed, "b.txt\n", "{landed}");
        let listed = regatta(&place, &repository, "conflicts").expect_code(0);
        assert_eq!(listed.stdout.contains("a.up"), code == 4, "{listed}");
        let again = regatta(&place, &repository, "apply").expect_code(code);
        let count = repository.git(&["rev-list", "--count", &format!("HEAD..{branch}")]);
        assert_eq!(count, "1\n", "{again}");
    }
}

#[test]
fn settled_work_is_one_commit_and_sides_with_windows_lines_are_those_of_the_commits() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", "first\n");
    repository.write(".gitattributes", "*.win text eol=crlf\n");
    repository.write("a.win", "one\r\ntwo\r\n");
    repository.commit("files");
    let own = "echo x > x.txt; git add x.txt; git commit -qm 'Add x'
        echo theirs >> list.txt; git commit -qam 'Add to the list'";
    let plan = Plan::default()
        .task("ours", "echo ours >> list.txt; printf 'one\\r\\nours\\r\\n' > a.win")
        .task("theirs", own)
        .task("windows", "printf 'one\\r\\ntheirs\\r\\n' > a.win");
    let run = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(4);
    let branch = Mode::Stack.branch(&run, "theirs");
    let applied = regatta(&place, &repository, "apply @ theirs --union").expect_code(0);
    assert!(applied.stderr.contains("its work is one commit"), "{applied}");
    assert!(applied.stderr.contains("its conflicts were settled path by path"), "{applied}");
    let count = repository.git(&["rev-list", "--count", &format!("HEAD..{branch}")]);
    assert_eq!(count, "2\n", "{applied}");
    let text = repository.git(&["show", &format!("{branch}:list.txt")]);
    assert_eq!(text, "first\nours\ntheirs\n");

    let side = regatta(&place, &repository, "show windows:a.win --theirs").expect_code(0);
    assert_eq!(side.stdout, "one\ntheirs\n", "{side}");
    let write = "printf 'one\\r\\nours theirs\\r\\n' > \"$REGATTA_RESULT\"";
    let resolve = place.regatta(repository.root()).words("apply @ windows --resolve").arg(write);
    let applied = resolve.run().expect_code(0);
    let text = repository.git(&["show", &format!("{branch}:a.win")]);
    assert_eq!(text, "one\nours theirs\n", "{applied}");
}

#[test]
fn sides_that_came_after_the_conflict_was_met_are_read_all_the_same() {
    let script = "cat \"$REGATTA_OURS\" \"$REGATTA_THEIRS\" > \"$REGATTA_RESULT\"";
    let expected = "first\nlater\nfirst\ntheirs\n";
    for mode in [Mode::Stack, Mode::Main] {
        let place = sandbox();
        let (repository, run) = two_conflicts(&place, mode, "");
        let branch = mode.branch(&run.expect_code(4), "theirs");
        repository.git(&["switch", "--quiet", &branch]);
        repository.write("list.txt", "first\nlater\n");
        repository.git(&["commit", "--quiet", "--all", "--message", "later"]);
        if mode == Mode::Stack {
            repository.git(&["switch", "--quiet", "main"]);
        }
        let apply = place.regatta(repository.root()).words("apply @ theirs --theirs lines.txt");
        let applied = apply.words("--resolve").arg(script).run().expect_code(0);
        let text = repository.git(&["show", &format!("{branch}:list.txt")]);
        assert_eq!(text, expected, "{mode:?}: {applied}");
    }
    // An edit in the tree is a side, too.
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", "first\n");
    repository.commit("list");
    let plan = Plan::default()
        .task("ours", "echo ours >> list.txt")
        .task("theirs", "echo theirs >> list.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    repository.write("list.txt", "first\nlater\n");
    let resolve = place.regatta(repository.root()).words("apply @ theirs --resolve").arg(script);
    let applied = resolve.run().expect_code(0);
    assert_eq!(repository.text("list.txt"), expected, "{applied}");
}

#[test]
fn work_in_several_repositories_is_not_settled_on_branches_and_nothing_says_that_it_can_be() {
    let place = sandbox();
    let nest = Nest::of(&place, Kind::Untracked);
    let plan = Plan::default()
        .task("ours", "sed -i 's/^5$/ours/' lib/list.txt")
        .task("theirs", "sed -i 's/^5$/theirs/' lib/list.txt; echo x > x.txt");
    let run = place.run_plan(&nest.outer, &plan).words("--merge stack").run().expect_code(4);
    let refs = || [nest.outer.git(&["for-each-ref"]), nest.lib.git(&["for-each-ref"])];
    let before = refs();
    for choice in ["--theirs", "--ours", "--clean"] {
        let refused = regatta(&place, &nest.outer, &format!("apply @ theirs {choice}"));
        refused.expect_refusal(&["on a branch", "which is a repository of its own", "git apply"]);
    }
    assert_eq!(refs(), before, "{run}");
    let listed = regatta(&place, &nest.outer, "conflicts").expect_code(0);
    assert!(listed.stdout.contains("lib/list.txt"), "{listed}");
    assert!(!listed.stdout.contains("--theirs"), "{listed}");
}

#[test]
fn a_branch_with_a_part_of_the_work_that_is_checked_out_does_not_move() {
    let place = sandbox();
    let (repository, run) = two_conflicts(&place, Mode::Branch, "");
    let branch = Mode::Branch.branch(&run.expect_code(4), "theirs");
    let _clean = regatta(&place, &repository, "apply @ theirs --clean").expect_code(4);
    let tip = repository.git(&["rev-parse", &branch]);
    repository.git(&["switch", "--quiet", &branch]);
    let kept = regatta(&place, &repository, "apply @ theirs --theirs").expect_code(4);
    let said = [kept.stdout.as_str(), kept.stderr.as_str()].concat();
    assert!(said.contains("it is checked out"), "{kept}");
    assert_eq!(repository.git(&["rev-parse", &branch]), tip, "{kept}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "{kept}");
    repository.git(&["switch", "--quiet", "main"]);
    let applied = regatta(&place, &repository, "apply @ theirs --theirs").expect_code(0);
    assert_eq!(repository.git(&["rev-parse", &format!("{branch}~")]), tip, "{applied}");
    let text = repository.git(&["show", &format!("{branch}:list.txt")]);
    assert_eq!(text, "first\ntheirs\n", "{applied}");
}

#[test]
fn settled_work_whose_landing_is_killed_is_on_the_branch_or_not_and_lands_once() {
    test_limit::raise(Duration::from_secs(300), "in full depth, each landing is killed everywhere");
    let some = Mode::SHIFTED.iter().flat_map(|mode| [1, 2, 3].map(|number| (*mode, number)));
    if depth() != Depth::Full {
        // Each fourth of the twelve is another kill, in another mode.
        for (mode, number) in sample(some, 3) {
            let _is_over = kill_a_landing_of_settled_work(mode, number);
        }
        return;
    }
    for mode in Mode::ALL {
        let over = (1..10).find(|number| kill_a_landing_of_settled_work(mode, *number));
        assert!(over.is_none_or(|number| number > 1), "{mode:?}: no landing was killed");
    }
}

/// Kills a landing of settled work at this change of a branch, and returns whether it was over before.
fn kill_a_landing_of_settled_work(mode: Mode, number: usize) -> bool {
    let place = sandbox();
    let (repository, run) = two_conflicts(&place, mode, "");
    let branch = mode.branch(&run.expect_code(4), "theirs");
    let index = repository.read(".git/index");
    let apply = place.regatta(repository.root()).words("apply @ theirs --theirs");
    let killed = apply.fault(&format!("kill@landing.ref:{number}")).run();
    let _recovered = regatta(&place, &repository, "runs").expect_code(0);
    let shown = repository.try_git(&["show", &format!("{branch}:src/new.rs")]);
    let at = format!("{mode:?} {number}: {killed}");
    if mode == Mode::Main {
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "{at}");
        assert_eq!(repository.has("src/new.rs"), shown.status.success(), "{at}");
    } else {
        assert_eq!(repository.read(".git/index"), index, "{at}");
    }
    if in_ledger(&place, "theirs") != "landed" {
        let again = regatta(&place, &repository, "apply @ theirs --theirs");
        let again = again.expect_code(0);
        assert_eq!(in_ledger(&place, "theirs"), "landed", "{at} {again}");
    }
    let list = repository.git(&["show", &format!("{branch}:list.txt")]);
    assert_eq!(list, "first\ntheirs\n", "{at}");
    let subject = repository.git(&["log", "--format=%b", &branch]);
    assert_eq!(subject.matches("Regatta-Task: theirs").count(), 1, "{at}");
    assert_eq!(repository.faults(), "", "{at}");
    killed.code == 0
}
