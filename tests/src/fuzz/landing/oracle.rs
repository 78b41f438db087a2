//! Says what must become of a landing: which tasks land, which conflict and why, and what the tree
//! is then. It knows the rules of a landing and nothing of how it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::scenario::{Ending, Scenario, Task};
use super::three_way::{self, Reason};
use crate::fuzz::files::{Files, Name, Node, folders, is_below};

/// How a task changed one path.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// What the task began with.
    pub(super) base: Option<Node>,
    /// What it left.
    pub(super) task: Option<Node>,
}

/// The paths that a task changed.
pub(super) type Changes = BTreeMap<Name, Change>;

/// What becomes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its work is in the tree.
    Landed,
    /// It changed nothing.
    Unchanged,
    /// It conflicts; why, path by path, sorted.
    Conflicted(Vec<Reason>),
    /// It builds on work that did not land.
    Waiting,
    /// It failed with its work captured.
    Failed,
    /// It never had a workspace: its predecessors failed, or their work does not go together.
    NotStarted,
}

/// What must be found after a run.
pub(super) struct Expected {
    /// The user's tree.
    pub(super) tree: Files,
    /// What becomes of each task, in the order of declaration.
    pub(super) fates: Vec<Fate>,
}

/// Returns the order in which work lands: as declared, but predecessors first.
pub(super) fn order(tasks: &[Task]) -> Vec<usize> {
    fn place(tasks: &[Task], at: usize, order: &mut Vec<usize>) {
        if !order.contains(&at) {
            tasks[at].depends_on.iter().for_each(|on| place(tasks, *on, order));
            order.push(at);
        }
    }
    let mut order = Vec::new();
    (0..tasks.len()).for_each(|at| place(tasks, at, &mut order));
    order
}

/// Returns everything that the task at `at` depends on, directly or not.
pub(super) fn ancestors(tasks: &[Task], at: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        open.extend(tasks[at].depends_on.iter().filter(|on| found.insert(**on)));
    }
    found
}

/// Merges one task's changes into `tree`, all of them or none. `taken` are paths of the tree that
/// hold something else than a file or a symlink.
pub(super) fn add(
    scratch: &Path,
    tree: &mut Files,
    taken: &[Name],
    changes: &Changes,
) -> Result<(), Vec<Reason>> {
    let mut after = tree.clone();
    let mut reasons = Vec::new();
    for (path, change) in changes {
        if taken.contains(path) {
            reasons.push("in_the_way");
            continue;
        }
        let ours = tree.get(path);
        if is_binary(tree, path) && is_changed_by_both(change, ours) {
            reasons.push("binary");
            continue;
        }
        match three_way::merge(scratch, change.base.as_ref(), ours, change.task.as_ref()) {
            Ok(Some(node)) => drop(after.insert(path.clone(), node)),
            Ok(None) => drop(after.remove(path)),
            Err(reason) => reasons.push(reason),
        }
    }
    // A path in conflict stays as it is in the tree.
    let changed = changes.keys().filter(|path| after.get(*path) != tree.get(*path));
    let blocked = changed.filter(|path| is_blocked(&after, taken, path));
    reasons.extend(blocked.map(|_| "in_the_way"));
    if !reasons.is_empty() {
        reasons.sort_unstable();
        return Err(reasons);
    }
    *tree = after;
    Ok(())
}

/// Whether the attributes say that a file has no lines.
fn is_binary(tree: &Files, path: &[u8]) -> bool {
    let attributes = tree.get(&b".gitattributes"[..]).map(Node::bytes).unwrap_or_default();
    let mut lines = attributes.split(|byte| *byte == b'\n');
    path.ends_with(b".bin") && lines.any(|line| line == b"*.bin binary")
}

/// Whether a file has three different contents.
fn is_changed_by_both(change: &Change, ours: Option<&Node>) -> bool {
    let Change { base: Some(base @ Node::File { .. }), task: Some(task @ Node::File { .. }) } =
        change
    else {
        return false;
    };
    let Some(ours @ Node::File { .. }) = ours else { return false };
    let [base, ours, task] = [base.bytes(), ours.bytes(), task.bytes()];
    base != ours && base != task && ours != task
}

/// Whether `path` cannot be what it is in `after`, because of what stands above or below it.
fn is_blocked(after: &Files, taken: &[Name], path: &[u8]) -> bool {
    if folders(path).any(|folder| taken.iter().any(|taken| taken == folder)) {
        return true;
    }
    if !after.contains_key(path) {
        return false;
    }
    let above = folders(path).any(|folder| after.contains_key(folder));
    let mut others = after.keys().chain(taken);
    above || others.any(|other| is_below(other, path))
}

/// Returns what must be found after the tasks of `scenario` have run.
pub(super) fn land(scenario: &Scenario, scratch: &Path) -> Expected {
    let Scenario { tasks, taken, .. } = scenario;
    let mut tree = scenario.tree_at_landing().clone();
    let mut fates = vec![Fate::Unchanged; tasks.len()];
    for at in order(tasks) {
        let task = &tasks[at];
        fates[at] = match &task.ending {
            Ending::NotStarted => Fate::NotStarted,
            Ending::Failed => Fate::Failed,
            Ending::Done if task.changes.is_empty() => Fate::Unchanged,
            Ending::Done => {
                let stands_on_kept = nearest_with_work(tasks, at)
                    .iter()
                    .any(|on| matches!(fates[*on], Fate::Conflicted(_) | Fate::Waiting));
                if stands_on_kept {
                    Fate::Waiting
                } else {
                    match add(scratch, &mut tree, taken, &task.changes) {
                        Ok(()) => Fate::Landed,
                        Err(reasons) => Fate::Conflicted(reasons),
                    }
                }
            }
        };
    }
    Expected { tree, fates }
}

/// Returns the nearest predecessors that changed something: in place of one that did not, its own.
fn nearest_with_work(tasks: &[Task], at: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for on in &tasks[at].depends_on {
        if tasks[*on].changes.is_empty() {
            found.extend(nearest_with_work(tasks, *on));
        } else {
            found.insert(*on);
        }
    }
    found
}
