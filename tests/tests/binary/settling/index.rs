//! With `--index`, the index is left as `git merge` leaves it, or nothing is done.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

use test_limit::{by_depth, sample};
use tests::sandbox::{Plan, Repository};

use super::cases::{CASES, Choice, FOLDERS, Form, begin, relabel};
use crate::binary::faults::strace::{Straced, can_strike};
use crate::binary::sandbox;

/// Returns the entries of the index, sorted. git's name of our side is replaced, also in the content
/// of unmerged entries.
fn entries(repository: &Repository) -> Vec<String> {
    let listed = repository.git(&["ls-files", "-s"]);
    let entry = |line: &str| {
        let (about, path) = line.split_once('\t').expect("a line has a path");
        let [mode, oid, stage] = about.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let path = path.replace("~HEAD", "~ours");
        if stage == "0" {
            return format!("{path} {stage} {mode} {oid}");
        }
        let content = repository.git(&["cat-file", "blob", oid]).replace("< HEAD", "< ours");
        format!("{path} {stage} {mode} {content:?}")
    };
    let mut entries: Vec<String> = listed.lines().map(entry).collect();
    entries.sort();
    entries
}

#[test]
fn the_index_and_the_tree_are_those_of_git_merge_for_every_conflict() {
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let base = repository.git(&["rev-parse", "HEAD"]);
    let mut different = Vec::new();
    for case in [sample(CASES, 4), sample(FOLDERS, 1)].concat() {
        let run = case.run(&place, &repository);
        let conflicts = run.events_of("task_conflicted")[0]["conflicts"].clone();
        let conflicts = conflicts.as_array().expect("it is a list");
        let is_of_kind = |conflict: &serde_json::Value| conflict["reason"] == case.reason;
        assert!(conflicts.iter().any(is_of_kind), "{}: {run}", case.name);
        // In git, our side is committed.
        repository.commit("ours");
        let apply = place.regatta(repository.root()).words("apply @ theirs --markers --index");
        let applied = apply.run().expect_code(0);
        let git = case.merged_in_git(&place, Choice::Markers, Form::default());
        let (ours, expected) = (entries(&repository), entries(&git));
        relabel(&git);
        if ours != expected || repository.tree_id() != git.tree_id() {
            let name = case.name;
            different.push(format!("{name}: {applied}\n{ours:#?}\nnot\n{expected:#?}"));
        }
        repository.git(&["reset", "--quiet", "--hard", base.trim()]);
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_file_that_git_would_filter_is_never_staged_as_it_is() {
    for attributes_by in ["the repository", "the task"] {
        let place = sandbox();
        let repository = place.repository();
        begin(&repository);
        repository.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
        repository.write("a.up", "hello\n");
        let attributes = "*.up filter=up\n";
        if attributes_by == "the repository" {
            repository.write(".gitattributes", attributes);
        }
        repository.commit("filter");
        let begins =
            format!("echo world >> a.up; printf '{}' > .gitattributes", "*.up filter=up\\n");
        let plan = Plan::default()
            .task("ours", "echo ours >> list.txt")
            .task("theirs", &format!("echo theirs >> list.txt; {begins}"));
        let _run = place.run_plan(&repository, &plan).run().expect_code(4);
        let (tree, dot_git) = (repository.tree(), repository.dot_git());
        let apply = place.regatta(repository.root()).words("apply @ theirs --markers --index");
        let refused = apply.run();
        assert_eq!(repository.dot_git(), dot_git, "{attributes_by}: {refused}");
        let said = [refused.stdout.as_str(), refused.stderr.as_str()].concat();
        assert_ne!(refused.code, 0, "{attributes_by}: {refused}");
        assert!(said.contains("git would stage a.up through a program"), "{refused}");
        if attributes_by == "the repository" {
            assert_eq!(repository.tree(), tree, "{refused}");
        }
    }
}

#[test]
fn a_kill_while_the_index_is_staged_leaves_no_lock_and_a_whole_index() {
    if !can_strike("a_kill_while_the_index_is_staged_leaves_no_lock_and_a_whole_index") {
        return;
    }
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let plan = Plan::default()
        .task("ours", "echo ours >> list.txt")
        .task("theirs", "echo theirs >> list.txt; echo new > new.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let git = repository.path(".git");
    let mut straced = Straced::of(place, repository, "apply @ theirs --markers --index");
    let concerned = ["index", "index.lock", "regatta-refs", "regatta-refs/index"].iter();
    straced.only = concerned.map(|name| format!(" -P '{}'", git.join(name).display())).collect();
    let (mut kills, mut indexes) = (0, BTreeSet::new());
    let calls = ["mkdir", "link", "linkat", "openat", "rename", "fsync", "unlink", "unlinkat"];
    for call in sample(calls, 3) {
        for number in 1..by_depth(2, 40) {
            straced.restore();
            let inject = format!("-e trace={call} -e inject={call}:signal=KILL:when={number}");
            let (ended, _log) = straced.run(&inject);
            let _next = straced.regatta("runs").expect_code(0);
            let at = format!("{call} {number}: {ended}");
            let left = fs::read_dir(&git).expect("it can be read");
            let left: Vec<_> = left.map(|it| it.expect("it can be read").file_name()).collect();
            let is_left = |name: &OsString| {
                let name = name.to_string_lossy();
                name.ends_with(".lock") || name.starts_with("regatta-")
            };
            assert!(!left.iter().any(is_left), "{at}: {left:?}");
            indexes.insert(straced.repository.git(&["ls-files", "-s"]));
            if ended.code == 0 {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= by_depth(1, 6), "only {kills} kills");
    straced.restore();
    let old = straced.repository.git(&["ls-files", "-s"]);
    let _whole = straced.regatta(straced.words).expect_code(0);
    let whole = BTreeSet::from([old, straced.repository.git(&["ls-files", "-s"])]);
    assert!(indexes.is_subset(&whole), "it is the old index or the new one: {indexes:#?}");
    assert!(indexes.len() >= by_depth(1, 2), "both are there: {indexes:#?}");
}
