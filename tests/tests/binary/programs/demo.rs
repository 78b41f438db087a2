//! `regatta demo`, judged from outside.

use std::collections::BTreeSet;
use std::path::Path;

use test_limit::sample;
use tests::sandbox::{Home, Repository};

use crate::binary::sandbox;

#[test]
fn the_demo_lands_six_nonces_keeps_two_captures_and_finishes_eight_tasks() {
    let place = sandbox();
    let keep = place.folder().join("kept");
    let demo = place.regatta(place.folder()).words("demo --json --keep").arg(&keep);
    let finished = demo.run().expect_code(0);

    let ends = finished.names_in("task_finished");
    assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), 8, "{finished}");
    assert_eq!(ends.len(), 8, "exactly one task_finished per task: {finished}");
    let landed = finished.landed();
    assert_eq!(landed.len(), 6, "{finished}");
    assert_eq!(finished.names_in("task_conflicted").len(), 1, "{finished}");
    let failed = finished.events_of("task_finished");
    let failed: Vec<_> = failed.iter().filter(|event| event["outcome"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{finished}");

    let (repository, home) = kept(&keep);
    let run = finished.run_name();
    let names: Vec<_> = home.ledger_tasks().into_iter().map(|task| task.name).collect();
    let nonces: Vec<_> = names.into_iter().map(|name| (nonce(&repository, &name), name)).collect();
    assert_eq!(nonces.len(), 8);
    let distinct: BTreeSet<_> = nonces.iter().map(|(nonce, _)| nonce).collect();
    assert_eq!(distinct.len(), 8, "each task has a nonce of its own: {nonces:?}");

    let diff = repository.git(&["diff", "HEAD"]);
    let untracked = repository.git(&["ls-files", "--others", "--exclude-standard"]);
    let new: String = untracked.lines().map(|path| repository.text(path)).collect();
    let tree = format!("{diff}{new}");
    for (nonce, task) in &nonces {
        assert_eq!(tree.contains(nonce.as_str()), landed.contains(task), "{task}: {nonce}");
        let capture = format!("refs/tasks/{run}/{task}/1");
        let patch = home.store_git(&["show", "--format=", &capture]);
        assert!(patch.contains(nonce.as_str()), "the capture of {task}: {patch}");
    }
    let reminded: BTreeSet<_> = finished.names_in("contract_reminded").into_iter().collect();
    assert_eq!(reminded, BTreeSet::from(["billing".to_owned()]), "{finished}");
    for (nonce, task) in &nonces {
        let log = home.data().join(format!("artifacts/{run}/{task}/session.jsonl"));
        let log = std::fs::read_to_string(log).unwrap();
        let first = log.lines().find(|line| line.contains(nonce.as_str())).unwrap();
        assert!(first.contains(r#""role":"toolResult""#), "{task} knew its number: {first}");
    }
    let states = home.ledger_tasks();
    assert_eq!(states.iter().filter(|task| task.state == "done").count(), 7);
    assert_eq!(states.iter().filter(|task| task.state == "failed").count(), 1);
    let kept = home.ledger("SELECT count(*) FROM landing WHERE result = 'conflicted'", |row| {
        row.get::<_, i64>(0)
    });
    assert_eq!(kept, [1]);
    assert_eq!(home.captures().len(), 8, "two of them are kept and nowhere else");
    assert_eq!(repository.faults(), "");
    assert_eq!(home.leftovers(), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

/// Returns the repository and the home that `--keep` left.
fn kept(folder: &Path) -> (Repository, Home) {
    (Repository::at(&folder.join("sample")), Home::at(&folder.join("home")))
}

/// Returns the number that a task can only have read from its ticket.
fn nonce(repository: &Repository, task: &str) -> String {
    let ticket = repository.git(&["show", &format!("HEAD:tickets/{task}.md")]);
    let line = ticket.lines().find_map(|line| line.strip_prefix("ticket: "));
    line.unwrap_or_else(|| panic!("a number in {ticket}")).to_owned()
}

#[test]
fn the_demo_shows_the_table_the_diff_and_what_to_type_next_and_changes_nothing_else() {
    let place = sandbox();
    let temporary = place.folder().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let demo = place.regatta(place.folder()).words("demo").env("TMPDIR", &temporary);
    let finished = demo.run().expect_code(0);
    for word in ["6 landed", "1 conflict", "1 failed", "diff --git", "regatta "] {
        assert!(finished.stdout.contains(word), "{word} in {finished}");
    }
    assert!(!finished.stdout.contains("undo"), "{finished}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
    assert!(!place.home().data().exists(), "the user's own home is not touched");
    place.expect_no_process(std::time::Duration::from_secs(5));

    let keep = place.folder().join("kept");
    std::fs::create_dir(&keep).unwrap();
    std::fs::write(keep.join("mine.txt"), "mine\n").unwrap();
    let finished = place.regatta(place.folder()).words("demo --keep").arg(&keep).run();
    assert_eq!(std::fs::read_to_string(keep.join("mine.txt")).unwrap(), "mine\n", "{finished}");
}

#[test]
fn a_demo_whose_result_is_wrong_fails_loudly() {
    for fault in sample(["fail@capture.lost:*", "fail@tool.edit:3", "fail@capture.begin:3"], 1) {
        let place = sandbox();
        let finished = place.regatta(place.folder()).words("demo").fault(fault).run();
        assert_eq!(finished.code, 70, "{fault}: {finished}");
        assert!(finished.stderr.contains("error: "), "{fault}: {finished}");
    }
}

#[test]
fn a_session_that_crashes_and_a_tool_that_panics_do_not_spoil_the_demo() {
    for fault in sample(["crash@session:2", "crash@tool.bash:3"], 1) {
        let place = sandbox();
        let finished = place.regatta(place.folder()).words("demo").fault(fault).run();
        assert_eq!(finished.code, 0, "{fault}: {finished}");
    }
}

#[test]
fn on_a_terminal_the_demo_ends_with_the_table_and_a_diff_that_is_cut_to_fit() {
    let place = sandbox();
    let mut screen = place.regatta(place.folder()).words("demo").on_a_screen(50, 100);
    assert!(screen.wait().success(), "{}", screen.text());
    let text = screen.text();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in\n{text}"));
    let places = [
        at("what landed, as `git diff` shows it"),
        at("diff --git"),
        at(" more lines of the diff"),
        at("task      outcome"),
        at("6 landed · 1 conflict · 1 failed"),
        at("next  regatta demo --keep"),
    ];
    assert!(places.is_sorted(), "{places:?} in\n{text}");
}
