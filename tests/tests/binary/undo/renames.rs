//! Renames that are taken back: each file gets the name that it had, or stays where it is.

use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

const FILE: &str = "mv a/f0.txt b/m7.txt";
const FOLDER: &str = "mkdir z; mv a/f1.txt z/m1.txt";

fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    for path in ["a/f0.txt", "a/f1.txt", "b/x"] {
        repository.write(path, format!("{path}\n"));
    }
    repository.commit("files");
    repository
}

#[test]
fn each_file_gets_its_old_name_back_in_whatever_order_tasks_land_and_are_taken_back() {
    let plan = Plan::default().task("t0", FILE).task("t1", FOLDER);
    for (options, commands) in [
        ("--merge none", ["apply @/t1", "apply @/t0", "undo @"]),
        ("--merge none", ["apply @/t0", "apply @/t1", "undo @"]),
        ("--land eager -j 1", ["undo @", "", ""]),
        ("", ["undo @/t1", "undo @/t0", ""]),
        ("", ["undo @/t0", "undo @/t1", ""]),
    ] {
        let place = sandbox();
        let repository = repository(&place);
        let before = repository.tree();
        let _run = place.run_plan(&repository, &plan).words(options).run().expect_code(0);
        for words in commands.into_iter().filter(|words| !words.is_empty()) {
            let _done = place.regatta(repository.root()).words(words).run().expect_code(0);
        }
        let differences = before.differences(&repository.tree());
        assert_eq!(differences, Vec::<String>::new(), "{options} {commands:?}");
    }
}

#[test]
fn of_two_runs_that_renamed_files_each_is_taken_back_alone() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let run = |script| place.run_in(&repository).exec(script).run().expect_code(0).run_name();
    let names = [run(FILE), run(FOLDER)];
    let undo = |name| {
        let words = format!("undo {name}");
        let _undone = place.regatta(repository.root()).words(&words).run().expect_code(0);
    };
    undo(&names[0]);
    assert_eq!(repository.text("a/f0.txt"), "a/f0.txt\n");
    assert_eq!(repository.text("z/m1.txt"), "a/f1.txt\n");
    assert!(!repository.has("b/m7.txt"));
    undo(&names[1]);
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
}

#[test]
fn a_file_whose_old_name_is_taken_stays_at_its_new_name_until_a_later_undo() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let _run = place.run_in(&repository).exec(FILE).run().expect_code(0);
    repository.write("a/f0.txt", "of the user\n");
    let undo = || place.regatta(repository.root()).words("undo @").run();
    let undone = undo().expect_code(4);
    let left = "left        b/m7.txt (renamed from a/f0.txt): a/f0.txt is another file now\n";
    assert!(undone.stdout.contains(left), "{undone}");
    assert_eq!(repository.text("a/f0.txt"), "of the user\n");
    assert_eq!(repository.text("b/m7.txt"), "a/f0.txt\n");
    std::fs::remove_file(repository.path("a/f0.txt")).expect("a file can be removed");
    let _undone = undo().expect_code(0);
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
}

#[test]
fn what_undos_of_single_tasks_have_left_at_another_name_is_taken_back_with_the_run() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let plan = Plan::default()
        .task("there", "mv a/f0.txt b/m7.txt; echo x > x.txt")
        .task("back", "mv b/m7.txt a/f0.txt")
        .after(&["there"]);
    let run = place.run_plan(&repository, &plan).run().expect_code(0);
    let undo = |what: &str| {
        let words = format!("undo {}{what}", run.run_name());
        place.regatta(repository.root()).words(&words).run().expect_code(0)
    };
    let _nothing_to_move = undo("/there");
    let _moved = undo("/back");
    assert!(repository.has("b/m7.txt"), "as `git revert` leaves it");
    let undone = undo("");
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "{undone}");
    let again = undo("");
    assert!(again.stdout.contains("was taken back already"), "{again}");
}
