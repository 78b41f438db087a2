//! Merging against trees and bytes in memory.

mod chains;
mod renames;
mod settled;
mod taking_back;

use std::cell::RefCell;
use std::collections::BTreeMap;

use engine::ports::{LandingTask, SettleRequest};
use git2::{ObjectType, Oid};
use proptest::prelude::*;
use protocol::{CaptureRef, Conflict, ConflictReason, Landed, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::{Blobs, EntryState, MergeTarget, Merger, merge_tasks};

/// Bytes in memory.
#[derive(Default)]
struct Bytes(RefCell<BTreeMap<Oid, Vec<u8>>>);

impl Blobs for Bytes {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        Ok(self.0.borrow()[&oid].clone())
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        let oid = Oid::hash_object(ObjectType::Blob, bytes).unwrap();
        self.0.borrow_mut().insert(oid, bytes.to_vec());
        Ok(oid)
    }
}

/// A tree in memory. An entry without content stands for a device.
#[derive(Default)]
struct Memory {
    bytes: Bytes,
    entries: BTreeMap<RepoPath, Option<Entry>>,
}

impl Memory {
    fn of(files: &[(&str, &str)]) -> Self {
        let mut memory = Self::default();
        for (name, content) in files {
            let entry = memory.entry(Mode::File, content);
            memory.entries.insert(path(name), entry);
        }
        memory
    }

    fn entry(&self, mode: Mode, content: &str) -> Option<Entry> {
        Some(Entry { mode, oid: self.bytes.write(content.as_bytes()).unwrap() })
    }

    /// A change of a file from one content to another; empty stands for absent.
    fn change(&self, name: &str, base: &str, task: &str) -> Change {
        let side = |content: &str| {
            if content.is_empty() { None } else { self.entry(Mode::File, content) }
        };
        Change::new(path(name), side(base), side(task))
    }

    /// Folds tasks `t0`, `t1`, … and returns the tree afterwards and each task's conflicts.
    fn merge_all(&self, tasks: &[Vec<Change>]) -> (BTreeMap<String, String>, Vec<Vec<Conflict>>) {
        let mut merger = Merger::over(self, &self.bytes);
        let mut conflicts = Vec::new();
        for (number, changes) in tasks.iter().enumerate() {
            conflicts.push(
                merger.add(&task(number), &none(), changes).unwrap().err().unwrap_or_default(),
            );
        }
        let mut after = self.entries.clone();
        for (path, touched) in merger.finish() {
            assert_eq!(touched.before, after.get(&path).copied().flatten(), "{path}");
            match touched.after {
                Some(entry) => after.insert(path, Some(entry)),
                None => after.remove(&path),
            };
        }
        let text = |entry: Option<Entry>| {
            entry.map_or("device".into(), |entry| self.bytes.read(entry.oid).unwrap())
        };
        let after = after
            .into_iter()
            .map(|(path, entry)| (path.to_string(), String::from_utf8(text(entry)).unwrap()));
        (after.collect(), conflicts)
    }
}

