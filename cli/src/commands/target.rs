//! Resolves a target argument to a run or to one of its tasks: `r7k3f`, `r7k3f/auth`, `auth`, `@`,
//! `src/auth.rs`, and whatever else is printed of them.

mod labels;

use std::path::Path;

use protocol::{LandingId, RunName, RunState};
use store::{FindError, Reader, RunRow, TaskRow};

use super::context::CommandContext;
use crate::args::TargetArgs;
use crate::render::{date_time, shell_word};
use regatta::error::{Error, ErrorKind};

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
    pub(super) fn find(context: &CommandContext, given: &TargetArgs) -> Result<Self, Error> {
        Located::find(context, given)?.load(context)
    }

    /// Finds a target as [`Self::find`] does, and more tasks of the same run. If tasks are named,
    /// the target is these, in the order of their declaration.
    pub(super) fn find_several(
        context: &CommandContext,
        given: Option<&String>,
        more: &[String],
    ) -> Result<Self, Error> {
        let first = Self::find(context, &given.cloned().into())?;
        if more.is_empty() {
            return Ok(first);
        }
        let mut named: Vec<_> = match first.kind {
            TargetKind::Run => Vec::new(),
            TargetKind::Task => first.tasks.iter().map(|row| row.id).collect(),
        };
        for name in more {
            named.push(another_task(context, &first.run, name)?.id);
        }
        let tasks = context.reader.tasks_without_yields(first.run.id)?;
        let tasks = tasks.into_iter().filter(|row| named.contains(&row.id)).collect();
        Ok(Self { run: first.run, tasks, kind: TargetKind::Task })
    }

    /// Returns what the user has named, as words of a command line.
    pub(super) fn arguments(&self) -> String {
        let run = &self.run.name;
        let tasks = self.tasks.iter().map(|row| format!("{run}/{}", row.name));
        match self.kind {
            TargetKind::Run => run.to_string(),
            TargetKind::Task => tasks.collect::<Vec<_>>().join(" "),
        }
    }

    /// Reads the same tasks from the ledger again.
    pub(super) fn reload(&self, context: &CommandContext) -> Result<Self, Error> {
        let is_meant = |row: &TaskRow| self.tasks.iter().any(|task| task.id == row.id);
        let rows = context.reader.tasks_without_yields(self.run.id)?;
        let tasks = rows.into_iter().filter(is_meant).collect();
        Ok(Self { run: self.run.clone(), tasks, kind: self.kind })
    }

    /// Checks that captured work of the target is left, or that none was removed because of its age.
    pub(super) fn check_not_collected(
        &self,
        context: &CommandContext,
        what: &str,
    ) -> Result<(), Error> {
        let is_there = |row: &&TaskRow| {
            row.collected.is_none() && (row.captured.is_some() || self.kind == TargetKind::Task)
        };
        let (None, Some((row, at))) = (
            self.tasks.iter().find(is_there),
            self.tasks.iter().find_map(|row| Some((row, row.collected?))),
        ) else {
            return Ok(());
        };
        let whose = match self.kind {
            TargetKind::Task => format!("task {}/{}", self.run.name, row.name),
            TargetKind::Run => format!("run {}", self.run.name),
        };
        let at = date_time(at, &context.view.zone);
        let before = if row.discarded.is_some() { "was discarded" } else { "had landed" };
        Err(Error::usage(format!("there is no {what} of {whose} any more")).because(format!(
            "it was collected {at}: `regatta gc` removed it, because it {before} and was old"
        )))
    }

    /// Checks that the run has ended.
    pub(super) fn check_has_ended(&self, what: &str) -> Result<(), Error> {
        match self.run.state {
            RunState::Finished | RunState::Interrupted => Ok(()),
            RunState::Running | RunState::Landing => {
                let what = format!("cannot {what} the work of run {}", self.run.name);
                Err(Error::new(ErrorKind::Usage, what)
                    .because("the run is still running")
                    .hint("try again when the run has ended"))
            }
        }
    }
}

/// A run, or a task of it, that a user named. The tasks of a run are not read, because a large run
/// may have yielded more than fits into memory.
#[derive(Clone, Debug)]
pub(super) struct Located {
    /// The run.
    pub(super) run: RunRow,
    /// The task, if one was named.
    pub(super) task: Option<Box<TaskRow>>,
}

