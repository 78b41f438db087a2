//! `regatta logs`: prints the session or the output of each task.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use config::DataPaths;
use engine::ports::LogDamage;
use protocol::{
    Command, ExitCode, Failure, FailureDetail, Outcome, TaskName, TaskState, TaskTimings,
    TimedPhase, Usage, Work,
};
use serde::Serialize;
use store::{RunRow, SessionLine, TaskRow, read_damaged_session, used_in};

use super::context::{CommandContext, Out, print_json, say, write_text};
use super::runs::why_it_failed;
use super::setup_logs::{SetupLog, setup_logs, show_setup};
use super::target;
use super::task_rows::table_row;
use super::verify_logs::{VerifyLog, show_verification, verify_log};
use crate::args::{Form, LogsArgs};
use crate::process;
use crate::render::{
    ALL, CommandFinder, Meaning, View, count, duration, one_line, retry_time_note, shell_word,
    transcript, usage_details, visible_line,
};
use regatta::error::{Error, ErrorKind};

mod follow;
mod session_log;

use session_log::SessionTarget;

/// The longest line of a command's output, in bytes; a longer one is split.
const LONGEST: u64 = 64 << 10;

/// Prints the logs that a target names: of a run, of one of its tasks, or of a session, which needs no
/// repository. `open` opens the repository.
///
/// # Errors
/// There is no such run, task or session, or a log cannot be read.
pub async fn print(
    args: &LogsArgs,
    view: &View,
    folder: &Path,
    open: &mut impl AsyncFnMut() -> Result<CommandContext, Error>,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let context = open().await;
    let places = DataPaths::of_this_process()?;
    match SessionTarget::find(&places, folder, args, context.as_ref().ok())? {
        Some(session) if args.follow => session.follow(view, out).await,
        Some(session) => session.show(view, out),
        None if args.follow => follow::follow(context?, args, open, out).await,
        None => run(&context?, args, out),
    }
}

/// Prints the logs of one task, or of all tasks of a run.
///
/// # Errors
/// There is no such run or task, or a log cannot be read.
fn run(context: &CommandContext, args: &LogsArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let target = target::find(context, &args.target)?;
    target::check_not_collected(context, &target, "log")?;
    let run = &target.run;
    if context.view.form == Form::Json {
        let logs: Result<Vec<_>, _> =
            target.tasks.iter().map(|row| log(context, run, row)).collect();
        print_json(out, &logs?)?;
        return Ok(ExitCode::Success);
    }
    let (idle, begun): (Vec<_>, Vec<_>) = target.tasks.iter().partition(|row| never_began(row));
    let is_folded = idle.len() > context.view.most_listed();
    let shown = if is_folded { begun } else { target.tasks.iter().collect() };
    for (at, row) in shown.into_iter().enumerate() {
        if at > 0 {
            say(out, "")?;
        }
        show(context, run, row, out)?;
        show_verification(context, row, out)?;
    }
    if is_folded {
        say(
            out,
            &format!("\n{} were cancelled before they began ({ALL})", count(idle.len(), "task")),
        )?;
    }
    Ok(ExitCode::Success)
}

/// Returns whether a task was cancelled before it began.
fn never_began(row: &TaskRow) -> bool {
    row.state == TaskState::Cancelled && row.started.is_none()
}

/// The JSON document of one task's log.
#[derive(Serialize)]
struct Log<'a> {
    task: &'a TaskName,
    /// The item of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    /// The items of the task, if it has several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    items: &'a [String],
    /// The script, if a command does the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<&'a str>,
    /// The arguments `"$@"` of the script.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    arguments: &'a [String],
    /// The set-up commands of its workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    setup: Vec<SetupLog>,
    /// The session log, if a model works at the task and there is a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<SessionLine>>,
    /// The lines of the session log that cannot be read whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damage: Vec<DamagedLine>,
    /// The output, if a command does the work. Bytes that are not UTF-8 become `�`.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The verification that keeps its work from landing, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<VerifyLog<'a>>,
}

/// A line of a session log that cannot be read, or lacks something, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct DamagedLine {
    /// The number of the line, from 1.
    line: u64,
    /// What is wrong with it.
    what: String,
}

fn log<'a>(context: &CommandContext, run: &'a RunRow, row: &'a TaskRow) -> Result<Log<'a>, Error> {
    let path = log_path(context, run, row);
    let task = &row.name;
    let setup = setup_logs(context, run, row)?;
    let (item, items) = row.spec.item_or_chunk();
    let verification = verify_log(row)?;
    let log = Log { task, item, items, setup, verification, ..Log::of(task) };
    Ok(match &row.spec.work {
        Work::Agent(_) | Work::Conversation(_) => match session_entries(&path)? {
            Some((entries, damage)) => Log { entries: Some(entries), damage, ..log },
            None => log,
        },
        Work::Command(command) => {
            let (script, arguments) = (Some(command.script.as_str()), &command.arguments[..]);
            Log { script, arguments, output: whole_output(row, &path)?, ..log }
        }
    })
}

