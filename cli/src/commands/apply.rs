//! `regatta apply`: lands kept work.

use std::sync::Arc;

use engine::ports::{LandingRequest, Repository, SettleRequest};
use protocol::{ExitCode, Landed, LandingReport, TaskLanding, TaskName};
use store::TaskRow;

use super::apply_output;
use super::context::{CommandContext, Out, say};
use super::landable_text::{landable, not_ready, notes, nothing_of_kind};
use super::landing_notices::print_notice;
use super::target;
use crate::args::{ApplyArgs, Execution, Form};
use crate::process;
use crate::render::{conflicts_text, count, unverified, unverified_text};
use crate::signals::CancelOnSignal;
use regatta::error::Error;
use regatta::runs::{
    self, KeptReason, LandAgain, LandError, LandableWork, LockedTarget, Target, TargetKind,
    can_land_again, check_lands_again, has_landed, is_taken_back, kept_reason, landing_request,
    of_kind,
};

/// Lands the kept work of one task, or all complete kept work of a run. The work of a task lands as
/// a whole or not at all. The work of a failed task lands only if the user names that task.
///
/// # Errors
/// There is no such run or task, the run has not ended, the landing failed, or it was cancelled
/// before it began.
pub async fn run(
    context: &CommandContext,
    repository: &dyn Repository,
    args: &ApplyArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let given = &args.target;
    let target = target::find_several(context, given.target.as_ref(), &given.tasks)?;
    target::check_has_ended(&target, "land")?;
    let which: Vec<_> = args.which.chosen().collect();
    let target = of_kind(target, &which).map_err(|none| nothing_of_kind(&none.target, &which))?;
    if args.land_again() == LandAgain::Yes || args.settle.branch().is_some() {
        target::check_not_collected(context, &target, "work")?;
    }
    if let Some(branch) = args.settle.branch() {
        return super::settle_branch::run(context, &target, branch, out);
    }
    if args.settle.is_given() {
        return super::settle::run(context, repository, args, target, out).await;
    }
    let again = args.land_again();
    let (work, uncompared) = landable(context, &target, again)?;
    if work.chosen.is_empty() {
        return nothing_to_land(context, &target, (&work, uncompared), out);
    }
    if args.execution() == Execution::DryRun {
        let report = repository
            .dry_run(request(context, &target, &work, &SettleRequest::default())?)
            .await?;
        let run = &target.run.name;
        apply_output::print_dry_run(context, run, (&report, &[]), &target.tasks, out)?;
        return Ok(exit_code(&report));
    }
    // Checks the request first, so that an invalid one fails without waiting for the lock.
    let _possible = request(context, &target, &work, &SettleRequest::default())?;
    let locked = LockedTarget::of(&context.runs, repository, &target)?;
    land(context, repository, &locked, (again, &SettleRequest::default()), out).await
}

/// Lands the work of one task, whose conflicts are settled as `settle` says.
pub(super) async fn settle(
    context: &CommandContext,
    repository: &dyn Repository,
    args: &ApplyArgs,
    target: &Target,
    settle: SettleRequest,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let locked = LockedTarget::of(&context.runs, repository, target)?;
    land(context, repository, &locked, (args.land_again(), &settle), out).await
}

/// Returns the request that lands the work of one task with settled conflicts.
pub(super) fn settle_request(
    context: &CommandContext,
    target: &Target,
    (again, settle): (LandAgain, SettleRequest),
) -> Result<LandingRequest, Error> {
    let (work, _) = landable(context, target, again)?;
    if work.chosen.is_empty() {
        return Err(no_work(target));
    }
    request(context, target, &work, &settle)
}

