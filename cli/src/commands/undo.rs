//! `regatta undo`: takes landed work back.

use std::sync::Arc;

use engine::ports::{IsolationError, Repository, UndoReport};
use protocol::ExitCode;

use super::context::{CommandContext, Out, say};
use super::landing_notices::print_notice;
use super::target;
use super::undo_output::{Done, print};
use super::undo_tasks::{task_lines, task_results};
use crate::args::{Execution, Form, UndoArgs};
use crate::signals::CancelOnSignal;
use regatta::error::Error;
use regatta::runs::{LockedTarget, Target, UndoError, has_landed, take_back, undo_request};

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
            usage.hint(context.hints.command(&format!("runs show {}", target.run.name)))
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
            let each = task_lines(context, &results, most);
            each.iter().try_for_each(|line| say(out, line))?;
            let nothing = format!("{name} was taken back already");
            let what = if each.is_empty() { nothing } else { "nothing has changed".to_owned() };
            say(out, &format!("{what}; land it again with: {again}"))
        }
    }
}

fn exit_code(report: &UndoReport) -> ExitCode {
    if report.has_left() { ExitCode::Kept } else { ExitCode::Success }
}
