//! Random trees, merged here and by `git merge-tree`: the merged trees, which paths conflict, and what
//! markers leave of them.

use std::collections::BTreeSet;

use engine::ports::{ConflictingRest, SettleChoice, SettleRequest};
use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath, TaskName};
use test_limit::Rounds;

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::random::Random;
use crate::merge::tree_judge_tests::{Entries, Judge, Outcome};
use crate::merge::tree_lost_tests::lost_by_git;
use crate::merge::tree_samples::{Counted, Sample, sample};
use crate::merge::{Blobs as _, EntryState, MergeTarget, Merger};
use crate::settle::concerned_paths;

/// What a merge comes to here.
pub(super) struct Here {
    /// The merged tree, where each conflict that markers settle is settled so.
    pub(super) tree: Entries,
    /// The conflicts.
    pub(super) conflicts: Vec<Conflict>,
    /// Those that markers do not settle.
    pub(super) left: Vec<Conflict>,
    /// The paths that markers settle.
    pub(super) settled: BTreeSet<String>,
}

impl Here {
    fn of(judge: &Judge, [base, ours, theirs]: [&Entries; 3]) -> Self {
        let target = TreeTarget(base.clone());
        let none = BTreeSet::new();
        let merge = |request: &SettleRequest| {
            let mut merger = Merger::over(&target, judge);
            let added = merger.add(&name(0), &none, &changes(base, ours)).unwrap();
            assert_eq!(added, Ok(Vec::new()), "the first task has nothing to conflict with");
            let task = (&name(1), &none);
            let added = merger.add_settled(task, &changes(base, theirs), request).unwrap();
            (added, merger)
        };
        let conflicts = merge(&SettleRequest::default()).0.conflicts;
        let (added, merger) = merge(&SettleRequest {
            all: Some(SettleChoice::Markers),
            rest: ConflictingRest::LandClean,
            ..SettleRequest::default()
        });
        let mut tree = base.clone();
        for (path, now) in merger.finish() {
            match now.after {
                Some(entry) => drop(tree.insert(path.to_string(), entry)),
                None => drop(tree.remove(&path.to_string())),
            }
        }
        let settled = added.settled.conflicts.iter().map(|settled| settled.path.to_string());
        Self { tree, conflicts, left: added.conflicts, settled: settled.collect() }
    }

    /// Returns the paths that git calls unmerged.
    fn unmerged(&self, base: &Entries) -> BTreeSet<String> {
        let beside = self.tree.keys().filter_map(|path| path.split_once('~'));
        let beside = beside.map(|(path, _)| path.to_owned());
        let conflicts = self.conflicts.iter();
        beside.chain(conflicts.flat_map(|conflict| unmerged(conflict, base))).collect()
    }

    /// Returns the paths that are a new name of a renamed file and in another conflict besides. git puts
    /// markers between markers there.
    fn in_two_conflicts(&self) -> impl Iterator<Item = String> {
        let is_twice = |conflict: &Conflict| conflict.reason == ConflictReason::RenamedTwice;
        let twice = self.conflicts.iter().filter(move |conflict| is_twice(conflict));
        let paths = twice.flat_map(concerned_paths).filter(move |name| {
            self.conflicts.iter().any(|other| !is_twice(other) && other.path == *name)
        });
        paths.flat_map(|path| beside(&path.to_string()))
    }
}

/// Returns a path, and the names beside it of a file that something else is in the way of.
pub(super) fn beside(path: &str) -> [String; 3] {
    ["", "~ours", "~theirs"].map(|end| format!("{path}{end}"))
}

/// Returns the paths that git calls unmerged for a conflict.
fn unmerged(conflict: &Conflict, base: &Entries) -> Vec<String> {
    let new_names = |names: &RenamedFile| -> Vec<String> {
        let both = [&names.ours, &names.theirs].into_iter().flatten();
        both.filter(|name| **name != names.from).map(ToString::to_string).collect()
    };
    match (conflict.reason, &conflict.renamed) {
        (ConflictReason::RenamedTwice, Some(names)) => {
            [vec![names.from.to_string()], new_names(names)].concat()
        }
        (ConflictReason::Kind, Some(names)) => new_names(names),
        (ConflictReason::SameName, Some(names)) if base.contains_key(&names.from.to_string()) => {
            new_names(names)
        }
        // Such a conflict is only told. What is beside a folder has a name that says so.
        (ConflictReason::FolderSplit | ConflictReason::SameName | ConflictReason::InTheWay, _) => {
            Vec::new()
        }
        _ => vec![conflict.path.to_string()],
    }
}

