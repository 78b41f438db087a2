//! What is said and done about engines that died, and about what they did not leave behind whole.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use test_limit::{by_depth, sample};
use tests::sandbox::{Finished, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// Kills an engine when two tasks have done their work and before anything has landed. The work of
/// both is captured, and the workspace of `b` is still there.
fn killed(place: &Sandbox, repository: &Repository) -> String {
    killed_at(place, repository, "capture.discard:2")
}

/// Kills an engine that does one task after the other at this point.
pub(crate) fn killed_at(place: &Sandbox, repository: &Repository, point: &str) -> String {
    let plan = Plan::default().task("a", "echo a > a.txt").task("b", "echo b > b.txt");
    let died = place.run_plan(repository, &plan).words("--jobs 1").fault(&format!("kill@{point}"));
    let died = died.run();
    assert_eq!(died.code, 128 + 9, "{died}");
    died.run_name()
}

pub(crate) fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns how a run reads: its state and those of its tasks.
fn reads(place: &Sandbox, repository: &Repository, run: &str) -> Value {
    let words = format!("runs show {run} --json");
    regatta(place, repository, &words).expect_code(0).json()
}

/// The folder of a run's workspaces.
pub(crate) fn workspaces(place: &Sandbox, run: &str) -> PathBuf {
    let all = place.home().data().join("workspaces");
    let repositories = fs::read_dir(&all).expect("there are workspaces").flatten();
    let mut runs = repositories.map(|repository| repository.path().join(run));
    runs.find(|folder| folder.exists()).unwrap_or_else(|| panic!("no {run} in {}", all.display()))
}

#[test]
fn a_task_that_empties_the_folder_around_its_workspace_loses_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo kept > kept.txt; cd .. && \
                  find . -mindepth 1 -maxdepth 1 ! -name tree -exec rm -rf {} +";
    let finished = place.run_in(&repository).exec(script).run();
    let _next = regatta(&place, &repository, "runs").expect_code(0);
    let there = repository.has("kept.txt") || !place.home().workspaces().is_empty();
    assert!(there, "its work is gone: {finished}");
    assert_eq!(finished.code, 0, "{finished}");
    assert_eq!(repository.text("kept.txt"), "kept\n");
}

#[test]
fn what_a_killed_recovery_had_captured_is_found_by_the_next_one() {
    let points = sample(
        [
            "recover.begin",
            "capture.begin",
            "capture.blobs",
            "capture.ref",
            "ledger.append",
            "recover.finish",
            "capture.discard",
            "capture.discarded",
            "recover.remove",
        ],
        1,
    );
    let mut kills = 0;
    for point in &points {
        // At each time that the recovery comes by, until it does not any more; in quick depth once.
        for time in 1..=by_depth(1, usize::MAX) {
            let place = sandbox();
            let repository = place.repository();
            // Nothing of `b` is captured yet.
            let run = killed_at(&place, &repository, "capture.begin:2");
            let at = format!("{point}:{time}");
            let fault = format!("kill@{at}");
            let recovery = place.regatta(repository.root()).words("runs").fault(&fault).run();
            let _second = regatta(&place, &repository, "runs").expect_code(0);
            assert_eq!(reads(&place, &repository, &run)["run"]["state"], "interrupted", "{at}");
            for task in ["a", "b"] {
                let named = format!("{run}/{task}");
                let diff = regatta(&place, &repository, &format!("diff {named}")).expect_code(0);
                assert!(diff.stdout.contains(&format!("+{task}\n")), "{at}: {diff}");
                let _applied = regatta(&place, &repository, &format!("apply {named}"));
                assert_eq!(repository.text(format!("{task}.txt")), format!("{task}\n"), "{at}");
            }
            place.expect_nothing_left(&repository);
            if recovery.code == 0 {
                break;
            }
            assert_eq!(recovery.code, 128 + 9, "{at}: {recovery}");
            kills += 1;
        }
    }
    assert!(kills >= points.len(), "only {kills} kills");
}