impl MergeTarget for Memory {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        Ok(match self.entries.get(path) {
            Some(Some(entry)) => EntryState::Entry(*entry),
            Some(None) => EntryState::Foreign,
            None if self.entries.keys().any(|below| below.is_below(path)) => EntryState::Folder,
            None => EntryState::Missing,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let below = self.entries.keys().filter(|path| path.is_below(folder));
        Ok(below.into_iter().find(|path| !goes(path)).cloned())
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn none() -> std::collections::BTreeSet<TaskName> {
    std::collections::BTreeSet::new()
}

fn task(number: usize) -> TaskName {
    format!("t{number}").parse().unwrap()
}

fn reasons(conflicts: &[Conflict]) -> Vec<(String, ConflictReason, Option<TaskName>)> {
    conflicts.iter().map(|c| (c.path.to_string(), c.reason, c.with.clone())).collect()
}

#[test]
fn thirty_two_insertions_into_one_file_all_land_also_one_line_apart() {
    let lines: Vec<String> = (0..2_000).map(|line| format!("line {line}\n")).collect();
    let base = lines.concat();
    for apart in [1, 60] {
        let memory = Memory::of(&[("file", &base)]);
        let paths: Vec<usize> = (0..32).map(|number| 10 + number * apart).collect();
        let with = |paths: &[usize]| {
            let mut lines = lines.clone();
            for place in paths {
                lines[*place].push_str(&format!("inserted after {place}\n"));
            }
            lines.concat()
        };
        let tasks: Vec<_> = paths
            .iter()
            .map(|place| vec![memory.change("file", &base, &with(&[*place]))])
            .collect();
        let (after, conflicts) = memory.merge_all(&tasks);
        assert!(conflicts.iter().all(Vec::is_empty), "{apart} apart: {conflicts:?}");
        assert_eq!(after["file"], with(&paths), "{apart} apart");
    }
}

#[test]
fn insertions_land_in_any_order_and_over_edits_of_the_user() {
    let base: String = (0..100).map(|line| format!("{line}\n")).collect();
    let edited = base.replace("50\n", "fifty\n").replace("99\n", "");
    let memory = Memory::of(&[("file", &edited)]);
    let mut numbers: Vec<usize> = (0..32).collect();
    numbers.reverse();
    let insert = |text: &str, number: usize| {
        text.replace(&format!("\n{number}\n"), &format!("\n{number}\nnew {number}\n"))
    };
    let tasks: Vec<_> = numbers
        .iter()
        .map(|number| vec![memory.change("file", &base, &insert(&base, number + 1))])
        .collect();
    let (after, conflicts) = memory.merge_all(&tasks);
    assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
    assert_eq!(
        after["file"],
        numbers.iter().fold(edited, |text, number| insert(&text, number + 1))
    );
}

#[test]
fn two_tasks_that_rewrite_one_line_conflict_and_the_second_is_told_with_whom() {
    let memory = Memory::of(&[("a", "1\n2\n3\n"), ("b", "x\n")]);
    let first = vec![memory.change("a", "1\n2\n3\n", "1\nfirst\n3\n")];
    let second =
        vec![memory.change("a", "1\n2\n3\n", "1\nsecond\n3\n"), memory.change("b", "x\n", "y\n")];
    let (after, conflicts) = memory.merge_all(&[first, second]);
    assert_eq!(after, Memory::of(&[("a", "1\nfirst\n3\n"), ("b", "x\n")]).merge_all(&[]).0);
    assert_eq!(reasons(&conflicts[0]), []);
    let [conflict] = conflicts[1].as_slice() else { panic!("{conflicts:?}") };
    assert_eq!((conflict.reason, &conflict.with), (ConflictReason::Content, &Some(task(0))));
    let side = |content| memory.entry(Mode::File, content).map(Entry::to_side);
    assert_eq!(conflict.base, side("1\n2\n3\n"));
    assert_eq!(conflict.ours, side("1\nfirst\n3\n"));
    assert_eq!(conflict.theirs, side("1\nsecond\n3\n"));
}

#[test]
fn every_pair_of_changes_of_one_path_has_the_outcome_it_should() {
    use ConflictReason::{Binary, BothAdded, ChangedAndRemoved, Content, Kind};
    const MODE: ConflictReason = ConflictReason::Mode;
    let memory = Memory::default();
    let file = |text| memory.entry(Mode::File, text);
    let run = |text| memory.entry(Mode::Executable, text);
    let link = |text| memory.entry(Mode::Link, text);
    let two = "a\nb\nc\nd\n";
    for (base, ours, theirs, expected) in [
        (None, None, file("x"), Ok(file("x"))),
        (None, file("x"), file("x"), Ok(file("x"))),
        (None, file("x"), file("y"), Err(BothAdded)),
        (None, file("x"), run("x"), Err(MODE)),
        (None, file("x"), run("y"), Err(BothAdded)),
        (file("x"), None, None, Ok(None)),
        (file("x"), file("x"), None, Ok(None)),
        (file("x"), None, file("y"), Err(ChangedAndRemoved)),
        (file("x"), file("y"), None, Err(ChangedAndRemoved)),
        (file("x"), file("y"), file("z"), Err(Content)),
        (file("x"), run("x"), file("y"), Ok(run("y"))),
        (file("x"), file("y"), run("x"), Ok(run("y"))),
        (run("x"), file("x"), run("y"), Ok(file("y"))),
        (file("x"), run("x"), run("y"), Ok(run("y"))),
        (file("x\0"), file("y\0"), file("z\0"), Err(Binary)),
        (file("x\0"), file("x\0"), file("z\0"), Ok(file("z\0"))),
        (link("x"), link("y"), link("z"), Err(Content)),
        (link("x"), link("x"), link("z"), Ok(link("z"))),
        (file("x"), link("x"), file("y"), Err(Kind)),
        (link("x"), link("y"), file("x"), Err(Kind)),
        (file("x"), file("y"), link("y"), Err(Kind)),
        (file(two), file("A\nb\nc\nd\n"), run("a\nb\nc\nD\n"), Ok(run("A\nb\nc\nD\n"))),
        (file("x"), file(""), file("x\ny"), Err(Content)),
    ] {
        let rule = || Ok(super::MergeRule::Text);
        let merged = super::three_way(&memory.bytes, &rule, base, ours, theirs)
            .unwrap()
            .map(|merged| merged.entry);
        assert_eq!(merged, expected, "{base:?} {ours:?} {theirs:?}");
    }
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file() {
    let memory = Memory::of(&[("a", "1"), ("d/x", "2"), ("d/e/y", "3"), ("keep", "4")]);
    let tasks = [vec![
        memory.change("a", "1", ""),
        memory.change("a/b/c", "", "5"),
        memory.change("d", "", "6"),
        memory.change("d/e/y", "3", ""),
        memory.change("d/x", "2", ""),
    ]];
    let (after, conflicts) = memory.merge_all(&tasks);
    assert_eq!(reasons(&conflicts[0]), []);
    assert_eq!(after, Memory::of(&[("a/b/c", "5"), ("d", "6"), ("keep", "4")]).merge_all(&[]).0);
}

#[test]
fn what_stands_in_the_way_is_a_conflict_whoever_put_it_there() {
    let memory = Memory::of(&[("d/x", "1"), ("f", "2")]);
    let in_the_way = |path: &str, with| vec![(path.to_owned(), ConflictReason::InTheWay, with)];
    let tasks = [
        // The user's own file stands below the folder that is to become a file.
        vec![memory.change("d", "", "new")],
        // The user's own file stands where a folder is wanted.
        vec![memory.change("f/x", "", "new")],
        vec![memory.change("g", "", "new"), memory.change("h/x", "", "new")],
        vec![memory.change("g/x", "", "new")],
        vec![memory.change("h", "", "new")],
        vec![memory.change("d/x", "1", ""), memory.change("d/y", "", "new")],
        vec![memory.change("d", "", "new")],
    ];
    let (after, conflicts) = memory.merge_all(&tasks);
    assert_eq!(reasons(&conflicts[0]), in_the_way("d", None));
    assert_eq!(reasons(&conflicts[1]), in_the_way("f/x", None));
    assert_eq!(reasons(&conflicts[3]), in_the_way("g/x", Some(task(2))));
    assert_eq!(reasons(&conflicts[4]), in_the_way("h", Some(task(2))));
    assert_eq!(reasons(&conflicts[6]), in_the_way("d", Some(task(5))));
    let end = [("d/y", "new"), ("f", "2"), ("g", "new"), ("h/x", "new")];
    assert_eq!(after, Memory::of(&end).merge_all(&[]).0);
}

#[test]
fn what_is_foreign_is_not_touched_and_nothing_below_it() {
    let mut memory = Memory::of(&[("nested/file", "1")]);
    memory.entries.insert(path("nested"), None);
    let tasks = [
        vec![memory.change("nested", "", "new")],
        vec![memory.change("nested/new", "", "new")],
        vec![memory.change("nested/file", "1", "")],
    ];
    let (_, conflicts) = memory.merge_all(&tasks);
    for conflicts in conflicts {
        assert_eq!(conflicts[0].reason, ConflictReason::InTheWay, "{conflicts:?}");
    }
}

#[test]
fn a_contested_path_is_a_conflict_and_the_other_paths_land() {
    let memory = Memory::of(&[("a", "1"), ("b", "2")]);
    let contested = [path("a")].into();
    let mut merger = Merger::over(&memory, &memory.bytes).without(&contested);
    let conflicts =
        merger.add(&task(0), &none(), &[memory.change("a", "1", "x")]).unwrap().unwrap_err();
    assert_eq!(reasons(&conflicts), [("a".to_owned(), ConflictReason::Contested, None)]);
    merger.add(&task(1), &none(), &[memory.change("b", "2", "x")]).unwrap().unwrap();
    assert_eq!(merger.finish().len(), 1);
}

#[test]
fn a_task_waits_for_predecessors_that_did_not_land_and_an_empty_one_has_nothing_to_land() {
    let memory = Memory::of(&[("a", "1")]);
    let run = "r7k3f".parse().unwrap();
    let capture = |number| CaptureRef::of(&run, &task(number), 1);
    let works: BTreeMap<CaptureRef, Vec<Change>> = [
        (capture(0), vec![memory.change("a", "0", "2")]),
        (capture(1), vec![memory.change("b", "", "3")]),
        (capture(2), vec![memory.change("c", "", "4")]),
        (capture(3), vec![]),
        (capture(4), vec![memory.change("d", "", "5")]),
    ]
    .into();
    let tasks: Vec<LandingTask> = [vec![], vec![0], vec![1], vec![0], vec![3, 9]]
        .into_iter()
        .enumerate()
        .map(|(number, on)| LandingTask {
            task: task(number),
            capture: capture(number),
            depends_on: on.into_iter().map(task).collect(),
            message: String::new(),
            settle: SettleRequest::default(),
        })
        .collect();
    let mut merger = Merger::over(&memory, &memory.bytes);
    let landings = merge_tasks(&mut merger, (&tasks, &[]), &|capture| Ok(works[capture].clone()));
    let landed: Vec<_> = landings.into_iter().map(|landing| landing.landed).collect();
    assert!(matches!(landed[0], Landed::Conflicted { .. }), "{landed:?}");
    assert_eq!(
        landed[1..],
        [
            Landed::Waiting { on: vec![task(0)] },
            Landed::Waiting { on: vec![task(1)] },
            Landed::Unchanged,
            Landed::Landed { branch: None, joined: Vec::new() },
        ]
    );
    assert_eq!(merger.finish().into_keys().collect::<Vec<_>>(), [path("d")]);
}

#[test]
fn what_one_task_removed_and_another_added_like_it_is_no_rename() {
    let lines: String = (0..20).map(|line| format!("line {line}\n")).collect();
    let memory = Memory::of(&[("old/file", &lines), ("keep", "1")]);
    let tasks = [
        vec![memory.change("old/file", &lines, "")],
        vec![memory.change("new/file", "", &lines)],
        vec![memory.change("old/fresh", "", "2")],
    ];
    let end = [("keep", "1"), ("new/file", &lines), ("old/fresh", "2")];
    let expected = Memory::of(&end).merge_all(&[]).0;
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let (after, conflicts) = memory.merge_all(&order.map(|at: usize| tasks[at].clone()));
        assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
        assert_eq!(after, expected, "{order:?}");
    }
}

/// Up to six tasks on paths of their own, in folders they share.
fn disjoint() -> impl Strategy<Value = Vec<Vec<(String, u8)>>> {
    let change = (0..4_u8, 0..3_u8, any::<u8>());
    proptest::collection::vec(proptest::collection::vec(change, 1..6), 1..6).prop_map(|tasks| {
        tasks
            .into_iter()
            .enumerate()
            .map(|(number, changes)| {
                let named = changes
                    .into_iter()
                    .map(|(folder, file, kind)| (format!("d{folder}/t{number}-{file}"), kind));
                named.collect::<BTreeMap<_, _>>().into_iter().collect()
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn tasks_on_paths_of_their_own_come_to_the_same_in_any_order(
        tasks in disjoint(),
        swaps in proptest::collection::vec((0..6_usize, 0..6_usize), 0..6),
    ) {
        let mut memory = Memory::of(&[("d0/other", "0")]);
        let mut changes = Vec::new();
        for task in &tasks {
            let mut mine = Vec::new();
            for (name, kind) in task {
                let base = if kind % 3 == 0 { "" } else { "base\n" };
                if !base.is_empty() {
                    let entry = memory.entry(Mode::File, base);
                    memory.entries.insert(path(name), entry);
                }
                mine.push(memory.change(name, base, if kind % 3 == 1 { "" } else { "task\n" }));
            }
            changes.push(mine);
        }
        let forward = memory.merge_all(&changes);
        let mut shuffled = changes.clone();
        for (left, right) in swaps {
            let count = shuffled.len();
            shuffled.swap(left % count, right % count);
        }
        let other = memory.merge_all(&shuffled);
        prop_assert!(forward.1.iter().chain(&other.1).all(Vec::is_empty));
        prop_assert_eq!(forward.0, other.0);
    }
}
