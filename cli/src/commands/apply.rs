//! `regatta apply`: lands work that is kept.

mod choose;
mod patience;
mod told;

use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use engine::landing::{self, LandingEnd, Lands, Records};
use engine::ports::{
    CancelToken, Ids as _, IsolationError, LandingNews, LandingRequest, LandingTarget, LedgerError,
    Repository,
};
use protocol::{
    ExitCode, Landed, LandingId, LandingReport, LedgerEntry, MergeMode, RunName, TaskLanding,
};
use store::TaskRow;

use self::choose::{landing_tasks, wanted};
use self::patience::Patience;
use super::context::{Context, Out, say};
use super::target::{Scope, Target};
use super::work::{landed, loose};
use crate::args::{ApplyArgs, Form, Step};
use crate::boot::UniqueIds;
use crate::error::Error;
use crate::render::{count, one_line, rescue_line};

/// Lands the kept work of one task, or everything of a run that is whole: each task's work whole
/// or not at all. What a task had done when it failed lands only when the task is named.
///
/// # Errors
/// There is no such run or task, the run is still going on, the landing could not be done, or it was
/// stopped before it began.
pub async fn run(
    context: &Context,
    repository: &dyn Repository,
    args: &ApplyArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = Target::find(context, args.target.as_deref())?;
    target.must_be_over("land")?;
    let chosen = chosen(&target);
    if chosen.is_empty() {
        return nothing(context, &target, out);
    }
    if args.step() == Step::Say {
        let report = repository.dry_run(request(context, &target, &chosen)?).await?;
        told::forecast(context, &target.run.name, &report, &chosen, out)?;
        return Ok(exit_code(&report));
    }
    // Refused, if it has to be, before anybody is waited for.
    let _possible = request(context, &target, &chosen)?;
    // Held until the ledger has the landing: nobody else lands the same work meanwhile.
    let _lock = repository.lock_run(&target.run.name)?;
    // Whoever had the lock before may have landed it.
    let target = target.again(context)?;
    land(context, repository, &target, out).await
}

/// Lands what is there to land of `target`, whose run is locked.
async fn land(
    context: &Context,
    repository: &dyn Repository,
    target: &Target,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let chosen = chosen(target);
    if chosen.is_empty() {
        return nothing(context, target, out);
    }
    let request = request(context, target, &chosen)?;
    let patience = Patience::begin()?;
    let news = Arc::new(|news| {
        let line = match news {
            LandingNews::Waiting => {
                "waits: another engine is landing in this repository".to_owned()
            }
            LandingNews::HeadMoved => {
                "HEAD has moved meanwhile; the work lands all the same".to_owned()
            }
            LandingNews::Rescued(rescue) => rescue_line(&rescue),
            LandingNews::Unwatched { path, why } => one_line(&format!(
                "programs that write to files cannot be noticed: replaced files are compared twice \
                 (no lease can be had on {path}: {why})"
            )),
        };
        // Where nobody reads it, the landing goes on all the same.
        let _unread = writeln!(std::io::stderr(), "{line}");
    });
    let (landing, work) = (UniqueIds.landing(), (target.run.id, request));
    let cancel = patience.cancel();
    let report =
        match landing::land(landing, work, &Here(repository), context, cancel, news).await? {
            LandingEnd::Reported(report) => report,
            LandingEnd::Cancelled => return Err(stopped(context, target, patience.code())),
            LandingEnd::Failed(error) => return Err(Error::from(error).exit(ExitCode::Kept)),
        };
    told::result(context, &target.run.name, &report, out)?;
    Ok(patience.code().unwrap_or_else(|| exit_code(&report)))
}

/// The tasks of `target` whose work is there to land.
fn chosen(target: &Target) -> Vec<&TaskRow> {
    target.tasks.iter().filter(|row| wanted(row, target.scope)).collect()
}

