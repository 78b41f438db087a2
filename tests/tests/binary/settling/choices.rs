//! Conflicts are settled with `regatta apply`: each choice gives the tree that it gives in git.

use std::time::Duration;

use serde_json::Value;
use tests::sandbox::{Plan, Repository, Sandbox};

use super::cases::{CASES, Case, Choice, Form, Lines, begin, cells};
use crate::binary::sandbox;

/// Whose configuration of git says what markers look like.
#[derive(Clone, Copy)]
enum StyleFrom {
    Nobody,
    User,
    Repository,
}

/// Settles each conflict in the way beside it, here and in git, and compares the trees.
fn expect_the_trees_of_git(cells: &[(Choice, &Case)], form: Form, config: StyleFrom) {
    let place = sandbox();
    let repository = place.repository().watched();
    begin(&repository);
    repository.write(".git/info/attributes", form.attributes);
    match config {
        StyleFrom::Nobody => {}
        StyleFrom::User => {
            let text = format!("[merge]\n\tconflictStyle = {}\n", form.style);
            std::fs::write(place.folder().join("user/.gitconfig"), text)
                .expect("it can be written");
        }
        StyleFrom::Repository => {
            repository.git(&["config", "merge.conflictStyle", form.style]);
        }
    }
    let mut different = Vec::new();
    for &(choice, case) in cells {
        let at = format!("{} {}", case.name, choice.option());
        let run = case.run(&place, &repository);
        let conflict = &run.events_of("task_conflicted")[0]["conflicts"][0];
        assert_eq!(conflict["reason"], case.reason, "{at}: {run}");
        let (before, dot_git) = (repository.tree(), repository.dot_git());
        let apply = place.regatta(repository.root()).words("apply @ theirs");
        let applied = apply.arg(choice.option()).arg(case.path).run();
        assert_eq!(repository.dot_git(), dot_git, "{at}");
        if choice == Choice::Union && case.lines == Lines::NotBoth {
            applied.expect_refusal(&["with `--union`"]);
            assert_eq!(repository.tree(), before, "{at}");
            continue;
        }
        let applied = applied.expect_code(0);
        if repository.tree_id() != case.tree_in_git(&place, choice, form) {
            different.push(format!("{at}: {applied}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn each_choice_gives_the_tree_that_it_gives_in_git() {
    test_limit::raise(Duration::from_secs(300), "in full depth, each choice for each conflict");
    let choices = [Choice::Ours, Choice::Theirs, Choice::Union, Choice::Markers];
    expect_the_trees_of_git(&cells(&choices, CASES, 4), Form::default(), StyleFrom::Nobody);
}

#[test]
fn markers_have_the_style_of_the_users_configuration_and_the_length_of_the_attribute() {
    let attributes =
        "*.txt conflict-marker-size=12\n*.rs conflict-marker-size\n*.sh conflict-marker-size=3x\n";
    let cells = cells(&[Choice::Markers], CASES, 2);
    let form = Form { style: "diff3", attributes };
    expect_the_trees_of_git(&cells, form, StyleFrom::User);
    // Also that of the repository's own configuration: it is data, and git honours it too.
    let form = Form { style: "zdiff3", attributes: "* conflict-marker-size=-4\n" };
    expect_the_trees_of_git(&cells, form, StyleFrom::Repository);
}

/// A repository in which the work of the task `theirs` conflicts at two paths, and not at others.
fn two_conflicts(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
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
fn what_does_not_conflict_lands_now_and_the_rest_stays_kept() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    let clean = place.regatta(repository.root()).words("apply @ theirs --ours lines.txt --clean");
    let applied = clean.run().expect_code(4);
    assert!(applied.stdout.contains("list.txt, with ours"), "{applied}");
    assert!(applied.stdout.contains("ours kept: lines.txt; 2 other paths landed"), "{applied}");
    assert_eq!(repository.text("src/new.rs"), "new\n");
    assert_eq!(repository.text("list.txt"), "first\nours\n");
    // There is no rest any more that could land.
    let listed = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
    assert!(listed.stdout.contains("--theirs list.txt"), "{listed}");
    assert!(!listed.stdout.contains("--clean"), "{listed}");
    assert!(repository.text("lines.txt").contains("line 4\nours\nline 6\n"));

    // A landing without a choice lands nothing more, and what has landed is the user's from now on.
    let _still = place.regatta(repository.root()).words("apply").run().expect_code(4);
    repository.write("src/new.rs", "edited\n");
    let listed = place.regatta(repository.root()).words("conflicts --json").run().expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["conflicts"].as_array().map(Vec::len), Some(1), "{listed}");
    let rest = place.regatta(repository.root()).words("apply @ theirs --union").run();
    let _rest = rest.expect_code(0);
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n");
    assert_eq!(repository.text("src/new.rs"), "edited\n");
    assert!(repository.text("lines.txt").contains("line 4\nours\nline 6\n"));
    let again = place.regatta(repository.root()).words("apply @ theirs --ours").run();
    again.expect_refusal(&["there is no conflict of task", "has landed already"]);
    let later = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert!(later.stdout.contains("has landed already"), "{later}");
}

#[test]
fn conflicts_and_their_sides_are_shown_and_what_makes_no_sense_or_is_staged_changes_nothing() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    expect_conflicts(&place, &repository);
    expect_sides(&place, &repository);
    expect_senseless_choices_are_refused(&place, &repository);
    expect_staged_changes_stay(&place, &repository);
    expect_style_is_named(&place, &repository);
}

/// The list has the three versions of the lines, and what to type next.
fn expect_conflicts(place: &Sandbox, repository: &Repository) {
    let shown = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
    let list = "    @@ line 2 @@\n    first\n    <<<<<<< ours\n    ours\n    ||||||| base\n    =======\n    theirs\n    >>>>>>> theirs\n";
    let lines = "    line 4\n    <<<<<<< ours\n    ours\n    ||||||| base\n    line 5\n    =======\n    theirs\n    >>>>>>> theirs\n    line 6\n";
    for expected in [list, lines, "/theirs --theirs lines.txt\n", "/theirs --clean\n"] {
        assert!(shown.stdout.contains(expected), "{expected}\n{shown}");
    }
    let coloured = place.regatta(repository.root()).words("conflicts --color always").run();
    assert!(coloured.expect_code(0).stdout.contains("\u{1b}[32mours\u{1b}[0m"));
}

/// Each side of a conflict can be printed.
fn expect_sides(place: &Sandbox, repository: &Repository) {
    for (side, expected) in
        [("--base", "first\n"), ("--ours", "first\nours\n"), ("--theirs", "first\ntheirs\n")]
    {
        let shown = place.regatta(repository.root()).words("show theirs:list.txt").arg(side).run();
        assert_eq!(shown.expect_code(0).stdout, expected);
    }
}

/// A choice that makes no sense is refused.
fn expect_senseless_choices_are_refused(place: &Sandbox, repository: &Repository) {
    let before = repository.tree();
    for (words, said) in [
        ("apply @ theirs --ours nowhere.txt", "`nowhere.txt` is not a path of a conflict"),
        ("apply @ theirs --ours README.md", "the paths in conflict are lines.txt, list.txt"),
        ("apply @ theirs --ours ../list.txt", "`../list.txt` is not a path of a conflict"),
        ("apply @ theirs --ours list.txt --theirs list.txt", "are both for list.txt"),
        (
            "apply @ theirs --ours --theirs",
            "`--ours` cannot be used with `--theirs` unless one of them has paths",
        ),
        ("apply @ ours --theirs", "has landed already"),
        ("apply @ nobody --theirs", "nobody"),
        ("show @/theirs:list.txt", "`--base`, `--ours` or `--theirs` is missing"),
        ("show @/theirs:README.md --ours", "`README.md` is not a path of a conflict"),
        ("show @/theirs --ours", "names no path of a task"),
    ] {
        place.regatta(repository.root()).words(words).run().expect_refusal(&[said]);
        assert_eq!(repository.tree(), before, "{words}");
    }
    let one = place.regatta(repository.root()).words("apply @ theirs --ours list.txt").run();
    let one = one.expect_code(4);
    assert!(one.stderr.contains("1 conflict of task"), "{one}");
    assert!(one.stderr.contains("--clean"), "{one}");
    assert_eq!(repository.tree(), before);
}

/// What the user has staged at a path of a conflict is never overwritten.
fn expect_staged_changes_stay(place: &Sandbox, repository: &Repository) {
    repository.git(&["add", "list.txt"]);
    let (tree, dot_git) = (repository.tree(), repository.dot_git());
    let apply = place.regatta(repository.root()).words("apply @ theirs --markers --index").run();
    apply.expect_refusal(&["list.txt has staged changes"]);
    assert_eq!((repository.tree(), repository.dot_git()), (tree, dot_git));
    let apply = place.regatta(repository.root()).words("apply @ theirs --index").run();
    apply.expect_refusal(&["--markers"]);
    repository.git(&["reset", "--quiet"]);
}

/// A style of markers that git does not know is named, and nothing lands. The work lands with a style
/// that git knows, with markers as long as the attributes say, up to a limit.
fn expect_style_is_named(place: &Sandbox, repository: &Repository) {
    repository.git(&["config", "merge.conflictStyle", "diff4\u{1b}[2J"]);
    let before = repository.tree();
    let applied = place.regatta(repository.root()).words("apply @ theirs --markers").run();
    let applied = applied.expect_code(4);
    let said = [applied.stdout.as_str(), applied.stderr.as_str()].concat();
    assert!(said.contains("merge.conflictStyle") && said.contains("zdiff3"), "{applied}");
    assert!(!said.contains('\u{1b}'), "{applied}");
    assert_eq!(repository.tree(), before);
    repository.git(&["config", "merge.conflictStyle", "merge"]);
    repository.write(".gitattributes", "list.txt conflict-marker-size=99999999999999999999\n");
    let applied = place.regatta(repository.root()).words("apply @ theirs --markers").run();
    let _applied = applied.expect_code(0);
    let marker = format!("\n{} ours\n", "<".repeat(1_000));
    assert!(repository.text("list.txt").contains(&marker));
    assert!(repository.text("lines.txt").contains("\n<<<<<<< ours\n"));
}

#[test]
fn a_branch_of_kept_work_can_be_merged_with_git() {
    let place = sandbox();
    let repository = two_conflicts(&place);
    let tree = repository.tree();
    let apply = place.regatta(repository.root()).words("apply @ theirs --branch mine");
    let made = repository.changing_git(|| apply.run()).expect_code(0);
    assert!(made.stdout.contains("git merge mine"), "{made}");
    assert_eq!(repository.tree(), tree);
    let again = place.regatta(repository.root()).words("apply @ theirs --branch mine").run();
    again.expect_refusal(&["cannot make the branch `mine`", "it is there already"]);
    for name in ["-x", "a..b", "x/", "HEAD"] {
        let bad = place
            .regatta(repository.root())
            .words("apply @ theirs")
            .arg(format!("--branch={name}"));
        bad.run().expect_refusal(&["git does not accept such a name"]);
    }
    repository.commit("what has landed");
    let merge = repository.try_git(&["merge", "mine"]);
    assert!(!merge.status.success());
    let unmerged = repository.git(&["diff", "--name-only", "--diff-filter=U"]);
    assert_eq!(unmerged, "lines.txt\nlist.txt\n");
    assert_eq!(repository.text("src/new.rs"), "new\n");
    assert!(
        repository.text("list.txt").contains("<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> mine\n")
    );
    assert_eq!(repository.faults(), "");
}

#[test]
fn git_applies_a_diff_three_way_with_what_a_fetch_brings_and_that_of_a_converted_file_names_markers()
 {
    let place = sandbox();
    let repository = place.repository().watched();
    begin(&repository);
    // The base of the task is not committed: git has no blob of it.
    repository.write("list.txt", "first\nuncommitted\n");
    let plan = Plan::default()
        .task("ours", "sed -i 's/^first$/ours/' list.txt")
        .task("theirs", "sed -i 's/^first$/theirs/' list.txt; git mv lines.txt moved.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let diff = place.regatta(repository.root()).words("diff @ theirs").run().expect_code(0);
    assert!(diff.stdout.contains("rename from lines.txt\nrename to moved.txt\n"), "{diff}");
    let fetch = diff.stderr.split("first: ").nth(1).expect("it names the fetch");
    let words: Vec<&str> = fetch.split_whitespace().collect();
    assert_eq!(words[..2], ["git", "fetch"], "{diff}");
    repository.write("patch", &diff.stdout);
    repository.git(&["add", "list.txt"]);
    let lacking = repository.try_git(&["apply", "--3way", "patch"]);
    assert!(!lacking.status.success());
    repository.git(&words[1..]);
    let _conflict = repository.try_git(&["apply", "--3way", "patch"]);
    let merged = "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\nuncommitted\n";
    assert_eq!(repository.text("list.txt"), merged);
    assert!(repository.path("moved.txt").exists() && !repository.path("lines.txt").exists());

    // A file that git converts.
    repository.git(&["reset", "--quiet", "--hard"]);
    repository.git(&["clean", "-fdq"]);
    repository.git(&["config", "core.autocrlf", "true"]);
    repository.write("win.txt", "a\r\nb\r\n");
    repository.commit("lines");
    let plan = Plan::default()
        .task("ours", "printf 'ours\\r\\nb\\r\\n' > win.txt")
        .task("theirs", "printf 'theirs\\r\\nb\\r\\n' > win.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let diff = place.regatta(repository.root()).words("diff @ theirs").run().expect_code(0);
    assert!(diff.stderr.contains("apply r") && diff.stderr.contains("/theirs --markers"), "{diff}");
    let apply = place.regatta(repository.root()).words("apply @ theirs --markers").run();
    let _applied = apply.expect_code(0);
    let merged = "<<<<<<< ours\r\nours\r\n=======\r\ntheirs\r\n>>>>>>> theirs\r\nb\r\n";
    assert_eq!(repository.text("win.txt"), merged);
}

#[test]
fn the_index_is_left_as_git_merge_leaves_it_only_on_demand() {
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let base = repository.git(&["rev-parse", "HEAD"]);
    let theirs = "sed -i 's/^line 5$/theirs/' lines.txt; echo new > src/new.rs; rm data.bin";
    let edit = "cd \"$REGATTA_REPO\"; sed -i 's/^line 5$/ours/' lines.txt; git commit -qam ours";
    let plan = Plan::default().task("theirs", &format!("{theirs}; {edit}"));
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    repository.write("list.txt", "staged\n");
    repository.git(&["add", "list.txt"]);
    let apply = place.regatta(repository.root()).words("apply @ theirs --markers --index");
    let _applied = apply.run().expect_code(0);
    let ours = repository.git(&["ls-files", "-s"]);

    let git = Repository::init(&place.folder().join("judge"));
    git.git(&["fetch", "--quiet", &repository.root().to_string_lossy(), "HEAD", base.trim()]);
    git.git(&["checkout", "--quiet", "-b", "theirs", base.trim()]);
    let lines = git.text("lines.txt").replace("line 5\n", "theirs\n");
    git.write("lines.txt", lines);
    git.write("src/new.rs", "new\n");
    git.git(&["rm", "--quiet", "data.bin"]);
    git.commit("theirs");
    git.git(&["checkout", "--quiet", "-b", "ours", "FETCH_HEAD"]);
    let _conflict = git.try_git(&["merge", "theirs"]);
    let expected = git.git(&["ls-files", "-s"]);
    let of_user = |line: &&str| !line.ends_with("\tlist.txt");
    let expected: Vec<&str> = expected.lines().filter(of_user).collect();
    assert_eq!(ours.lines().filter(of_user).collect::<Vec<_>>(), expected);
    assert!(ours.contains(" 1\tlines.txt") && ours.contains(" 3\tlines.txt"), "{ours}");
    let staged = repository.git(&["show", ":list.txt"]);
    assert_eq!(staged, "staged\n");
}

#[test]
fn a_name_that_was_not_kept_does_not_count_as_thrown_away() {
    let place = sandbox();
    let repository = place.repository().watched();
    begin(&repository);
    let plan = Plan::default()
        .task("ours", "git mv lines.txt ours.txt")
        .task("theirs", "git mv lines.txt theirs.txt; echo x > other.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let apply = place.regatta(repository.root()).words("apply @ theirs --ours").run();
    let _applied = apply.expect_code(0);
    let again = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert!(again.stdout.contains("has landed already"), "{again}");
    std::fs::remove_file(repository.path("other.txt")).expect("it is there");
    let gone = place.regatta(repository.root()).words("apply").run().expect_code(4);
    assert!(gone.stdout.contains("other.txt") && !gone.stdout.contains("theirs.txt"), "{gone}");
}
