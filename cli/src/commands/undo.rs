//! `regatta undo`: takes landed work back.

use std::sync::Arc;

use engine::ports::{IsolationError, Repository, UndoReport};
use protocol::{ExitCode, RunName};
use store::RunRow;

use super::context::{CommandContext, Out, say};
use super::landing_notices::print_notice;
use super::target;
use super::undo_output::{Done, print};
use super::undo_tasks::{task_lines, task_results};
use crate::args::{Execution, Form, UndoArgs};
use crate::signals::CancelOnSignal;
use regatta::error::Error;
use regatta::runs::{
    LockedTarget, Target, UndoError, can_land_again, has_landed, is_taken_back, take_back,
    undo_request,
};

/// How many of the latest runs are searched for one that has landed.
const SEARCHED: usize = 100;

/// Takes back what the landings of a run, or of one of its tasks, have written. What was edited since
/// is merged, and left if that conflicts.
///
/// # Errors
/// There is no such run or task, the run has not ended, nothing of it has landed, or it cannot be
/// taken back.
pub async fn run(
    context: &CommandContext,
    repository: &dyn Repository,
    args: &UndoArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = target::find_several(context, args.target.as_ref(), &args.tasks)?;
    target::check_has_ended(&target, "take back")?;
    let landed = target.tasks.iter().filter(|row| has_landed(row)).cloned().collect();
    let landed = Target { run: target.run.clone(), tasks: landed, kind: target.kind };
    target::check_not_collected(context, &landed, "landed work")?;
    let most = if args.all { usize::MAX } else { context.view.most_listed() };
    let refused = |error| not_taken_back(context, &target, error);
    let Some(request) = undo_request(repository, &target).await.map_err(refused)? else {
        print_already(context, &target, (most, out))?;
        return Ok(ExitCode::Success);
    };
    if args.execution() == Execution::DryRun {
        let report = repository.dry_run_undo(request).await?;
        print(context, &target, &report, (Done::DryRun, most), out)?;
        return Ok(exit_code(&report));
    }
    let locked = LockedTarget::of(&context.runs, repository, &target)?;
    // The previous holder of the lock may have taken the work back.
    let target = locked.target();
    let refused = |error| not_taken_back(context, target, error);
    let Some(request) = undo_request(repository, target).await.map_err(refused)? else {
        print_already(context, target, (most, out))?;
        return Ok(ExitCode::Success);
    };
    let stop = CancelOnSignal::begin()?;
    let (what, notify) = ((&locked, request), Arc::new(print_notice));
    let report = take_back(&context.runs, repository, what, stop.cancel(), notify).await;
    let report = report.map_err(|error| match error {
        UndoError::Stopped => refused(error).exit(stop.code().unwrap_or(ExitCode::Interrupted)),
        error => refused(error),
    })?;
    print(context, target, &report, (Done::Yes, most), out)?;
    Ok(stop.code().unwrap_or_else(|| exit_code(&report)))
}

/// Returns the error of work that was not taken back.
fn not_taken_back(context: &CommandContext, target: &Target, error: UndoError) -> Error {
    let usage = Error::usage(error.to_string());
    match error {
        UndoError::NothingLanded(_) => {
            let show = context.hints.command(&format!("runs show {}", target.run.name));
            let landed = latest_landed(context).filter(|run| *run != target.run.name);
            let undo = landed.map(|run| context.hints.command(&format!("undo {run}")));
            let undo = undo
                .map(|undo| format!("{undo} (the latest run of this repository that has landed)"));
            undo.into_iter().fold(usage.hint(show), Error::hint)
        }
        UndoError::Stopped => {
            usage.hint(context.hints.command(&format!("undo {}", target.arguments())))
        }
        // Nothing was taken back, because the disk is full.
        UndoError::Repository(error @ IsolationError::Resources { .. }) => {
            Error::from(error).exit(ExitCode::Kept)
        }
        UndoError::Repository(error) => error.into(),
        UndoError::Unrecorded(error) => Error::from(error)
            .because("the work is taken back; the next command of regatta here records it"),
        UndoError::Ledger(error) => error.into(),
    }
}

/// Returns the latest run of the repository of which something has landed, if one of the latest runs has.
fn latest_landed(context: &CommandContext) -> Option<RunName> {
    let runs = context.runs.reader.runs(Some(&context.runs.root), SEARCHED).ok()?;
    let is_landed = |run: &RunRow| {
        let tasks = context.runs.reader.tasks_without_yields(run.id);
        tasks.is_ok_and(|tasks| tasks.iter().any(has_landed))
    };
    runs.into_iter().find(is_landed).map(|run| run.name)
}

/// Says that an earlier undo has taken back all of a target.
fn print_already(
    context: &CommandContext,
    target: &Target,
    (most, out): (usize, Out<'_>),
) -> Result<(), Error> {
    let name = target.arguments();
    let again = context.hints.command(&format!("apply {name} --again"));
    match context.view.form {
        Form::Json => print(context, target, &UndoReport::default(), (Done::Already, most), out),
        Form::Text => {
            let results = task_results(target, &UndoReport::default());
            let each = task_lines(context, &results, ("taken back", most));
            each.iter().try_for_each(|line| say(out, line))?;
            let nothing = format!("{name} was taken back already");
            let what = if each.is_empty() { nothing } else { "nothing has changed".to_owned() };
            let back = || target.tasks.iter().filter(|row| is_taken_back(row));
            let next = if back().any(can_land_again) {
                format!("land it again with: {again}")
            } else if back().any(|row| row.discarded.is_some()) {
                "its work was discarded".to_owned()
            } else {
                "its work was collected: `regatta gc` removed it".to_owned()
            };
            say(out, &format!("{what}; {next}"))
        }
    }
}

fn exit_code(report: &UndoReport) -> ExitCode {
    if report.has_left() { ExitCode::Kept } else { ExitCode::Success }
}

#[cfg(test)]
mod tests;
