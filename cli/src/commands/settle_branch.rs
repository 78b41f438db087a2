//! `regatta apply --branch`: makes a branch of the work of one task, to be merged with git.

use protocol::{ExitCode, MergeMode, RunName, TaskName};
use serde::Serialize;

use super::context::{CommandContext, Out, print_json, say};
use crate::args::Form;
use crate::render::shell_word;
use regatta::error::{Error, ErrorKind};
use regatta::runs::{Target, TargetKind, kept_reason};

/// Makes the branch `branch` of the work of the task that `target` names. The work stays kept.
///
/// # Errors
/// No task is named, it has no kept work, or the branch cannot be made.
pub(super) fn run(
    context: &CommandContext,
    target: &Target,
    branch: &str,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let run = &target.run.name;
    let (TargetKind::Task, [row]) = (target.kind, &target.tasks[..]) else {
        return Err(Error::usage("`--branch` makes a branch of the work of one task")
            .hint(format!("regatta apply {run}/TASK --branch {}", shell_word(branch))));
    };
    let kept = kept_reason(row).and(row.captured.as_ref());
    let Some(captured) = kept else {
        return Err(Error::usage(format!("there is no kept work of task {run}/{}", row.name)));
    };
    let record = context.runs.reader.record(run)?;
    let title = record.as_ref().and_then(|record| record.task(row.id));
    let message = title.map(|task| engine::landing::commit_message(run, &task.spec));
    let gone = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {run}"));
    let message = message.ok_or_else(gone)?;
    let work = (run, &captured.capture);
    let commit = context.runs.captured.make_branch(&context.runs.root, work, (branch, &message))?;
    if context.view.form == Form::Json {
        print_json(out, &BranchDocument { run, task: &row.name, branch, commit: &commit })?;
        return Ok(ExitCode::Success);
    }
    let short: String = commit.chars().take(7).collect();
    say(out, &format!("branch {branch} at {short} has the work of task {run}/{}", row.name))?;
    let branch = shell_word(branch);
    let first = match (target.run.spec.merge, &target.run.spec.stack) {
        (MergeMode::Patch | MergeMode::None, _) => "commit the landed work first".to_owned(),
        (MergeMode::Branch, _) => "on the branch that is checked out".to_owned(),
        (MergeMode::Stack, Some(stack)) => format!("on the branch {}", shell_word(&stack.name)),
        (MergeMode::Stack, None) => {
            format!(
                "on the branch {}",
                shell_word(&format!("{}/{run}", target.run.spec.branch_prefix))
            )
        }
    };
    say(out, &format!("merge   git merge {branch}    ({first})"))?;
    let after = match target.run.spec.merge {
        MergeMode::Patch | MergeMode::None => format!("discard {run}/{}", row.name),
        // Merged work counts as landed, and what builds on it can land.
        MergeMode::Branch | MergeMode::Stack => format!("apply {run}"),
    };
    say(out, &format!("after   {}", context.hints.command(&after)))?;
    Ok(ExitCode::Success)
}

/// The JSON document of a made branch.
#[derive(Serialize)]
struct BranchDocument<'a> {
    run: &'a RunName,
    task: &'a TaskName,
    branch: &'a str,
    commit: &'a str,
}
