//! `regatta discard`: removes captured work.

use protocol::{CaptureRef, ExitCode, LedgerEntry, RunName, TaskName};
use serde::Serialize;
use store::TaskRow;

use super::context::{ALL, CommandContext, Out, print_json, say};
use super::kept_work::{has_landed, kept_reason, label};
use super::target::{Target, TargetKind};
use crate::args::{DiscardArgs, Execution, Form};
use crate::render::{changed_lines, count, folded_lines};
use regatta::error::Error;

/// Removes the captured work of one task, or of all tasks of a run. Landed work stays.
///
/// # Errors
/// There is no such run or task, the run has not ended, or the work cannot be removed.
pub async fn run(
    context: &CommandContext,
    args: &DiscardArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = Target::find_several(context, Some(&args.target), &args.tasks)?;
    target.check_has_ended("discard")?;
    let gone = Discarded {
        work: target.tasks.iter().filter_map(DiscardedWork::of).collect(),
        resolutions: resolutions(context, &target)?,
    };
    if args.execution() == Execution::Real {
        // The ledger is written first, so that it never offers a capture that is already removed.
        let entries = gone.work.iter().map(|gone| LedgerEntry::TaskDiscarded { task: gone.row.id });
        context.record(entries.collect()).await?;
        // This includes captures that an earlier discard recorded but failed to remove.
        for captured in target.tasks.iter().filter_map(|row| row.captured.as_ref()) {
            context.captured.remove(&target.run.name, &captured.capture)?;
        }
        for Resolution { capture, .. } in &gone.resolutions {
            context.captured.remove(&target.run.name, capture)?;
        }
    }
    print(context, &target, &gone, args.execution(), out)?;
    Ok(ExitCode::Success)
}

/// What was discarded, or would be.
struct Discarded<'a> {
    work: Vec<DiscardedWork<'a>>,
    resolutions: Vec<Resolution<'a>>,
}

/// The capture of what a resolver wrote for conflicts of a task.
#[derive(Serialize)]
struct Resolution<'a> {
    task: &'a TaskName,
    capture: CaptureRef,
}

/// Returns what resolvers wrote for the tasks of a target.
fn resolutions<'a>(
    context: &CommandContext,
    target: &'a Target,
) -> Result<Vec<Resolution<'a>>, Error> {
    let mut found = Vec::new();
    for row in &target.tasks {
        // A task may have this very name.
        if context.reader.find_task(target.run.id, &format!("{}.resolve", row.name)).is_ok() {
            continue;
        }
        let captures = context.captured.resolutions(&target.run.name, &row.name)?;
        let of_task = |capture| Resolution { task: &row.name, capture };
        found.extend(captures.into_iter().map(of_task));
    }
    Ok(found)
}

/// Work that was discarded, or would be.
#[derive(Serialize)]
struct DiscardedWork<'a> {
    task: &'a TaskName,
    capture: &'a CaptureRef,
    #[serde(skip)]
    row: &'a TaskRow,
}

impl<'a> DiscardedWork<'a> {
    fn of(row: &'a TaskRow) -> Option<Self> {
        let captured =
            row.captured.as_ref().filter(|_| row.discarded.is_none() && row.collected.is_none())?;
        Some(Self { task: &row.name, capture: &captured.capture, row })
    }
}

/// The JSON document of a discard.
#[derive(Serialize)]
struct DiscardDocument<'a> {
    run: &'a RunName,
    discarded: &'a [DiscardedWork<'a>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    resolutions: &'a [Resolution<'a>],
    done: Done,
}

/// Whether the work was discarded, or this was a dry run.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Yes,
    DryRun,
}

fn print(
    context: &CommandContext,
    target: &Target,
    Discarded { work: gone, resolutions }: &Discarded<'_>,
    execution: Execution,
    out: Out<'_>,
) -> Result<(), Error> {
    let run = &target.run.name;
    if context.view.form == Form::Json {
        let done = match execution {
            Execution::Real => Done::Yes,
            Execution::DryRun => Done::DryRun,
        };
        return print_json(out, &DiscardDocument { run, discarded: gone, resolutions, done });
    }
    let verb = match execution {
        Execution::Real => "discarded",
        Execution::DryRun => "would discard",
    };
    if target.kind == TargetKind::Run && gone.is_empty() && resolutions.is_empty() {
        return say(out, &format!("there is no captured work of run {run} to discard"));
    }
    work_lines(context, verb, gone).iter().try_for_each(|line| say(out, line))?;
    for Resolution { task, capture } in resolutions {
        say(out, &format!("{verb}  {task}  output of a resolver: {capture}"))?;
    }
    // Who names a task wants to know of it.
    for row in target.tasks.iter().filter(|_| target.kind == TargetKind::Task) {
        let is_gone = gone.iter().any(|gone| gone.row.id == row.id)
            || resolutions.iter().any(|of| *of.task == row.name);
        if !is_gone {
            let nothing = format!("{:width$}", "nothing", width = verb.len());
            say(out, &format!("{nothing}  {}  {}", label(row), why_none(row)))?;
        }
    }
    if gone.iter().any(|gone| has_landed(gone.row)) {
        say(out, "what has landed stays: nothing in the tree changes")?;
    }
    Ok(())
}

/// Returns a line for each work. Many are folded, unless details are asked for.
fn work_lines(context: &CommandContext, verb: &str, gone: &[DiscardedWork<'_>]) -> Vec<String> {
    let line = |DiscardedWork { row, .. }: &DiscardedWork<'_>| {
        let task = label(row);
        let changes = row.captured.as_ref().map(|captured| captured.changes).unwrap_or_default();
        let size = format!("{} {}", count(changes.files, "file"), changed_lines(changes));
        let is_only = kept_reason(row).is_some();
        let only = if is_only { ", the only copy of it" } else { "" };
        (is_only, format!("{verb}  {task}  {size}{only}"))
    };
    folded_lines(gone.iter().map(line).collect(), context.view.most_listed(), |is_only, more| {
        let only = if *is_only { ", each the only copy" } else { "" };
        format!("{verb}  and {}{only} ({ALL})", count(more, "more task"))
    })
}

/// Returns why there is no work of a task to discard.
fn why_none(row: &TaskRow) -> &'static str {
    if row.discarded.is_some() {
        "its work was discarded already"
    } else if row.collected.is_some() {
        "its work was collected: `regatta gc` removed it"
    } else {
        "it has no captured work"
    }
}

#[cfg(test)]
mod tests;
