//! Landed work that is not in the repository any more, because the user has thrown it away.

use std::collections::BTreeMap;

use isolation::WorkInTree;
use protocol::{Landed, RepoPath, RunName, TaskId};
use store::TaskRow;

use super::repository_runs::{RepositoryRuns, WorkError};

/// What is missing of landed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrownAway {
    /// The working tree lacks the changes of these paths, all of them or some.
    Paths(Vec<RepoPath>),
    /// The branch was deleted.
    Branch(String),
    /// All of it, or what could be: an undo has taken it back.
    TakenBack,
}

/// The tasks of a run whose work has landed and was thrown away since.
#[derive(Clone, Debug, Default)]
pub struct LandedWork(BTreeMap<TaskId, ThrownAway>);

impl LandedWork {
    /// Compares the landed work of a run with the repository. Work that was discarded, or whose lines
    /// the user has edited since, is not thrown away.
    ///
    /// # Errors
    /// The captures or the repository cannot be read.
    pub fn compare(runs: &RepositoryRuns, run: &RunName) -> Result<Self, WorkError> {
        let lost = || WorkError::LostRun(run.clone());
        let record = runs.reader.record(run)?.ok_or_else(lost)?;
        let rows = runs.reader.tasks_without_yields(record.spec.id)?;
        let rows: BTreeMap<_, _> = rows.iter().map(|row| (row.id, row)).collect();
        let (mut thrown_away, mut in_tree) = (BTreeMap::new(), Vec::new());
        for task in record.tasks_in_order() {
            // Work that was collected cannot be compared, nor land again.
            let is_there = |row: &&&TaskRow| row.discarded.is_none() && row.collected.is_none();
            let row = rows.get(&task.spec.id).filter(is_there);
            let Some(captured) = row.and_then(|row| row.captured.as_ref()) else { continue };
            match row.and_then(|row| row.landing.as_ref()) {
                Some(Landed::Landed { branch: Some(branch), .. }) => {
                    if !runs.captured.has_branch(&runs.root, branch)? {
                        // It may have been merged before it was deleted.
                        let one = std::slice::from_ref(&captured.capture);
                        let found = runs.captured.in_tree(&runs.root, one)?;
                        if found.iter().any(|found| matches!(found, WorkInTree::Missing(_))) {
                            let gone = ThrownAway::Branch(branch.clone());
                            thrown_away.insert(task.spec.id, gone);
                        }
                    }
                }
                Some(Landed::Landed { branch: None, .. }) => {
                    in_tree.push((task.spec.id, captured.capture.clone()));
                }
                Some(Landed::TakenBack { .. }) => {
                    thrown_away.insert(task.spec.id, ThrownAway::TakenBack);
                }
                Some(
                    Landed::Unchanged
                    | Landed::Conflicted { .. }
                    | Landed::Unwritten { .. }
                    | Landed::Waiting { .. }
                    | Landed::Unverified(_),
                )
                | None => {}
            }
        }
        let (tasks, captures): (Vec<_>, Vec<_>) = in_tree.into_iter().unzip();
        let compared = runs.captured.in_tree(&runs.root, &captures)?;
        for (task, found) in tasks.into_iter().zip(compared) {
            match found {
                WorkInTree::Missing(mut paths) => {
                    // Where the user kept what stood, the work of the task is not meant to be there.
                    let settled = rows.get(&task).map(|row| &row.settled.conflicts);
                    for conflict in settled.into_iter().flatten() {
                        paths.remove(&conflict.path);
                    }
                    if !paths.is_empty() {
                        thrown_away.insert(task, ThrownAway::Paths(paths.into_iter().collect()));
                    }
                }
                WorkInTree::Whole | WorkInTree::Edited(_) => {}
            }
        }
        Ok(Self(thrown_away))
    }

    /// Returns what is missing of the landed work of a task, if anything is.
    #[must_use]
    pub fn thrown_away(&self, row: &TaskRow) -> Option<&ThrownAway> {
        self.0.get(&row.id)
    }
}
