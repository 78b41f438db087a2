//! Random chains of tasks that rename files and folders, merged one after the other here and by `git
//! merge-tree`.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Conflict, TaskName};
use test_limit::Rounds;

use crate::merge::chain_samples::Chain;
use crate::merge::random::Random;
use crate::merge::tree_judge_tests::{Entries, Judge, Outcome};
use crate::merge::tree_lost_tests::lost_by_git;
use crate::merge::tree_tests::{Here, TreeTarget, changes, described, name};
use crate::merge::{Merger, renames_of};
use crate::settle::concerned_paths;

/// How many chains are merged at once.
const AT_ONCE: usize = 100;

/// Where a file comes from.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// It had this path when the chain began.
    Path(String),
    /// This task added it.
    Added(usize),
}

/// A chain that is being merged.
struct Merging<'j> {
    seed: u64,
    chain: Chain,
    judge: &'j Judge,
    /// The trees that the tasks left.
    left: Vec<Entries>,
    base: Entries,
    /// The trees after each task, until here and git differ.
    after: Vec<Entries>,
    /// The tasks whose work was merged.
    landed: Vec<bool>,
}

impl<'j> Merging<'j> {
    fn of(judge: &'j Judge, seed: u64) -> Self {
        let chain = Chain::new(&mut Random::new(seed));
        let left = chain.steps.iter().map(|step| judge.entries(&step.files)).collect();
        let base = judge.entries(&chain.base);
        let after = vec![base.clone()];
        Self { seed, chain, judge, left, base, after, landed: Vec::new() }
    }

    fn start(&self, task: usize) -> &Entries {
        self.chain.steps[task].after.map_or(&self.base, |after| &self.left[after])
    }

    /// Returns whether all that a task builds on was merged.
    fn is_ready(&self, task: usize) -> bool {
        self.chain.steps[task].after.is_none_or(|after| self.landed[after])
    }

    /// Returns the next task with the three trees of its merge.
    fn next(&mut self) -> Option<(usize, [Entries; 3])> {
        while self.landed.len() < self.left.len() && !self.is_ready(self.landed.len()) {
            self.landed.push(false);
            self.after.push(self.after.last().unwrap().clone());
        }
        let task = self.landed.len();
        let theirs = self.left.get(task)?.clone();
        Some((task, [self.start(task).clone(), self.after.last().unwrap().clone(), theirs]))
    }

    fn predecessors(&self, task: usize) -> BTreeSet<TaskName> {
        let mut found = BTreeSet::new();
        let mut next = self.chain.steps[task].after;
        while let Some(task) = next {
            found.insert(name(task));
            next = self.chain.steps[task].after;
        }
        found
    }

    /// Returns what each task of the chain began with and changed, for a message.
    fn tasks(&self) -> Vec<String> {
        let steps = self.chain.steps.iter().enumerate();
        let told = steps.map(|(number, step)| {
            let changes = changes(self.start(number), &self.left[number]);
            let sign = |change: &crate::file_entry::Change| match (change.base, change.task) {
                (None, _) => '+',
                (_, None) => '-',
                (Some(_), Some(_)) => '*',
            };
            let changes = changes.iter().map(|change| format!("{}{}", sign(change), change.path));
            let landed = self.landed.get(number);
            format!(
                "{number} after {:?}, landed {landed:?}: {}",
                step.after,
                changes.collect::<Vec<_>>().join(" ")
            )
        });
        told.collect()
    }

    /// Merges all tasks until `task` here.
    fn merge(&self, task: usize) -> Here {
        let target = TreeTarget(self.base.clone());
        let mut merger = Merger::over(&target, self.judge);
        let mut conflicts = Vec::new();
        for number in (0..=task).filter(|number| *number == task || self.landed[*number]) {
            let changes = changes(self.start(number), &self.left[number]);
            let added = merger.add(&name(number), &self.predecessors(number), &changes).unwrap();
            conflicts = added.err().unwrap_or_default();
            assert!(number == task || conflicts.is_empty(), "it was merged before");
        }
        let mut tree = self.base.clone();
        for (path, now) in merger.finish() {
            match now.after {
                Some(entry) => drop(tree.insert(path.to_string(), entry)),
                None => drop(tree.remove(&path.to_string())),
            }
        }
        Here { tree, left: conflicts.clone(), conflicts, settled: BTreeSet::new() }
    }

    /// Returns in what a merge here and git's differ, except where `docs/merging.md` says so.
    fn differences(
        &self,
        task: usize,
        trees: &[Entries; 3],
        git: &Outcome,
        here: &Here,
    ) -> Vec<String> {
        let is_clean = here.conflicts.is_empty();
        let lost = lost_by_git(trees, git, here);
        let is_lost = |conflict: &Conflict| {
            concerned_paths(conflict).iter().any(|path| lost.contains(&path.to_string()))
        };
        let mut found = Vec::new();
        if git.is_clean != is_clean {
            if is_clean || !here.conflicts.iter().all(is_lost) {
                found.push(format!("git is {}", git.is_clean));
            }
        } else if is_clean {
            let paths: BTreeSet<&String> = git.tree.keys().chain(here.tree.keys()).collect();
            let differ = |path: &&&String| git.tree.get(**path) != here.tree.get(**path);
            let differ = paths.iter().filter(differ).filter(|path| !lost.contains(**path));
            found.extend(differ.map(|path| format!("{path}: git {:?}", git.tree.get(*path))));
        }
        let is_known = !found.is_empty()
            && (self.meets_a_folder_of_several(task, trees) || self.meets_a_mixture(task, trees));
        if is_known { Vec::new() } else { found }
    }

