//! Conflicts are settled with `regatta apply`: each choice gives the tree that it gives in git.

use serde_json::Value;
use tests::sandbox::{Plan, Repository, Sandbox};

use super::sandbox;
use super::settle_cases::{CASES, Choice, begin};

#[test]
fn each_choice_gives_the_tree_that_it_gives_in_git() {
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let mut told = Vec::new();
    for case in CASES {
        for choice in Choice::ALL {
            let at = format!("{} {}", case.name, choice.option());
            let run = case.run(&place, &repository);
            let conflict = &run.events_of("task_conflicted")[0]["conflicts"][0];
            assert_eq!(conflict["reason"], case.reason, "{at}: {run}");
            let before = repository.tree();
            let dot_git = repository.dot_git();
            let apply = place.regatta(repository.root()).words("apply @ theirs");
            let applied = apply.arg(choice.option()).arg(case.path).run();
            assert_eq!(repository.dot_git(), dot_git, "{at}");
            if choice == Choice::Union && !case.has_lines {
                let _refused = applied.expect_refusal(&["with `--union`"]);
                assert_eq!(repository.tree(), before, "{at}");
                continue;
            }
            let applied = applied.expect_code(0);
            let expected = case.tree_in_git(&place, choice);
            if repository.tree_id() != expected {
                told.push(format!("{at}:\n{applied}\n{}", repository.git(&["status", "--short"])));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// A repository in which the work of the task `theirs` conflicts at two paths, and not at others.
fn two_conflicts(place: &Sandbox) -> Repository {
    let repository = place.repository();
    begin(&repository);
    let plan = Plan::default()
        .task("ours", "sed -i 's/^line 5$/ours/' lines.txt; echo ours >> list.txt")
        .task(
            "theirs",
            "sed -i 's/^line 5$/theirs/' lines.txt; echo theirs >> list.txt
             echo new > src/new.rs; echo more >> README.md",
        );
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    repository
}

#[test]
fn different_paths_are_settled_in_different_ways_at_once() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    let apply = place.regatta(repository.root()).words("apply @ theirs --union list.txt --theirs");
    let applied = apply.run().expect_code(0);
    assert!(applied.stdout.contains("theirs taken: lines.txt; both kept: list.txt"), "{applied}");
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n");
    assert!(repository.text("lines.txt").contains("line 4\ntheirs\nline 6\n"));
    assert_eq!(repository.text("src/new.rs"), "new\n");
    let again = place.regatta(repository.root()).words("apply @ theirs --ours").run();
    let _told = again.expect_refusal(&["there is no conflict of task", "has landed already"]);
    let later = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert!(later.stdout.contains("has landed already"), "{later}");
}

#[test]
fn what_does_not_conflict_lands_now_and_the_rest_stays_kept() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    let clean = place.regatta(repository.root()).words("apply @ theirs --ours lines.txt --clean");
    let applied = clean.run().expect_code(4);
    assert!(applied.stdout.contains("list.txt, with ours"), "{applied}");
    assert!(applied.stdout.contains("ours kept: lines.txt; 2 other paths landed"), "{applied}");
    assert_eq!(repository.text("src/new.rs"), "new\n");
    assert_eq!(repository.text("list.txt"), "first\nours\n");
    assert!(repository.text("lines.txt").contains("line 4\nours\nline 6\n"));

    // What has landed is the user's from now on.
    repository.write("src/new.rs", "edited\n");
    let listed = place.regatta(repository.root()).words("conflicts --json").run().expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["conflicts"].as_array().map(Vec::len), Some(1), "{listed}");
    let rest = place.regatta(repository.root()).words("apply @ theirs --union").run();
    let _rest = rest.expect_code(0);
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n");
    assert_eq!(repository.text("src/new.rs"), "edited\n");
    assert!(repository.text("lines.txt").contains("line 4\nours\nline 6\n"));
}

#[test]
fn a_choice_that_makes_no_sense_changes_nothing_and_is_told() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    let before = repository.tree();
    for (words, said) in [
        ("apply @ theirs --ours nowhere.txt", "`nowhere.txt` is not a path of a conflict"),
        ("apply @ theirs --ours README.md", "the paths in conflict are lines.txt, list.txt"),
        ("apply @ theirs --ours ../list.txt", "`../list.txt` is not a path of a conflict"),
        ("apply @ theirs --ours list.txt --theirs list.txt", "are both for list.txt"),
        ("apply @ theirs --ours --theirs", "`--ours` and `--theirs` are both for all conflicts"),
        ("apply @ ours --theirs", "has landed already"),
        ("apply @ nobody --theirs", "nobody"),
        ("show @/theirs:list.txt", "`--base`, `--ours` or `--theirs` is missing"),
        ("show @/theirs:README.md --ours", "`README.md` is not a path of a conflict"),
        ("show @/theirs --ours", "names no path of a task"),
    ] {
        let _told = place.regatta(repository.root()).words(words).run().expect_refusal(&[said]);
        assert_eq!(repository.tree(), before, "{words}");
    }
    let one = place.regatta(repository.root()).words("apply @ theirs --ours list.txt").run();
    let one = one.expect_code(4);
    assert!(one.stderr.contains("1 conflict of task"), "{one}");
    assert!(one.stderr.contains("--clean"), "{one}");
    assert_eq!(repository.tree(), before);
}

#[test]
fn each_side_of_a_conflict_can_be_printed() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    for (side, expected) in
        [("--base", "first\n"), ("--ours", "first\nours\n"), ("--theirs", "first\ntheirs\n")]
    {
        let shown = place.regatta(repository.root()).words("show theirs:list.txt").arg(side).run();
        assert_eq!(shown.expect_code(0).stdout, expected);
    }
}
