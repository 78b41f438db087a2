//! `regatta results`: prints what the tasks of a run yielded.

use std::io::{BufWriter, Write};

use protocol::{ExitCode, RunState, TaskState};
use store::{RunRow, TaskRow};

use super::context::{CommandContext, Out};
use super::target;
use super::task_rows::table_row;
use crate::args::{OnlyOutcome, ResultsArgs, ResultsForm};
use crate::render::{Meaning, answer_lines, answer_text, count, printable_json};
use regatta::error::{Error, ErrorKind};
use regatta::runs::{Located, TaskResult, each_task};

/// The indent of an answer below the label of its task.
const INDENT: &str = "    ";

/// Prints the yields of one task, or of all tasks of a run.
///
/// # Errors
/// There is no such run or task, the ledger cannot be read, or there is nothing to print as text.
pub fn run(context: &CommandContext, args: &ResultsArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let located = target::locate(context, &args.target)?;
    let mut out = BufWriter::new(out);
    let tasks = Tasks { context, located: &located, only: args.only };
    match args.form(context.view.form) {
        ResultsForm::Text => text(&tasks, &mut out)?,
        ResultsForm::Json => document(&tasks, &mut out)?,
        ResultsForm::JsonLines => tasks.each(|row| line(&mut out, "", row, "\n"))?,
    }
    out.flush().map_err(|error| Error::output(&error))?;
    Ok(ExitCode::Success)
}

/// The tasks to print.
struct Tasks<'a> {
    context: &'a CommandContext,
    located: &'a Located,
    only: Option<OnlyOutcome>,
}

impl Tasks<'_> {
    /// Calls `print` with each task, in the order of their declaration. Only a few tasks are in
    /// memory at a time.
    fn each(&self, mut print: impl FnMut(&TaskRow) -> Result<(), Error>) -> Result<(), Error> {
        each_task(&self.context.runs, self.located, |row| match self.is_wanted(row) {
            true => print(row),
            false => Ok(()),
        })
    }

    fn is_wanted(&self, row: &TaskRow) -> bool {
        match self.only {
            None => true,
            Some(OnlyOutcome::Done) => row.state == TaskState::Done,
            Some(OnlyOutcome::Failed) => row.state == TaskState::Failed,
        }
    }
}

/// Prints the JSON object of a task between `before` and `after`.
fn line(out: &mut dyn Write, before: &str, row: &TaskRow, after: &str) -> Result<(), Error> {
    let object = serde_json::to_string(&TaskResult::of(row)).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write the result as JSON").caused_by(&error)
    })?;
    let object = printable_json(object);
    write!(out, "{before}{object}{after}").map_err(|error| Error::output(&error))
}

/// Prints one JSON array, an object per line.
fn document(tasks: &Tasks<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let mut before = "[\n";
    tasks.each(|row| {
        line(out, before, row, "")?;
        before = ",\n";
        Ok(())
    })?;
    let end = if before == "[\n" { "[]\n" } else { "\n]\n" };
    write!(out, "{end}").map_err(|error| Error::output(&error))
}

/// Prints the answers as text. One task has no heading, so that its text can be used as it is.
fn text(tasks: &Tasks<'_>, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(task) = &tasks.located.task {
        let wanted = Some(task).filter(|task| tasks.is_wanted(task));
        let text = wanted.and_then(|task| TaskResult::of(task).value).and_then(answer_text);
        let Some(text) = text else { return Err(no_answer(tasks, task)) };
        return print_lines(out, "", &text);
    }
    let (mut printed, mut without, mut unfinished) = (0_usize, 0_usize, 0_usize);
    tasks.each(|row| {
        let text = TaskResult::of(row).value.and_then(answer_text);
        let text =
            text.or_else(|| TaskResult::of(row).failure.map(|failure| failure.message.clone()));
        match text {
            Some(text) => {
                print_task((tasks.context, &tasks.located.run), out, row, &text, printed)?;
                printed += 1;
            }
            None if row.state == TaskState::Done => without += 1,
            None => unfinished += 1,
        }
        Ok(())
    })?;
    if printed == 0 {
        return Err(no_answers(tasks, &tasks.located.run));
    }
    let rest = [(without, "yielded nothing"), (unfinished, "not finished")];
    let rest = rest.into_iter().filter(|(tasks, _)| *tasks > 0);
    let rest: Vec<_> =
        rest.map(|(tasks, what)| format!("{} {what}", count(tasks, "other task"))).collect();
    if rest.is_empty() {
        return Ok(());
    }
    let rest = tasks.context.view.palette.paint(Meaning::Aside, &rest.join(" · "));
    writeln!(out, "\n{rest}").map_err(|error| Error::output(&error))
}

/// Prints the label of a task, its outcome if it is not done, and its answer or failure.
fn print_task(
    (context, run): (&CommandContext, &RunRow),
    out: &mut dyn Write,
    row: &TaskRow,
    text: &str,
    printed: usize,
) -> Result<(), Error> {
    let palette = context.view.palette;
    let mut heading = palette.paint(Meaning::Heading, row.name.as_str());
    if row.state != TaskState::Done {
        let outcome = table_row(run, row).outcome;
        heading.push_str("  ");
        heading.push_str(&palette.paint(outcome.meaning, &outcome.word));
    }
    let before = if printed > 0 { "\n" } else { "" };
    writeln!(out, "{before}{heading}").map_err(|error| Error::output(&error))?;
    print_lines(out, INDENT, text)
}

fn print_lines(out: &mut dyn Write, indent: &str, text: &str) -> Result<(), Error> {
    for line in answer_lines(text) {
        let line = format!("{indent}{line}");
        let line = if line.trim().is_empty() { "" } else { &line };
        writeln!(out, "{line}").map_err(|error| Error::output(&error))?;
    }
    Ok(())
}

/// Returns why there is no answer of a task.
fn no_answer(tasks: &Tasks<'_>, row: &TaskRow) -> Error {
    let target = format!("{}/{}", tasks.located.run.name, row.name);
    let logs = tasks.context.hints.command(&format!("logs {target}"));
    let state = match row.state {
        TaskState::Done if tasks.only == Some(OnlyOutcome::Failed) => {
            "it is done, and did not fail"
        }
        TaskState::Done => {
            return Error::usage(format!("task {target} yielded nothing")).hint(logs);
        }
        TaskState::Queued => "it has not begun",
        TaskState::Running => "it is still at work",
        TaskState::Failed => "it failed",
        TaskState::Cancelled => "it was cancelled",
        TaskState::Interrupted => "its engine died",
    };
    let mut error = Error::usage(format!("task {target} has no answer")).because(state);
    if let Some(failure) = TaskResult::of(row).failure {
        error = error.because_of(failure);
    }
    error.hint(logs)
}

/// Returns why there is no answer of a run.
fn no_answers(tasks: &Tasks<'_>, run: &RunRow) -> Error {
    let what = match tasks.only {
        None => format!("no task of run {} yielded anything", run.name),
        Some(OnlyOutcome::Done) => format!("no task of run {} is done with an answer", run.name),
        Some(OnlyOutcome::Failed) => format!("no task of run {} failed", run.name),
    };
    let error = Error::usage(what);
    match run.state {
        RunState::Running | RunState::Landing => error.because("the run is still running"),
        RunState::Finished | RunState::Interrupted => error,
    }
    .hint(tasks.context.hints.command(&format!("runs show {}", run.name)))
}

#[cfg(test)]
mod tests;
