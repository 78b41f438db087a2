//! `regatta discard`: removes captured work.

use protocol::{CaptureRef, ExitCode, RunName, TaskName};
use serde::Serialize;
use store::TaskRow;

use super::context::{CommandContext, Out, print_json, say};
use super::target;
use crate::args::{DiscardArgs, Execution, Form};
use crate::render::{ALL, changed_lines, count, folded_lines};
use regatta::error::Error;
use regatta::runs::{self, Discarded, Resolution, Target, TargetKind, has_landed, kept_reason};

/// Removes the captured work of one task, or of all tasks of a run. Landed work stays.
///
/// # Errors
/// There is no such run or task, the run has not ended, or the work cannot be removed.
pub async fn run(
    context: &CommandContext,
    args: &DiscardArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = target::find_several(context, Some(&args.target), &args.tasks)?;
    target::check_has_ended(&target, "discard")?;
    let gone = runs::discard(&context.runs, &target, args.execution()).await?;
    print(context, &target, &gone, args.execution(), out)?;
    Ok(ExitCode::Success)
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
        Some(Self { task: &row.name, capture: &row.captured.as_ref()?.capture, row })
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
    Discarded { work, resolutions }: &Discarded<'_>,
    execution: Execution,
    out: Out<'_>,
) -> Result<(), Error> {
    let run = &target.run.name;
    let gone: Vec<_> = work.iter().filter_map(|row| DiscardedWork::of(row)).collect();
    if context.view.form == Form::Json {
        let done = match execution {
            Execution::Real => Done::Yes,
            Execution::DryRun => Done::DryRun,
        };
        return print_json(out, &DiscardDocument { run, discarded: &gone, resolutions, done });
    }
    let verb = match execution {
        Execution::Real => "discarded",
        Execution::DryRun => "would discard",
    };
    if target.kind == TargetKind::Run && gone.is_empty() && resolutions.is_empty() {
        return say(out, &format!("there is no captured work of run {run} to discard"));
    }
    work_lines(context, verb, &gone).iter().try_for_each(|line| say(out, line))?;
    for Resolution { task, capture } in resolutions {
        say(out, &format!("{verb}  {task}  output of a resolver: {capture}"))?;
    }
    // Who names a task wants to know of it.
    for row in target.tasks.iter().filter(|_| target.kind == TargetKind::Task) {
        let is_gone = gone.iter().any(|gone| gone.row.id == row.id)
            || resolutions.iter().any(|of| *of.task == row.name);
        if !is_gone {
            let nothing = format!("{:width$}", "nothing", width = verb.len());
            say(out, &format!("{nothing}  {}  {}", row.name, why_none(row)))?;
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
        let task = &row.name;
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
