//! Whether tasks can be added to a run that goes on.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{TaskId, TaskName, TaskSpec};

use super::RunRecord;
use crate::order::{OrderError, in_order};

/// Why tasks were not added to a run. None of them was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddTasksError {
    /// The run is over, is landing or was cancelled, or there is no such run.
    #[error("the run takes no more tasks")]
    Ending,
    /// The task that would be their parent does not run.
    #[error("the parent task does not run")]
    ParentNotRunning,
    /// The run has a task of that name.
    #[error("there is a task `{0}` already")]
    NameTaken(TaskName),
    /// The run has the task already.
    #[error("task `{0}` was added before")]
    Known(TaskName),
    /// The schema of one is none.
    #[error("the schema of task `{task}` cannot be used: {fault}")]
    Schema {
        /// The task.
        task: TaskName,
        /// What is wrong with the schema.
        fault: String,
    },
    /// What compiles schemas crashed.
    #[error("checking the tasks crashed: {0}")]
    Crashed(String),
    /// They depend on what is not there, or on each other in a circle.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// Checks names, identities and dependencies of tasks that are to be added to `run` after those
/// that are about to be.
pub(super) fn check<'a>(
    run: &RunRecord,
    before: impl Iterator<Item = &'a TaskSpec>,
    tasks: &[TaskSpec],
) -> Result<(), AddTasksError> {
    let mut names = BTreeSet::new();
    let mut ids: BTreeSet<TaskId> = BTreeSet::new();
    for spec in before {
        names.insert(spec.name.folded());
        ids.insert(spec.id);
    }
    let mut inner: BTreeMap<usize, Vec<TaskName>> = BTreeMap::new();
    let together: BTreeSet<_> = tasks.iter().map(|spec| spec.name.folded()).collect();
    for (at, spec) in tasks.iter().enumerate() {
        for on in &spec.depends_on {
            let folded = on.folded();
            if together.contains(&folded) {
                inner.entry(at).or_default().push(on.clone());
            } else if !names.contains(&folded) && run.task_named(on).is_none() {
                let (task, on) = (spec.name.clone(), on.clone());
                return Err(OrderError::Unknown { task, on }.into());
            }
        }
    }
    for spec in tasks {
        if run.task_named(&spec.name).is_some() || !names.insert(spec.name.folded()) {
            return Err(AddTasksError::NameTaken(spec.name.clone()));
        }
        if run.task(spec.id).is_some() || !ids.insert(spec.id) {
            return Err(AddTasksError::Known(spec.name.clone()));
        }
    }
    let view: Vec<_> = tasks
        .iter()
        .enumerate()
        .map(|(at, spec)| (&spec.name, inner.get(&at).map_or(&[][..], Vec::as_slice)))
        .collect();
    in_order(&view)?;
    Ok(())
}