/// What has to be asked of the repository to land the work of the tasks that are chosen.
fn request(
    context: &Context,
    target: &Target,
    chosen: &[&TaskRow],
) -> Result<LandingRequest, Error> {
    Ok(LandingRequest {
        run: target.run.name.clone(),
        target: match target.run.spec.merge {
            MergeMode::Patch | MergeMode::None => LandingTarget::Tree,
            MergeMode::Branch => {
                LandingTarget::Branches { prefix: target.run.spec.branch_prefix.clone() }
            }
        },
        tasks: landing_tasks(context, &target.run.name, chosen)?,
    })
}

/// Says that nothing landed, and how it can.
fn stopped(context: &Context, target: &Target, code: Option<ExitCode>) -> Error {
    let name = match (target.scope, target.tasks.first()) {
        (Scope::Task, Some(row)) => format!("{}/{}", target.run.name, row.name),
        _ => target.run.name.to_string(),
    };
    Error::usage("stopped before anything had landed; all of it is kept")
        .hint(context.typing.command(&format!("apply {name}")))
        .exit(code.unwrap_or(ExitCode::Interrupted))
}

fn nothing(context: &Context, target: &Target, out: Out<'_>) -> Result<ExitCode, Error> {
    let name = &target.run.name;
    if let (Scope::Task, Some(row)) = (target.scope, target.tasks.first())
        && !landed(row)
    {
        let why = match (&row.captured, row.discarded) {
            (Some(_), Some(_)) => "it was discarded",
            (Some(_), None) => "it changed nothing",
            (None, _) => "nothing was captured",
        };
        let what = format!("there is no work of task {name}/{} to land", row.name);
        return Err(Error::usage(what).because(why));
    }
    let unfinished = target.tasks.iter().filter(|row| loose(row).is_some()).collect::<Vec<_>>();
    match (context.view.form, unfinished.first()) {
        (Form::Json, _) => {
            told::result(context, name, &LandingReport::default(), out)?;
        }
        (Form::Text, None) => say(out, &nothing_left(target))?,
        (Form::Text, Some(row)) => {
            let command = context.typing.command(&format!("apply {name}/{}", row.name));
            let rest = count(unfinished.len(), "unfinished task");
            say(
                out,
                &format!("nothing of run {name} is ready to land; {rest} can be named: {command}"),
            )?;
        }
    }
    Ok(ExitCode::Success)
}

/// Returns why no work is left that could land, as a line.
fn nothing_left(target: &Target) -> String {
    let name = &target.run.name;
    if let (Scope::Task, Some(row)) = (target.scope, target.tasks.first()) {
        return format!("the work of task {name}/{} has landed already", row.name);
    }
    let has_changes =
        |row: &&TaskRow| row.captured.as_ref().is_some_and(|captured| captured.changes.files > 0);
    let mut works = target.tasks.iter().filter(has_changes).peekable();
    if works.peek().is_none() {
        format!("there is no work of run {name} to land: nothing was changed")
    } else if works.all(|row| landed(row) || row.discarded.is_none()) {
        format!("everything of run {name} has landed already")
    } else {
        format!("nothing of run {name} is left to land: what had not landed was discarded")
    }
}

fn exit_code(report: &LandingReport) -> ExitCode {
    let there =
        |task: &TaskLanding| matches!(task.landed, Landed::Landed { .. } | Landed::Unchanged);
    if report.tasks.iter().all(there) { ExitCode::Success } else { ExitCode::Kept }
}

/// Lands in the repository at hand.
struct Here<'a>(&'a dyn Repository);

#[async_trait]
impl Lands for Here<'_> {
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        news: Arc<dyn Fn(LandingNews) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        self.0.land(landing, request, cancel, news).await
    }

    async fn acknowledge(&self, run: &RunName) {
        if let Err(error) = self.0.acknowledge(run).await {
            tracing::warn!(%error, "the next start finds this landing again, and that it is recorded");
        }
    }
}

#[async_trait]
impl Records for Context {
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError> {
        self.ledger.append(vec![(self.clock.now(), entry)]).await
    }
}

#[cfg(test)]
mod tests;
