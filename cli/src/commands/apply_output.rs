//! The output of `regatta apply`: what a landing did, and what a dry run would do, as text and as JSON.

use std::collections::BTreeMap;

use protocol::{ExitCode, Landed, LandingReport, RepoPath, RunName, TaskLanding, TaskName};
use serde::Serialize;
use store::TaskRow;

use crate::args::Form;
use crate::commands::context::{CommandContext, Out, print_json, say};
use crate::commands::planned_programs::PlannedFile;
use crate::commands::undo_output::named;
use crate::render::{
    ALL, Meaning, OutputWidth, changed_lines, conflicts_text, count, folded_lines, landed_text,
    left_text, one_line, settled_text, shorten, unverified_text, width,
};
use regatta::error::Error;

/// The JSON document of a landing.
#[derive(Serialize)]
struct LandingDocument<'a> {
    run: &'a RunName,
    tasks: &'a [TaskLanding],
    /// Tasks whose work has landed before, and was thrown away since.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gone: &'a [&'a TaskName],
}

/// The JSON document of a dry run.
#[derive(Serialize)]
struct DryRunDocument<'a> {
    run: &'a RunName,
    would_land: Vec<&'a TaskName>,
    tasks: &'a [TaskLanding],
    /// The files that a tool or a resolver would write.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    would_resolve: &'a [PlannedFile],
}

/// Prints what a landing did. The work of the tasks in `gone` has landed before,
/// and was thrown away since.
pub(super) fn print_landing(
    context: &CommandContext,
    run: &RunName,
    report: &LandingReport,
    gone: &[&TaskName],
    out: Out<'_>,
) -> Result<(), Error> {
    if context.view.form == Form::Json {
        let lines = LandingDocument { run, tasks: &report.tasks, gone };
        return print_json(out, &lines);
    }
    let lines = report.tasks.iter().map(|TaskLanding { task, landed, settled }| {
        let (meaning, [word, _]) = outcome_words(landed);
        let settled = settled_text(settled);
        let is_alone = !settled.is_empty() || has_joined(landed);
        let note = joined_notes([note(landed), settled]);
        Line { task: task.to_string(), meaning, word, note, is_alone }
    });
    table(context, &lines.collect::<Vec<_>>(), out)?;
    let is_landed = |task: &TaskLanding| {
        matches!(task.landed, Landed::Landed { .. }) || !task.settled.landed.is_empty()
    };
    if report.tasks.iter().any(is_landed) {
        say(out, &format!("\nundo  {}", context.hints.command(&format!("undo {run}"))))?;
    }
    if super::apply::exit_code(report) == ExitCode::Kept {
        say(out, &format!("\nkept  {}", context.hints.command(&format!("conflicts {run}"))))?;
    }
    Ok(())
}

/// Prints what a landing of the tasks in `rows` would do, and which files programs would write first.
pub(super) fn print_dry_run(
    context: &CommandContext,
    run: &RunName,
    (report, planned): (&LandingReport, &[PlannedFile]),
    rows: &[TaskRow],
    out: Out<'_>,
) -> Result<(), Error> {
    if context.view.form == Form::Json {
        let lands = |task: &&TaskLanding| matches!(task.landed, Landed::Landed { .. });
        let would_land = report.tasks.iter().filter(lands).map(|task| &task.task).collect();
        let lines =
            DryRunDocument { run, would_land, tasks: &report.tasks, would_resolve: planned };
        return print_json(out, &lines);
    }
    let lines = report.tasks.iter().map(|TaskLanding { task, landed, settled }| {
        let (meaning, [_, word]) = outcome_words(landed);
        let row = rows.iter().find(|row| row.name == *task);
        let note = match landed {
            Landed::Landed { branch, joined } => {
                let captured = row.and_then(|row| row.captured.as_ref());
                let changes = captured.map(|captured| captured.changes).unwrap_or_default();
                let place = match branch {
                    Some(branch) => format!("on branch {branch}"),
                    None => "in the working tree".to_owned(),
                };
                let joined = match joined.is_empty() {
                    true => String::new(),
                    false => format!("; {}", landed_text(None, joined)),
                };
                format!(
                    "{} {}  {place}{joined}",
                    count(changes.files, "file"),
                    changed_lines(changes)
                )
            }
            _ => note(landed),
        };
        let settled = settled_text(settled);
        let is_alone = !settled.is_empty() || has_joined(landed);
        let note = joined_notes([note, settled]);
        Line { task: task.to_string(), meaning, word, note, is_alone }
    });
    table(context, &lines.collect::<Vec<_>>(), out)?;
    let mut writers: BTreeMap<&str, Vec<RepoPath>> = BTreeMap::new();
    for PlannedFile { path, by } in planned {
        writers.entry(by).or_default().push(path.clone());
    }
    for (by, paths) in writers {
        let most = context.view.most_listed();
        let (files, named) = (count(paths.len(), "file"), named(&paths, most, ALL));
        say(out, &format!("{files} would be written by {by}: {named}"))?;
    }
    Ok(())
}

