//! The work of a run or a task, as far as a landing is concerned: what can land, what was thrown away
//! after it had landed, and what a later run did again.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{RunName, TaskId, TaskName, TaskState};
use store::TaskRow;

use super::context::CommandContext;
use super::kept_work::{has_landed, kept_reason, wanted};
use super::landed_work::{LandedWork, ThrownAway};
use super::target::{Target, TargetKind};
use crate::args::{KeptWork, LandAgain};
use crate::render::{KeptReason, count, cut};
use regatta::error::Error;

/// The longest list of names in a line, in characters.
const LONGEST_NAMES: usize = 200;

/// Returns the tasks of a target whose work is kept for one of these reasons, as if they were named; the
/// target itself if there is no reason.
pub(super) fn of_kind(target: Target, which: &[KeptWork]) -> Result<Target, Error> {
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
        return Err(nothing_of_kind(&target, which));
    }
    Ok(Target { tasks, kind: TargetKind::Task, ..target })
}

/// Returns the error of a target without work that is kept for one of these reasons.
fn nothing_of_kind(target: &Target, which: &[KeptWork]) -> Error {
    let run = &target.run.name;
    let option = |which: &KeptWork| match which {
        KeptWork::Failed => "--failed",
        KeptWork::Conflicted => "--conflicted",
        KeptWork::Any => "--kept",
    };
    let options = which.iter().map(option).collect::<Vec<_>>().join(" or ");
    let whose = match (target.kind, target.tasks.as_slice()) {
        (TargetKind::Run, _) => format!("run {run}"),
        (TargetKind::Task, [row]) => format!("task {run}/{}", row.name),
        (TargetKind::Task, rows) => count(rows.len(), "task"),
    };
    let error = Error::usage(format!("there is no work of {whose} to land with {options}"));
    let show = format!("regatta runs show {run}");
    let (TargetKind::Task, [row]) = (target.kind, target.tasks.as_slice()) else {
        return error.hint(show);
    };
    let (why, hint) = match kept_reason(row) {
        _ if row.discarded.is_some() => ("its work was discarded", show),
        None if has_landed(row) => ("its work has landed", show),
        None => ("it has changed nothing", show),
        Some(KeptReason::TakenBack) => {
            ("its work was taken back", format!("regatta apply {run}/{} --again", row.name))
        }
        Some(_) => {
            ("its work is kept for another reason", format!("regatta apply {run}/{}", row.name))
        }
    };
    error.because(why).hint(hint)
}

/// The work of a target, as far as a landing is concerned.
pub(super) struct LandableWork<'a> {
    /// The tasks whose work can land, and is asked for.
    pub(super) chosen: Vec<&'a TaskRow>,
    /// The tasks whose work has landed and was thrown away since, and is not asked for.
    pub(super) gone: Vec<&'a TaskRow>,
    /// The work of the run that has landed.
    pub(super) landed: LandedWork,
    /// Why the landed work cannot be compared with the repository; `None` if it was.
    pub(super) uncompared: Option<Error>,
    /// The tasks that a later run did again, where they have landed.
    pub(super) superseded: Superseded,
}

