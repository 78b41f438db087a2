//! The output of `regatta undo`: what was taken back and what was left, as text and as JSON.

use engine::ports::{BranchEnd, UndoReport, UndoneBranch};
use protocol::{Conflict, Landed, RepoPath, RunName, SettledBy, TaskLanding, TaskName};
use regatta::runs::SettleOption;
use serde::Serialize;
use store::TaskRow;

use super::context::{CommandContext, Out, print_json, say};
use super::undo_tasks::{TaskResult, task_lines, task_results};
use crate::args::{Form, option_text};
use crate::render::{Meaning, count, fit, left_file, one_line, reason_text, shell_word, width};
use regatta::error::Error;
use regatta::runs::Target;

/// Whether something was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Done {
    /// What the document says was done.
    Yes,
    /// Nothing was done; the document says what would be.
    DryRun,
    /// An earlier undo had done it.
    Already,
}

/// The JSON document of an undo.
#[derive(Serialize)]
struct UndoDocument<'a> {
    run: &'a RunName,
    done: Done,
    tasks: &'a [TaskLanding],
    /// The files that have changed.
    files: &'a [RepoPath],
    /// The files that are left as they are.
    left: &'a [Conflict],
    branches: Vec<BranchDocument<'a>>,
    /// Tasks whose landing has written nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unwritten: &'a [TaskName],
    /// What became of each task, if several were named.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    results: &'a [TaskResult<'a>],
}

/// What became of one branch.
#[derive(Serialize)]
struct BranchDocument<'a> {
    name: &'a str,
    /// The folder of the nested repository that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    nested: Option<&'a RepoPath>,
    #[serde(flatten)]
    end: BranchResult<'a>,
}

