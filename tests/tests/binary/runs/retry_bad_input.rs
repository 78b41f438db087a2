//! Retries that make no sense: each is refused with one clear error.

use std::time::Duration;

use tests::sandbox::{Finished, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

#[test]
fn a_run_is_retried_when_its_engine_was_killed_and_not_while_it_is_still_going_on() {
    let place = sandbox();
    let repository = place.repository();
    let mark = place.folder().join("at-work");
    let script =
        format!("test -e {0} && exit 0; : > {0}; while :; do sleep 0.05; done", mark.display());
    let running = place.run_in(&repository).exec(&script).start();
    eventually(Duration::from_secs(60), "it is at work", || mark.exists());
    regatta(&place, &repository, "runs retry --all").expect_refusal(&["still running"]);
    let _killed = running.kill();
    let shown = regatta(&place, &repository, "runs show").expect_code(0);
    assert!(shown.stdout.contains("--cancelled"), "{shown}");
    let finished = regatta(&place, &repository, "runs retry --cancelled --json").expect_code(0);
    assert_eq!(finished.names_in("task_finished"), ["t1"], "{finished}");
}

#[test]
fn tasks_that_are_not_there_options_without_an_effect_and_places_that_are_gone_are_refused() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("deep/er/file", "x");
    repository.commit("deep");
    regatta(&place, &repository, "runs retry").expect_refusal(&["no run yet"]);
    let plan = Plan::default().task("old-name", "exit 3").task("other", "true");
    let run = place.regatta(&repository.path("deep/er")).words("run --json --plan -");
    let run = run.stdin(plan.text()).run().expect_code(3).run_name();
    let refused = |words: &str, named: &[&str]| {
        let finished = regatta(&place, &repository, &format!("runs retry {words}"));
        finished.expect_refusal(named);
    };
    refused(&format!("{run} new-name"), &["new-name", "old-name", "other"]);
    refused(&format!("{run}/new-name"), &["new-name"]);
    refused("rzzzzz", &["rzzzzz", &run]);
    refused("--cancelled", &["none", "--all"]);
    refused("--all --failed", &["--all", "--failed"]);
    for (options, named) in [
        ("--model a/b", &["--model", "no task"][..]),
        ("--limit turns=3", &["turns"]),
        ("--base-url http://127.0.0.1", &["--base-url"]),
    ] {
        refused(&format!("{run} {options}"), named);
    }
    let inside = place.regatta(repository.root()).words("runs retry").env("REGATTA_TASK", "auth");
    inside.run().expect_refusal(&["auth", "already"]);
    std::fs::remove_dir_all(repository.path("deep")).unwrap();
    refused(&run, &[&run, "deep/er", "does not exist"]);
    place.expect_nothing_left(&repository);
    expect_refused_elsewhere(&place, &repository, &run);
}

/// Expects that `run` is not retried from another repository, nor after its own has moved away.
fn expect_refused_elsewhere(place: &Sandbox, repository: &Repository, run: &str) {
    let other = Repository::init(&place.folder().join("other"));
    other.commit("other");
    let words = format!("runs retry {run}");
    regatta(place, &other, &words).expect_refusal(&[run, "another repository", "--repo"]);
    let moved = place.folder().join("moved");
    std::fs::rename(repository.root(), &moved).expect("it can be moved");
    regatta(place, &other, &words).expect_refusal(&[run, "does not exist any more"]);
    let gone = format!("{words} --repo {}", repository.root().display());
    regatta(place, &other, &gone).expect_refusal(&["app"]);
    regatta(place, &Repository::at(&moved), &words)
        .expect_refusal(&[run, "does not exist any more"]);
}

#[test]
fn a_predecessor_that_is_not_done_or_whose_work_is_gone_is_named_with_what_to_do() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("bad", "test -e \"$REGATTA_REPO/../go\" && echo bad > bad.txt")
        .task("after", "test -f bad.txt")
        .after(&["bad"])
        .task("good", "echo good > good.txt")
        .task("on-good", "exit 3")
        .after(&["good"]);
    let run = place.run_plan(&repository, &plan).run().expect_code(3).run_name();
    let both = format!("regatta runs retry {run} bad after");
    let retry = |words: &str| regatta(&place, &repository, &format!("runs retry {run} {words}"));
    retry("after").expect_refusal(&["after", "bad", "is not done", &both]);
    repository.git(&["clean", "--quiet", "-fd"]);
    let again = format!("regatta apply {run}/good --again");
    retry("on-good").expect_refusal(&["on-good", "good.txt", "is missing from the", &again]);
    let _again = regatta(&place, &repository, &format!("apply {run}/good --again")).expect_code(0);
    let _failed = retry("on-good").expect_code(5);
    // What a later retry has done counts as well.
    std::fs::write(place.folder().join("go"), "").unwrap();
    let _done = retry("bad").expect_code(0);
    let _done = retry("after").expect_code(0);
}

#[test]
fn the_work_before_a_predecessor_without_a_change_and_that_of_the_first_run_has_to_be_in_the_tree()
{
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("work", "echo work > work.txt")
        .task("look", "test -f work.txt && echo seen")
        .after(&["work"])
        .task("last", "exit 3")
        .after(&["look"]);
    let run = place.run_plan(&repository, &plan).words("--merge none").run();
    let run = run.expect_code(3).run_name();
    let apply = format!("regatta apply {run}/work");
    let retry = regatta(&place, &repository, "runs retry @ last");
    retry.expect_refusal(&["last", "work", "has not landed", &apply]);

    // The retry of a retry needs what the first run has landed.
    let plan = Plan::default()
        .task("good", "echo good > good.txt")
        .task("bad", "test -f good.txt && exit 3")
        .after(&["good"]);
    let run = place.run_plan(&repository, &plan).run().expect_code(3).run_name();
    let _failed = regatta(&place, &repository, &format!("runs retry {run}")).expect_code(5);
    repository.git(&["clean", "--quiet", "-fd"]);
    let again = format!("regatta apply {run}/good --again");
    regatta(&place, &repository, "runs retry @").expect_refusal(&["bad", "good.txt", &again]);
}
