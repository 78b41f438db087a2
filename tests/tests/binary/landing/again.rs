//! `regatta apply` after the user has thrown landed work away.

use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Runs two tasks that land, of which the second builds on the first. Returns the run.
fn landed(place: &Sandbox, repository: &Repository) -> String {
    repository.write("colour.txt", "white\n");
    repository.write("gone.txt", "gone\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("first", "echo first >> colour.txt; echo new > new.txt; rm gone.txt")
        .task("second", "echo second >> colour.txt")
        .after(&["first"]);
    place.run_plan(repository, &plan).run().expect_code(0).run_name()
}

fn expect_landed(repository: &Repository) {
    assert_eq!(repository.text("colour.txt"), "white\nfirst\nsecond\n");
    assert_eq!(repository.text("new.txt"), "new\n");
    assert!(!repository.has("gone.txt"));
}

#[test]
fn work_that_was_taken_back_can_land_again_until_it_is_discarded_and_is_never_said_to_have_landed()
{
    for order in [["undo", "discard"], ["discard", "undo"]] {
        let place = sandbox();
        let repository = place.repository();
        let run = landed(&place, &repository);
        let tree = repository.tree();
        let mut ended = Vec::new();
        for command in order {
            ended.push(regatta(&place, &repository, &format!("{command} @/second")).expect_code(0));
        }
        assert_ne!(tree.differences(&repository.tree()), Vec::<String>::new(), "{order:?}");
        let undone = if order[0] == "undo" { &ended[0] } else { &ended[1] };
        assert_eq!(undone.stdout.contains("--again"), order[0] == "undo", "{undone}");
        for options in ["", "--again", "--theirs"] {
            let told = regatta(&place, &repository, &format!("apply @/second {options}"));
            told.expect_refusal(&[&format!("{run}/second"), "it was discarded"]);
        }
    }
    let place = sandbox();
    let repository = place.repository();
    let run = landed(&place, &repository);
    let _undone = regatta(&place, &repository, "undo @/second").expect_code(0);
    let told = regatta(&place, &repository, "apply @/second --theirs");
    told.expect_refusal(&["taken back", &format!("regatta apply {run}/second --again")]);
    let _again = regatta(&place, &repository, "apply @/second --again").expect_code(0);
    expect_landed(&repository);
}

#[test]
fn work_that_was_thrown_away_is_told_and_lands_again_when_asked_to() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = landed(&place, &repository);
    expect_uncompared_work_is_not_said_to_be_there(&place, &repository, &run);
    expect_work_of_a_chain_is_found(&place, &repository, &run);
    let throw_away: [&[&[&str]]; 2] = [
        &[&["reset", "--quiet", "--hard"], &["clean", "--quiet", "-fd"]],
        &[&["checkout", "--quiet", "."], &["clean", "--quiet", "-fd"]],
    ];
    for commands in throw_away {
        expect_landed(&repository);
        let there = regatta(&place, &repository, "apply").expect_code(0);
        assert!(there.stdout.contains("has landed already"), "{there}");
        for command in commands {
            repository.git(command);
        }
        let tree = repository.tree();
        let told = regatta(&place, &repository, "apply").expect_code(4);
        assert!(!told.stdout.contains("landed already"), "{told}");
        for word in ["first", "second", "is missing", &format!("regatta apply {run} --again")] {
            assert!(told.stdout.contains(word), "{word} in {told}");
        }
        let one = regatta(&place, &repository, "apply first").expect_code(4);
        for word in ["colour.txt", "new.txt", "gone.txt", "--again"] {
            assert!(one.stdout.contains(word), "{word} in {one}");
        }
        let json = regatta(&place, &repository, "apply --json").expect_code(4).json();
        assert_eq!(json["gone"], serde_json::json!(["first", "second"]));
        // The second builds on the first, which is gone as well.
        let second = regatta(&place, &repository, "apply second --again");
        second.expect_refusal(&[
            "second",
            "builds on first",
            &format!("apply {run}/first --again"),
        ]);
        let dry = regatta(&place, &repository, "apply --again --dry-run").expect_code(0);
        assert!(dry.stdout.contains("would land"), "{dry}");
        assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
        let _again = regatta(&place, &repository, "apply --again").expect_code(0);
    }
    expect_landed(&repository);
    let nothing = regatta(&place, &repository, "apply --again").expect_code(0);
    assert!(nothing.stdout.contains("has landed already"), "{nothing}");
    place.expect_nothing_left(&repository);
}

