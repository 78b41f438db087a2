//! Whether work that has landed is in the working tree now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use protocol::{CaptureRef, RepoPath, RunName, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::landing::WorkingTree;
use crate::landing::undo::WorkInForce;
use crate::landing::user_moves::UserMoves;
use crate::merge::{
    Joined, MergeRule, MergeTarget as _, MergedEntry, Merger, OutsideChanges, three_way,
};
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::Tree;

/// Whether the work of a task is in the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkInTree {
    /// All of it is there.
    Whole,
    /// It is not there, or only a part of it: landing it would change these paths.
    Missing(BTreeSet<RepoPath>),
    /// The tree has something else at these paths, for instance later edits of the same lines.
    Edited(BTreeSet<RepoPath>),
}

/// One path in the working tree, compared with what one or several tasks made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathState {
    Whole,
    Missing,
    Edited,
}

/// Compares captures with the working tree at `root`, and returns the result for each. The captures
/// are given in the order of their landing, and are of one run. Changes nothing in the tree.
pub(crate) fn work_in_tree(
    root: &Path,
    paths: &RepoPaths,
    store: &TaskStore,
    captures: &[CaptureRef],
) -> Result<Vec<WorkInTree>> {
    let tree = Tree::open_at(root)?;
    let target = WorkingTree::of(&tree, store);
    let captured: Vec<Vec<Change>> =
        captures.iter().map(|capture| target.changes_of(capture)).collect::<Result<_>>()?;
    let run = captures.first().and_then(run_of);
    // Without the records of its landings, work is compared as it was captured.
    let landed = run.as_ref().and_then(|run| WorkInForce::of(paths, run).ok()).unwrap_or_default();
    let tasks = captures.iter().map(task_of).enumerate();
    let tasks = tasks.filter_map(|(number, task)| Some((task?, number)));
    let known: BTreeMap<TaskName, usize> =
        tasks.filter(|(task, _)| landed.tasks.contains(task)).collect();
    let has_landed: BTreeSet<usize> = known.values().copied().collect();
    let mut by_path: BTreeMap<&RepoPath, Vec<(usize, &Change)>> = BTreeMap::new();
    for (task, changes) in works(&captured, &landed, (&known, &has_landed)) {
        for change in changes {
            by_path.entry(&change.path).or_default().push((task, change));
        }
    }
    let nothing = (BTreeSet::new(), BTreeSet::new());
    let mut found = vec![nothing; captures.len()];
    for (path, changes) in by_path {
        let ours = target.state_of(path)?.entry();
        let is_as_left = landed.left.get(path) == Some(&ours);
        let together = together(store, ours, &changes)?;
        for (task, change) in changes {
            if is_as_left && has_landed.contains(&task) {
                continue;
            }
            let alone = state(store, change.base, ours, change.task)?;
            let (missing, edited) = &mut found[task];
            match (together, alone) {
                (Some(PathState::Whole), _) | (_, PathState::Whole) => {}
                (Some(PathState::Missing), _) | (_, PathState::Missing) => {
                    missing.insert(path.clone());
                }
                (Some(PathState::Edited) | None, PathState::Edited) => {
                    edited.insert(path.clone());
                }
            }
        }
    }
    let result = |(missing, edited): (BTreeSet<_>, BTreeSet<_>)| match () {
        () if !missing.is_empty() => WorkInTree::Missing(missing),
        () if !edited.is_empty() => WorkInTree::Edited(edited),
        () => WorkInTree::Whole,
    };
    let mut found: Vec<WorkInTree> = found.into_iter().map(result).collect();
    if let Some(run) = run.filter(|_| found.iter().any(|it| !it.is_whole())) {
        let repo = Repo::open(root)?;
        let moves = UserMoves::of(&repo, paths, &run);
        for (task, work) in found.iter_mut().enumerate().filter(|(_, work)| !work.is_whole()) {
            match left_to_land(&target, &moves, store, &captured[task])? {
                Some(left) if left.is_empty() => *work = WorkInTree::Whole,
                // Where its changes are is known.
                Some(_) if has_landed.contains(&task) => {}
                Some(left) => *work = WorkInTree::Missing(left),
                None => {}
            }
        }
    }
    Ok(found)
}

