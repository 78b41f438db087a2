//! Landings of so many files that several threads stage them and look at them.

use std::fs::OpenOptions;
use std::io::Write as _;

use test_limit::{by_depth, sample};
use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// How many files the task changes. It adds and removes a few besides.
const MANY: usize = 300;

/// A repository with many files.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    for file in 0..MANY + 10 {
        repository.write(format!("folder-{}/{file}.txt", file % 4), format!("{file}\n"));
    }
    repository.commit("files");
    repository
}

/// Changes the first of the files, removes the last, and adds others in a new folder.
fn script() -> String {
    format!(
        "for file in $(seq 0 {}); do echo new >> folder-$((file % 4))/$file.txt; done
        for file in $(seq {MANY} {}); do rm folder-$((file % 4))/$file.txt; done
        mkdir added; for file in $(seq 10); do echo $file > added/$file.txt; done",
        MANY - 1,
        MANY + 9
    )
}

#[test]
fn a_landing_of_many_files_that_is_killed_anywhere_is_complete_or_not_begun() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let run = place.run_in(&repository).words("--merge none").exec(&script());
    let run = run.run().expect_code(0).run_name();
    let mut landed = 0;
    // Every other point is in the threads that stage or in the journal, before anything has changed.
    let points = [
        "landing.temps:200",
        "landing.exchange:1",
        "landing.move:10",
        "landing.exchange:150",
        "landing.move:250",
        "landing.drop",
        "landing.journal",
        "landing.done",
    ];
    // Before the landing is committed to and after it.
    for point in sample(points.chunks(2), 1).concat() {
        let words = if landed == 0 { "apply" } else { "apply --again" };
        let apply = place.regatta(repository.root()).words(words).arg(&run);
        let killed = apply.fault(&format!("kill@{point}")).run().expect_code(128 + 9);
        let next = place.regatta(repository.root()).words("runs").run().expect_code(0);
        if before.differences(&repository.tree()).is_empty() {
            assert!(!point.starts_with("landing.drop"), "{point}: {killed} {next}");
            continue;
        }
        landed += 1;
        expect_landed(&repository, point);
        let undo = place.regatta(repository.root()).words("undo").arg(&run).run().expect_code(0);
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "{undo}");
    }
    assert!(landed >= by_depth(1, 3), "{landed} of the landings were completed");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_disk_that_is_full_while_many_files_are_staged_changes_nothing_and_is_told() {
    let place = sandbox();
    let repository = repository(&place);
    let before = repository.tree();
    let run = place.run_in(&repository).words("--merge none").exec(&script());
    let run = run.run().expect_code(0).run_name();
    for point in ["landing.temps:150", "landing.move:150"] {
        let apply = place.regatta(repository.root()).words("apply").arg(&run);
        let full = apply.fault(&format!("full@{point}")).run();
        assert_ne!(full.code, 0, "{full}");
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new(), "{point} {full}");
    }
    let apply = place.regatta(repository.root()).words("apply").arg(&run).run().expect_code(0);
    expect_landed(&repository, &apply.to_string());
    place.expect_nothing_left(&repository);
}

#[test]
fn a_program_that_has_one_of_many_files_open_loses_nothing_and_the_other_tasks_land() {
    let place = sandbox();
    let repository = repository(&place);
    let plan = Plan::default().task("many", &script().replace('\n', "; ")).task("x", "echo x > x");
    let mut open = OpenOptions::new().append(true).open(repository.path("folder-1/201.txt"));
    let open = open.as_mut().expect("it can be opened");
    let finished = place.run_plan(&repository, &plan).run().expect_code(4);
    open.write_all(b"mine\n").expect("it can be written");
    assert_eq!(repository.text("folder-1/201.txt"), "201\nmine\n", "{finished}");
    assert_eq!(finished.landed(), ["x"], "{finished}");
    let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["path"], "folder-1/201.txt", "{finished}");
    assert_eq!(conflict["reason"], "contested", "{finished}");
    let conflicts = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
    let reason = "another program had the file open for writing, or changed it";
    assert!(conflicts.stdout.contains(reason), "{conflicts}");
    place.expect_nothing_left(&repository);
}

fn expect_landed(repository: &Repository, what: &str) {
    for file in 0..MANY {
        let path = format!("folder-{}/{file}.txt", file % 4);
        assert_eq!(repository.text(&path), format!("{file}\nnew\n"), "{path} {what}");
    }
    for file in MANY..MANY + 10 {
        assert!(!repository.has(format!("folder-{}/{file}.txt", file % 4)), "{file} {what}");
    }
    assert_eq!(repository.text("added/10.txt"), "10\n", "{what}");
}