/// What became of a branch, as JSON.
#[derive(Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum BranchResult<'a> {
    Removed { commit: &'a str },
    Moved { from: &'a str, to: &'a str },
    Gone,
    Left { why: &'a str },
}

/// How to see the paths that are not named.
const ALL: &str = "--all lists them";

/// Prints what was taken back of `target`, or would be. At most `most` paths are named for each result.
pub(super) fn print(
    context: &CommandContext,
    target: &Target,
    report: &UndoReport,
    (done, most): (Done, usize),
    out: Out<'_>,
) -> Result<(), Error> {
    let results = task_results(target, report);
    if context.view.form == Form::Json {
        return print_json(out, &document((&target.run.name, &results), report, done));
    }
    let word = if done == Done::DryRun { "would undo" } else { "taken back" };
    let back = context.view.palette.paint(Meaning::Good, word);
    let left = context.view.palette.paint(Meaning::Kept, "left      ");
    let mut lines = task_lines(context, &results, (word, most));
    if !report.paths.is_empty() {
        let files = count(report.paths.len(), "file");
        lines.push(format!("{back}  {files}: {}", named(&report.paths, most, ALL)));
    }
    for UndoneBranch { name, nested, end } in &report.branches {
        let place = nested.as_ref().map(|root| format!(" in {root}")).unwrap_or_default();
        let name = one_line(&format!("{name}{place}"));
        lines.push(match end {
            BranchEnd::Removed { commit } => {
                format!("{back}  the branch {name} is removed (it was {})", short(commit))
            }
            BranchEnd::Moved { from, to } => {
                let (from, to) = (short(from), short(to));
                format!("{back}  the branch {name} is at {to} again (it was at {from})")
            }
            BranchEnd::Gone => {
                format!("{back}  the branch {name} does not have the work any more")
            }
            BranchEnd::Left { why, hint } => {
                let hint = hint.as_ref().map(|hint| format!("; try: {}", one_line(hint)));
                format!("{left}  the branch {name}: {}{}", one_line(why), hint.unwrap_or_default())
            }
        });
    }
    for conflict in report.left.iter().take(most) {
        lines.push(format!("{left}  {}: {}", left_file(conflict), reason(conflict)));
    }
    if report.left.len() > most {
        lines.push(format!("{left}  and {} more ({ALL})", report.left.len() - most));
    }
    for task in &report.unwritten {
        lines.push(format!("{left}  {task}: its work was there before it landed"));
    }
    if lines.is_empty() {
        let name = target.arguments();
        lines.push(format!(
            "nothing of {name} is left to take back: the files are as before it landed"
        ));
    }
    lines.extend(closing(context, target, report, done));
    say(out, &lines.join("\n"))
}

/// Returns the commands to type next.
fn closing(
    context: &CommandContext,
    target: &Target,
    report: &UndoReport,
    done: Done,
) -> Vec<String> {
    if done == Done::DryRun {
        return Vec::new();
    }
    let is_there = |row: &TaskRow| {
        row.captured.is_some() && row.discarded.is_none() && row.collected.is_none()
    };
    let is_back = |row: &&TaskRow| {
        let landed = report.report.tasks.iter().find(|task| task.task == row.name);
        landed.is_some_and(|task| matches!(task.landed, Landed::TakenBack { .. })) && is_there(row)
    };
    let command = |words: &str| context.hints.command(words);
    let (name, mut lines) = (target.arguments(), Vec::new());
    if !report.left.is_empty() {
        if target.tasks.iter().any(is_there) {
            let diff = command(&format!("diff {name}"));
            lines.push((
                "left ",
                diff,
                "shows what landed: edit that out of the files that are left",
            ));
        }
        lines.push(("undo ", command(&format!("undo {name}")), "then takes back the rest"));
    }
    let back: Vec<_> = target.tasks.iter().filter(is_back).collect();
    if let Some(words) = words_to_land_again(target, &back) {
        lines.push(("redo ", command(&words), "lands the work taken back"));
    }
    let widest = lines.iter().map(|(_, command, _)| width(command)).max().unwrap_or(0);
    let lines = lines
        .into_iter()
        .map(|(label, command, purpose)| format!("{label}  {}  {purpose}", fit(&command, widest)));
    let blank = (widest > 0).then(String::new);
    blank.into_iter().chain(lines).collect()
}

/// Returns the words of the command that lands the same work again; `None` if none does, because its conflicts
/// were settled in a way that is not an option for all of them.
fn words_to_land_again(target: &Target, back: &[&TaskRow]) -> Option<String> {
    let settled = |row: &&&TaskRow| !row.settled.is_empty();
    if !back.iter().any(|row| settled(&row)) {
        return (!back.is_empty()).then(|| format!("apply {} --again", target.arguments()));
    }
    let [row] = back else { return None };
    let (first, others) = row.settled.conflicts.split_first()?;
    let option = match first.by {
        SettledBy::Ours => SettleOption::Ours,
        SettledBy::Theirs => SettleOption::Theirs,
        SettledBy::Union => SettleOption::Union,
        SettledBy::Markers | SettledBy::Tool | SettledBy::Resolver => return None,
    };
    let option = others.iter().all(|other| other.by == first.by).then(|| option_text(option))?;
    let task = shell_word(&format!("{}/{}", target.run.name, row.name));
    Some(format!("apply {task} --again {option}"))
}

/// Returns why a file is left.
fn reason(conflict: &Conflict) -> String {
    let why = match &conflict.with {
        Some(other) => format!("{other} has changed the same lines"),
        None => match conflict.reason {
            protocol::ConflictReason::Content => "the same lines were changed since".to_owned(),
            protocol::ConflictReason::Binary => "it is binary, and was changed since".to_owned(),
            protocol::ConflictReason::ChangedAndRemoved if conflict.ours.is_none() => {
                "it was removed since".to_owned()
            }
            protocol::ConflictReason::ChangedAndRemoved => "it was changed since".to_owned(),
            protocol::ConflictReason::Kind => "its type was changed since".to_owned(),
            protocol::ConflictReason::BothAdded if conflict.renamed.is_some() => {
                format!("{} is another file now", conflict.path)
            }
            protocol::ConflictReason::BothAdded => "there is another file now".to_owned(),
            other => reason_text(other).to_owned(),
        },
    };
    one_line(&why)
}

fn document<'a>(
    (run, results): (&'a RunName, &'a [TaskResult<'a>]),
    report: &'a UndoReport,
    done: Done,
) -> UndoDocument<'a> {
    let branches = report.branches.iter().map(|UndoneBranch { name, nested, end }| {
        let end = match end {
            BranchEnd::Removed { commit } => BranchResult::Removed { commit },
            BranchEnd::Moved { from, to } => BranchResult::Moved { from, to },
            BranchEnd::Gone => BranchResult::Gone,
            BranchEnd::Left { why, .. } => BranchResult::Left { why },
        };
        BranchDocument { name, nested: nested.as_ref(), end }
    });
    UndoDocument {
        run,
        done,
        tasks: &report.report.tasks,
        files: &report.paths,
        left: &report.left,
        branches: branches.collect(),
        unwritten: &report.unwritten,
        results,
    }
}

/// Returns the first `most` paths, and how many more there are.
pub(super) fn named(paths: &[RepoPath], most: usize, all: &str) -> String {
    let mut parts: Vec<String> =
        paths.iter().take(most).map(|path| one_line(&path.to_string())).collect();
    if paths.len() > most {
        parts.push(format!("and {} more ({all})", paths.len() - most));
    }
    parts.join(", ")
}

/// Returns the beginning of a commit's id, as git prints it.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