/// Lands the kept work of a target.
async fn land(
    context: &CommandContext,
    repository: &dyn Repository,
    locked: &LockedTarget,
    (again, settle): (LandAgain, &SettleRequest),
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = locked.target();
    let (work, uncompared) = landable(context, target, again)?;
    if work.chosen.is_empty() {
        return nothing_to_land(context, target, (&work, uncompared), out);
    }
    let request = request(context, target, &work, settle)?;
    let refused = |error| not_landed(context, target, error);
    if again == LandAgain::Yes {
        check_lands_again(repository, target, &request).await.map_err(refused)?;
    }
    for row in &work.chosen {
        if let Some(failed) = unverified(row.landing.as_ref()) {
            let (name, why) = (&row.name, unverified_text(failed));
            process::notify(&format!("note: {name} lands unverified: {why}"));
        }
    }
    let stop = CancelOnSignal::begin()?;
    let (what, notify) = ((locked, request), Arc::new(print_notice));
    let report = runs::land(&context.runs, repository, what, stop.cancel(), notify).await;
    let report = report.map_err(|error| match error {
        LandError::Stopped => refused(error).exit(stop.code().unwrap_or(ExitCode::Interrupted)),
        error => refused(error),
    })?;
    let gone = work.gone_names();
    apply_output::print_landing(context, &target.run.name, &report, &gone, out)?;
    if context.view.form == Form::Text {
        for lines in notes(context, target, (&work, uncompared.as_ref())) {
            process::notify(&format!("note: {}", lines.join("; ")));
        }
        for row in named_in_vain(target, &work) {
            let why = no_work_of(target, row).what_and_why();
            process::notify(&format!("note: {why}"));
        }
    }
    Ok(stop.code().unwrap_or_else(|| exit_code(&report)))
}

/// Returns the error of work that did not land.
fn not_landed(context: &CommandContext, target: &Target, error: LandError) -> Error {
    let usage = Error::usage(error.to_string());
    match error {
        LandError::ConflictsAgain { task, conflicts } => {
            let conflicts = conflicts_text(&conflicts);
            usage
                .because(format!("the tree has other changes: {conflicts}"))
                .hint(context.hints.command(&format!("diff {task}")))
                .exit(ExitCode::Kept)
        }
        LandError::Stopped => {
            usage.hint(context.hints.command(&format!("apply {}", target.arguments())))
        }
        LandError::Failed(error) => Error::from(error).exit(ExitCode::Kept),
        LandError::Repository(error) => error.into(),
        LandError::Unrecorded { landed, of } if landed.is_empty() => of.into(),
        LandError::Unrecorded { landed, of } => Error::from(of).because(landed_unrecorded(&landed)),
        LandError::Ledger(error) => error.into(),
    }
}

/// Says that the work of these tasks has landed although the ledger may not have it.
pub(super) fn landed_unrecorded(landed: &[TaskName]) -> String {
    let names: Vec<&str> = landed.iter().map(TaskName::as_str).collect();
    let names = names.join(", ");
    format!("the work of {names} has landed; the next command of regatta here records it")
}

/// Returns the request that lands the work of the chosen tasks.
fn request(
    context: &CommandContext,
    target: &Target,
    work: &LandableWork<'_>,
    settle: &SettleRequest,
) -> Result<LandingRequest, Error> {
    let request = landing_request(&context.runs, target, work, settle);
    request.map_err(|error| not_ready(context, error))
}

