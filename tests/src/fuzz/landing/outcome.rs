//! One round from beginning to end: run it, and compare everything with what the judge says.

use serde_json::Value;

use super::disk::{self, Prepared};
use super::oracle::{self, Change, Expected, Fate};
use super::renames;
use super::scenario::{Scenario, Task};
use crate::fuzz::commit::files_of;
use crate::fuzz::files::{Listing, OnDisk, all_folders, differences, folders};
use crate::fuzz::{Random, report};
use crate::sandbox::{Finished, Home, Sandbox};

/// Runs a round in `sandbox`.
///
/// # Panics
/// When the landing is not what it must be; the round is printed.
pub fn check(sandbox: &Sandbox, random: &mut Random) {
    let scratch = sandbox.folder().join("scratch");
    std::fs::create_dir(&scratch).expect("a folder can be made");
    let mut scenario = Scenario::random(random, &scratch);
    while renames::are_followed(&scenario) {
        scenario = Scenario::random(random, &scratch);
    }
    let expected = oracle::land(&scenario, &scratch);
    let prepared = disk::prepare(sandbox, &scenario, random);
    let described = Described { scenario: &scenario, expected: &expected };
    run(sandbox, &prepared, &described, random);
}

/// Prints a round when the comparison of it panics.
struct Described<'r> {
    scenario: &'r Scenario,
    expected: &'r Expected,
}

impl Drop for Described<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&format!("{}", self.scenario));
            report(&format!("fates {:?}", self.expected.fates));
            report(&format!("{}", Listing("expected tree", &self.expected.tree)));
        }
    }
}

fn run(sandbox: &Sandbox, prepared: &Prepared, described: &Described<'_>, random: &mut Random) {
    let Described { scenario, expected } = described;
    let Prepared { repository, plan } = prepared;
    let git = repository.dot_git();
    let before = OnDisk::read(repository.root(), &scenario.taken);
    assert_eq!(differences(&scenario.tree, &before.files), Vec::<String>::new(), "set up");

    let finished = sandbox.run_plan(repository, plan).run();
    let after = OnDisk::read(repository.root(), &scenario.taken);
    let said = || format!("{finished}");
    let changed = differences(&expected.tree, &after.files);
    assert_eq!(changed, Vec::<String>::new(), "the tree after {}", said());
    expect_fates(&finished, &scenario.tasks, &expected.fates);
    let mut all = all_folders(&expected.tree);
    all.extend(scenario.taken.iter().flat_map(|path| folders(path)).map(<[u8]>::to_vec));
    let taken = scenario.taken.iter().filter(|path| *path == disk::REPOSITORY).cloned();
    all.extend(taken);
    assert_eq!(all, after.folders, "the folders after {}", said());
    assert_eq!(before.special, after.special, "{}", said());
    if scenario.user.is_none() {
        for (path, mode) in &before.permissions {
            let now = after.permissions.get(path).unwrap_or(mode);
            assert_eq!(mode & 0o666, now & 0o666, "mode of {}: {}", path.escape_ascii(), said());
        }
    }
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new(), "{}", said());
    sandbox.expect_nothing_left(repository);
    expect_captured(sandbox.home(), &finished, &scenario.tasks, random);
}

/// Checks what is said of each task, and how the program ends.
fn expect_fates(finished: &Finished, tasks: &[Task], fates: &[Fate]) {
    let names = |wanted: &dyn Fn(&Fate) -> bool| {
        let wanted = tasks.iter().zip(fates).filter(|(_, fate)| wanted(fate));
        wanted.map(|(task, _)| task.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&|fate| *fate == Fate::Landed), finished.landed(), "landed in {finished}");
    let conflicted = names(&|fate| matches!(fate, Fate::Conflicted(_)));
    assert_eq!(conflicted, finished.names_in("task_conflicted"), "conflicted in {finished}");
    for event in finished.events_of("task_conflicted") {
        let at = tasks.iter().position(|task| event["task"] == task.name.as_str());
        let conflicts = event["conflicts"].as_array().expect("it has a list of them");
        let reason = |conflict: &Value| conflict["reason"].as_str().unwrap_or_default().to_owned();
        let mut reasons: Vec<_> = conflicts.iter().map(reason).collect();
        let Fate::Conflicted(expected) = &fates[at.expect("it is one of ours")] else {
            panic!("{event} in {finished}");
        };
        let mut expected: Vec<String> = expected.iter().map(|&reason| reason.to_owned()).collect();
        // The oracle does not look at the index: an untracked file is one that both have added.
        if reasons.iter().any(|reason| reason == "untracked") {
            for reason in reasons.iter_mut().chain(&mut expected) {
                if matches!(reason.as_str(), "untracked" | "mode") {
                    "both_added".clone_into(reason);
                }
            }
        }
        // Nor does it see that a link is renamed which one task changed and the next one moved: it looks at each task
        // by itself.
        let is_renamed = |conflict: &&Value| !conflict["renamed"].is_null();
        if conflicts.iter().filter(is_renamed).any(|conflict| reason(conflict) == "kind") {
            for reason in reasons.iter_mut().chain(&mut expected) {
                if reason == "kind" {
                    "changed_and_removed".clone_into(reason);
                }
            }
        }
        reasons.sort_unstable();
        expected.sort_unstable();
        assert_eq!(expected, reasons, "{event} in {finished}");
    }
    let started = names(&|fate| *fate != Fate::NotStarted);
    assert_eq!(started, finished.names_in("workspace_ready"), "started in {finished}");
    let any = |wanted: &dyn Fn(&Fate) -> bool| fates.iter().any(wanted);
    let has_failed = |fate: &Fate| matches!(fate, Fate::Failed | Fate::NotStarted);
    let code = if fates.iter().all(has_failed) {
        5
    } else if any(&has_failed) {
        3
    } else if any(&|fate| matches!(fate, Fate::Conflicted(_) | Fate::Waiting)) {
        4
    } else {
        0
    };
    assert_eq!(code, finished.code, "{finished}");
}

/// Checks that one of the captures, of a task that did not land if there is one, is exactly what
/// the task did.
fn expect_captured(home: &Home, finished: &Finished, tasks: &[Task], random: &mut Random) {
    let landed = finished.landed();
    let mut captured: Vec<_> = tasks.iter().filter(|task| !task.changes.is_empty()).collect();
    if captured.iter().any(|task| !landed.contains(&task.name)) {
        captured.retain(|task| !landed.contains(&task.name));
    }
    if captured.is_empty() {
        return;
    }
    let task = *random.pick(&captured);
    let reference = finished.task(&task.name)["capture"].as_str().unwrap_or_default().to_owned();
    let expected = task.changes.iter().flat_map(|(path, change)| {
        let Change { base, task } = change;
        let side = |side: &str, node: &Option<_>| {
            let path = [side.as_bytes(), b"/", path].concat();
            node.clone().map(|node| (path, node))
        };
        [side("base", base), side("task", task)]
    });
    let expected = expected.flatten().collect();
    let stores = home.stores();
    assert_eq!(stores.len(), 1, "one task store: {stores:?}");
    let found = files_of(&stores[0], &reference);
    let changed = differences(&expected, &found);
    assert_eq!(changed, Vec::<String>::new(), "{reference} after {finished}");
}