/// A tree in memory as the target of a merge.
pub(crate) struct TreeTarget(pub(crate) Entries);

impl MergeTarget for TreeTarget {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        let path = path.to_string();
        Ok(match self.0.get(&path) {
            Some(entry) => EntryState::Entry(*entry),
            None if self.0.keys().any(|other| other.starts_with(&format!("{path}/"))) => {
                EntryState::Folder
            }
            None => EntryState::Missing,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let mut paths = self.0.keys().map(|path| RepoPath::new(path.as_str()).unwrap());
        Ok(paths.find(|path| path.is_below(folder) && !goes(path)))
    }
}

pub(crate) fn name(number: usize) -> TaskName {
    format!("t{number}").parse().unwrap()
}

pub(crate) fn changes(base: &Entries, task: &Entries) -> Vec<Change> {
    let paths: BTreeSet<&String> = base.keys().chain(task.keys()).collect();
    let change = |path: &String| {
        let (base, task) = (base.get(path).copied(), task.get(path).copied());
        Change::new(RepoPath::new(path.as_str()).unwrap(), base, task)
    };
    paths.into_iter().map(change).filter(|change| change.base != change.task).collect()
}

/// The number of tests that the cases are shared among.
const SHARES: u64 = 5;

/// How many cases git merges with one call.
const MERGED_AT_ONCE: usize = 200;

#[test]
fn trees_merge_as_git_merges_them_with_renames_of_files_and_folders() {
    compare(0);
}

#[test]
fn more_trees_merge_as_git_merges_them() {
    compare(1);
}

#[test]
fn still_more_trees_merge_as_git_merges_them() {
    compare(2);
}

#[test]
fn a_fourth_share_of_trees_merges_as_git_merges_them() {
    compare(3);
}

#[test]
fn a_fifth_share_of_trees_merges_as_git_merges_them() {
    compare(4);
}

/// What the comparisons of one test have met.
#[derive(Debug, Default)]
struct Met {
    cases: u64,
    conflicts: u64,
    /// The cases that differ where git has lost a file.
    lost: u64,
    samples: Counted,
}

/// Compares the trees of every fifth seed, in groups of which git merges all at once.
fn compare(share: u64) {
    let mut rounds = Rounds::new("trees", 40, 5_000 / SHARES);
    let (mut met, mut different) = (Met::default(), Vec::new());
    loop {
        let seeds = rounds.by_ref().take(MERGED_AT_ONCE);
        let seeds: Vec<u64> = seeds.map(|seed| seed.wrapping_mul(SHARES) + share).collect();
        if seeds.is_empty() {
            break;
        }
        let judge = Judge::new();
        let samples: Vec<Sample> =
            seeds.iter().map(|seed| sample(&mut Random::new(*seed))).collect();
        samples.iter().for_each(|sample| met.samples.add(sample));
        let entries = |sample: &Sample| sample.trees().map(|files| judge.entries(files));
        let trees: Vec<[Entries; 3]> = samples.iter().map(entries).collect();
        let commits = judge.commit_all(&trees);
        for ((seed, trees), git) in seeds.iter().zip(&trees).zip(judge.merge_all(&commits)) {
            let here = Here::of(&judge, trees.each_ref());
            let Some(git) = git else {
                met.lost += 1;
                continue;
            };
            met.conflicts += u64::from(!git.is_clean);
            let compare = |lost: &BTreeSet<String>| differences(&judge, trees, (&git, &here), lost);
            let mut found = compare(&BTreeSet::new());
            if !found.is_empty() {
                met.lost += 1;
                found = compare(&lost_by_git(trees, &git, &here));
            }
            if !found.is_empty() {
                rounds.report_failure(seed / SHARES);
                different.push(described(seed / SHARES, trees, &git, &here, &found));
            }
        }
    }
    let done = rounds.done();
    met.cases = done.count;
    let some = different.iter().take(4).cloned().collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} differ\n{some}", different.len());
    done.report("R20", 1, "trees merged as git merges them");
    // What random cases must hold is known of many of them only.
    if met.cases < 500 {
        return;
    }
    assert!(met.conflicts * 10 >= met.cases * 3, "too few conflicts: {met:?}");
    assert!(met.lost <= 2 + met.cases / 100, "too many are not compared: {met:?}");
    let Counted { alike, unlike, between } = met.samples;
    assert!(alike * 2 >= met.cases && unlike * 4 >= met.cases, "too few renames: {met:?}");
    assert!(between > 0, "{met:?}");
}

