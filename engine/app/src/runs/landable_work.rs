//! The work of a run or a task, as far as a landing is concerned: what can land, what was thrown away
//! after it had landed, and what a later run did again.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{RunName, TaskId, TaskName, TaskState};
use store::TaskRow;

use super::kept_work::{KeptReason, has_landed, kept_reason, wanted};
use super::landed_work::LandedWork;
use super::repository_runs::{RepositoryRuns, WorkError};
use super::target::{Target, TargetKind};

/// Kept work, by why it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptWork {
    /// Of tasks that failed.
    Failed,
    /// It conflicted.
    Conflicted,
    /// Any.
    Any,
}

/// Whether work that landed and was thrown away since is landed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandAgain {
    /// Such work is reported.
    No,
    /// Such work is landed again.
    Yes,
}

/// A target has no work that is kept for the reasons that were asked for.
#[derive(Debug, thiserror::Error)]
#[error("no work is kept for that reason")]
pub struct NothingOfKind {
    /// The target.
    pub target: Target,
}

/// Returns the tasks of a target whose work is kept for one of these reasons, as if they were named; the
/// target itself if there is no reason.
///
/// # Errors
/// No work of the target is kept for one of these reasons.
pub fn of_kind(target: Target, which: &[KeptWork]) -> Result<Target, Box<NothingOfKind>> {
    if which.is_empty() {
        return Ok(target);
    }
    let is_of = |row: &TaskRow, which: KeptWork| match (which, kept_reason(row)) {
        (_, None | Some(KeptReason::TakenBack)) => false,
        (KeptWork::Failed, Some(_)) => row.state == TaskState::Failed,
        (KeptWork::Conflicted, Some(reason)) => {
            matches!(reason, KeptReason::Conflict | KeptReason::OursOnly)
        }
        (KeptWork::Any, Some(_)) => true,
    };
    let is_meant = |row: &TaskRow| which.iter().any(|which| is_of(row, *which));
    let tasks: Vec<_> = target.tasks.iter().filter(|row| is_meant(row)).cloned().collect();
    if tasks.is_empty() {
        return Err(Box::new(NothingOfKind { target }));
    }
    Ok(Target { tasks, kind: TargetKind::Task, ..target })
}

/// The work of a target, as far as a landing is concerned.
pub struct LandableWork<'a> {
    /// The tasks whose work can land, and is asked for.
    pub chosen: Vec<&'a TaskRow>,
    /// The tasks whose work has landed and was thrown away since, and is not asked for.
    pub gone: Vec<&'a TaskRow>,
    /// The work of the run that has landed.
    pub landed: LandedWork,
    /// Why the landed work cannot be compared with the repository; `None` if it was.
    pub uncompared: Option<WorkError>,
    /// The tasks that a later run did again, where they have landed.
    pub superseded: Superseded,
}

impl<'a> LandableWork<'a> {
    /// Finds the work of `target`.
    ///
    /// # Errors
    /// The ledger cannot be read; or what is to land again cannot be compared with the repository.
    pub fn of(
        runs: &RepositoryRuns,
        target: &'a Target,
        again: LandAgain,
    ) -> Result<Self, WorkError> {
        let (landed, uncompared) = match (LandedWork::compare(runs, &target.run.name), again) {
            (Err(error), LandAgain::Yes) => return Err(error),
            // Other work can land even if this cannot be compared with the repository.
            (Err(error), LandAgain::No) => (LandedWork::default(), Some(error)),
            (Ok(landed), _) => (landed, None),
        };
        let superseded = Superseded::find(runs, target)?;
        let (mut chosen, mut gone) = (Vec::new(), Vec::new());
        for row in &target.tasks {
            match (landed.thrown_away(row), again) {
                _ if superseded.has(row) => {}
                _ if wanted(row, target.kind) => chosen.push(row),
                (Some(_), LandAgain::Yes) => chosen.push(row),
                (Some(_), LandAgain::No) => gone.push(row),
                (None, _) => {}
            }
        }
        Ok(Self { chosen, gone, landed, uncompared, superseded })
    }

    /// Returns the names of the tasks whose landed work was thrown away.
    #[must_use]
    pub fn gone_names(&self) -> Vec<&TaskName> {
        self.gone.iter().map(|row| &row.name).collect()
    }
}

/// The tasks of a run that a later run did again, by the run in which their work has landed. That of
/// the first try is not what the user wants any more, unless its task is named.
#[derive(Debug, Default)]
pub struct Superseded(BTreeMap<TaskId, (TaskName, RunName)>);

impl Superseded {
    fn find(runs: &RepositoryRuns, target: &Target) -> Result<Self, WorkError> {
        let mut found = BTreeMap::new();
        let is_open = |row: &&TaskRow| wanted(row, target.kind);
        if target.kind == TargetKind::Task || !target.tasks.iter().any(|row| is_open(&row)) {
            return Ok(Self::default());
        }
        let mut family = BTreeSet::from([target.run.name.clone()]);
        // Later runs are listed first, and retry earlier ones.
        for run in runs.reader.runs(Some(&runs.root), usize::MAX)?.into_iter().rev() {
            if !run.spec.retry_of.as_ref().is_some_and(|of| family.contains(of)) {
                continue;
            }
            for row in target.tasks.iter().filter(is_open) {
                let again = runs.reader.task_by_name(run.id, &row.name)?;
                if again.is_some_and(|again| has_landed(&again)) {
                    found.insert(row.id, (row.name.clone(), run.name.clone()));
                }
            }
            family.insert(run.name);
        }
        Ok(Self(found))
    }

    /// Returns whether a later run did a task again.
    #[must_use]
    pub fn has(&self, row: &TaskRow) -> bool {
        self.0.contains_key(&row.id)
    }

    /// Returns the run that did a task again, if one did.
    #[must_use]
    pub fn by(&self, row: &TaskRow) -> Option<&RunName> {
        self.0.get(&row.id).map(|(_, run)| run)
    }

    /// Returns the tasks, each with the run that did it again.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(TaskName, RunName)> {
        self.0.values()
    }
}
