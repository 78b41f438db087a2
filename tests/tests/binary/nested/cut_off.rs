//! A landing that is killed in the middle in a nested repository: the next engine that lands there
//! completes it, from whichever repository it was started.

use std::fs;

use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::kit::list;
use crate::binary::sandbox;

/// What the files of the innermost repository are when the killed landing has ended, and the other one.
fn both() -> (String, &'static str) {
    (list().replace("\n5\n", "\nchanged-5\n").replace("\n15\n", "\nchanged-15\n"), "other landed\n")
}

/// Three repositories, each in the one before: `top`, `top/one` and `top/one/lib`.
fn three(place: &Sandbox) -> [Repository; 3] {
    ["top", "top/one", "top/one/lib"].map(|path| {
        let repository = Repository::init(&place.folder().join(path));
        repository.write("list.txt", list());
        repository.write("other.txt", "other\n");
        repository.commit("begin");
        repository
    })
}

/// Returns the path of the innermost repository in that with this number.
fn inner(engine: usize) -> &'static str {
    ["one/lib/", "lib/", ""][engine]
}

/// Lands two files in the innermost repository, and dies when one of them is there.
fn killed_in_the_middle(
    place: &Sandbox,
    repositories: &[Repository; 3],
    engine: usize,
) -> Finished {
    let lib = inner(engine);
    let script =
        format!("sed -i s/^5$/changed-5/ {lib}list.txt; echo other landed > {lib}other.txt");
    let plan = Plan::default().task("t", &script);
    let run = place.run_plan(&repositories[engine], &plan).fault("kill@landing.exchange:2").run();
    assert_eq!(run.code, 128 + 9, "{run}");
    let lib = &repositories[2];
    assert!(lib.text("list.txt").contains("changed-5"), "one file has landed: {run}");
    assert_eq!(lib.text("other.txt"), "other\n", "and one has not: {run}");
    run
}

fn replaces_another_line(engine: usize) -> Plan {
    let script = format!("sed -i s/^15$/changed-15/ {}list.txt", inner(engine));
    Plan::default().task("t", &script)
}

/// Returns the journals of landings that are not complete.
fn cut_off(place: &Sandbox) -> Vec<String> {
    let landings = place.home().data().join("landings");
    let folders = fs::read_dir(landings).expect("there were landings");
    let files = folders.flat_map(|folder| {
        let folder = folder.expect("it can be listed").path();
        fs::read_dir(folder).expect("it can be listed")
    });
    let names = files.map(|file| file.expect("it can be listed").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".committed") || name.ends_with(".undoing")).collect()
}

#[test]
fn a_landing_that_was_killed_in_a_nested_repository_is_completed_by_the_next_engine_there() {
    for (dead, next) in sample([(0, 2), (1, 2), (0, 1), (2, 0), (2, 1), (1, 0)], 2) {
        let place = sandbox();
        let repositories = three(&place);
        let lib = &repositories[2];
        let killed = killed_in_the_middle(&place, &repositories, dead);
        assert_eq!(cut_off(&place).len(), 1, "{dead} {next}");
        let landed = place.run_plan(&repositories[next], &replaces_another_line(next)).run();
        let landed = landed.expect_code(0);
        assert_eq!(landed.landed(), ["t"], "{dead} {next}: {landed}");
        let now = (lib.text("list.txt"), lib.text("other.txt"));
        assert_eq!((now.0, now.1.as_str()), both(), "{dead} {next}: {landed}");
        assert_eq!(cut_off(&place), Vec::<String>::new(), "{dead} {next}");
        // The repository whose engine died knows of it, and can take it back.
        let run = killed.run_name();
        let undo = place.regatta(repositories[dead].root()).words("undo").arg(&run).run();
        let undo = undo.expect_code(0);
        let own = list().replace("\n15\n", "\nchanged-15\n");
        assert_eq!(lib.text("list.txt"), own, "{dead} {next}: {undo}");
        assert_eq!(lib.text("other.txt"), "other\n", "{dead} {next}: {undo}");
        let left: Vec<String> = repositories.iter().flat_map(Repository::leftovers).collect();
        assert_eq!(left, Vec::<String>::new(), "{dead} {next}");
    }
}

#[test]
fn an_apply_and_an_undo_complete_what_was_cut_off_around_their_repository() {
    for words in ["apply", "undo"] {
        let place = sandbox();
        let repositories = three(&place);
        let lib = &repositories[2];
        let mode = if words == "apply" { "--merge none" } else { "--merge patch" };
        let run = place.run_plan(lib, &replaces_another_line(2)).words(mode).run().expect_code(0);
        killed_in_the_middle(&place, &repositories, 0);
        let ended = place.regatta(lib.root()).words(words).arg(run.run_name()).run();
        let ended = ended.expect_code(0);
        let (mut text, other) = both();
        if words == "undo" {
            text = text.replace("changed-15", "15");
        }
        assert_eq!((lib.text("list.txt"), lib.text("other.txt")), (text, other.into()), "{ended}");
        assert_eq!(cut_off(&place), Vec::<String>::new(), "{ended}");
    }
}

#[test]
fn a_landing_that_cannot_be_completed_from_a_nested_repository_is_told_with_what_to_do() {
    let place = sandbox();
    let repositories = three(&place);
    let [top, _, lib] = &repositories;
    killed_in_the_middle(&place, &repositories, 0);
    // Nothing can be landed in it as long as this is so.
    fs::rename(top.path(".git"), top.path("git-elsewhere")).expect("it can be moved");
    let landed = place.run_plan(lib, &replaces_another_line(2)).run().expect_code(0);
    let said = landed.to_string();
    assert!(
        said.contains("was cut off here") && said.contains("the next command of regatta there"),
        "{landed}"
    );
    assert_eq!(lib.text("other.txt"), "other\n", "{landed}");
    fs::rename(top.path("git-elsewhere"), top.path(".git")).expect("it can be moved");
    let _completed = place.regatta(top.root()).words("runs").run().expect_code(0);
    assert_eq!(cut_off(&place), Vec::<String>::new());
    // The other file was as it had been left; the one that was edited meanwhile is named.
    assert_eq!(lib.text("other.txt"), "other landed\n");
    assert_eq!(lib.text("list.txt"), both().0);
}
