//! `regatta apply`: lands kept work.

use std::sync::Arc;

use async_trait::async_trait;
use engine::landing::{self, LandingBackend, LandingEnd, LedgerWriter};
use engine::ports::{
    CancelToken, Ids as _, IsolationError, LandingNotice, LandingRequest, LandingTarget,
    LedgerError, Repository, SettleRequest,
};
use protocol::{
    Conflict, ExitCode, Landed, LandingId, LandingReport, LedgerEntry, RunName, TaskLanding,
    TaskName,
};
use store::TaskRow;

use super::apply_output;
use super::context::{CommandContext, Out, say};
use super::kept_work::{
    ChosenWork, can_land_again, has_landed, is_taken_back, kept_reason, labels_of, landing_tasks,
};
use super::landable_work::{LandableWork, of_kind};
use super::landing_notices::print_notice;
use super::target::{Target, TargetKind};
use crate::args::{ApplyArgs, Execution, Form, LandAgain};
use crate::process;
use crate::render::{KeptReason, conflicts_text, count, unverified, unverified_text};
use crate::signals::CancelOnSignal;
use regatta::app_context::UniqueIds;
use regatta::error::Error;

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
    let target = Target::find_several(context, given.target.as_ref(), &given.tasks)?;
    target.check_has_ended("land")?;
    let target = of_kind(target, &args.which.chosen().collect::<Vec<_>>())?;
    if args.land_again() == LandAgain::Yes || args.settle.branch().is_some() {
        target.check_not_collected(context, "work")?;
    }
    if let Some(branch) = args.settle.branch() {
        return super::settle_branch::run(context, &target, branch, out);
    }
    if args.settle.is_given() {
        return super::settle::run(context, repository, args, target, out).await;
    }
    let again = args.land_again();
    let work = LandableWork::of(context, &target, again)?;
    if work.chosen.is_empty() {
        return nothing_to_land(context, &target, &work, out);
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
    // The lock is held until the ledger has the landing. So no other engine lands the same work.
    let _lock = repository.lock_run(&target.run.name)?;
    // The previous holder of the lock may have landed the work, so the tasks are read again.
    let target = target.reload(context)?;
    land(context, repository, &target, (again, &SettleRequest::default()), out).await
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
    let _lock = repository.lock_run(&target.run.name)?;
    let target = target.reload(context)?;
    land(context, repository, &target, (args.land_again(), &settle), out).await
}

/// Returns the request that lands the work of one task with settled conflicts.
pub(super) fn settle_request(
    context: &CommandContext,
    target: &Target,
    (again, settle): (LandAgain, SettleRequest),
) -> Result<LandingRequest, Error> {
    let work = LandableWork::of(context, target, again)?;
    if work.chosen.is_empty() {
        return Err(no_work(target));
    }
    request(context, target, &work, &settle)
}

/// Lands the kept work of `target`, whose run is locked.
async fn land(
    context: &CommandContext,
    repository: &dyn Repository,
    target: &Target,
    (again, settle): (LandAgain, &SettleRequest),
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let work = LandableWork::of(context, target, again)?;
    if work.chosen.is_empty() {
        return nothing_to_land(context, target, &work, out);
    }
    let request = request(context, target, &work, settle)?;
    if again == LandAgain::Yes {
        check_lands_again(context, repository, target, &request).await?;
    }
    for row in &work.chosen {
        if let Some(failed) = unverified(row.landing.as_ref()) {
            let (name, why) = (&row.name, unverified_text(failed, &labels_of(&target.tasks)));
            process::notify(&format!("note: {name} lands unverified: {why}"));
        }
    }
    let stop = CancelOnSignal::begin()?;
    let notify = Arc::new(print_notice);
    let landing = UniqueIds.landing();
    let cancel = stop.cancel();
    let report = match landing::land(
        landing,
        (target.run.id, request),
        &RepositoryLandings { repository, known: &target.tasks },
        context,
        cancel,
        notify,
    )
    .await?
    {
        LandingEnd::Reported(report) => report,
        LandingEnd::Cancelled => return Err(cancelled(context, target, stop.code())),
        LandingEnd::Failed(error) => return Err(Error::from(error).exit(ExitCode::Kept)),
        LandingEnd::Unrecorded(report, error) => return Err(unrecorded(&report, error)),
    };
    let gone = work.gone_names();
    apply_output::print_landing(context, &target.run.name, &report, &target.tasks, &gone, out)?;
    if context.view.form == Form::Text {
        for lines in work.notes(context, target) {
            process::notify(&format!("note: {}", lines.join("; ")));
        }
        for row in named_in_vain(target, &work) {
            let why = no_work_of(target, row).what_and_why();
            process::notify(&format!("note: {why}"));
        }
    }
    Ok(stop.code().unwrap_or_else(|| exit_code(&report)))
}

/// Returns the error of a landing that is complete and could not be recorded.
fn unrecorded(report: &LandingReport, error: LedgerError) -> Error {
    let landed = report.tasks.iter().filter(|task| matches!(task.landed, Landed::Landed { .. }));
    let landed: Vec<TaskName> = landed.map(|task| task.task.clone()).collect();
    let error = Error::from(error);
    match landed[..] {
        [] => error,
        _ => error.because(landed_unrecorded(&landed)),
    }
}