impl<'a> Log<'a> {
    fn of(task: &'a TaskName) -> Self {
        let (item, items, script, arguments) = (None, &[][..], None, &[][..]);
        let (setup, entries, damage) = (Vec::new(), None, Vec::new());
        let (output, verification) = (None, None);
        Self { task, item, items, script, arguments, setup, entries, damage, output, verification }
    }
}

/// The entries of a session, and its damaged lines.
type ReadLines = (Vec<SessionLine>, Vec<DamagedLine>);

/// Returns what is in the log of a task's session, and reports the damaged lines; `None` if there is no log.
fn session_entries(path: &Path) -> Result<Option<ReadLines>, Error> {
    let Some((lines, damage)) = if_exists(read_damaged_session(path), path)? else {
        return Ok(None);
    };
    Ok(Some((lines, warn_of_damage(path, &damage, 0))))
}

/// Reports the damaged lines of a log but for the first `known`, and returns them.
fn warn_of_damage(path: &Path, damage: &[LogDamage], known: usize) -> Vec<DamagedLine> {
    let new = damage.iter().skip(known);
    let report = |damage: &LogDamage| {
        process::notify(&format!("warning: {}", damage_text(path, damage)));
        DamagedLine { line: damage.line, what: damage.what.clone() }
    };
    new.map(report).collect()
}

fn damage_text(path: &Path, LogDamage { line, what }: &LogDamage) -> String {
    one_line(&format!("line {line} of {} cannot be read whole: {what}", path.display()))
}

fn whole_output(row: &TaskRow, path: &Path) -> Result<Option<String>, Error> {
    let output = if_exists(std::fs::read(path), path)?;
    let output = output.or_else(|| ran_silently(row).then(Vec::new));
    Ok(output.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn show(context: &CommandContext, run: &RunRow, row: &TaskRow, out: Out<'_>) -> Result<(), Error> {
    let path = log_path(context, run, row);
    let worker = match &row.spec.work {
        Work::Agent(agent) => format!(" · {}", one_line(&agent.model.to_string())),
        Work::Command(_) | Work::Conversation(_) => String::new(),
    };
    heading((context, run), row, &worker, out)?;
    show_setup(context, run, row, out)?;
    match &row.spec.work {
        Work::Agent(_) | Work::Conversation(_) => match session_entries(&path)? {
            Some((lines, _reported)) => {
                let entries: Vec<_> =
                    lines.iter().map(|line| (line.timestamp, &line.entry)).collect();
                let told = transcript(&entries, &context.view);
                write_text(out, &told.join("\n"))?;
                say(out, "")?;
                outcome((context, run), row, used_in(&lines), out)
            }
            None => {
                no_log(row, out)?;
                outcome((context, run), row, None, out)
            }
        },
        Work::Command(command) => {
            write_text(out, &given_to(command).join("\n"))?;
            output(row, &path, out)?;
            outcome((context, run), row, None, out)
        }
    }
}

/// Returns lines with what a command was given: its script and its arguments.
fn given_to(command: &Command) -> Vec<String> {
    let mut lines = vec![format!("$ {}", one_line(&command.script))];
    if !command.arguments.is_empty() {
        let arguments = command.arguments.iter().map(|argument| one_line(&shell_word(argument)));
        lines.push(format!("with  {}", arguments.collect::<Vec<_>>().join(" ")));
    }
    lines
}

/// Returns the path of a task's session log or output.
fn log_path(context: &CommandContext, run: &RunRow, row: &TaskRow) -> PathBuf {
    let name = match &row.spec.work {
        Work::Conversation(conversation) => return conversation.log.clone(),
        Work::Agent(_) => "session.jsonl",
        Work::Command(_) => "output.log",
    };
    context.runs.artifacts.join(run.name.as_str()).join(row.name.as_str()).join(name)
}

fn heading(
    (context, run): (&CommandContext, &RunRow),
    row: &TaskRow,
    more: &str,
    out: Out<'_>,
) -> Result<(), Error> {
    let title = format!("{} · {}{more}", row.name, table_row(run, row).outcome.word);
    say(out, &context.view.palette.paint(Meaning::Heading, &title))?;
    match row.spec.items.as_slice() {
        [] => Ok(()),
        [item] if item == row.name.as_str() => Ok(()),
        [item] => say(out, &format!("item  {}", one_line(item))),
        items => {
            let items: Vec<_> = items.iter().map(|item| one_line(item)).collect();
            say(out, &format!("items  {}", items.join("  ")))
        }
    }
}

/// Prints the output of a command.
pub(super) fn output(row: &TaskRow, path: &Path, out: Out<'_>) -> Result<(), Error> {
    let Some(file) = if_exists(File::open(path), path)? else {
        return if ran_silently(row) { say(out, PRINTED_NOTHING) } else { no_log(row, out) };
    };
    let mut from = BufReader::new(file);
    let mut to = io::BufWriter::new(out);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut from).take(LONGEST).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(path, &error))? == 0 {
            break;
        }
        let written = writeln!(to, "{}", visible_line(&String::from_utf8_lossy(&line)));
        written.map_err(|error| Error::output(&error))?;
    }
    to.flush().map_err(|error| Error::output(&error))
}