/// Returns what is compared with the tree, each with the number of its capture: what the landings have written
/// of it, in their order, or what was captured if that is not known. `known` has the number of each task that is
/// known to have landed, and `has_landed` all these numbers.
fn works<'a>(
    captured: &'a [Vec<Change>],
    landed: &'a WorkInForce,
    (known, has_landed): (&BTreeMap<TaskName, usize>, &BTreeSet<usize>),
) -> Vec<(usize, &'a [Change])> {
    let mut latest = 0;
    let works = landed.works.iter().filter_map(|(task, changes)| {
        let number = *known.get(task)?;
        latest = number.max(latest);
        Some((latest, number, changes.as_slice()))
    });
    let mut works: Vec<_> = works.collect();
    let others = captured.iter().enumerate().filter(|(number, _)| !has_landed.contains(number));
    works.extend(others.map(|(number, changes)| (number, number, changes.as_slice())));
    works.sort_by_key(|(place, ..)| *place);
    works.into_iter().map(|(_, number, changes)| (number, changes)).collect()
}

impl WorkInTree {
    fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }
}

/// Returns the run of a capture.
fn run_of(capture: &CaptureRef) -> Option<RunName> {
    capture.as_str().split('/').nth(2)?.parse().ok()
}

/// Returns the task of a capture.
fn task_of(capture: &CaptureRef) -> Option<TaskName> {
    capture.as_str().split('/').nth(3)?.parse().ok()
}

/// Merges the work of a task into the tree again, where it follows what was renamed since the run
/// began, whoever renamed it. Returns the paths that would change; `None` if it conflicts with what
/// is there, or does not follow anything.
fn left_to_land(
    target: &WorkingTree<'_>,
    moves: &dyn OutsideChanges,
    store: &TaskStore,
    changes: &[Change],
) -> Result<Option<BTreeSet<RepoPath>>> {
    let mut merger = Merger::over(target, store).beside(moves);
    let name = "again".parse().expect("a word is a name");
    if merger.add(&name, &BTreeSet::new(), changes)?.is_err() {
        return Ok(None);
    }
    let left: BTreeSet<RepoPath> = merger.finish().into_keys().collect();
    let own = |path: &RepoPath| changes.iter().any(|change| change.path == *path);
    Ok((!left.iter().all(own) || left.is_empty()).then_some(left))
}

/// Compares a path with what the tasks made of it together. The work of one task may hide that of
/// another, for instance if both append lines. Returns `None` if the tasks conflict: they landed on
/// other versions of the path.
fn together(
    store: &TaskStore,
    ours: Option<Entry>,
    changes: &[(usize, &Change)],
) -> Result<Option<PathState>> {
    let Some((_, first)) = changes.first() else { return Ok(None) };
    let mut merged = first.base;
    for (_, change) in changes {
        match three_way(store, &|| Ok(MergeRule::Union), change.base, merged, change.task)? {
            Ok(MergedEntry { entry, joined: Joined::No }) => merged = entry,
            Ok(MergedEntry { joined: Joined::Union, .. }) => return Ok(None),
            Err(_conflict) => return Ok(None),
        }
    }
    state(store, first.base, ours, merged).map(Some)
}

/// Compares the entry `ours` in the tree with the entry that landed.
fn state(
    store: &TaskStore,
    base: Option<Entry>,
    ours: Option<Entry>,
    landed: Option<Entry>,
) -> Result<PathState> {
    // Joining lines tells whether all lines of the work are there, also where it was joined.
    Ok(match three_way(store, &|| Ok(MergeRule::Union), base, ours, landed)? {
        Ok(merged) if merged.entry == ours => PathState::Whole,
        Ok(merged) if merged.joined == Joined::Union => PathState::Edited,
        Ok(_) => PathState::Missing,
        Err(_conflict) => PathState::Edited,
    })
}