impl Located {
    /// Finds a target in the repository; the latest run if none is given.
    pub(super) fn find(context: &CommandContext, given: &TargetArgs) -> Result<Self, Error> {
        let root = &context.root;
        let target = given.target.as_deref().unwrap_or("@");
        let found = match &given.task {
            Some(task) => task_of(&context.reader, root, target, task),
            None => find(&context.reader, root, target),
        };
        let found = match (found, &given.task) {
            (Err(FindError::UnknownRun { .. }), Some(more))
                if find(&context.reader, root, target).is_ok_and(|it| it.task.is_some()) =>
            {
                return Err(Error::usage(format!("unexpected argument `{more}`")).because(
                    format!("`{target}` is a task, and the command takes one run or task"),
                ));
            }
            (found, _) => match (labels::labelled(context, target, found)?, &given.task) {
                (Ok(Self { run, task: None }), Some(task)) => {
                    let task = context.reader.find_task(run.id, task);
                    Self::task(run, task.map_err(|error| not_found(error, context, target))?)
                }
                (found, _) => found.map_err(|error| not_found(error, context, target))?,
            },
        };
        if found.run.repo != *root {
            let place = found.run.repo.display().to_string();
            let what = format!("run {} is of another repository", found.run.name);
            if !found.run.repo.is_dir() {
                return Err(Error::usage(what)
                    .because(format!("it worked on {place}, which does not exist any more")));
            }
            let place_word = shell_word(&place);
            return Err(Error::usage(what)
                .because(format!("it worked on {place}"))
                .hint(format!("--repo {place_word}")));
        }
        Ok(found)
    }

    /// Reads the tasks of the target. What they yielded is left out if there are several.
    pub(super) fn load(self, context: &CommandContext) -> Result<Target, Error> {
        let Self { run, task } = self;
        Ok(match task {
            Some(task) => Target { run, tasks: vec![*task], kind: TargetKind::Task },
            None => {
                let tasks = context.reader.tasks_without_yields(run.id)?;
                Target { run, tasks, kind: TargetKind::Run }
            }
        })
    }

    fn run(run: RunRow) -> Self {
        Self { run, task: None }
    }

    fn task(run: RunRow, task: TaskRow) -> Self {
        Self { run, task: Some(Box::new(task)) }
    }
}

fn task_of(reader: &Reader, root: &Path, run: &str, task: &str) -> Result<Located, FindError> {
    let run = reader.find_run(Some(root), run)?;
    let task = reader.find_task(run.id, task)?;
    Ok(Located::task(run, task))
}

/// Finds another task of a run, by its name, its item, or as `RUN/TASK`.
fn another_task(context: &CommandContext, run: &RunRow, given: &str) -> Result<TaskRow, Error> {
    let unknown = match context.reader.find_task(run.id, given) {
        Err(unknown @ FindError::UnknownTask { .. }) => unknown,
        found => return found.map_err(|error| not_found(error, context, run.name.as_str())),
    };
    match find(&context.reader, &context.root, given) {
        Ok(Located { run: of, task: Some(task) }) if of.id == run.id => Ok(*task),
        Ok(Located { run: of, .. }) if of.id != run.id => Err(Error::usage(format!(
            "`{given}` is of run {}, and not of run {}",
            of.name, run.name
        ))
        .because("all tasks must be of one run")),
        Ok(_) | Err(_) => Err(not_found(unknown, context, run.name.as_str())),
    }
}

/// Returns the run and the task that a printed id means: that of a task, the ref of a capture, the only
/// landing of a run, or a branch that the run has made.
fn with_id(reader: &Reader, root: &Path, given: &str) -> Result<Option<Located>, FindError> {
    if let Some(capture) = given.strip_prefix("refs/tasks/") {
        let Some((task, _attempt)) = capture.rsplit_once('/') else { return Ok(None) };
        let Some((run, task)) = task.split_once('/') else { return Ok(None) };
        let found = task_of(reader, root, run, task)?;
        // Another attempt has another capture.
        let captured = found.task.as_ref().and_then(|task| task.captured.as_ref());
        let is_meant = captured.is_some_and(|it| it.capture.to_string() == given);
        return Ok(is_meant.then_some(found));
    }
    if let Ok(landing) = given.parse::<LandingId>()
        && let Some(run) = reader.run_of_landing(landing)?
    {
        return Ok(Some(Located::run(run)));
    }
    if let Some(found) = of_branch(reader, given)? {
        return Ok(Some(found));
    }
    let Some(run) = given.parse().ok().map(|id| reader.run_of_task(id)).transpose()?.flatten()
    else {
        return Ok(None);
    };
    Ok(Some(Located::task(run.clone(), reader.find_task(run.id, given)?)))
}

/// Returns the run or the task of a branch, whose name is the prefix and the name of the run, and that of
/// the task unless it is a stack.
fn of_branch(reader: &Reader, given: &str) -> Result<Option<Located>, FindError> {
    let branch = given.strip_prefix("refs/heads/").unwrap_or(given);
    for (at, _) in branch.match_indices('/') {
        let (prefix, rest) = (&branch[..at], &branch[at + 1..]);
        let (run, task) =
            rest.split_once('/').map_or((rest, None), |(run, task)| (run, Some(task)));
        let Ok(name) = run.parse::<RunName>() else { continue };
        let Some(run) = reader.run_by_name(&name)?.filter(|run| run.spec.branch_prefix == prefix)
        else {
            continue;
        };
        return Ok(Some(match task {
            None => Located::run(run),
            Some(task) => Located::task(run.clone(), reader.find_task(run.id, task)?),
        }));
    }
    Ok(None)
}

