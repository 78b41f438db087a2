//! Two engines that land into the same nested repository, opened from different repositories around
//! it: the second one waits, and both works are there.

use std::path::Path;
use std::time::Duration;

use test_limit::{eventually, sample};
use tests::sandbox::{Plan, Repository};

use super::kit::{git_folder, list};
use crate::binary::sandbox;

/// Three repositories, each in the one before: `top`, `top/one` and `top/one/lib`.
fn three(folder: &Path) -> [Repository; 3] {
    ["top", "top/one", "top/one/lib"].map(|path| {
        let repository = Repository::init(&folder.join(path));
        repository.write("list.txt", list());
        repository.commit("begin");
        repository
    })
}

/// Returns a task that replaces a line of the list, which has this path for its engine.
fn replaces(path: &str, line: u32, wait: &str) -> Plan {
    Plan::default().task("t", &format!("{wait} sed -i s/^{line}$/changed-{line}/ {path}"))
}

#[test]
fn an_engine_waits_for_one_that_lands_in_the_same_nested_repository_from_elsewhere() {
    // Each pair: who lands first, and who has to wait.
    for (holder, waiter) in sample([(0, 2), (1, 2), (0, 1), (2, 0), (2, 1), (1, 0)], 2) {
        let place = sandbox();
        let repositories = three(place.folder());
        let before = repositories.each_ref().map(git_folder);
        let path = |engine: usize| ["one/lib/list.txt", "lib/list.txt", "list.txt"][engine];
        let [gate, go] = ["gate", "go"].map(|name| place.folder().join(name));
        // Both have seen the tree before one of them lands.
        let wait = format!("until test -e {}; do sleep 0.02; done;", go.display());
        let second = replaces(path(waiter), 15, &wait);
        let mut second = place.run_plan(&repositories[waiter], &second).start();
        second.until("task_started");
        let first = place.run_plan(&repositories[holder], &replaces(path(holder), 5, ""));
        let first = first.wait_at("landing.exchange", &gate).start();
        eventually(Duration::from_secs(60), "the tree is about to change", || gate.exists());
        std::fs::write(&go, "").expect("it can be written");
        second.until("landing_waited");
        let lib = &repositories[2];
        assert_eq!(lib.text("list.txt"), list(), "{holder} has not landed, {waiter} waits");
        std::fs::remove_file(&gate).expect("it goes on then");
        let finished = [first.wait().expect_code(0), second.wait().expect_code(0)];
        let both = list().replace("\n5\n", "\nchanged-5\n").replace("\n15\n", "\nchanged-15\n");
        assert_eq!(lib.text("list.txt"), both, "{holder} {waiter}: {}", finished[1]);
        for (before, now) in before.iter().zip(repositories.each_ref().map(git_folder)) {
            assert_eq!(before.differences(&now), Vec::<String>::new());
        }
    }
}

#[test]
fn an_undo_waits_for_a_landing_in_the_same_nested_repository_which_completes_what_was_cut_off() {
    let place = sandbox();
    let repositories = three(place.folder());
    let [top, _, lib] = &repositories;
    let landed = place.run_plan(top, &replaces("one/lib/list.txt", 5, "")).run().expect_code(0);
    let killed = place.run_plan(top, &replaces("one/lib/list.txt", 7, ""));
    let killed = killed.fault("kill@landing.exchange").run();
    assert_eq!(killed.code, 128 + 9, "{killed}");

    let gate = place.folder().join("gate");
    let first = place.run_plan(lib, &replaces("list.txt", 15, ""));
    let first = first.wait_at("landing.exchange", &gate).start();
    eventually(Duration::from_secs(60), "the tree is about to change", || gate.exists());
    let undo = place.regatta(top.root()).words("undo").arg(landed.run_name()).start();
    undo.until_told("waits: another engine");
    assert!(!lib.text("list.txt").contains("changed-15"), "it waits");
    std::fs::remove_file(&gate).expect("it goes on then");
    let (first, undo) = (first.wait().expect_code(0), undo.wait().expect_code(0));
    let now = lib.text("list.txt");
    // The landing that was killed was completed before the first one began.
    let expected = list().replace("\n7\n", "\nchanged-7\n").replace("\n15\n", "\nchanged-15\n");
    assert_eq!(now, expected, "the first is undone: {first} {undo}");
    let undo = place.regatta(top.root()).words("undo").arg(killed.run_name()).run();
    let undo = undo.expect_code(0);
    assert_eq!(lib.text("list.txt"), list().replace("\n15\n", "\nchanged-15\n"), "{undo}");
}
