//! Merges the tasks of a run in their order, and reports the result of each.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{IsolationError, LandingTask};
use protocol::{
    CaptureRef, Conflict, ConflictReason, Landed, RepoPath, Settled, TaskLanding, TaskName,
};

use crate::error::{Result, error_text};
use crate::file_entry::{Change, Entry};
use crate::merge::{Added, MergeRules, MergeTarget, Merger};
use crate::store::TaskStore;

/// Merges each task, and returns the results as if everything that was merged had landed.
///
/// `landed` is the work that has landed before and on which they build: the merge has begun with it. An
/// error of one task does not keep the others from being merged.
pub(crate) fn merge_tasks(
    merger: &mut Merger<'_>,
    (tasks, landed): (&[LandingTask], &[LandingTask]),
    changes_of: &dyn Fn(&CaptureRef) -> Result<Vec<Change>>,
) -> Vec<TaskLanding> {
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let predecessors = predecessors(task, [tasks, landed]);
        let (landed, settled) = merge_task(merger, (task, &predecessors), &landings, changes_of)
            .unwrap_or_else(|error| {
                (Landed::Unwritten { message: error_text(&error) }, Settled::default())
            });
        landings.push(TaskLanding { task: task.task.clone(), landed, settled });
    }
    landings
}

fn merge_task(
    merger: &mut Merger<'_>,
    (task, predecessors): (&LandingTask, &BTreeSet<TaskName>),
    landings: &[TaskLanding],
    changes_of: &dyn Fn(&CaptureRef) -> Result<Vec<Change>>,
) -> Result<(Landed, Settled)> {
    let changes = changes_of(&task.capture)?;
    if changes.is_empty() {
        return Ok((Landed::Unchanged, Settled::default()));
    }
    let on = missing_predecessors(task, landings);
    if !on.is_empty() {
        return Ok((Landed::Waiting { on }, Settled::default()));
    }
    let Added { joined, conflicts, settled } =
        merger.add_settled((&task.task, predecessors), &changes, &task.settle)?;
    Ok(match conflicts.is_empty() {
        true => (Landed::Landed { branch: None, joined }, settled),
        false => (Landed::Conflicted { conflicts }, settled),
    })
}

/// Begins a merge with work that has landed before.
pub(crate) fn begin_with(
    merger: &mut Merger<'_>,
    landed: &[LandingTask],
    changes_of: &dyn Fn(&CaptureRef) -> Result<Vec<Change>>,
) {
    for LandingTask { task, capture, .. } in landed {
        let begun = changes_of(capture).and_then(|changes| merger.begin_with(task, &changes));
        if let Err(error) = begun {
            // What stands in the tree counts as a change of others then.
            tracing::debug!(%task, %error, "the capture of landed work cannot be read");
        }
    }
}

/// Returns the tasks on whose work `task` was based, of those that land now or have landed before.
pub(crate) fn predecessors(task: &LandingTask, tasks: [&[LandingTask]; 2]) -> BTreeSet<TaskName> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&TaskName> = task.depends_on.iter().collect();
    while let Some(name) = left.pop() {
        let mut tasks = tasks.into_iter().flatten();
        if let Some(on) = tasks.find(|on| on.task.folded() == name.folded())
            && found.insert(on.task.clone())
        {
            left.extend(&on.depends_on);
        }
    }
    found
}

/// Returns the predecessors of `task` whose work has not landed.
pub(crate) fn missing_predecessors(task: &LandingTask, landings: &[TaskLanding]) -> Vec<TaskName> {
    if task.depends_on.is_empty() {
        return Vec::new();
    }
    let landed: BTreeMap<String, &Landed> =
        landings.iter().map(|landing| (landing.task.folded(), &landing.landed)).collect();
    let missing = task.depends_on.iter().filter(|on| match landed.get(&on.folded()) {
        None | Some(Landed::Landed { .. } | Landed::Unchanged) => false,
        Some(
            Landed::Conflicted { .. }
            | Landed::Unwritten { .. }
            | Landed::Waiting { .. }
            | Landed::Unverified(_)
            | Landed::TakenBack { .. },
        ) => true,
    });
    missing.cloned().collect()
}

/// Gives the conflicts on paths in `setup` their reason: not another task and no edit of the user
/// stands against the task, but what its own set-up has changed.
pub(crate) fn mark_setup_conflicts(conflicts: &mut [Conflict], setup: &BTreeSet<RepoPath>) {
    let is_of_setup =
        |conflict: &&mut Conflict| conflict.with.is_none() && setup.contains(&conflict.path);
    for conflict in conflicts.iter_mut().filter(is_of_setup) {
        conflict.reason = ConflictReason::Setup;
    }
}

/// Returns the changes to `target` that contain the merged work of `captures`: each path with its
/// new entry, or `None` if it is removed.
///
/// # Errors
/// Returns [`IsolationError::Predecessors`] if the captures cannot be merged.
pub(crate) fn merge_captures(
    start: &dyn MergeTarget,
    store: &TaskStore,
    rules: &MergeRules,
    captures: &[(TaskName, CaptureRef)],
) -> Result<BTreeMap<RepoPath, Option<Entry>>> {
    let mut merger = Merger::over(start, store).under(rules);
    for (task, capture) in captures {
        if let Err(conflicts) = merger.add(task, &BTreeSet::new(), &store.changes(capture)?)? {
            let with = conflicts.iter().filter_map(|conflict| conflict.with.clone());
            let mut tasks: Vec<TaskName> = with.chain([task.clone()]).collect();
            tasks.sort();
            tasks.dedup();
            let paths = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
            return Err(IsolationError::Predecessors { tasks, paths });
        }
    }
    Ok(merger.finish().into_iter().map(|(path, touched)| (path, touched.after)).collect())
}
