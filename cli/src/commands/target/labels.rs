//! Finds a run by the label that `--label` gave it.

use store::{FindError, RunRow};

use super::super::context::CommandContext;
use super::Located;
use crate::render::one_line;
use regatta::error::Error;

/// Returns the run that has `given` as its label, if `found` says that nothing else is called so.
///
/// # Errors
/// Several runs have the label.
pub(super) fn labelled(
    context: &CommandContext,
    given: &str,
    found: Result<Located, FindError>,
) -> Result<Result<Located, FindError>, Error> {
    let unknown = match found {
        Err(unknown @ (FindError::UnknownRun { .. } | FindError::UnknownTask { .. })) => unknown,
        found => return Ok(found),
    };
    let mut runs = context.reader.runs(Some(&context.root), usize::MAX).unwrap_or_default();
    let (label, task) =
        given.split_once('/').map_or((given, None), |(run, task)| (run, Some(task)));
    let has = |run: &RunRow, label: &str| run.label.as_deref() == Some(label);
    // A label may contain a slash.
    let is_whole = runs.iter().any(|run| has(run, given));
    let (label, task) = if is_whole { (given, None) } else { (label, task) };
    runs.retain(|run| has(run, label));
    let names: Vec<_> = runs.iter().map(|run| run.name.to_string()).collect();
    match (runs.pop(), names.len()) {
        (None, _) => Ok(Err(unknown)),
        (Some(run), 1) => Ok(match task {
            None => Ok(Located::run(run)),
            Some(task) => {
                context.reader.find_task(run.id, task).map(|task| Located::task(run, task))
            }
        }),
        (Some(_), _) => {
            let error = Error::usage(format!("several runs have the label `{}`", one_line(label)))
                .because(format!("they are {}", names.join(", ")));
            Err(names.first().into_iter().fold(error, |error, run| {
                error.hint(context.hints.command(&format!("runs show {run}")))
            }))
        }
    }
}
