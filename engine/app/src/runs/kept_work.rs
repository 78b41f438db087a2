//! Whether the work of a task is kept, and whether it can land.

use std::collections::BTreeSet;

use engine::landing;
use engine::ports::LandingTask;
use protocol::{Conflict, Landed, Outcome, RunName, TaskName, TaskReport, UnverifiedCause};
use store::TaskRow;

use super::landable_work::LandableWork;
use super::landed_work::ThrownAway;
use super::repository_runs::{RepositoryRuns, WorkError};
use super::target::TargetKind;

/// Why the work of a task is kept and not landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReason {
    /// The work conflicts with the tree.
    Conflict,
    /// The work conflicts with the tree, and only what stands can stay.
    OursOnly,
    /// The task is done, but its work was not landed.
    Whole,
    /// The work has failed its verification.
    Unverified,
    /// The task failed or was cancelled.
    Unfinished,
    /// The work had landed, and was taken back.
    TakenBack,
}

impl KeptReason {
    /// Returns why work with these conflicts is kept.
    #[must_use]
    pub fn of_conflicts(conflicts: &[Conflict]) -> Self {
        match conflicts.iter().find(|conflict| !conflict.reason.keeps_ours_only()) {
            None if !conflicts.is_empty() => Self::OursOnly,
            Some(_) | None => Self::Conflict,
        }
    }

    /// Returns why the work of a task is kept, or `None` if there is no work or it has landed.
    #[must_use]
    pub fn of(report: &TaskReport, landing: Option<&Landed>) -> Option<Self> {
        report.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
        match (landing, &report.outcome) {
            (Some(Landed::Landed { .. } | Landed::Unchanged), _) => None,
            (Some(Landed::Conflicted { conflicts }), _) => Some(Self::of_conflicts(conflicts)),
            (Some(Landed::Unverified(unverified)), Outcome::Done { .. })
                if unverified.cause == UnverifiedCause::Work =>
            {
                Some(Self::Unverified)
            }
            (Some(Landed::TakenBack { .. }), _) => Some(Self::TakenBack),
            (_, Outcome::Done { .. }) => Some(Self::Whole),
            (_, Outcome::Failed { .. } | Outcome::Cancelled) => Some(Self::Unfinished),
        }
    }
}

/// Returns whether the work of a task has landed.
#[must_use]
pub fn has_landed(row: &TaskRow) -> bool {
    matches!(row.landing, Some(Landed::Landed { .. }))
}

/// Returns whether the work of a task had landed and was taken back.
#[must_use]
pub fn is_taken_back(row: &TaskRow) -> bool {
    matches!(row.landing, Some(Landed::TakenBack { .. }))
}

/// Returns whether the work of a task was taken back, and can land again.
#[must_use]
pub fn can_land_again(row: &TaskRow) -> bool {
    is_taken_back(row) && row.discarded.is_none() && row.collected.is_none()
}

/// Returns why the work of a task is kept, or `None` if there is no work or it has landed.
#[must_use]
pub fn kept_reason(row: &TaskRow) -> Option<KeptReason> {
    let captured = row.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
    if row.discarded.is_some() {
        return None;
    }
    match (&row.report, &row.landing) {
        (Some(report), landing) => {
            // The report lacks a capture that was made after it, so the row's capture is added.
            let mut report = report.clone();
            report.captured.get_or_insert_with(|| captured.clone());
            KeptReason::of(&report, landing.as_ref())
        }
        (None, Some(Landed::Landed { .. } | Landed::Unchanged)) => None,
        (None, Some(Landed::Conflicted { conflicts })) => Some(KeptReason::of_conflicts(conflicts)),
        (None, Some(Landed::TakenBack { .. })) => Some(KeptReason::TakenBack),
        (None, _) => Some(KeptReason::Unfinished),
    }
}

/// Returns whether `regatta apply` lands the work of a task. Unfinished work and work that has failed
/// its verification land only if the user names the task.
#[must_use]
pub fn wanted(row: &TaskRow, kind: TargetKind) -> bool {
    match (kept_reason(row), kind) {
        (Some(KeptReason::Conflict | KeptReason::OursOnly | KeptReason::Whole), _)
        | (Some(KeptReason::Unverified | KeptReason::Unfinished), TargetKind::Task) => true,
        // What was taken back lands again only with `--again`.
        (Some(KeptReason::Unverified | KeptReason::Unfinished), TargetKind::Run)
        | (Some(KeptReason::TakenBack) | None, _) => false,
    }
}

/// The work of the chosen tasks, predecessors first.
pub struct ChosenWork {
    /// What lands.
    pub tasks: Vec<LandingTask>,
    /// The work that has landed and on which it builds.
    pub landed: Vec<LandingTask>,
}

/// Why the work of chosen tasks cannot land.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The work of a task builds on work that is not in the repository.
    #[error("cannot land the work of task {run}/{task}")]
    BuildsOn {
        /// The run.
        run: RunName,
        /// The task.
        task: TaskName,
        /// The task on whose work it builds.
        on: TaskName,
        /// What became of that.
        why: Missing,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Work(#[from] WorkError),
}

/// Why work that other work builds on is not in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It had landed, and was thrown away.
    ThrownAway(ThrownAway),
    /// A later run did it again.
    DoneAgain(RunName),
    /// It has not landed.
    NotLanded,
}

/// Returns the tasks to land.
///
/// # Errors
/// A chosen task builds on work of a task that is not chosen, and that is kept or was thrown away: it would
/// land without that. Or the ledger cannot be read.
pub fn landing_tasks(
    runs: &RepositoryRuns,
    run: &RunName,
    work: &LandableWork<'_>,
) -> Result<ChosenWork, NotReady> {
    let chosen = &work.chosen;
    let record = runs.reader.record(run).map_err(WorkError::from)?;
    let record = record.ok_or_else(|| WorkError::LostRun(run.clone()))?;
    let ids: BTreeSet<_> = chosen.iter().map(|row| row.id).collect();
    let rows = runs.reader.tasks_without_yields(record.spec.id).map_err(WorkError::from)?;
    for row in chosen {
        let on = record.task(row.id).map(|task| landing::changed_predecessors(&record, task));
        for on in on.into_iter().flatten().filter(|on| !ids.contains(&on.spec.id)) {
            let Some(on) = rows.iter().find(|row| row.id == on.spec.id) else { continue };
            let why = match (work.landed.thrown_away(on), work.superseded.by(on)) {
                (Some(gone), _) => Missing::ThrownAway(gone.clone()),
                (None, Some(by)) => Missing::DoneAgain(by.clone()),
                (None, None) if kept_reason(on).is_some() => Missing::NotLanded,
                (None, None) => continue,
            };
            let (run, task, on) = (run.clone(), row.name.clone(), on.name.clone());
            return Err(NotReady::BuildsOn { run, task, on, why });
        }
    }
    let (tasks, landed) =
        (landing::landing_tasks(&record, &ids), landing::landed_predecessors(&record, &ids));
    Ok(ChosenWork { tasks, landed })
}
