//! The captured work of tasks as patches.

use engine::ports::IsolationError;
use isolation::PatchNeeds;
use protocol::{Captured, TaskName};
use store::TaskRow;

use super::repository_runs::RepositoryRuns;
use super::target::{Target, TargetKind};

/// The captured work of one task.
#[derive(Debug)]
pub struct TaskPatch<'a> {
    /// The task.
    pub row: &'a TaskRow,
    /// Its work.
    pub captured: &'a Captured,
    /// The work as a patch that `git apply` takes.
    pub patch: Vec<u8>,
}

/// Why there is no patch of a target.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The target has no captured work.
    #[error("there is no work of {whose} to show")]
    Nothing {
        /// The run, or the tasks.
        whose: String,
        /// Whether work of it was discarded; otherwise nothing was captured.
        was_discarded: bool,
    },
    /// The work of a task cannot be read.
    #[error("{of}")]
    Unread {
        /// The task.
        task: TaskName,
        /// Why.
        #[source]
        of: IsolationError,
    },
}

/// Returns the captured work of the tasks of a target, in the order of their declaration. Work that was
/// discarded or collected is left out.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn patches<'a>(
    runs: &RepositoryRuns,
    target: &'a Target,
) -> Result<Vec<TaskPatch<'a>>, PatchError> {
    let mut works = Vec::new();
    for row in &target.tasks {
        let Some(captured) = &row.captured else { continue };
        if row.discarded.is_some() || row.collected.is_some() {
            continue;
        }
        let patch = runs.captured.patch(&captured.capture);
        let patch = patch.map_err(|of| PatchError::Unread { task: row.name.clone(), of })?;
        works.push(TaskPatch { row, captured, patch });
    }
    if works.is_empty() {
        let whose = match (target.kind, target.tasks.len()) {
            (TargetKind::Task, 1) => format!("task {}", target.arguments()),
            (TargetKind::Task, _) => format!("tasks {}", target.arguments()),
            (TargetKind::Run, _) => format!("run {}", target.run.name),
        };
        let was_discarded = target.tasks.iter().any(|row| row.discarded.is_some());
        return Err(PatchError::Nothing { whose, was_discarded });
    }
    Ok(works)
}

/// Returns what git lacks before it can merge a patch with `git apply --3way`; `None` if the repository
/// cannot be read, because the patch needs no repository.
#[must_use]
pub fn patch_needs(runs: &RepositoryRuns, work: &TaskPatch<'_>) -> Option<PatchNeeds> {
    runs.captured.patch_needs(&runs.root, &work.captured.capture).ok()
}