/// Finds a target that is one word.
fn find(reader: &Reader, root: &Path, given: &str) -> Result<Located, FindError> {
    if let Some(found) = with_id(reader, root, given)? {
        return Ok(found);
    }
    match given.split_once('/') {
        Some((run, task)) => with_slash(reader, root, given, (run, task)),
        None => without_slash(reader, root, given),
    }
}

/// Finds `RUN/TASK`, or a task of the latest run by an item with a slash in it.
fn with_slash(
    reader: &Reader,
    root: &Path,
    given: &str,
    (run, task): (&str, &str),
) -> Result<Located, FindError> {
    let error = match task_of(reader, root, run, task) {
        // `R/utils.R` may be an item: the name of every run begins with `r`.
        Err(error) if is_not_found(&error) || matches!(error, FindError::AmbiguousRun { .. }) => {
            error
        }
        found => return found,
    };
    match task_of(reader, root, "@", given) {
        // A path begins with the name of a folder, and not with that of a run.
        Err(other @ FindError::UnknownTask { .. })
            if run != "@" && run.parse::<RunName>().is_err() =>
        {
            Err(other)
        }
        Err(other) if is_not_found(&other) => Err(error),
        found => found,
    }
}

fn is_not_found(error: &FindError) -> bool {
    match error {
        FindError::NoRuns | FindError::UnknownRun { .. } | FindError::UnknownTask { .. } => true,
        FindError::AmbiguousRun { .. }
        | FindError::AmbiguousTask { .. }
        | FindError::Unreadable(_) => false,
    }
}

/// Finds a run, or a task of the latest run. An exact name takes precedence over the beginning of a
/// name.
fn without_slash(reader: &Reader, root: &Path, given: &str) -> Result<Located, FindError> {
    let run = reader.find_run(Some(root), given);
    if matches!(given, "" | "@") {
        return run.map(Located::run);
    }
    let latest = match reader.find_run(Some(root), "@") {
        Ok(latest) => latest,
        // The repository has no runs, and so no tasks. `given` can only name a run.
        Err(FindError::NoRuns) => return run.map(Located::run),
        Err(error) => return Err(error),
    };
    match (run, reader.find_task(latest.id, given)) {
        (Ok(run), _) if is_name(run.name.as_str(), given) => Ok(Located::run(run)),
        (_, Ok(task)) if is_name(task.name.as_str(), given) || is_item(&task, given) => {
            Ok(Located::task(latest, task))
        }
        (Ok(_), Ok(task)) => {
            let candidates = vec![task.name.to_string()];
            Err(FindError::AmbiguousTask { given: given.to_owned(), candidates })
        }
        (Ok(run), Err(_)) => Ok(Located::run(run)),
        (Err(FindError::UnknownRun { .. }), Ok(task)) => Ok(Located::task(latest, task)),
        (Err(FindError::UnknownRun { .. }), Err(several @ FindError::AmbiguousTask { .. })) => {
            Err(several)
        }
        (Err(error), _) => Err(error),
    }
}

fn is_item(task: &TaskRow, given: &str) -> bool {
    task.spec.items.iter().any(|item| item == given)
}

fn is_name(name: &str, given: &str) -> bool {
    name.eq_ignore_ascii_case(given)
}

/// Returns the error of a target that was not found, with what there is instead. `target` is what was
/// typed of the run.
fn not_found(error: FindError, context: &CommandContext, target: &str) -> Error {
    let list = context.hints.command("runs");
    match error {
        FindError::NoRuns => {
            let root = context.root.display();
            Error::usage(format!("there is no run yet in {root}"))
                .hint("regatta run --exec CMD")
                .hint("--repo DIR (another repository)")
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
        other @ FindError::AmbiguousRun { .. } => Error::usage(other.to_string()).hint(list),
        other @ (FindError::AmbiguousTask { .. } | FindError::UnknownTask { .. }) => {
            let run = target.split('/').next().unwrap_or_default();
            let run = context.reader.find_run(Some(&context.root), run);
            let run = run.map_or_else(|_| "@".to_owned(), |run| run.name.to_string());
            let mut error = Error::usage(other.to_string());
            if let FindError::AmbiguousTask { candidates, .. } = &other
                && let Some(first) = candidates.first()
            {
                let first = shell_word(&format!("{run}/{first}"));
                error = error.hint(format!("{first} (the first of these)"));
            }
            error.hint(context.hints.command(&format!("runs show {run}")))
        }
    }
}

#[cfg(test)]
mod tests;