/// Landed work that cannot be compared is not said to be there.
fn expect_uncompared_work_is_not_said_to_be_there(
    place: &Sandbox,
    repository: &Repository,
    run: &str,
) {
    let store = place.home().stores().remove(0);
    std::fs::rename(store.join("objects"), store.join("elsewhere")).expect("a file can be changed");
    std::fs::create_dir(store.join("objects")).expect("a file can be changed");
    for words in [format!("apply {run}"), format!("apply {run} --json"), "apply first".to_owned()] {
        let told = regatta(place, repository, &words);
        assert_ne!(told.code, 0, "{told}");
        assert!(!told.stdout.contains("landed already"), "{told}");
        assert!(told.stderr.starts_with("error: cannot "), "{told}");
    }
    std::fs::remove_dir_all(store.join("objects")).expect("a file can be changed");
    std::fs::rename(store.join("elsewhere"), store.join("objects")).expect("a file can be changed");
    let there = regatta(place, repository, "apply").expect_code(0);
    assert!(there.stdout.contains("has landed already"), "{there}");
}

/// The work of a chain is found behind that of its last task.
fn expect_work_of_a_chain_is_found(place: &Sandbox, repository: &Repository, run: &str) {
    std::fs::remove_file(repository.path("new.txt")).expect("a file can be changed");
    let told = regatta(place, repository, &format!("apply {run}")).expect_code(4);
    assert!(told.stdout.contains("first") && told.stdout.contains("new.txt"), "{told}");
    assert!(!told.stdout.contains("colour.txt"), "{told}");
    repository.write("new.txt", "new\n");
}

#[test]
fn one_file_that_was_thrown_away_lands_again_and_later_edits_are_left_alone() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let script = "echo {{item}} >> colour.txt; echo new > {{item}}.txt";
    let run = place.run_in(&repository).words("--each -").stdin("red\n").exec(script).run();
    let run = run.expect_code(0).run_name();
    std::fs::remove_file(repository.path("red.txt")).unwrap();
    let told = regatta(&place, &repository, &format!("apply {run}")).expect_code(4);
    assert!(told.stdout.contains("red.txt") && !told.stdout.contains("colour.txt"), "{told}");
    let _again = regatta(&place, &repository, "apply red --again").expect_code(0);
    assert_eq!(repository.text("red.txt"), "new\n");
    assert_eq!(repository.text("colour.txt"), "white\nred\n");
    // What was edited since is no work that was thrown away.
    repository.write("colour.txt", "white\nRED\n");
    let edited = regatta(&place, &repository, "apply --again").expect_code(0);
    assert!(edited.stdout.contains("has landed already"), "{edited}");
    assert_eq!(repository.text("colour.txt"), "white\nRED\n");
    // If both happened, the work cannot land as a whole, and is not called a conflict for that.
    std::fs::remove_file(repository.path("red.txt")).unwrap();
    let both = regatta(&place, &repository, "apply --again").expect_code(4);
    assert!(both.stderr.contains("colour.txt") && both.stderr.contains("diff"), "{both}");
    let shown = regatta(&place, &repository, "runs show").expect_code(0);
    assert!(shown.stdout.contains("1 landed"), "{shown}");
    repository.write("red.txt", "new\n");
    repository.commit("a commit keeps what has landed");
    let _landed = regatta(&place, &repository, "apply").expect_code(0);
}

#[test]
fn kept_work_lands_and_what_was_thrown_away_is_noted() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan =
        Plan::default().task("red", "echo red > colour.txt").task("blue", "echo blue > colour.txt");
    let run = place.run_plan(&repository, &plan).run().expect_code(4).run_name();
    repository.git(&["checkout", "--quiet", "."]);
    let applied = regatta(&place, &repository, "apply").expect_code(0);
    assert!(applied.stdout.starts_with("blue  landed"), "{applied}");
    let told = format!("regatta apply {run}/red --again");
    assert!(applied.stderr.contains("note: ") && applied.stderr.contains(&told), "{applied}");
    assert_eq!(repository.text("colour.txt"), "blue\n");
    let _conflict = regatta(&place, &repository, &format!("apply {run}/red --again"));
    assert_eq!(repository.text("colour.txt"), "blue\n");
}

