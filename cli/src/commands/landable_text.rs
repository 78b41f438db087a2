//! What is said of work that does not land: why, and what to try.

use regatta::error::{Error, ErrorKind};
use regatta::runs::{
    KeptReason, KeptWork, LandAgain, LandableWork, Missing, NotReady, Superseded, Target,
    TargetKind, ThrownAway, has_landed, kept_reason,
};

use super::context::CommandContext;
use crate::render::{count, cut, one_line};

/// The longest list of names in a line, in characters.
const LONGEST_NAMES: usize = 200;

/// The maximum number of paths that a message names.
const NAMED: usize = 5;

/// Returns the error of a target without work that is kept for one of these reasons.
pub(super) fn nothing_of_kind(target: &Target, which: &[KeptWork]) -> Error {
    let run = &target.run.name;
    let option = |which: &KeptWork| match which {
        KeptWork::Failed => "--failed",
        KeptWork::Conflicted => "--conflicted",
        KeptWork::Any => "--kept",
    };
    let options = which.iter().map(option).collect::<Vec<_>>().join(" or ");
    let whose = match (target.kind, target.tasks.as_slice()) {
        (TargetKind::Run, _) => format!("run {run}"),
        (TargetKind::Task, [row]) => format!("task {run}/{}", row.name),
        (TargetKind::Task, rows) => count(rows.len(), "task"),
    };
    let error = Error::usage(format!("there is no work of {whose} to land with {options}"));
    let show = format!("regatta runs show {run}");
    let (TargetKind::Task, [row]) = (target.kind, target.tasks.as_slice()) else {
        return error.hint(show);
    };
    let (why, hint) = match kept_reason(row) {
        _ if row.discarded.is_some() => ("its work was discarded", show),
        None if has_landed(row) => ("its work has landed", show),
        None => ("it has changed nothing", show),
        Some(KeptReason::TakenBack) => {
            ("its work was taken back", format!("regatta apply {run}/{} --again", row.name))
        }
        Some(_) => {
            ("its work is kept for another reason", format!("regatta apply {run}/{}", row.name))
        }
    };
    error.because(why).hint(hint)
}

/// Returns the work of `target` that can land, and why landed work of it cannot be compared with the
/// repository if it cannot.
pub(super) fn landable<'a>(
    context: &CommandContext,
    target: &'a Target,
    again: LandAgain,
) -> Result<(LandableWork<'a>, Option<Error>), Error> {
    let mut work = LandableWork::of(&context.runs, target, again)?;
    let uncompared = work.uncompared.take().map(Error::from);
    Ok((work, uncompared))
}

/// Returns the notes about work that does not land now, each as lines.
pub(super) fn notes(
    context: &CommandContext,
    target: &Target,
    (work, uncompared): (&LandableWork<'_>, Option<&Error>),
) -> Vec<Vec<String>> {
    let uncompared = uncompared.map(|error| {
        let why = error.what_and_why();
        vec![format!("it is unknown whether landed work is still in the repository: {why}")]
    });
    let gone = gone_lines(context, target, work);
    let superseded = superseded_lines(context, target, &work.superseded);
    [gone, superseded, uncompared].into_iter().flatten().collect()
}

/// Returns lines about work that was thrown away: what is missing, and how to land it again.
fn gone_lines(
    context: &CommandContext,
    target: &Target,
    work: &LandableWork<'_>,
) -> Option<Vec<String>> {
    let run = &target.run.name;
    let (first, what, name) = match work.gone[..] {
        [] => return None,
        [row] => {
            let name = format!("{run}/{}", row.name);
            let gone = work.landed.thrown_away(row).map(thrown_away_text).unwrap_or_default();
            (format!("the work of task {name} has landed, and {gone}"), "it", name)
        }
        ref several => {
            let names: Vec<_> = several.iter().map(|row| row.name.to_string()).collect();
            let (tasks, names) = (count(several.len(), "task"), names.join(", "));
            let names = cut(&names, LONGEST_NAMES);
            let gone = "is missing from the repository, at least in part";
            let line = format!("the work of {tasks} of run {run} has landed, and {gone}: {names}");
            (line, "them", run.to_string())
        }
    };
    let command = context.hints.command(&format!("apply {name} --again"));
    Some(vec![first, format!("land {what} again: {command}")])
}

/// Returns lines about work that a later run did again.
fn superseded_lines(
    context: &CommandContext,
    target: &Target,
    superseded: &Superseded,
) -> Option<Vec<String>> {
    let run = &target.run.name;
    let (first, by) = superseded.iter().next()?;
    let line = match superseded.iter().len() {
        1 => format!("the work of task {run}/{first} was done again, and landed in run {by}"),
        several => {
            let names: Vec<_> = superseded.iter().map(|(name, _)| name.to_string()).collect();
            let names = cut(&names.join(", "), LONGEST_NAMES);
            let tasks = count(several, "task");
            format!("the work of {tasks} of run {run} was done again, and landed: {names}")
        }
    };
    let command = context.hints.command(&format!("apply {run}/{first}"));
    Some(vec![line, format!("land the first try anyway: {command}")])
}

/// Returns the error of work that cannot land yet, with the command that comes first.
pub(super) fn not_ready(context: &CommandContext, error: NotReady) -> Error {
    let what = error.to_string();
    let (run, task, on, why) = match error {
        NotReady::BuildsOn { run, task, on, why } => (run, task, on, why),
        NotReady::Work(error) => return error.into(),
    };
    let (why, first) = match why {
        Missing::ThrownAway(gone) => (thrown_away_text(&gone), format!("apply {run}/{on} --again")),
        Missing::DoneAgain(by) => {
            (format!("was done again in run {by}"), format!("runs retry {run} {task}"))
        }
        Missing::NotLanded => ("has not landed".to_owned(), format!("apply {run}/{on}")),
    };
    Error::new(ErrorKind::Usage, what)
        .because(format!("it builds on {on}, which {why}"))
        .hint(context.hints.command(&first))
}

/// Returns what is missing as the end of a sentence about the work.
pub(super) fn thrown_away_text(gone: &ThrownAway) -> String {
    match gone {
        ThrownAway::Paths(paths) => {
            let mut named: Vec<_> =
                paths.iter().take(NAMED).map(|path| one_line(&path.to_string())).collect();
            if let Some(more @ 1..) = paths.len().checked_sub(NAMED) {
                named.push(format!("{more} more"));
            }
            let paths = named.join(", ");
            format!("is missing from the working tree, at least in part: {paths}")
        }
        ThrownAway::Branch(branch) => {
            format!("is missing: branch {} does not exist", one_line(branch))
        }
        ThrownAway::TakenBack => "was taken back".to_owned(),
    }
}