#[test]
fn a_recovery_that_is_killed_after_it_completed_a_landing_does_not_hide_it() {
    let points = ["ledger.append:1", "recover.finish:1", "landing.done:1", "recover.remove:1"];
    for point in sample(points, 1) {
        let place = sandbox();
        let repository = place.repository();
        let plan = Plan::default().task("a", "echo a > a.txt").task("b", "echo b > b.txt");
        let died = place.run_plan(&repository, &plan).fault("kill@landing.exchange:2").run();
        assert_eq!(died.code, 128 + 9, "{died}");
        let fault = format!("kill@{point}");
        let killed = place.regatta(repository.root()).words("runs").fault(&fault).run();
        assert_eq!(killed.code, 128 + 9, "{point}: {killed}");
        let _second = regatta(&place, &repository, "runs").expect_code(0);
        let shown = reads(&place, &repository, &died.run_name());
        for task in shown["tasks"].as_array().expect("it has tasks") {
            assert_eq!(task["landing"]["landing"], "landed", "{point}: {shown}");
        }
        assert_eq!(
            (repository.text("a.txt"), repository.text("b.txt")),
            ("a\n".into(), "b\n".into())
        );
        let third = regatta(&place, &repository, "runs").expect_code(0);
        assert_eq!(third.stderr, "", "{point}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn work_that_apply_landed_before_it_was_killed_is_not_landed_again() {
    for point in sample(["landing.done:1", "landing.record:4", "ledger.append:2"], 1) {
        let place = sandbox();
        let repository = place.repository();
        let script = "echo more >> README.md";
        let run = place.run_in(&repository).words("--merge none").exec(script).run();
        let run = run.expect_code(0).run_name();
        let apply = place.regatta(repository.root()).words(&format!("apply {run}"));
        let died = apply.fault(&format!("kill@{point}")).run();
        assert_eq!(died.code, 128 + 9, "{point}: {died}");
        let again = regatta(&place, &repository, &format!("apply {run}")).expect_code(0);
        let text = repository.text("README.md");
        assert_eq!(text.matches("more\n").count(), 1, "{point}: {text:?} after {again}");
        assert_eq!(reads(&place, &repository, &run)["tasks"][0]["landing"]["landing"], "landed");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_run_whose_engine_is_gone_is_over_at_once_and_leftovers_of_a_finished_run_are_not_told() {
    let place = sandbox();
    let repository = place.repository();
    let run = killed(&place, &repository);
    // As if its engine had died before it had made anything.
    fs::remove_dir_all(workspaces(&place, &run)).expect("it can be removed");
    let next = regatta(&place, &repository, "runs").expect_code(0);
    assert!(!next.stdout.contains("running"), "{next}");
    assert_eq!(reads(&place, &repository, &run)["run"]["state"], "interrupted");
    let _work = regatta(&place, &repository, &format!("apply {run}/a")).expect_code(0);
    assert_eq!(repository.text("a.txt"), "a\n");

    let run = place.run_in(&repository).exec("echo c > c.txt").run().expect_code(0).run_name();
    // As if its engine had died while it removed the folder.
    let all = place.home().data().join("workspaces");
    let stores = place.home().stores();
    let name = stores[0].file_stem().expect("a store has a name");
    fs::create_dir_all(all.join(name).join(&run).join(".gone-t1/tree")).expect("it can be made");
    let next = regatta(&place, &repository, "runs").expect_code(0);
    assert_eq!(next.stderr, "", "{next}");
    place.expect_nothing_left(&repository);
}

#[test]
fn an_engine_that_dies_before_any_work_is_captured_leaves_no_run_that_goes_on_and_nothing_to_land()
{
    let place = sandbox();
    let repository = place.repository();
    let died = place.run_in(&repository).exec("true").fault("kill@freeze.scan").run();
    assert_eq!(died.code, 128 + 9, "{died}");
    let next = regatta(&place, &repository, "runs").expect_code(0);
    assert!(next.stdout.contains("interrupted"), "{next}");
    place.expect_nothing_left(&repository);

    let plan = Plan::default().task("a", "true").task("b", "true");
    let died = place.run_plan(&repository, &plan).fault("kill@capture.begin:1").run();
    // The other command may be just starting: until its `exec`, or until its reaper kills it, its
    // process holds the lock of the run.
    let mut told = String::new();
    eventually(Duration::from_secs(20), "the run is recovered", || {
        told = regatta(&place, &repository, "runs").expect_code(0).stderr;
        !told.is_empty()
    });
    let line = format!("run {} was cut short: nothing of it is left to land", died.run_name());
    assert!(told.contains(&line), "{told}");
}

#[test]
fn nothing_is_recovered_in_a_merge_and_of_four_recoveries_one_recovers_and_counts_all_kept_work() {
    let place = sandbox();
    let repository = place.repository();
    let run = killed(&place, &repository);
    let head = repository.git(&["rev-parse", "HEAD"]);
    fs::write(repository.root().join(".git/MERGE_HEAD"), head).expect("it can be written");
    let next = regatta(&place, &repository, "runs").expect_code(0);
    assert!(next.stdout.contains("running"), "{next}");
    let line = "may be interrupted; recovery is not possible now: a merge is in progress";
    assert!(next.stderr.contains(line), "{next}");
    fs::remove_file(repository.root().join(".git/MERGE_HEAD")).expect("it can be removed");

    let calls: Vec<_> =
        (0..4).map(|_| place.regatta(repository.root()).words("runs").start()).collect();
    let ends: Vec<_> = calls.into_iter().map(|call| call.wait().expect_code(0)).collect();
    let line = format!("run {run} was cut short: the work of 2 of its 2 tasks is kept");
    let told = ends.iter().filter(|end| end.stderr.contains(&line)).count();
    assert_eq!(told, 1, "{ends:#?}");
    let query = "SELECT count(*) FROM transition WHERE type = 'run_interrupted'";
    assert_eq!(place.home().ledger(query, |row| row.get::<_, i64>(0)), [1]);
    assert_eq!(place.home().captures(), [format!("{run}/a/1"), format!("{run}/b/1")]);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_run_begins_when_a_landing_of_another_engine_is_over_and_says_that_it_waits() {
    let place = sandbox();
    let repository = place.repository();
    let line = "waits: another engine starts or lands a run in this repository\n";
    for (form, seen) in [("run", "seen.txt"), ("run --json", "seen-by-program.txt")] {
        repository.write("README.md", "before\n");
        let turn = fs::File::open(repository.path(".git")).expect("there is one");
        turn.lock().expect("it can be locked");
        let call = place.regatta(repository.root()).words(form);
        let call = call.exec(&format!("cat README.md > {seen}")).start();
        call.until_told("waits: another engine starts");
        repository.write("README.md", "landed\n");
        turn.unlock().expect("it can be unlocked");
        let finished = call.wait().expect_code(0);
        assert_eq!(repository.text(seen), "landed\n", "{finished}");
        if form == "run --json" {
            assert_eq!(finished.stderr, line, "{finished}");
            assert_eq!(finished.events()[0]["type"], "run_started", "{finished}");
        }
    }
}

#[test]
fn what_is_kept_can_be_looked_at_while_a_merge_or_a_rebase_is_under_way() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--merge none").exec("echo a > a.txt").run();
    let run = run.expect_code(0).run_name();
    repository.git(&["checkout", "--quiet", "-b", "other"]);
    repository.write("README.md", "other\n");
    repository.commit("other");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("README.md", "main\n");
    repository.commit("main");
    for operation in ["merge", "rebase"] {
        assert!(!repository.try_git(&[operation, "other"]).status.success());
        let before = repository.dot_git();
        for (words, shows) in [
            ("runs", run.as_str()),
            (&*format!("runs show {run}"), "t1"),
            (&*format!("diff {run}"), "+a\n"),
            (&*format!("conflicts {run}"), ""),
            (&*format!("logs {run}/t1"), ""),
        ] {
            let looked = regatta(&place, &repository, words);
            assert!(looked.code == 0 || words.starts_with("logs"), "{operation}: {looked}");
            assert!(!looked.stderr.contains("in progress"), "{operation}: {looked}");
            assert!(looked.stdout.contains(shows), "{operation}: {looked}");
        }
        let refused = regatta(&place, &repository, &format!("apply {run}"));
        refused.expect_refusal(&["in progress"]);
        assert_eq!(before.differences(&repository.dot_git()), Vec::<String>::new());
        repository.git(&[operation, "--abort"]);
    }
}

/// Gives a folder and everything in it to another user.
fn give_away(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it can be listed").flatten() {
        if entry.file_type().expect("it has a type").is_dir() {
            give_away(&entry.path());
        } else {
            chown(entry.path(), Some(12_345), Some(12_345)).expect("root can");
        }
    }
    chown(folder, Some(12_345), Some(12_345)).expect("root can");
}

#[test]
fn a_store_of_another_user_keeps_its_work_and_is_told() {
    if !rustix::process::geteuid().is_root() {
        return tests::sandbox::skip("a_store_of_another_user", "only root can give files away");
    }
    let place = sandbox();
    let repository = place.repository();
    let run = killed(&place, &repository);
    give_away(&place.home().stores()[0]);
    let folder = workspaces(&place, &run);
    let next = regatta(&place, &repository, "runs");
    if next.stderr.contains("owner") || next.stderr.contains("stays") {
        assert!(folder.join("b/tree/b.txt").exists(), "{next}");
    } else {
        // Root can mend it as well.
        assert!(next.stderr.contains("was cut short"), "{next}");
        let diff = regatta(&place, &repository, &format!("diff {run}/b")).expect_code(0);
        assert!(diff.stdout.contains("+b\n"), "{diff}");
    }
    let owner = fs::metadata(&place.home().stores()[0]).expect("it is there").uid();
    assert_eq!(owner, 12_345);
}

#[test]
fn nothing_is_lost_where_a_manifest_a_table_or_everything_else_is_gone() {
    for gone in sample([".manifests/b.json", ".baseline", ".git-seed", ".manifests"], 2) {
        let place = sandbox();
        let repository = place.repository();
        let run = killed(&place, &repository);
        let folder = workspaces(&place, &run);
        let lost = folder.join(gone);
        let _folder = fs::remove_file(&lost).or_else(|_| fs::remove_dir_all(&lost));
        let next = regatta(&place, &repository, "runs").expect_code(0);
        let kept = folder.join("b/tree/b.txt").exists();
        let captured = regatta(&place, &repository, &format!("diff {run}/b"));
        assert!(kept || captured.stdout.contains("+b\n"), "{gone}: {next}\n{captured}");
        assert!(!kept || next.stderr.contains(&format!("{run}/b is kept")), "{gone}: {next}");
    }
}

#[test]
fn the_workspaces_of_a_run_that_the_ledger_does_not_know_stay() {
    let place = sandbox();
    let repository = place.repository();
    let run = killed(&place, &repository);
    let folder = workspaces(&place, &run);
    for part in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _absent = fs::remove_file(place.home().data().join(part));
    }
    for _ in 0..2 {
        let next = regatta(&place, &repository, "runs").expect_code(0);
        assert!(next.stderr.contains(&format!("the workspaces of run {run} stay")), "{next}");
        assert_eq!(fs::read_to_string(folder.join("b/tree/b.txt")).expect("it stays"), "b\n");
    }
}
