//! `regatta diff`: shows captured work as a patch.

use protocol::{CaptureRef, ChangeSummary, ExitCode, TaskName};
use serde::Serialize;

use super::context::{CommandContext, Out, print_json, say};
use super::target;
use super::task_rows::table_row;
use crate::args::{DiffArgs, Form, Verbosity};
use crate::process;
use crate::render::{
    ChangedFile, Meaning, OutputWidth, TableRows, TaskHeading, changed_lines, count, file_lines,
    one_line, shell_word, write_patch,
};
use regatta::error::Error;
use regatta::runs::{PatchError, Target, TargetKind, TaskPatch, patch_needs, patches};

/// Writes the captured work of one task, or of all tasks of a run one after the other, or lists its
/// files. If standard output is a pipe, a patch is not modified.
///
/// # Errors
/// There is no such run or task, its work was discarded, or it cannot be read.
pub fn run(context: &CommandContext, args: &DiffArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let DiffArgs { target: given, .. } = args;
    let target = target::find_several(context, given.target.as_ref(), &given.tasks)?;
    target::check_not_collected(context, &target, "work")?;
    let works = patches(&context.runs, &target).map_err(no_patch)?;
    if context.view.form == Form::Json {
        let work = works.iter().map(|TaskPatch { row, captured, patch }| {
            let files = ChangedFile::of_patch(patch);
            Work {
                task: &row.name,
                capture: &captured.capture,
                changes: ChangedFile::sum(&files),
                shown: match args.stat {
                    true => Shown::Files(files),
                    false => Shown::Patch(String::from_utf8_lossy(patch)),
                },
            }
        });
        let work: Vec<_> = work.collect();
        print_json(out, &work)?;
        return Ok(ExitCode::Success);
    }
    let is_several = target.kind == TargetKind::Run || target.tasks.len() > 1;
    let heading = |row, files: &[ChangedFile]| {
        let outcome = table_row(&target.run, row).outcome.word;
        let sum = ChangedFile::sum(files);
        let (files, lines) = (count(sum.files, "file"), changed_lines(sum));
        let line = format!("{} · {outcome} · {files} · {lines}", row.name);
        TaskHeading { outcome, line }
    };
    if args.stat {
        let files = works.iter().map(|TaskPatch { row, patch, .. }| {
            let files = ChangedFile::of_patch(patch);
            (is_several.then(|| heading(row, &files)), files)
        });
        let is_whole = args.all || context.view.verbosity == Verbosity::Verbose;
        let rows = if is_whole { TableRows::All } else { TableRows::Folded };
        for line in file_lines(&files.collect::<Vec<_>>(), rows, context.view.palette) {
            say(out, &line)?;
        }
        return Ok(ExitCode::Success);
    }
    for TaskPatch { row, patch, .. } in &works {
        if is_several && context.view.room() != OutputWidth::Pipe {
            let title = heading(row, &ChangedFile::of_patch(patch)).line;
            say(out, &context.view.palette.paint(Meaning::Heading, &title))?;
        }
        write_patch(out, patch, &context.view).map_err(|error| Error::output(&error))?;
    }
    for work in &works {
        for line in needs_of(context, &target, work) {
            process::notify(&format!("note: {line}"));
        }
    }
    Ok(ExitCode::Success)
}

/// Returns what to do before git can merge a patch, as lines. There are none if the repository
/// cannot be read, because the patch needs no repository.
fn needs_of(context: &CommandContext, target: &Target, work: &TaskPatch<'_>) -> Vec<String> {
    let Some(needs) = patch_needs(&context.runs, work) else { return Vec::new() };
    let (task, capture) = (&work.row.name, &work.captured.capture);
    let mut lines = Vec::new();
    if let Some(first) = needs.to_fetch.first() {
        let files = count(needs.to_fetch.len(), "file");
        let store = shell_word(&context.runs.captured.store().to_string_lossy());
        lines.push(one_line(&format!(
            "git lacks the version of {files} with which {task} began (as {first}); for git apply \
             --3way, first: git fetch {store} {capture}"
        )));
    }
    if let Some(first) = needs.converted.first() {
        let command = context.hints.command(&format!("apply {}/{task} --markers", target.run.name));
        lines.push(one_line(&format!(
            "git converts line endings or content of {first}, so that git apply --3way fails; \
             instead: {command}"
        )));
    }
    lines
}

/// The JSON document of one task's work. Bytes that are not UTF-8 become `�`.
#[derive(Serialize)]
struct Work<'a> {
    task: &'a TaskName,
    capture: &'a CaptureRef,
    changes: ChangeSummary,
    #[serde(flatten)]
    shown: Shown<'a>,
}

/// What is shown of it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shown<'a> {
    Patch(std::borrow::Cow<'a, str>),
    Files(Vec<ChangedFile>),
}

fn no_patch(error: PatchError) -> Error {
    let usage = Error::usage(error.to_string());
    match error {
        PatchError::Nothing { was_discarded: true, .. } => usage.because("it was discarded"),
        PatchError::Nothing { was_discarded: false, .. } => usage.because("nothing was captured"),
        PatchError::Unread { task, of } => {
            let mut error = Error::from(of);
            error.because.insert(0, format!("it is the work of task {task}"));
            error
        }
    }
}