impl<'a> LandableWork<'a> {
    /// Finds the work of `target`.
    ///
    /// # Errors
    /// The ledger cannot be read; or what is to land again cannot be compared with the repository.
    pub(super) fn of(
        context: &CommandContext,
        target: &'a Target,
        again: LandAgain,
    ) -> Result<Self, Error> {
        let (landed, uncompared) = match (LandedWork::compare(context, &target.run.name), again) {
            (Err(error), LandAgain::Yes) => return Err(error),
            // Other work can land even if this cannot be compared with the repository.
            (Err(error), LandAgain::No) => (LandedWork::default(), Some(error)),
            (Ok(landed), _) => (landed, None),
        };
        let superseded = Superseded::find(context, target)?;
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
    pub(super) fn gone_names(&self) -> Vec<&TaskName> {
        self.gone.iter().map(|row| &row.name).collect()
    }

    /// Returns the notes about work that does not land now, each as lines.
    pub(super) fn notes(&self, context: &CommandContext, target: &Target) -> Vec<Vec<String>> {
        let uncompared = self.uncompared.as_ref().map(|error| {
            let why = [&[error.what.clone()][..], &error.because].concat().join(": ");
            vec![format!("it is unknown whether landed work is still in the repository: {why}")]
        });
        let gone = self.gone_lines(context, target);
        let superseded = self.superseded.lines(context, target);
        [gone, superseded, uncompared].into_iter().flatten().collect()
    }

    /// Returns lines about work that was thrown away: what is missing, and how to land it again.
    fn gone_lines(&self, context: &CommandContext, target: &Target) -> Option<Vec<String>> {
        let run = &target.run.name;
        let (first, what, name) = match self.gone[..] {
            [] => return None,
            [row] => {
                let name = format!("{run}/{}", row.name);
                let gone = self.landed.thrown_away(row).map(ThrownAway::text).unwrap_or_default();
                (format!("the work of task {name} has landed, and {gone}"), "it", name)
            }
            ref several => {
                let names: Vec<_> = several.iter().map(|row| row.name.to_string()).collect();
                let (tasks, names) = (count(several.len(), "task"), names.join(", "));
                let names = cut(&names, LONGEST_NAMES);
                let gone = "is missing from the repository, at least in part";
                let line =
                    format!("the work of {tasks} of run {run} has landed, and {gone}: {names}");
                (line, "them", run.to_string())
            }
        };
        let command = context.hints.command(&format!("apply {name} --again"));
        Some(vec![first, format!("land {what} again: {command}")])
    }
}

/// The tasks of a run that a later run did again, by the run in which their work has landed. That of
/// the first try is not what the user wants any more, unless its task is named.
#[derive(Debug, Default)]
pub(super) struct Superseded(BTreeMap<TaskId, (TaskName, RunName)>);

impl Superseded {
    fn find(context: &CommandContext, target: &Target) -> Result<Self, Error> {
        let mut found = BTreeMap::new();
        let is_open = |row: &&TaskRow| wanted(row, target.kind);
        if target.kind == TargetKind::Task || !target.tasks.iter().any(|row| is_open(&row)) {
            return Ok(Self::default());
        }
        let mut family = BTreeSet::from([target.run.name.clone()]);
        // Later runs are listed first, and retry earlier ones.
        for run in context.reader.runs(Some(&context.root), usize::MAX)?.into_iter().rev() {
            if !run.spec.retry_of.as_ref().is_some_and(|of| family.contains(of)) {
                continue;
            }
            for row in target.tasks.iter().filter(is_open) {
                let again = context.reader.task_by_name(run.id, &row.name)?;
                if again.is_some_and(|again| has_landed(&again)) {
                    found.insert(row.id, (row.name.clone(), run.name.clone()));
                }
            }
            family.insert(run.name);
        }
        Ok(Self(found))
    }

    fn has(&self, row: &TaskRow) -> bool {
        self.0.contains_key(&row.id)
    }

    /// Returns the run that did a task again, if one did.
    pub(super) fn by(&self, row: &TaskRow) -> Option<&RunName> {
        self.0.get(&row.id).map(|(_, run)| run)
    }

    fn lines(&self, context: &CommandContext, target: &Target) -> Option<Vec<String>> {
        let run = &target.run.name;
        let (first, by) = self.0.values().next()?;
        let line = match self.0.len() {
            1 => format!("the work of task {run}/{first} was done again, and landed in run {by}"),
            several => {
                let names: Vec<_> = self.0.values().map(|(name, _)| name.to_string()).collect();
                let names = cut(&names.join(", "), LONGEST_NAMES);
                let tasks = count(several, "task");
                format!("the work of {tasks} of run {run} was done again, and landed: {names}")
            }
        };
        let command = context.hints.command(&format!("apply {run}/{first}"));
        Some(vec![line, format!("land the first try anyway: {command}")])
    }
}