/// What is printed in place of the output of a command that wrote nothing.
const PRINTED_NOTHING: &str = "it printed nothing";

/// Returns whether a task without a file of output ran its command, which wrote nothing.
fn ran_silently(row: &TaskRow) -> bool {
    let Some(report) = &row.report else { return false };
    // A command that was stopped has worked for some time. What comes after a set-up may have been
    // stopped in it.
    let worked = |timings: &TaskTimings| timings.get(TimedPhase::Work) > 0;
    let was_stopped = report.setup_ms.is_none() && report.timings.as_deref().is_some_and(worked);
    match &report.outcome {
        Outcome::Done { .. } => true,
        Outcome::Failed { failure } if is_of_setup(failure) => false,
        Outcome::Failed { failure } => {
            let has_ended = matches!(
                failure.detail,
                Some(FailureDetail::Exit { .. } | FailureDetail::Signal { .. })
            );
            has_ended || was_stopped
        }
        Outcome::Cancelled => was_stopped,
    }
}

/// Returns whether a set-up failed: the message then begins with its command.
fn is_of_setup(failure: &Failure) -> bool {
    failure.message.starts_with("set-up `")
}

/// Prints why there is no log.
fn no_log(row: &TaskRow, out: Out<'_>) -> Result<(), Error> {
    let report = row.report.as_ref();
    let was_set_up = report.is_some_and(|report| report.setup_ms.is_some());
    let setup_failed = report.is_some_and(|report| match &report.outcome {
        Outcome::Failed { failure } => is_of_setup(failure),
        Outcome::Done { .. } | Outcome::Cancelled => false,
    });
    let (work, silent) = match row.spec.work {
        Work::Agent(_) | Work::Conversation(_) => ("session", ""),
        Work::Command(_) => ("command", "it printed nothing, or "),
    };
    let why = match row.state {
        _ if setup_failed => "it ended in its set-up".to_owned(),
        TaskState::Done | TaskState::Failed | TaskState::Cancelled if was_set_up => {
            format!("{silent}it ended in its set-up")
        }
        TaskState::Queued => "it has not begun".to_owned(),
        TaskState::Running => match row.spec.work {
            Work::Agent(_) | Work::Conversation(_) => "its session has not begun".to_owned(),
            Work::Command(_) => "it has printed nothing yet".to_owned(),
        },
        TaskState::Interrupted => {
            format!("{silent}it was interrupted before its {work} began, or its log was removed")
        }
        TaskState::Done | TaskState::Failed | TaskState::Cancelled => {
            format!("it ended before its {work} began, or its log was removed")
        }
    };
    say(out, &format!("{} has no log: {why}", row.name))
}

/// Prints the outcome and the usage of a task. `logged` is the usage according to its session log,
/// which is printed if the ledger has none.
fn outcome(
    (context, run): (&CommandContext, &RunRow),
    row: &TaskRow,
    logged: Option<Usage>,
    out: Out<'_>,
) -> Result<(), Error> {
    let outcome = table_row(run, row).outcome;
    let mut parts = vec![context.view.palette.paint(outcome.meaning, &outcome.word)];
    parts.extend(row.report.as_ref().map(|report| duration(report.ms)));
    let usage = row.usage.or(logged);
    parts.extend(usage.map(usage_details));
    say(out, &parts.join(" · "))?;
    if let Some(Outcome::Failed { failure }) = row.report.as_ref().map(|report| &report.outcome) {
        for line in failure.message.lines() {
            say(out, &format!("  {}", visible_line(line)))?;
        }
        if let Some(again) = retry_time_note(failure) {
            say(out, &format!("  {again}"))?;
        }
    }
    let needs = &run.spec.needs;
    let finder = CommandFinder::of(&context.hints, &needs.carry, &needs.setup);
    finder.lines(why_it_failed(row)).iter().try_for_each(|line| say(out, line))
}

/// Returns `None` if the file does not exist.
pub(super) fn if_exists<T>(read: io::Result<T>, path: &Path) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Machine, format!("cannot read the log at {}", path.display()))
        .caused_by(error)
}

#[cfg(test)]
mod tests;
