//! `regatta undo`: takes landed work back.

use std::sync::Arc;

use engine::ports::{
    Ids as _, IsolationError, Repository, UndoReport, UndoRequest, UndoScope, UndoTask,
};
use protocol::{ExitCode, LandingReport, LedgerEntry};
use store::TaskRow;

use super::context::{CommandContext, Out, say};
use super::kept_work::{has_landed, is_taken_back};
use super::landing_notices::print_notice;
use super::target::{Target, TargetKind};
use super::undo_output::{Done, print};
use super::undo_tasks::{task_lines, task_results};
use crate::args::{Execution, UndoArgs};
use crate::signals::CancelOnSignal;
use regatta::app_context::UniqueIds;
use regatta::error::Error;

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
    if args.target.is_none() {
        let error = Error::usage("`regatta undo` needs a run or a task to take back");
        return Err(error
            .hint(format!("{} (the latest run)", context.hints.command("undo @")))
            .hint(format!("{} (lists all)", context.hints.command("runs"))));
    }
    let target = Target::find_several(context, args.target.as_ref(), &args.tasks)?;
    target.check_has_ended("take back")?;
    let landed = target.tasks.iter().filter(|row| has_landed(row)).cloned().collect();
    let landed = Target { run: target.run.clone(), tasks: landed, kind: target.kind };
    landed.check_not_collected(context, "landed work")?;
    let most = if args.all { usize::MAX } else { context.view.most_listed() };
    let Some(request) = request(context, repository, &target, (most, out)).await? else {
        return Ok(ExitCode::Success);
    };
    if args.execution() == Execution::DryRun {
        let report = repository.dry_run_undo(request).await?;
        print(context, &target, &report, (Done::DryRun, most), out)?;
        return Ok(exit_code(&report));
    }
    // The lock is held until the ledger has the result. So no other engine lands the same work.
    let _lock = repository.lock_run(&target.run.name)?;
    // The previous holder of the lock may have taken the work back.
    let target = target.reload(context)?;
    let Some(request) = self::request(context, repository, &target, (most, out)).await? else {
        return Ok(ExitCode::Success);
    };
    let (report, code) = take_back(context, repository, &target, request).await?;
    print(context, &target, &report, (Done::Yes, most), out)?;
    Ok(code.unwrap_or_else(|| exit_code(&report)))
}

/// Takes the work of `target` back, whose run is locked. Its begin is in the ledger before anything
/// changes, and its result afterwards. Returns also the exit code of a signal that came too late.
async fn take_back(
    context: &CommandContext,
    repository: &dyn Repository,
    target: &Target,
    request: UndoRequest,
) -> Result<(UndoReport, Option<ExitCode>), Error> {
    let stop = CancelOnSignal::begin()?;
    let (landing, run) = (UniqueIds.landing(), target.run.id);
    context.record(vec![LedgerEntry::LandingStarted { run, landing: Some(landing) }]).await?;
    let undone = repository.undo(landing, request, stop.cancel(), Arc::new(print_notice)).await;
    let report = match &undone {
        Ok(undone) => undone.report.clone(),
        Err(_nothing_changed) => LandingReport::default(),
    };
    let ended = LedgerEntry::LandingFinished { run, landing: Some(landing), report };
    if let Err(error) = context.record(vec![ended]).await {
        let then = "the work is taken back; the next command of regatta here records it";
        return Err(if undone.is_ok() { error.because(then) } else { error });
    }
    if let Err(error) = repository.acknowledge(&target.run.name).await {
        tracing::warn!(%error, "the next start finds this undo again, and that it is recorded");
    }
    match undone {
        Ok(report) => Ok((report, stop.code())),
        Err(IsolationError::Withdrawn) => Err(Error::usage("stopped before anything had changed")
            .hint(context.hints.command(&format!("undo {}", target.arguments())))
            .exit(stop.code().unwrap_or(ExitCode::Interrupted))),
        // Nothing was taken back, because the disk is full.
        Err(error @ IsolationError::Resources { .. }) => {
            Err(Error::from(error).exit(ExitCode::Kept))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns what is to be taken back; `None` if all of it was, which is printed.
async fn request(
    context: &CommandContext,
    repository: &dyn Repository,
    target: &Target,
    (most, out): (usize, Out<'_>),
) -> Result<Option<UndoRequest>, Error> {
    let is_back = |row: &TaskRow| is_taken_back(row) && !has_left(row);
    let tasks: Vec<UndoTask> =
        target.tasks.iter().filter(|row| is_in_force(row)).map(task).collect();
    let scope = match target.kind {
        TargetKind::Run => UndoScope::Run,
        TargetKind::Task => UndoScope::Tasks,
    };
    let run = target.run.name.clone();
    if tasks.is_empty() {
        // As with git, tasks that are taken back one by one can leave a file at another name.
        let back = target.tasks.iter().filter(|row| is_back(row)).map(task).collect();
        let all = UndoRequest { run, scope, tasks: back };
        if scope == UndoScope::Run
            && !all.tasks.is_empty()
            && let Ok(report) = repository.dry_run_undo(all.clone()).await
            && !report.paths.is_empty()
        {
            return Ok(Some(all));
        }
        let name = target.arguments();
        if !target.tasks.iter().any(is_back) {
            return Err(Error::usage(format!("nothing of {name} has landed"))
                .hint(context.hints.command(&format!("runs show {}", target.run.name))));
        }
        let again = context.hints.command(&format!("apply {name} --again"));
        match context.view.form {
            crate::args::Form::Json => {
                print(context, target, &UndoReport::default(), (Done::Already, most), out)?;
            }
            crate::args::Form::Text => {
                let results = task_results(target, &UndoReport::default());
                let each = task_lines(context, &results, most);
                each.iter().try_for_each(|line| say(out, line))?;
                let nothing = format!("{name} was taken back already");
                let what = if each.is_empty() { nothing } else { "nothing has changed".to_owned() };
                say(out, &format!("{what}; land it again with: {again}"))?;
            }
        }
        return Ok(None);
    }
    Ok(Some(UndoRequest { run, scope, tasks }))
}

/// Returns whether something of a task is in the repository.
fn is_in_force(row: &TaskRow) -> bool {
    has_landed(row) || has_left(row) || !row.settled.landed.is_empty()
}

/// Returns whether an earlier undo has left something of a task.
fn has_left(row: &TaskRow) -> bool {
    matches!(&row.landing, Some(protocol::Landed::TakenBack { left }) if !left.is_empty())
}

fn task(row: &TaskRow) -> UndoTask {
    let captured = row.captured.as_ref().filter(|_| row.discarded.is_none());
    UndoTask { task: row.name.clone(), capture: captured.map(|captured| captured.capture.clone()) }
}

fn exit_code(report: &UndoReport) -> ExitCode {
    if report.has_left() { ExitCode::Kept } else { ExitCode::Success }
}