#[test]
fn a_branch_that_was_deleted_is_made_again_unless_it_was_merged_and_has_landed() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--merge branch").exec("echo x > x.txt").run();
    let run = run.expect_code(0).run_name();
    let branch = format!("regatta/{run}/t1");
    let there = regatta(&place, &repository, "apply t1").expect_code(0);
    assert!(there.stdout.contains("has landed already"), "{there}");
    repository.git(&["branch", "--quiet", "-D", &branch]);
    let told = regatta(&place, &repository, "apply").expect_code(4);
    assert!(told.stdout.contains(&branch) && told.stdout.contains("--again"), "{told}");
    let _again = regatta(&place, &repository, "apply --again").expect_code(0);
    assert_eq!(repository.git(&["show", &format!("{branch}:x.txt")]), "x\n");

    for (number, merge) in [(1, "--no-ff"), (2, "--squash"), (3, "--ff-only")] {
        let script = format!("echo {number} > {number}.txt; echo {number} >> README.md");
        let call = place.run_in(&repository).words("--merge branch").exec(&script);
        let run = call.run().expect_code(0).run_name();
        let branch = format!("regatta/{run}/t1");
        repository.git(&["merge", "--quiet", merge, &branch]);
        repository.commit("what was squashed");
        repository.git(&["branch", "--quiet", "-D", &branch]);
        // The lines beside it go on changing.
        repository.write("src/run.rs", format!("pub fn run() {{ {number} }}\n"));
        let there = regatta(&place, &repository, &format!("apply {run}")).expect_code(0);
        assert!(there.stdout.contains("has landed already"), "{merge}: {there}");
        let json = regatta(&place, &repository, &format!("apply {run} --json")).expect_code(0);
        assert!(json.json().get("gone").is_none(), "{merge}: {json}");
        // What was merged, and then thrown away, is gone.
        std::fs::remove_file(repository.path(format!("{number}.txt"))).unwrap();
        let gone = regatta(&place, &repository, &format!("apply {run}")).expect_code(4);
        assert!(gone.stdout.contains(&branch) && gone.stdout.contains("--again"), "{gone}");
        repository.git(&["checkout", "--quiet", &format!("{number}.txt")]);
    }
}

#[test]
fn what_a_retry_has_landed_does_not_land_a_second_time_unless_it_is_named() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("red", "echo red > colour.txt; echo red > red.txt")
        .task("blue", "echo blue > colour.txt; echo blue >> blue.txt")
        .task("late", "echo late > late.txt; echo late > colour.txt");
    let old = place.run_plan(&repository, &plan).run().expect_code(4).run_name();
    let retry = regatta(&place, &repository, &format!("runs retry {old} --json blue"));
    let new = retry.expect_code(0).run_name();
    repository.git(&["checkout", "--quiet", "colour.txt"]);
    let dry = regatta(&place, &repository, &format!("apply {old} --dry-run")).expect_code(0);
    assert!(dry.stdout.contains("late") && !dry.stdout.contains("blue"), "{dry}");
    let applied = regatta(&place, &repository, &format!("apply {old}")).expect_code(0);
    assert!(applied.stdout.contains("late  landed"), "{applied}");
    let told = format!("the work of task {old}/blue was done again, and landed in run {new}");
    assert!(applied.stderr.contains(&told), "{applied}");
    assert_eq!(repository.text("colour.txt"), "late\n");
    // Nothing else is left of it, which is told, with how to land it nevertheless.
    let nothing = regatta(&place, &repository, &format!("apply {old}"));
    assert!(nothing.stdout.contains(&told), "{nothing}");
    assert!(nothing.stdout.contains(&format!("regatta apply {old}/blue")), "{nothing}");
    std::fs::remove_file(repository.path("blue.txt")).unwrap();
    repository.write("colour.txt", "white\n");
    let named = regatta(&place, &repository, &format!("apply {old}/blue")).expect_code(0);
    assert!(named.stdout.contains("blue  landed"), "{named}");
}