/// Returns in what git and this merge differ, except at paths that git has lost.
fn differences(
    judge: &Judge,
    [base, ..]: &[Entries; 3],
    (git, here): (&Outcome, &Here),
    lost: &BTreeSet<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    let concerns = |conflict: &Conflict| {
        concerned_paths(conflict).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let is_lost = |conflict: &Conflict| concerns(conflict).iter().any(|path| lost.contains(path));
    let is_clean = here.conflicts.is_empty();
    if git.is_clean != is_clean && (is_clean || !here.conflicts.iter().all(is_lost)) {
        found.push(format!("only one is clean: git {}", git.is_clean));
    }
    let without = |paths: BTreeSet<String>| &paths - lost;
    let unmerged = [without(git.unmerged.clone()), without(here.unmerged(base))];
    if unmerged[0] != unmerged[1] {
        found.push(format!("unmerged: git {:?} here {:?}", unmerged[0], unmerged[1]));
    }
    // What markers do not settle is as it was.
    let left = here.left.iter().flat_map(concerns);
    let mut left: BTreeSet<String> = left.flat_map(|path| beside(&path)).collect();
    left.extend(here.in_two_conflicts());
    let paths: BTreeSet<&String> = git.tree.keys().chain(here.tree.keys()).collect();
    for path in paths.into_iter().filter(|path| !lost.contains(*path) && !left.contains(*path)) {
        let sides = [git.tree.get(path), here.tree.get(path)];
        let is_same = match sides {
            [Some(git), Some(here)] => {
                git.mode == here.mode
                    && (git.oid == here.oid || unlabelled(judge, git) == unlabelled(judge, here))
            }
            _ => false,
        };
        if !is_same {
            found.push(format!("{path}: git {:?} here {:?}", sides[0], sides[1]));
        }
    }
    found
}

/// Returns a text without the names of the file behind its markers: git has the one that the file has on
/// each side, also where a renamed folder gives it another.
fn unlabelled(judge: &Judge, entry: &Entry) -> Vec<u8> {
    let bytes = judge.read(entry.oid).unwrap();
    let line = |line: &[u8]| {
        let is_marker = line.starts_with(b"<<<<<<<") || line.starts_with(b">>>>>>>");
        let name = line.iter().position(|byte| is_marker && *byte == b':');
        let (line, name) = line.split_at(name.unwrap_or(line.len()));
        // The line may end as in a file from Windows.
        let end: &[u8] = if name.ends_with(b"\r") { b"\r" } else { b"" };
        [line, end].concat()
    };
    bytes.split(|byte| *byte == b'\n').map(line).collect::<Vec<_>>().join(&b'\n')
}

pub(super) fn described(
    seed: u64,
    [base, ours, theirs]: &[Entries; 3],
    git: &Outcome,
    here: &Here,
    found: &[String],
) -> String {
    let side = |side: &Entries| {
        let short = |entry: Option<Entry>| {
            entry.map_or("-".into(), |entry| format!("{:?} {:.6}", entry.mode, entry.oid))
        };
        let line = |change: Change| {
            format!("  {}: {} -> {}\n", change.path, short(change.base), short(change.task))
        };
        changes(base, side).into_iter().map(line).collect::<String>()
    };
    let names: Vec<_> = base.keys().collect();
    let (ours, theirs) = (side(ours), side(theirs));
    let show = |conflicts: &[Conflict]| {
        let show = |conflict: &Conflict| {
            let path = |path: &RepoPath| path.to_string();
            let names = conflict.renamed.as_ref().map(|names| {
                (path(&names.from), names.ours.as_ref().map(path), names.theirs.as_ref().map(path))
            });
            format!("{:?} {} {names:?}", conflict.reason, conflict.path)
        };
        conflicts.iter().map(show).collect::<Vec<_>>()
    };
    let (conflicts, left) = (show(&here.conflicts), show(&here.left));
    format!(
        "seed {seed}\nbase {names:?}\nours\n{ours}theirs\n{theirs}git {:?}\nhere {conflicts:?}\n\
         left {left:?}\n{found:#?}\n",
        git.said
    )
}