    /// Returns whether a task adds a file to a folder that several tasks have emptied: where most of its
    /// files went says nothing, because what one task removed is never taken for what another added.
    fn meets_a_folder_of_several(&self, task: usize, [base, ours, theirs]: &[Entries; 3]) -> bool {
        let mut folders: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for path in base.keys().filter(|path| !ours.contains_key(*path)) {
            // Several may have removed one file after the other.
            let is_there = |after: usize| self.after[after].contains_key(path);
            let gone = (0..task).filter(|task| is_there(*task) && !is_there(task + 1));
            for (at, _) in path.match_indices('/') {
                folders.entry(&path[..at]).or_default().extend(gone.clone());
            }
        }
        let new = theirs.keys().filter(|path| !base.contains_key(*path));
        let mut above = new.flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at]));
        above.any(|folder| folders.get(folder).is_some_and(|tasks| tasks.len() > 1))
    }

    /// Returns whether a task meets a file that git takes for a renamed one although no task renamed it so:
    /// one removed the old file, and what another added is the new one. The task has changed either, or
    /// added a file to a folder above.
    fn meets_a_mixture(&self, task: usize, [base, ours, theirs]: &[Entries; 3]) -> bool {
        let before: Vec<_> = (0..task).map(|task| (task, &self.after[task + 1])).collect();
        let own = (0..task).filter(|other| self.predecessors(task).contains(&name(*other)));
        let own: Vec<_> = own.map(|task| (task, &self.left[task])).collect();
        let old = |path: &str| self.origin(path, &own);
        let mut mixed = BTreeSet::new();
        for rename in renames_of(self.judge, &changes(base, ours)).unwrap() {
            let (from, to) = (rename.from.to_string(), rename.to.to_string());
            let origins = [old(&from), self.origin(&to, &before)];
            if origins[0] != origins[1] {
                mixed.extend(origins);
            }
        }
        let mut met = base.keys().filter(|path| mixed.contains(&old(path)));
        met.any(|path| {
            let mut folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
            let has_new = |folder: &str| {
                theirs.keys().any(|path| path.starts_with(folder) && !base.contains_key(path))
            };
            theirs.get(path) != base.get(path) || folders.any(has_new)
        })
    }

    /// Returns the path that a file had when the chain began, or else the task that added it, by the
    /// renames that git finds in the work of each task. `works` has the tree after each task.
    fn origin(&self, path: &str, works: &[(usize, &Entries)]) -> Origin {
        let mut path = path.to_owned();
        for (at, (task, after)) in works.iter().enumerate().rev() {
            let before = at.checked_sub(1).map_or(&self.base, |at| works[at].1);
            if before.contains_key(&path) {
                continue;
            }
            let renames = renames_of(self.judge, &changes(before, after)).unwrap();
            match renames.iter().find(|rename| rename.to.to_string() == path) {
                Some(rename) => path = rename.from.to_string(),
                None => return Origin::Added(*task),
            }
        }
        Origin::Path(path)
    }
}

#[test]
fn chains_of_renamed_files_and_folders_merge_as_git_merges_them() {
    let mut rounds = Rounds::new("chains", 24, 500);
    let (mut different, mut exempt, mut changed) = (Vec::new(), 0, [0, 0]);
    let (mut merges, mut conflicts) = (0_u64, 0_u64);
    loop {
        let seeds: Vec<u64> = rounds.by_ref().take(AT_ONCE).collect();
        if seeds.is_empty() {
            break;
        }
        let judge = Judge::new();
        let mut open: Vec<Merging<'_>> =
            seeds.iter().map(|seed| Merging::of(&judge, *seed)).collect();
        for merging in &open {
            changed[0] += merging.chain.changes;
            changed[1] += merging.chain.folder_renames;
        }
        while !open.is_empty() {
            let next: Vec<_> = open.iter_mut().map(Merging::next).collect();
            let trees: Vec<[Entries; 3]> =
                next.iter().flatten().map(|(_, trees)| trees.clone()).collect();
            let mut outcomes = judge.merge_all(&judge.commit_all(&trees)).into_iter();
            let mut still = Vec::new();
            for (mut merging, next) in open.into_iter().zip(next) {
                let Some((task, trees)) = next else { continue };
                let Some(git) = outcomes.next().unwrap() else {
                    exempt += 1;
                    continue;
                };
                let here = merging.merge(task);
                let found = merging.differences(task, &trees, &git, &here);
                merges += 1;
                conflicts += u64::from(!git.is_clean);
                if !found.is_empty() {
                    rounds.report_failure(merging.seed);
                    let told = described(merging.seed, &trees, &git, &here, &found);
                    different.push(format!("task {task} of {:?}\n{told}", merging.tasks()));
                } else if git.is_clean == here.conflicts.is_empty() && is_same(&git, &here) {
                    merging.landed.push(git.is_clean);
                    merging.after.push(here.tree);
                    still.push(merging);
                } else {
                    exempt += 1;
                }
            }
            open = still;
        }
    }
    let some = different.iter().take(4).cloned().collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} differ\n{some}", different.len());
    let done = rounds.done();
    done.report("R20", 1, "chains of renames merged as git merges them");
    if done.count >= 100 {
        assert!(changed[1] * 10 >= changed[0] * 4, "too few renamed folders: {changed:?}");
        assert!(exempt * 20 <= merges, "too many are not compared: {exempt} of {merges}");
        assert!(conflicts * 10 >= merges, "too few conflicts: {conflicts} of {merges}");
    }
}

fn is_same(git: &Outcome, here: &Here) -> bool {
    !git.is_clean || git.tree == here.tree
}