fn nothing_to_land(
    context: &CommandContext,
    target: &Target,
    (work, uncompared): (&LandableWork<'_>, Option<Error>),
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let name = &target.run.name;
    let was_there = |row: &TaskRow| has_landed(row) || can_land_again(row);
    if target.kind == TargetKind::Task && !target.tasks.iter().all(was_there) {
        return Err(no_work(target));
    }
    if let (Some(error), true) = (&uncompared, target.tasks.iter().any(has_landed)) {
        return Err(error.clone());
    }
    let unfinished =
        target.tasks.iter().filter(|row| kept_reason(row).is_some() && !is_taken_back(row));
    let unfinished = unfinished.collect::<Vec<_>>();
    let notes = notes(context, target, (work, uncompared.as_ref())).concat();
    match (context.view.form, unfinished.first()) {
        (Form::Json, _) => {
            let report = LandingReport::default();
            apply_output::print_landing(context, name, &report, &work.gone_names(), out)?;
        }
        (Form::Text, _) if !notes.is_empty() => say(out, &notes.join("\n"))?,
        (Form::Text, None) => say(out, &nothing_left(target))?,
        (Form::Text, Some(row)) => {
            let command = context.hints.command(&format!("apply {name}/{}", row.name));
            let is_unfinished = |row: &&TaskRow| kept_reason(row) == Some(KeptReason::Unfinished);
            let what = match unfinished.iter().all(is_unfinished) {
                true => "unfinished task",
                false => "kept task",
            };
            let rest = count(unfinished.len(), what);
            say(
                out,
                &format!("nothing of run {name} is ready to land; {rest} can be named: {command}"),
            )?;
        }
    }
    Ok(if work.gone.is_empty() { ExitCode::Success } else { ExitCode::Kept })
}

/// Returns the tasks that are named and have no work that lands or has landed.
fn named_in_vain<'a>(
    target: &'a Target,
    work: &LandableWork<'_>,
) -> impl Iterator<Item = &'a TaskRow> {
    let lands = |row: &TaskRow| work.chosen.iter().any(|chosen| chosen.id == row.id);
    let is_named = target.kind == TargetKind::Task;
    let named = target.tasks.iter().filter(move |_| is_named);
    named.filter(move |row| !lands(row) && !has_landed(row) && !can_land_again(row))
}

/// Returns the error of a task without work to land.
fn no_work(target: &Target) -> Error {
    let was_there = |row: &&TaskRow| has_landed(row) || can_land_again(row);
    let rest = target.tasks.iter().find(|row| !was_there(row));
    let row = rest.or(target.tasks.first());
    row.map_or_else(|| Error::usage("there is no such task"), |row| no_work_of(target, row))
}

fn no_work_of(target: &Target, row: &TaskRow) -> Error {
    let name = format!("{}/{}", target.run.name, row.name);
    let what = format!("there is no work of task {name} to land");
    if can_land_again(row) {
        let again = format!("regatta apply {name} --again");
        return Error::usage(what).because("it was taken back").hint(again);
    }
    let why = match (&row.captured, row.discarded) {
        (Some(_), Some(_)) => "it was discarded",
        (Some(_), None) if row.collected.is_some() => "it was collected",
        (Some(_), None) => "it changed nothing",
        (None, _) => "nothing was captured",
    };
    Error::usage(what).because(why)
}

/// Returns why there is no work left to land, as a line.
fn nothing_left(target: &Target) -> String {
    let name = &target.run.name;
    match (target.kind, target.tasks.len()) {
        (TargetKind::Task, 1) => {
            return format!("the work of task {} has landed already", target.arguments());
        }
        (TargetKind::Task, _) => {
            return format!("the work of tasks {} has landed already", target.arguments());
        }
        (TargetKind::Run, _) => {}
    }
    let has_changes =
        |row: &&TaskRow| row.captured.as_ref().is_some_and(|captured| captured.changes.files > 0);
    let mut works = target.tasks.iter().filter(has_changes).peekable();
    if works.peek().is_none() {
        format!("there is no work of run {name} to land: nothing was changed")
    } else if works.all(|row| has_landed(row) || row.discarded.is_none()) {
        format!("everything of run {name} has landed already")
    } else {
        format!("nothing of run {name} is left to land: the rest was discarded")
    }
}

pub(super) fn exit_code(report: &LandingReport) -> ExitCode {
    let there =
        |task: &TaskLanding| matches!(task.landed, Landed::Landed { .. } | Landed::Unchanged);
    if report.tasks.iter().all(there) { ExitCode::Success } else { ExitCode::Kept }
}

#[cfg(test)]
mod tests;
