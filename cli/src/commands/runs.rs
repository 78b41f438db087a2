//! `regatta runs`: lists the runs over this repository, and shows one.

use std::num::NonZeroUsize;

use protocol::{CaptureRef, ExitCode, MergeMode, Outcome, RunState, StackBranch, Work};
use store::{RunRow, TaskCounts, TaskRow};

use super::context::{CommandContext, Out, print_json, say};
use super::run_document::print_run;
use super::target;
use super::task_rows::table_row;
use super::timing;
use crate::args::{Form, ListArgs, RetryArgs, RunsArgs, RunsCommand, TargetArgs};
use crate::render::{
    CommandFinder, FailedWork, LandedTasks, OutputWidth, Palette, Table, TableRow, TableRows,
    TasksToRetry, branch_of, closing_lines, count, cut, date_time, duration, elapsed,
    failure_reason, fit, left_out_lines, one_line, outcome_counts, resolver_lines,
    unresolved_lines, unverified, unverified_lines, usage_details, usage_text, width, write_table,
};
use regatta::error::Error;
use regatta::runs::{Target, TargetKind, has_landed, kept_reason};

/// How many runs a person gets without `--limit`.
const LISTED: usize = 20;

/// The widths of the column of labels, and how many columns the others get before it becomes wider.
const NARROWEST: usize = 5;
const WIDEST: usize = 24;
const LEFT: usize = 68;

/// How many lines of details are shown below the table.
const DETAILS: usize = 100;

/// The longest message that the table shows whole.
const SHORT: usize = 40;

/// What is shown of the runs.
#[derive(Clone, Copy, Debug)]
pub enum RunsView<'a> {
    /// The latest runs.
    List(ListArgs),
    /// One run; the latest if none is named.
    Show(&'a TargetArgs, TableRows),
    /// How long the phases of a run's tasks took.
    Timing(&'a TargetArgs),
}

impl RunsArgs {
    /// Returns what the command shows; the arguments of a retry if it starts a run instead.
    pub fn view(&self) -> Result<RunsView<'_>, &RetryArgs> {
        match &self.command {
            None => Ok(RunsView::List(self.list)),
            Some(RunsCommand::List(list)) => Ok(RunsView::List(*list)),
            Some(RunsCommand::Show { target, timing: true, .. }) => Ok(RunsView::Timing(target)),
            Some(RunsCommand::Show { target, all, .. }) => {
                Ok(RunsView::Show(target, if *all { TableRows::All } else { TableRows::Folded }))
            }
            Some(RunsCommand::Retry(args)) => Err(args),
        }
    }
}

/// Lists runs, or shows one.
///
/// # Errors
/// There is no such run, or the ledger cannot be read.
pub fn run(context: &CommandContext, view: RunsView<'_>, out: Out<'_>) -> Result<ExitCode, Error> {
    match view {
        RunsView::List(args) => list(context, args, out)?,
        RunsView::Show(target, rows) => show(context, (target, rows), out)?,
        RunsView::Timing(target) => timing::show(context, target, out)?,
    }
    Ok(ExitCode::Success)
}

fn list(context: &CommandContext, args: ListArgs, out: Out<'_>) -> Result<(), Error> {
    let is_json = context.view.form == Form::Json;
    let usual = if args.all || is_json { usize::MAX } else { LISTED };
    let limit = args.limit.map_or(usual, NonZeroUsize::get);
    let runs = context.runs.reader.runs(Some(&context.runs.root), limit)?;
    if is_json {
        return print_json(out, &runs);
    }
    if runs.is_empty() {
        return say(out, "there is no run yet in this repository");
    }
    let name = runs.iter().map(|run| run.name.as_str().len()).max().unwrap_or(0).max(4);
    let group = |run: &RunRow| run.group.as_ref().map(|group| format!("group {group}"));
    let label = |run: &RunRow| {
        let label: Vec<_> = run.label.clone().into_iter().chain(group(run)).collect();
        one_line(&label.join(" · "))
    };
    let most = match out.room() {
        OutputWidth::Columns(columns) => columns.saturating_sub(LEFT).clamp(NARROWEST, WIDEST),
        OutputWidth::Pipe => WIDEST,
    };
    let widest = runs.iter().map(|run| width(&label(run))).max().unwrap_or(0);
    let label_room = widest.clamp(NARROWEST, most);
    // Without a label in any row there is no column.
    let column = |label: &str| match widest {
        0 => String::new(),
        _ => format!("{}  ", fit(label, label_room)),
    };
    let mut lines =
        vec![format!("{:name$}  {}{:16}  tasks  result", "run", column("label"), "when")];
    for run in &runs {
        let when = date_time(run.started, &context.view.zone);
        let line = format!("{:name$}  {}{when:16}", run.name, column(&label(run)));
        let tasks = context.runs.reader.tasks_without_yields(run.id)?;
        let line = format!("{line}  {:>5}  {}", run.tasks.all, outcome(run, &tasks));
        lines.push(cut(&line, out.room().behind(0)));
    }
    let all = context.runs.reader.names(Some(&context.runs.root))?.len();
    if all > runs.len() {
        let command = context.hints.command("runs --all");
        lines.push(format!("\nthe latest {} of {all} runs; all of them: {command}", runs.len()));
    }
    say(out, &lines.join("\n"))
}

