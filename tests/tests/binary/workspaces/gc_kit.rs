//! Calls of `regatta gc`, over runs of a few tasks or of thousands that were made.

use tests::sandbox::{Home, Invocation, Plan, Repository, Sandbox};

/// Runs one task, so that there are a ledger and a store, and returns the name of its run.
pub(crate) fn template(place: &Sandbox, repository: &Repository) -> String {
    let run = place.run_in(repository).exec("date +%s%N > template.txt").run();
    run.expect_code(0).run_name()
}

/// Makes a run this many days older.
pub(crate) fn age(home: &Home, run: &str, days: u32) {
    home.change_ledger(&format!(
        "UPDATE transition SET at = strftime('%Y-%m-%dT%H:%M:%fZ', at, '-{days} days')
         WHERE run = (SELECT number FROM run WHERE name = '{run}')"
    ));
}

/// A run of which `a` and `c` land and `b`, which fails, is kept. Returns its name.
pub(crate) fn three_tasks(place: &Sandbox, repository: &Repository) -> String {
    let plan = Plan::default()
        .task("a", "head -c 40000 /dev/urandom | od > a.txt; echo a")
        .task("b", "head -c 40000 /dev/urandom | od > b.txt; echo b; exit 3")
        .task("c", "echo c > c.txt");
    place.run_plan(repository, &plan).run().expect_code(3).run_name()
}

/// Calls `regatta gc` with these arguments.
pub(crate) fn gc(place: &Sandbox, repository: &Repository, words: &str) -> Invocation {
    place.regatta(repository.root()).words("gc").words(words)
}

/// Returns whether the output of a task is there.
pub(crate) fn has_log(home: &Home, run: &str, task: &str) -> bool {
    home.data().join("artifacts").join(run).join(task).exists()
}

/// Checks that git finds the only task store in order.
pub(crate) fn is_sound(home: &Home) {
    let _said = home.store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}
