//! `regatta run --resolve`: lets a command settle the conflicts of a run that has ended.

use std::io::Write as _;

use engine::ports::Repository;
use protocol::{ExitCode, Landed, MergeMode, RunName, RunSpec, TaskName};
use store::TaskRow;

use super::apply;
use super::context::{CommandContext, Out};
use super::kept_work::kept_reason;
use super::programs::refuse_agent;
use super::target::Target;
use crate::args::{ApplyArgs, Resolver, SettleArgs, TargetArgs};
use crate::error::Error;

/// Checks that the conflicts of a run can be resolved.
///
/// # Errors
/// The resolver is an agent, or the run does not land in the working tree.
pub(super) fn check(resolver: &Resolver, spec: &RunSpec) -> Result<(), Error> {
    refuse_agent(&resolver.script)?;
    match spec.merge {
        MergeMode::Patch => Ok(()),
        _ => Err(Error::usage("`--resolve` needs `--merge patch`")
            .because("what is resolved lands in the working tree")),
    }
}

/// Lets `resolver` settle the conflicts of the tasks of a run, one task after the other, and lands
/// the work that waited for them. What cannot be settled is reported and stays kept. Returns the
/// exit code of the run, which was `code`.
///
/// # Errors
/// The ledger cannot be read, or a signal has stopped the resolver.
pub(super) async fn resolve(
    context: &CommandContext,
    repository: &dyn Repository,
    (run, code): (&RunName, ExitCode),
    resolver: &Resolver,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    for task in conflicted(&tasks(context, run)?) {
        let settle = SettleArgs::resolving(resolver);
        let args = ApplyArgs::of(format!("{run}/{task}"), settle);
        match apply::run(context, repository, &args, out).await {
            Ok(_landed) => {}
            Err(error) if matches!(error.exit, ExitCode::Interrupted | ExitCode::Terminated) => {
                return Err(error);
            }
            // The work of other tasks can be resolved nevertheless.
            Err(error) => {
                let _unread = writeln!(std::io::stderr(), "{error}");
            }
        }
    }
    let waits = |row: &TaskRow| matches!(row.landing, Some(Landed::Waiting { .. }));
    let rows = tasks(context, run)?;
    if rows.iter().any(waits) && conflicted(&rows).is_empty() {
        let args = ApplyArgs::of(run.to_string(), SettleArgs::default());
        let _landed = apply::run(context, repository, &args, out).await?;
    }
    let is_kept = tasks(context, run)?.iter().any(|row| kept_reason(row).is_some());
    Ok(if code == ExitCode::Kept && !is_kept { ExitCode::Success } else { code })
}

fn tasks(context: &CommandContext, run: &RunName) -> Result<Vec<TaskRow>, Error> {
    let target = TargetArgs::from(Some(run.to_string()));
    Ok(Target::find(context, &target)?.tasks)
}

fn conflicted(rows: &[TaskRow]) -> Vec<TaskName> {
    let conflicted =
        rows.iter().filter(|row| matches!(row.landing, Some(Landed::Conflicted { .. })));
    conflicted.map(|row| row.name.clone()).collect()
}