/// Returns the result or the state of a run in a few words.
fn outcome(run: &RunRow, tasks: &[TaskRow]) -> String {
    // The exit code is before what may be cut off at the end of a row.
    let failed = run.exit_code.filter(|code| *code != ExitCode::Success);
    let mut parts: Vec<_> =
        failed.map(|code| format!("exit {}", u8::from(code))).into_iter().collect();
    match run.state {
        RunState::Running => parts.push("running".to_owned()),
        RunState::Landing => parts.push("landing".to_owned()),
        RunState::Interrupted => parts.push("interrupted".to_owned()),
        RunState::Finished => {}
    }
    // The counts are those of the run's own table, as they are now: after `apply` they differ.
    let rows: Vec<_> = tasks.iter().map(|row| table_row(run, row)).collect();
    parts.extend((!rows.is_empty()).then(|| outcome_counts(&rows, Palette::Plain)));
    if let Some(usage) = run.usage {
        parts.push(usage_text(usage));
    }
    parts.join(" · ")
}

fn show(
    context: &CommandContext,
    (given, rows_shown): (&TargetArgs, TableRows),
    out: Out<'_>,
) -> Result<(), Error> {
    let located = target::locate(context, given)?;
    if context.view.form == Form::Json {
        return print_run(context, &located, out);
    }
    let Target { run, tasks, kind } = &located.load(&context.runs)?;
    let needs = &run.spec.needs;
    let finder = CommandFinder::of(&context.hints, &needs.carry, &needs.setup);
    say(out, &headline(context, run))?;
    let took = run.finished.map(|finished| elapsed(run.started, finished));
    let table = Table {
        rows: tasks.iter().map(|row| row_with_hint((run, row), &finder)).collect(),
        ms: run.totals.as_ref().map(|totals| totals.ms).or(took),
        room: context.view.room(),
        palette: context.view.palette,
        rows_shown,
        all: Some(context.hints.command(&format!("runs show {} --all", run.name))),
    };
    write_table(out, &table).map_err(|error| Error::output(&error))?;
    let left_out = tasks
        .iter()
        .filter_map(|row| Some((row.name.to_string(), &row.captured.as_ref()?.left_out)));
    let left_out = left_out_lines(&left_out.collect::<Vec<_>>());
    if !left_out.is_empty() {
        say(out, &format!("\n{}", left_out.join("\n")))?;
    }
    let is_whole = *kind == TargetKind::Task || rows_shown == TableRows::All;
    let most = if is_whole { usize::MAX } else { DETAILS };
    let mut details: Vec<_> =
        tasks.iter().flat_map(|row| details(row, *kind, rows_shown)).take(most).collect();
    let captures = tasks.iter().filter(|row| kept_capture(row).is_some()).count();
    if captures > 0 && !is_whole {
        let all = context.hints.command(&format!("runs show {} --all", run.name));
        details.push(format!("{} kept; their names: {all}", count(captures, "capture")));
    }
    if !details.is_empty() {
        say(out, &format!("\n{}", details.join("\n")))?;
    }
    let failed = tasks.iter().filter_map(|row| {
        unverified(row.landing.as_ref()).map(|failed| (row.name.to_string(), failed))
    });
    let unverified = unverified_lines(&failed.collect::<Vec<_>>());
    if !unverified.is_empty() {
        say(out, &format!("\n{}", unverified.join("\n")))?;
    }
    // The work of a run that goes on is neither landed nor discarded by another command.
    let is_over = matches!(run.state, RunState::Finished | RunState::Interrupted);
    let kept: Vec<_> = tasks
        .iter()
        .filter(|_| is_over)
        .filter_map(|row| kept_reason(row).map(|why| (row.name.clone(), why)))
        .collect();
    let landed = LandedTasks {
        count: tasks.iter().filter(|row| has_landed(row)).count(),
        branch: tasks.iter().find_map(|row| branch_of(row.landing.as_ref())),
        onto: run.spec.stack.as_ref().and_then(StackBranch::of_user),
    };
    let failed_work: Vec<_> = tasks.iter().filter_map(|row| failed_work(row, &finder)).collect();
    let mut lines =
        closing_lines(&run.name, run.spec.merge, &landed, &kept, &failed_work, &context.hints);
    lines.extend(finder.lines(tasks.iter().filter_map(why_it_failed)));
    if is_over {
        lines.extend(next_attempt(context, run, tasks));
    }
    if lines.is_empty() { Ok(()) } else { say(out, &format!("\n{}", lines.join("\n"))) }
}

