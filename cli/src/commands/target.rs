//! Resolves a target argument to a run or to one of its tasks: `r7k3f`, `r7k3f/auth`, `auth`, `@`.

use std::path::Path;

use protocol::RunState;
use store::{FindError, Reader, RunRow, TaskRow};

use super::context::CommandContext;
use crate::error::{Error, ErrorKind};

/// A run, or a task of it, that a user named.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The run.
    pub(super) run: RunRow,
    /// All of its tasks, or the one that was named.
    pub(super) tasks: Vec<TaskRow>,
    /// Whether a run or a task was named.
    pub(super) kind: TargetKind,
}

/// Whether a target is a run or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// A run with all of its tasks.
    Run,
    /// One task.
    Task,
}

impl Target {
    /// Finds a target in the repository; the latest run if none is given.
    pub(super) fn find(context: &CommandContext, given: Option<&str>) -> Result<Self, Error> {
        let root = &context.root;
        let given = given.unwrap_or("@");
        let found =
            find(&context.reader, root, given).map_err(|error| not_found(error, context))?;
        if found.run.repo != *root {
            let place = found.run.repo.display().to_string();
            let what = format!("run {} is of another repository", found.run.name);
            if !found.run.repo.is_dir() {
                return Err(Error::usage(what)
                    .because(format!("it worked on {place}, which is not there any more")));
            }
            let place_word = crate::render::shell_word(&place);
            return Err(Error::usage(what)
                .because(format!("it worked on {place}"))
                .hint(format!("--repo {place_word}")));
        }
        Ok(found)
    }

    /// Finds a target as [`Self::find`] does, and more tasks of the same run. If tasks are named,
    /// the target is these, in the order of their declaration.
    pub(super) fn find_several(
        context: &CommandContext,
        given: Option<&str>,
        more: &[String],
    ) -> Result<Self, Error> {
        let first = Self::find(context, given)?;
        if more.is_empty() {
            return Ok(first);
        }
        let mut named: Vec<_> = match first.kind {
            TargetKind::Run => Vec::new(),
            TargetKind::Task => first.tasks.iter().map(|row| row.id).collect(),
        };
        for name in more {
            let found = context.reader.find_task(first.run.id, name);
            named.push(found.map_err(|error| not_found(error, context))?.id);
        }
        let tasks = context.reader.tasks(first.run.id)?;
        let tasks = tasks.into_iter().filter(|row| named.contains(&row.id)).collect();
        Ok(Self { run: first.run, tasks, kind: TargetKind::Task })
    }

    /// Reads the same tasks from the ledger again.
    pub(super) fn reload(&self, context: &CommandContext) -> Result<Self, Error> {
        let is_meant = |row: &TaskRow| self.tasks.iter().any(|task| task.id == row.id);
        let rows = context.reader.tasks(self.run.id)?;
        let tasks = rows.into_iter().filter(is_meant).collect();
        Ok(Self { run: self.run.clone(), tasks, kind: self.kind })
    }

    /// Checks that the run has ended.
    pub(super) fn check_has_ended(&self, what: &str) -> Result<(), Error> {
        match self.run.state {
            RunState::Finished | RunState::Interrupted => Ok(()),
            RunState::Running | RunState::Landing => {
                let what = format!("cannot {what} the work of run {}", self.run.name);
                Err(Error::new(ErrorKind::Usage, what)
                    .because("it is still going on")
                    .hint("the same again when it has ended"))
            }
        }
    }
}

/// Finds a target. A word without a slash may name a run or a task of the latest run. An exact name
/// takes precedence over the beginning of a name.
fn find(reader: &Reader, root: &Path, given: &str) -> Result<Target, FindError> {
    if let Some((run, task)) = given.split_once('/') {
        let run = reader.find_run(Some(root), run)?;
        let task = reader.find_task(run.id, task)?;
        return Ok(Target { run, tasks: vec![task], kind: TargetKind::Task });
    }
    let run = reader.find_run(Some(root), given);
    if matches!(given, "" | "@") {
        return whole_run(reader, run?);
    }
    let latest = match reader.find_run(Some(root), "@") {
        Ok(latest) => latest,
        // The repository has no runs, and so no tasks. `given` can only name a run.
        Err(FindError::NoRuns) => return whole_run(reader, run?),
        Err(error) => return Err(error),
    };
    let only = |task| Ok(Target { run: latest.clone(), tasks: vec![task], kind: TargetKind::Task });
    match (run, reader.find_task(latest.id, given)) {
        (Ok(run), _) if is_name(run.name.as_str(), given) => whole_run(reader, run),
        (_, Ok(task)) if is_name(task.name.as_str(), given) => only(task),
        (Ok(_), Ok(task)) => {
            let candidates = vec![task.name];
            Err(FindError::AmbiguousTask { given: given.to_owned(), candidates })
        }
        (Ok(run), Err(_)) => whole_run(reader, run),
        (Err(FindError::UnknownRun { .. }), Ok(task)) => only(task),
        (Err(FindError::UnknownRun { .. }), Err(several @ FindError::AmbiguousTask { .. })) => {
            Err(several)
        }
        (Err(error), _) => Err(error),
    }
}

fn whole_run(reader: &Reader, run: RunRow) -> Result<Target, FindError> {
    let tasks = reader.tasks(run.id)?;
    Ok(Target { run, tasks, kind: TargetKind::Run })
}

fn is_name(name: &str, given: &str) -> bool {
    name.eq_ignore_ascii_case(given)
}

/// Returns the error of a target that was not found, with what there is instead.
fn not_found(error: FindError, context: &CommandContext) -> Error {
    let list = context.hints.command("runs");
    match error {
        FindError::NoRuns => {
            let root = context.root.display();
            Error::usage(format!("there is no run yet in {root}"))
                .hint("regatta run --exec CMD, or --repo DIR for another repository")
        }
        FindError::UnknownRun { given } => {
            let known = context.reader.runs(Some(&context.root), 5);
            let names: Vec<_> =
                known.unwrap_or_default().iter().map(|run| run.name.to_string()).collect();
            let mut error = Error::usage(format!("there is no run or task `{given}`"));
            if !names.is_empty() {
                error = error.because(format!("the latest runs are {}", names.join(", ")));
            }
            error.hint(list)
        }
        FindError::AmbiguousTask { ref candidates, ref given } if candidates.len() == 1 => {
            let what = format!("`{given}` could be a run or the task {}", candidates[0]);
            Error::usage(what).hint(format!("@/{} for the task", candidates[0]))
        }
        FindError::Unreadable(error) => error.into(),
        other @ (FindError::AmbiguousRun { .. }
        | FindError::AmbiguousTask { .. }
        | FindError::UnknownTask { .. }) => Error::usage(other.to_string()).hint(list),
    }
}

#[cfg(test)]
mod tests;