/// Says that the work of these tasks has landed although the ledger may not have it.
pub(super) fn landed_unrecorded(landed: &[TaskName]) -> String {
    let names: Vec<&str> = landed.iter().map(TaskName::as_str).collect();
    let names = names.join(", ");
    format!("the work of {names} has landed; the next command of regatta here records it")
}

/// Checks that work which has landed before lands again without a conflict. Otherwise the ledger
/// would call it a conflict, although a part of it is in the tree.
async fn check_lands_again(
    context: &CommandContext,
    repository: &dyn Repository,
    target: &Target,
    request: &LandingRequest,
) -> Result<(), Error> {
    let report = repository.dry_run(request.clone()).await?;
    let landed_before =
        |task: &TaskName| target.tasks.iter().any(|row| row.name == *task && has_landed(row));
    let labels = labels_of(&target.tasks);
    for TaskLanding { task, landed, .. } in &report.tasks {
        if let (Landed::Conflicted { conflicts }, true) = (landed, landed_before(task)) {
            let name = format!("{}/{task}", target.run.name);
            return Err(Error::usage(format!("cannot land the work of task {name} again"))
                .because(format!(
                    "the tree has other changes: {}",
                    conflicts_text(conflicts, &labels)
                ))
                .hint(context.hints.command(&format!("diff {name}")))
                .exit(ExitCode::Kept));
        }
    }
    Ok(())
}

/// Returns the request that lands the work of the chosen tasks.
fn request(
    context: &CommandContext,
    target: &Target,
    work: &LandableWork<'_>,
    settle: &SettleRequest,
) -> Result<LandingRequest, Error> {
    let terms = &target.run.spec;
    let ChosenWork { mut tasks, landed } = landing_tasks(context, &target.run.name, work)?;
    for task in &mut tasks {
        let row = target.tasks.iter().find(|row| row.name == task.task);
        let landed = row.map(|row| row.settled.landed.iter().cloned().collect());
        task.settle = SettleRequest { landed: landed.unwrap_or_default(), ..settle.clone() };
    }
    Ok(LandingRequest {
        run: target.run.name.clone(),
        // Work that is only kept lands in the tree.
        target: landing::landing_target(terms.merge, &terms.branch_prefix, terms.stack.as_ref())
            .unwrap_or(LandingTarget::Tree),
        tasks,
        landed,
        union: target.run.spec.union.clone(),
    })
}

/// Returns the error of a landing that was cancelled, with the command that lands the work.
fn cancelled(context: &CommandContext, target: &Target, code: Option<ExitCode>) -> Error {
    Error::usage("stopped before anything had landed; all of it is kept")
        .hint(context.hints.command(&format!("apply {}", target.arguments())))
        .exit(code.unwrap_or(ExitCode::Interrupted))
}

fn nothing_to_land(
    context: &CommandContext,
    target: &Target,
    work: &LandableWork<'_>,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let name = &target.run.name;
    let was_there = |row: &TaskRow| has_landed(row) || can_land_again(row);
    if target.kind == TargetKind::Task && !target.tasks.iter().all(was_there) {
        return Err(no_work(target));
    }
    if let (Some(error), true) = (&work.uncompared, target.tasks.iter().any(has_landed)) {
        return Err(error.clone());
    }
    let unfinished =
        target.tasks.iter().filter(|row| kept_reason(row).is_some() && !is_taken_back(row));
    let unfinished = unfinished.collect::<Vec<_>>();
    let notes = work.notes(context, target).concat();
    match (context.view.form, unfinished.first()) {
        (Form::Json, _) => {
            let report = LandingReport::default();
            apply_output::print_landing(context, name, &report, &[], &work.gone_names(), out)?;
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

/// Implements the port `LandingBackend` with an opened repository.
struct RepositoryLandings<'a> {
    repository: &'a dyn Repository,
    /// The tasks as the ledger knows them.
    known: &'a [TaskRow],
}

#[async_trait]
impl LandingBackend for RepositoryLandings<'_> {
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        let mut report = self.repository.land(landing, request, cancel, notify).await?;
        for task in &mut report.tasks {
            let row = self.known.iter().find(|row| row.name == task.task);
            if let (Some(row), Landed::Conflicted { conflicts }) = (row, &mut task.landed) {
                keep_other_tasks(row, conflicts);
            }
        }
        Ok(report)
    }

    async fn acknowledge(&self, run: &RunName) {
        if let Err(error) = self.repository.acknowledge(run).await {
            tracing::warn!(%error, "the next start finds this landing again, and that it is recorded");
        }
    }
}

/// Keeps the other task of each conflict that an earlier landing found too: its work is a part of the
/// tree now.
pub(super) fn keep_other_tasks(row: &TaskRow, conflicts: &mut [Conflict]) {
    let Some(Landed::Conflicted { conflicts: before }) = &row.landing else { return };
    for conflict in conflicts.iter_mut().filter(|conflict| conflict.with.is_none()) {
        let same =
            before.iter().find(|other| other.path == conflict.path && other.ours == conflict.ours);
        conflict.with = same.and_then(|other| other.with.clone());
    }
}

#[async_trait]
impl LedgerWriter for CommandContext {
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError> {
        self.ledger.append(vec![(self.clock.now(), entry)]).await
    }
}

#[cfg(test)]
mod tests;