/// Returns the line with the command that tries again what was not done.
fn next_attempt(context: &CommandContext, run: &RunRow, tasks: &[TaskRow]) -> Option<String> {
    let TaskCounts { failed, cancelled, interrupted, .. } = run.tasks;
    let undone = TasksToRetry { failed, cancelled, interrupted };
    let conversation = tasks.iter().find_map(|row| match &row.spec.work {
        Work::Conversation(conversation) => Some(&conversation.log),
        Work::Agent(_) | Work::Command(_) => None,
    });
    match conversation {
        // One that was only in memory is gone.
        Some(log) if !log.is_file() => None,
        Some(log) => undone.line_of_conversation(log, &context.hints),
        None => undone.line(&run.name, &context.hints),
    }
}

fn headline(context: &CommandContext, run: &RunRow) -> String {
    let label = run.label.as_deref().map(|label| format!(" · {}", one_line(label)));
    let state = match run.state {
        RunState::Running => "running",
        RunState::Landing => "landing",
        RunState::Finished => "finished",
        RunState::Interrupted => "interrupted: its engine died",
    };
    let exit = run.exit_code.map(|code| format!(" · exit {}", u8::from(code))).unwrap_or_default();
    let merge = match run.spec.merge {
        MergeMode::Patch => "into the working tree".to_owned(),
        MergeMode::Branch => "onto branches".to_owned(),
        MergeMode::Stack => {
            let own = || format!("{}/{}", run.spec.branch_prefix, run.name);
            let branch = run.spec.stack.as_ref().map_or_else(own, |stack| stack.name.clone());
            format!("onto the branch {}", one_line(&branch))
        }
        MergeMode::None => "nowhere: kept".to_owned(),
    };
    let retry = run.spec.retry_of.as_ref().map(|earlier| format!(" · retries {earlier}"));
    let started = date_time(run.started, &context.view.zone);
    let tasks = count(run.tasks.all, "task");
    format!(
        "run {}{}{} · {state}{exit}\n{started} · {tasks} · {} at once · lands {merge}\n",
        run.name,
        label.unwrap_or_default(),
        retry.unwrap_or_default(),
        run.spec.jobs
    )
}

/// Returns why a task failed, or its verification.
pub(super) fn why_it_failed(row: &TaskRow) -> Option<&str> {
    failure_reason(row.report.as_ref().map(|report| &report.outcome), row.landing.as_ref())
}

/// Returns a task whose model or command failed.
fn failed_work(row: &TaskRow, finder: &CommandFinder<'_>) -> Option<FailedWork> {
    let report = row.report.as_ref()?;
    let failed = FailedWork::of(&row.name, &report.outcome, report.usage)?;
    Some(failed.with_hint(why_it_failed(row).and_then(|why| finder.hint(why))))
}

/// Returns the line of a task in the table, with what helps if a command was not found.
fn row_with_hint((run, row): (&RunRow, &TaskRow), finder: &CommandFinder<'_>) -> TableRow {
    let mut line = table_row(run, row);
    let hint = why_it_failed(row).and_then(|why| finder.hint(why));
    line.outcome = line.outcome.with_hint(hint);
    line
}

/// Returns the capture of a task, if it is still there.
fn capture(row: &TaskRow) -> Option<&CaptureRef> {
    let is_there = row.discarded.or(row.collected).is_none();
    row.captured.as_ref().filter(|_| is_there).map(|captured| &captured.capture)
}

/// Returns the capture of a task whose work is kept.
fn kept_capture(row: &TaskRow) -> Option<&CaptureRef> {
    kept_reason(row).and_then(|_| capture(row))
}

/// Returns the details that do not fit into the table: messages of failures, and where the work is.
fn details(row: &TaskRow, kind: TargetKind, rows_shown: TableRows) -> Vec<String> {
    let mut lines = Vec::new();
    let task = &row.name;
    if let Some(Outcome::Failed { failure }) = row.report.as_ref().map(|report| &report.outcome) {
        let message = one_line(&failure.message);
        if kind == TargetKind::Task || width(&message) > SHORT {
            lines.push(format!("{task}  {message}"));
        }
    }
    let resolved = resolver_lines(&row.settled).into_iter();
    let resolvers = resolved.chain(unresolved_lines(&row.unresolved));
    lines.extend(resolvers.map(|line| format!("{task}  {line}")));
    let capture = match (kind, rows_shown) {
        (TargetKind::Task, _) => capture(row),
        (TargetKind::Run, TableRows::All) => kept_capture(row),
        (TargetKind::Run, TableRows::Folded | TableRows::Problems) => None,
    };
    lines.extend(capture.map(|capture| format!("{task}  captured at {capture}")));
    if (kind == TargetKind::Task || kept_reason(row).is_some())
        && let (Some(workspace), None) = (&row.workspace, &row.captured)
    {
        lines.push(format!("{task}  its workspace was {}", one_line(workspace)));
    }
    if kind == TargetKind::Task {
        lines.extend(row.items.iter().map(|item| format!("{task}  has {}", one_line(item))));
        let title = one_line(&row.title);
        if title != task.as_str() {
            lines.push(format!("{task}  {title}"));
        }
        if let Some(report) = &row.report {
            let mut parts = vec![duration(report.ms)];
            parts.extend(report.turns.map(|turns| count(turns, "turn")));
            parts.extend(report.usage.map(usage_details));
            lines.push(format!("{task}  took {}", parts.join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests;
