//! `regatta run --resolve`: lets a command or an agent settle the conflicts of a run that has ended.

use engine::ports::Repository;
use protocol::{
    Event, EventKind, EventScope, ExitCode, Landed, MergeMode, RunName, RunSpec, TaskLanding,
    TaskName,
};
use store::TaskRow;

use super::apply;
use super::context::{CommandContext, Out, write_text};
use super::programs::refuse_missing;
use super::target;
use crate::args::{ApplyArgs, Form, Resolver, ResolverKind, SettleArgs, TargetArgs};
use crate::process;
use crate::render::printable_json;
use regatta::error::{Error, ErrorKind};
use regatta::runs::kept_reason;

/// Checks that the conflicts of a run can be resolved.
///
/// # Errors
/// There is no such program, or the run does not land.
pub(super) fn check(resolver: &Resolver, spec: &RunSpec) -> Result<(), Error> {
    if let ResolverKind::Command(script) = &resolver.kind {
        refuse_missing(script)?;
    }
    match spec.merge {
        MergeMode::Patch | MergeMode::Branch | MergeMode::Stack => Ok(()),
        MergeMode::None => Err(Error::usage("`--resolve` needs a run that lands")
            .because("`--merge none` keeps everything, and nothing conflicts")
            .hint("--merge patch")
            .hint("--onto BRANCH")),
    }
}

/// A run that has ended.
pub(super) struct EndedRun<'a> {
    pub(super) run: &'a RunName,
    /// Its exit code.
    pub(super) code: ExitCode,
    /// The number of its last event.
    pub(super) events: u64,
}

/// Lets `resolver` settle the conflicts of the tasks of a run, one task after the other, and lands
/// the work that waited for them. What cannot be settled is reported and stays kept, and so is what else
/// fails. Returns the exit code of the run, which was that of `ended`.
///
/// # Errors
/// A signal has stopped the resolver, or the reader of the output is gone. Nothing else may be resolved then.
pub(super) async fn resolve(
    context: &CommandContext,
    repository: &dyn Repository,
    ended: EndedRun<'_>,
    resolver: &Resolver,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let code = ended.code;
    match resolve_all(context, repository, ended, resolver, out).await {
        Err(error) if !is_stop(&error) => {
            process::notify(&error.to_string());
            Ok(code)
        }
        resolved => resolved,
    }
}

/// Returns whether an error means that the user wants nothing more.
fn is_stop(error: &Error) -> bool {
    error.kind == ErrorKind::Closed
        || matches!(error.exit, ExitCode::Interrupted | ExitCode::Terminated)
}

async fn resolve_all(
    context: &CommandContext,
    repository: &dyn Repository,
    EndedRun { run, code, mut events }: EndedRun<'_>,
    resolver: &Resolver,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let is_json = context.view.form == Form::Json;
    // With `--json` there are only events: one for each task whose conflicts are settled.
    let mut landed: Vec<u8> = Vec::new();
    for task in conflicted(&tasks(context, run)?) {
        let settle = SettleArgs::resolving(resolver);
        let args = ApplyArgs::of(format!("{run}/{task}"), settle);
        landed.clear();
        let result = match is_json {
            true => apply::run(context, repository, &args, &mut landed).await,
            false => apply::run(context, repository, &args, out).await,
        };
        match result {
            Ok(_landed) if is_json => {
                if let Some(kind) = resolved(context, run, &task)? {
                    events += 1;
                    say_event(context, (run, kind), events, out)?;
                }
            }
            Ok(_landed) => {}
            Err(error) if is_stop(&error) => return Err(error),
            // The work of other tasks can be resolved nevertheless.
            Err(error) => {
                process::notify(&error.to_string());
                if is_json && let Some(kind) = failed(context, run, &task)? {
                    events += 1;
                    say_event(context, (run, kind), events, out)?;
                }
            }
        }
    }
    let waits = |row: &TaskRow| matches!(row.landing, Some(Landed::Waiting { .. }));
    let rows = tasks(context, run)?;
    if rows.iter().any(waits) && conflicted(&rows).is_empty() {
        let args = ApplyArgs::of(run.to_string(), SettleArgs::default());
        let _landed = match is_json {
            true => apply::run(context, repository, &args, &mut landed).await?,
            false => apply::run(context, repository, &args, out).await?,
        };
    }
    let is_kept = tasks(context, run)?.iter().any(|row| kept_reason(row).is_some());
    Ok(if code == ExitCode::Kept && !is_kept { ExitCode::Success } else { code })
}

/// Returns the event of a task whose conflicts were settled.
fn resolved(
    context: &CommandContext,
    run: &RunName,
    task: &TaskName,
) -> Result<Option<EventKind>, Error> {
    let row = tasks(context, run)?.into_iter().find(|row| row.name == *task);
    Ok(row.and_then(|TaskRow { name: task, landing, settled, .. }| {
        let landing = TaskLanding { task, landed: landing?, settled };
        Some(EventKind::ConflictsResolved { landing })
    }))
}

/// Returns the event of a task that has a conflict which the resolver did not settle.
fn failed(
    context: &CommandContext,
    run: &RunName,
    task: &TaskName,
) -> Result<Option<EventKind>, Error> {
    let row = tasks(context, run)?.into_iter().find(|row| row.name == *task);
    Ok(row.and_then(|TaskRow { name: task, unresolved, .. }| {
        let failure = unresolved.into_iter().next()?;
        Some(EventKind::ResolverFailed { task, failure })
    }))
}

/// Prints an event with the next number of the run's events.
fn say_event(
    context: &CommandContext,
    (run, kind): (&RunName, EventKind),
    seq: u64,
    out: Out<'_>,
) -> Result<(), Error> {
    let (at, scope) = (context.runs.clock.now(), Some(EventScope::Run(run.clone())));
    let event = Event { seq, at, scope, kind };
    let line = serde_json::to_string(&event).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write an event as JSON").caused_by(&error)
    })?;
    write_text(out, &printable_json(line))
}

fn tasks(context: &CommandContext, run: &RunName) -> Result<Vec<TaskRow>, Error> {
    let target = TargetArgs::from(Some(run.to_string()));
    Ok(target::find(context, &target)?.tasks)
}

fn conflicted(rows: &[TaskRow]) -> Vec<TaskName> {
    let conflicted =
        rows.iter().filter(|row| matches!(row.landing, Some(Landed::Conflicted { .. })));
    conflicted.map(|row| row.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::fake_repository::Bench;
    use super::*;
    use crate::args::AllowLoss;

    #[test]
    async fn an_error_of_the_resolver_is_reported_and_the_exit_code_of_the_run_stays() {
        let bench = Bench::new();
        let run = "r7k3f".parse().unwrap(); // the ledger does not know it
        let ended = EndedRun { run: &run, code: ExitCode::Kept, events: 1 };
        let (kind, timeout) = (ResolverKind::Command("true".to_owned()), Duration::from_secs(60));
        let resolver = Resolver { kind, loss: AllowLoss::No, timeout };
        let (repository, out) = (bench.repository.as_ref(), &mut Vec::new());
        let code = resolve(&bench.context, repository, ended, &resolver, out).await;
        assert_eq!(code, Ok(ExitCode::Kept));
    }
}
