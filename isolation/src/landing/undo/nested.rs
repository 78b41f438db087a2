//! Takes back the branches that landings have made or moved in nested repositories. One that somebody
//! has moved since is left.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{UndoReport, UndoRequest, UndoScope};
use protocol::{RepoPath, TaskName};

use super::branches::{BranchStep, short};
use super::chain::{Chain, InForce};
use super::history::History;
use super::stack::check_scope;
use crate::branch::{Checkout, checkout};
use crate::error::Result;
use crate::nested::{NestedRepo, nested_of};
use crate::repository::Repo;

/// The landings on one branch of one nested repository, the last one first.
type OneBranch<'a> = ((&'a RepoPath, &'a str), Vec<InForce<'a>>);

/// Returns what becomes of the branches in nested repositories. `is_whole` returns whether the work of
/// a task is taken back as a whole with them, since nothing of it is elsewhere.
pub(super) fn steps(
    repo: &Repo,
    history: &History,
    request: &UndoRequest,
    is_whole: &dyn Fn(&TaskName) -> bool,
) -> Result<Vec<BranchStep>> {
    let branches = in_force(history);
    let roots: BTreeSet<&RepoPath> = branches.iter().map(|((root, _), _)| *root).collect();
    let roots: Vec<RepoPath> = roots.into_iter().cloned().collect();
    let is_wanted = |name: &TaskName| request.tasks.iter().any(|task| task.task == *name);
    let mut steps = Vec::new();
    for ((root, reference), landings) in &branches {
        let mut tasks = landings.iter().flat_map(|landing| landing.tasks);
        if request.scope == UndoScope::Tasks && !tasks.any(is_wanted) {
            continue;
        }
        check_scope(request, landings, reference)?;
        let found = nested_of(repo, &roots, root);
        let mut own = match &found {
            Ok(nested) => of_branch(nested, root, reference, landings)?,
            Err(why) => vec![BranchStep::left(reference, why.as_str(), None)],
        };
        for step in own.iter_mut().filter(|step| step.taken.is_none()) {
            step.left_of = landings.iter().flat_map(|landing| landing.tasks).cloned().collect();
        }
        steps.extend(own.into_iter().map(|step| step.in_nested(root)));
    }
    let left: BTreeSet<TaskName> = left_of(&steps).cloned().collect();
    for taken in steps.iter_mut().filter_map(|step| step.taken.as_mut()) {
        taken.tasks.retain(|task| is_whole(task) && !left.contains(task));
    }
    Ok(steps)
}

/// Returns the tasks whose work is left in a nested repository.
pub(super) fn left_of(steps: &[BranchStep]) -> impl Iterator<Item = &TaskName> {
    steps.iter().flat_map(|step| &step.left_of)
}

/// Adds what became of the branches in nested repositories to the report of the rest. A task of which
/// something is left there is not taken back.
pub(super) fn joined(mut rest: UndoReport, steps: Vec<BranchStep>) -> UndoReport {
    let left: BTreeSet<TaskName> = left_of(&steps).cloned().collect();
    let nested = super::branches::report(steps);
    rest.branches.extend(nested.branches);
    let known: BTreeSet<TaskName> =
        rest.report.tasks.iter().map(|landing| landing.task.clone()).collect();
    let new = nested.report.tasks.into_iter().filter(|landing| !known.contains(&landing.task));
    rest.report.tasks.extend(new);
    rest.report.tasks.retain(|landing| !left.contains(&landing.task));
    rest
}

/// Returns the landings of each branch, in the order in which the branches were made.
fn in_force(history: &History) -> Vec<OneBranch<'_>> {
    let mut places: BTreeMap<(&RepoPath, &str), usize> = BTreeMap::new();
    let mut branches: Vec<OneBranch<'_>> = Vec::new();
    for landing in &history.landings {
        for nested in &landing.nested_branches {
            let key = (&nested.root, nested.branch.reference.as_str());
            let place = *places.entry(key).or_insert_with(|| {
                branches.push((key, Vec::new()));
                branches.len() - 1
            });
            let (id, tasks) = (landing.id.as_str(), nested.tasks.as_slice());
            branches[place].1.insert(0, InForce { id, tasks, branch: &nested.branch });
        }
    }
    branches
}

/// Returns what becomes of one branch.
fn of_branch(
    nested: &NestedRepo,
    root: &RepoPath,
    reference: &str,
    landings: &[InForce<'_>],
) -> Result<Vec<BranchStep>> {
    let chain = Chain::of(&nested.git, Some(root), reference, landings)?;
    let end = chain.end();
    let Chain { taken, mut left, .. } = chain;
    if taken.landings.is_empty() {
        return Ok(left);
    }
    if taken.at.is_some() {
        let checkout = checkout(&nested.repo, &short(reference))?;
        if checkout != Checkout::Nowhere {
            return Ok(vec![BranchStep::busy(reference, &checkout)]);
        }
    }
    left.insert(0, BranchStep::taking(taken, end));
    Ok(left)
}
