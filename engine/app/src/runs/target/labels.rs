//! Finds a run by the label that `--label` gave it.

use store::{FindError, RunRow};

use super::{Located, RepositoryRuns, TargetError};

/// Returns the run that has `given` as its label, if `outcome` says that nothing else is called so.
///
/// # Errors
/// Several runs have the label.
pub(super) fn labelled(
    runs: &RepositoryRuns,
    given: &str,
    outcome: Result<Located, FindError>,
) -> Result<Result<Located, FindError>, TargetError> {
    let unknown = match outcome {
        Err(unknown @ (FindError::UnknownRun { .. } | FindError::UnknownTask { .. })) => unknown,
        found => return Ok(found),
    };
    let mut found = runs.reader.runs(Some(&runs.root), usize::MAX).unwrap_or_default();
    let (label, task) =
        given.split_once('/').map_or((given, None), |(run, task)| (run, Some(task)));
    let has = |run: &RunRow, label: &str| run.label.as_deref() == Some(label);
    // A label may contain a slash.
    let is_whole = found.iter().any(|run| has(run, given));
    let (label, task) = if is_whole { (given, None) } else { (label, task) };
    found.retain(|run| has(run, label));
    let names: Vec<_> = found.iter().map(|run| run.name.clone()).collect();
    match (found.pop(), names.len()) {
        (None, _) => Ok(Err(unknown)),
        (Some(run), 1) => Ok(match task {
            None => Ok(Located::run(run)),
            Some(task) => runs.reader.find_task(run.id, task).map(|task| Located::task(run, task)),
        }),
        (Some(_), _) => Err(TargetError::SeveralLabelled { label: label.to_owned(), runs: names }),
    }
}