fn has_joined(landed: &Landed) -> bool {
    matches!(landed, Landed::Landed { joined, .. } if !joined.is_empty())
}

fn joined_notes(notes: [String; 2]) -> String {
    let notes: Vec<_> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    notes.join("; ")
}

/// The line of one task.
struct Line {
    /// The label of the task.
    task: String,
    meaning: Meaning,
    word: &'static str,
    note: String,
    /// Whether conflicts were settled or files joined, so that it is never folded.
    is_alone: bool,
}

impl Line {
    /// Returns what the lines of a list have in common that are folded: the outcome, and of work that does
    /// not land why.
    fn key(&self) -> (&'static str, &str) {
        match (self.meaning, self.is_alone) {
            (Meaning::Good | Meaning::Neutral, false) => (self.word, ""),
            _ => (self.word, &self.note),
        }
    }
}

/// The maximum width of the column of labels on a terminal.
const LABELS: usize = 40;

fn table(context: &CommandContext, table: &[Line], out: Out<'_>) -> Result<(), Error> {
    let labels: Vec<_> = table.iter().map(|line| line.task.clone()).collect();
    let labels = match out.room() {
        OutputWidth::Columns(columns) => shorten(&labels, LABELS.min(columns / 2)),
        OutputWidth::Pipe => labels,
    };
    let task_room = labels.iter().map(|task| width(task)).max().unwrap_or(0);
    let word_room = table.iter().map(|line| line.word.len()).max().unwrap_or(0);
    let lines = table.iter().zip(&labels).map(|(line, task)| {
        let Line { meaning, word, note, .. } = line;
        let indent = " ".repeat(task_room - width(task));
        let rest = " ".repeat(word_room - word.len());
        let word = context.view.palette.paint(*meaning, word);
        let text = format!("{task}{indent}  {word}{rest}  {}", one_line(note));
        (line.key(), text.trim_end().to_owned())
    });
    let lines = folded_lines(lines.collect(), context.view.most_listed(), |(word, _), more| {
        format!("and {}  {word} ({ALL})", count(more, "more task"))
    });
    lines.iter().try_for_each(|line| say(out, line))
}

/// Returns the meaning of a landing's result, the word for it, and the word for it in a dry run.
fn outcome_words(landed: &Landed) -> (Meaning, [&'static str; 2]) {
    match landed {
        Landed::Landed { .. } => (Meaning::Good, ["landed", "would land"]),
        Landed::Unchanged => (Meaning::Neutral, ["no change", "no change"]),
        Landed::Conflicted { .. } => (Meaning::Kept, ["conflict", "would conflict"]),
        Landed::Unwritten { .. } | Landed::Waiting { .. } | Landed::Unverified(_) => {
            (Meaning::Kept, ["kept", "would be kept"])
        }
        Landed::TakenBack { .. } => (Meaning::Kept, ["taken back", "would be taken back"]),
    }
}

fn note(landed: &Landed) -> String {
    match landed {
        Landed::Landed { branch, joined } => landed_text(branch.as_deref(), joined),
        Landed::Unchanged => "all of it is in the tree already".to_owned(),
        Landed::Conflicted { conflicts } => conflicts_text(conflicts),
        Landed::Unwritten { message } => message.clone(),
        Landed::Unverified(unverified) => unverified_text(unverified),
        Landed::Waiting { on } => {
            let on: Vec<_> = on.iter().map(ToString::to_string).collect();
            format!("builds on {}, which does not land", on.join(", "))
        }
        Landed::TakenBack { left } => left_text(left),
    }
}
