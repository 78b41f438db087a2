//! Which run, or which task of it, a person means: `r7k3f`, `r7k3f/auth`, `auth`, `@`.

use std::path::Path;

use protocol::RunState;
use store::{FindError, Reader, RunRow, TaskRow};

use super::context::CommandContext;
use crate::error::{Error, ErrorKind};

/// What was meant.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The run.
    pub(super) run: RunRow,
    /// All of its tasks, or the one that was named.
    pub(super) tasks: Vec<TaskRow>,
    /// Which of the two.
    pub(super) kind: TargetKind,
}

/// How much of a run was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// All of it.
    Run,
    /// One task, by name.
    Task,
}

impl Target {
    /// Finds what was meant in the repository at hand; the latest run where nothing was given.
    pub(super) fn find(context: &CommandContext, given: Option<&str>) -> Result<Self, Error> {
        let root = &context.root;
        let given = given.unwrap_or("@");
        let found =
            find(&context.reader, root, given).map_err(|error| not_found(error, context))?;
        if found.run.repo != *root {
            let place = found.run.repo.display().to_string();
            let what = format!("run {} is of another repository", found.run.name);
            let place_word = crate::render::shell_word(&place);
            return Err(Error::usage(what)
                .because(format!("it worked on {place}"))
                .hint(format!("--repo {place_word}")));
        }
        Ok(found)
    }

    /// Reads the same run and tasks again.
    pub(super) fn again(&self, context: &CommandContext) -> Result<Self, Error> {
        let is_meant = |row: &TaskRow| self.tasks.iter().any(|task| task.id == row.id);
        let rows = context.reader.tasks(self.run.id)?;
        let tasks = rows.into_iter().filter(is_meant).collect();
        Ok(Self { run: self.run.clone(), tasks, kind: self.kind })
    }

    /// Makes sure that no engine is at the run any more.
    pub(super) fn must_be_over(&self, what: &str) -> Result<(), Error> {
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

/// A single word may be a run or a task of the latest run; whole names come before beginnings.
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
        // Without a run of its own this repository has no task either.
        Err(FindError::NoRuns) => return whole_run(reader, run?),
        Err(error) => return Err(error),
    };
    let only = |task| Ok(Target { run: latest.clone(), tasks: vec![task], kind: TargetKind::Task });
    match (run, reader.find_task(latest.id, given)) {
        (Ok(run), _) if same(run.name.as_str(), given) => whole_run(reader, run),
        (_, Ok(task)) if same(task.name.as_str(), given) => only(task),
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

fn same(name: &str, given: &str) -> bool {
    name.eq_ignore_ascii_case(given)
}

/// Says what there is instead of what was meant.
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
