//! Finds the run or the tasks that a command line names, and says what there is where there are none.

use regatta::error::{Error, ErrorKind};
use regatta::runs::{Collected, Located, Target, TargetError};
use store::FindError;

use super::context::CommandContext;
use crate::args::TargetArgs;
use crate::render::{date_time, shell_word};

/// Finds a target in the repository; the latest run if none is given.
pub(super) fn find(context: &CommandContext, given: &TargetArgs) -> Result<Target, Error> {
    Target::find(&context.runs, &given.given()).map_err(|error| not_found(error, context))
}

/// Finds a target as [`find`] does, and more tasks of the same run.
pub(super) fn find_several(
    context: &CommandContext,
    given: Option<&String>,
    more: &[String],
) -> Result<Target, Error> {
    let target = Target::find_several(&context.runs, given, more);
    target.map_err(|error| not_found(error, context))
}

/// Finds a target as [`find`] does, and does not read the tasks of a run.
pub(super) fn locate(context: &CommandContext, given: &TargetArgs) -> Result<Located, Error> {
    Located::find(&context.runs, &given.given()).map_err(|error| not_found(error, context))
}

/// Checks that the run has ended.
pub(super) fn check_has_ended(target: &Target, what: &str) -> Result<(), Error> {
    match target.has_ended() {
        true => Ok(()),
        false => {
            let what = format!("cannot {what} the work of run {}", target.run.name);
            Err(Error::new(ErrorKind::Usage, what)
                .because("the run is still running")
                .hint("try again when the run has ended"))
        }
    }
}

/// Checks that captured work of the target is left, or that none was removed because of its age.
pub(super) fn check_not_collected(
    context: &CommandContext,
    target: &Target,
    what: &str,
) -> Result<(), Error> {
    let Some(Collected { whose, at, was_discarded }) = target.collected() else { return Ok(()) };
    let at = date_time(at, &context.view.zone);
    let before = if was_discarded { "was discarded" } else { "had landed" };
    Err(Error::usage(format!("there is no {what} of {whose} any more")).because(format!(
        "it was collected {at}: `regatta gc` removed it, because it {before} and was old"
    )))
}

/// Returns the error of a target that was not found, with what to try.
fn not_found(error: TargetError, context: &CommandContext) -> Error {
    let usage = Error::usage(error.to_string());
    let command = |words: &str| context.hints.command(words);
    match error {
        TargetError::NoRuns { .. } => {
            usage.hint("regatta run --exec CMD").hint("--repo DIR (another repository)")
        }
        TargetError::Unknown { given, latest } => {
            let names: Vec<_> = latest.iter().map(ToString::to_string).collect();
            let why = format!("the latest runs are {}", names.join(", "));
            let usage = if names.is_empty() { usage } else { usage.because(why) };
            // What other programs call the latest of something.
            let is_latest = ["head", "last", "latest", "newest", "-1"];
            let word = given.split('/').next().unwrap_or_default().to_ascii_lowercase();
            let usage = match is_latest.contains(&word.as_str()) {
                true => usage.hint("@ (the latest run)"),
                false => usage,
            };
            usage.hint(command("runs"))
        }
        TargetError::SeveralRuns(_) => usage.hint(command("runs")),
        TargetError::SeveralLabelled { runs, .. } => {
            let names: Vec<_> = runs.iter().map(ToString::to_string).collect();
            let several = usage.because(format!("they are {}", names.join(", ")));
            names
                .first()
                .into_iter()
                .fold(several, |error, run| error.hint(command(&format!("runs show {run}"))))
        }
        TargetError::RunOrTask { task, .. } => usage.hint(format!("@/{task} for the task")),
        TargetError::Task { run, of } => {
            let first = match &of {
                FindError::AmbiguousTask { candidates, .. } => candidates.first(),
                _ => None,
            };
            let usage = first.into_iter().fold(usage, |error, first| {
                let first = shell_word(&format!("{run}/{first}"));
                error.hint(format!("{first} (the first of these)"))
            });
            usage.hint(command(&format!("runs show {run}")))
        }
        TargetError::NotOnlyOne { task, .. } => {
            usage.because(format!("`{task}` is a task, and the command takes one run or task"))
        }
        TargetError::OtherRun { .. } => usage.because("all tasks must be of one run"),
        TargetError::OtherRepository { place, .. } => {
            let place_text = place.display().to_string();
            if place.is_dir() {
                let word = shell_word(&place_text);
                usage.because(format!("it worked on {place_text}")).hint(format!("--repo {word}"))
            } else {
                usage.because(format!("it worked on {place_text}, which does not exist any more"))
            }
        }
        TargetError::Ledger(error) => error.into(),
    }
}

#[cfg(test)]
mod tests;
