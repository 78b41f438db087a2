//! Resolves a target to a run or to some of its tasks: `r7k3f`, `r7k3f/auth`, `auth`, `@`, `src/auth.rs`,
//! and whatever else is printed of them.

mod error;
mod labels;

use std::path::Path;

use engine::ports::LedgerError;
use protocol::{LandingId, RunName, RunState, Timestamp};
use store::{FindError, Reader, RunRow, TaskRow};

use super::repository_runs::RepositoryRuns;

pub use error::TargetError;
use error::not_found;

/// A run, or a task of it, that a user named.
#[derive(Clone, Debug)]
pub struct Target {
    /// The run.
    pub run: RunRow,
    /// All of its tasks, or the one that was named.
    pub tasks: Vec<TaskRow>,
    /// Whether a run or a task was named.
    pub kind: TargetKind,
}

/// Whether a target is a run or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A run with all of its tasks.
    Run,
    /// One task.
    Task,
}

/// What names a run or a task, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetWords {
    /// A run, a task of it as `RUN/TASK`, or a task of the latest run; `None` for the latest run.
    pub target: Option<String>,
    /// The task, by its name or its item, if only the run stands before.
    pub task: Option<String>,
}

/// Work of a target that `regatta gc` has removed because of its age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The task, or the run if a run was named: `task r7k3f/auth`, `run r7k3f`.
    pub whose: String,
    /// When it was removed.
    pub at: Timestamp,
    /// Whether it had been discarded; otherwise it had landed.
    pub was_discarded: bool,
}

impl Target {
    /// Finds a target in the repository; the latest run if none is given.
    ///
    /// # Errors
    /// There is no such run or task, or not only one, or the ledger cannot be read.
    pub fn find(runs: &RepositoryRuns, given: &TargetWords) -> Result<Self, TargetError> {
        Ok(Located::find(runs, given)?.load(runs)?)
    }

    /// Finds a target as [`Self::find`] does, and more tasks of the same run. If tasks are named,
    /// the target is these, in the order of their declaration.
    ///
    /// # Errors
    /// As those of [`Self::find`]; or a task is of another run.
    pub fn find_several(
        runs: &RepositoryRuns,
        given: Option<&String>,
        more: &[String],
    ) -> Result<Self, TargetError> {
        let first = Self::find(runs, &TargetWords { target: given.cloned(), task: None })?;
        if more.is_empty() {
            return Ok(first);
        }
        let mut named: Vec<_> = match first.kind {
            TargetKind::Run => Vec::new(),
            TargetKind::Task => first.tasks.iter().map(|row| row.id).collect(),
        };
        for name in more {
            named.push(another_task(runs, &first.run, name)?.id);
        }
        let tasks = runs.reader.tasks_without_yields(first.run.id)?;
        let tasks = tasks.into_iter().filter(|row| named.contains(&row.id)).collect();
        Ok(Self { run: first.run, tasks, kind: TargetKind::Task })
    }

    /// Returns what the user has named, as words of a command line.
    #[must_use]
    pub fn arguments(&self) -> String {
        let run = &self.run.name;
        let tasks = self.tasks.iter().map(|row| format!("{run}/{}", row.name));
        match self.kind {
            TargetKind::Run => run.to_string(),
            TargetKind::Task => tasks.collect::<Vec<_>>().join(" "),
        }
    }

    /// Reads the same tasks from the ledger again.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn reload(&self, runs: &RepositoryRuns) -> Result<Self, LedgerError> {
        let is_meant = |row: &TaskRow| self.tasks.iter().any(|task| task.id == row.id);
        let rows = runs.reader.tasks_without_yields(self.run.id)?;
        let tasks = rows.into_iter().filter(is_meant).collect();
        Ok(Self { run: self.run.clone(), tasks, kind: self.kind })
    }

    /// Returns what was removed of the target because of its age, if no captured work of it is left.
    #[must_use]
    pub fn collected(&self) -> Option<Collected> {
        let is_there = |row: &TaskRow| {
            row.collected.is_none() && (row.captured.is_some() || self.kind == TargetKind::Task)
        };
        if self.tasks.iter().any(is_there) {
            return None;
        }
        let (row, at) = self.tasks.iter().find_map(|row| Some((row, row.collected?)))?;
        let whose = match self.kind {
            TargetKind::Task => format!("task {}/{}", self.run.name, row.name),
            TargetKind::Run => format!("run {}", self.run.name),
        };
        Some(Collected { whose, at, was_discarded: row.discarded.is_some() })
    }

    /// Returns whether the run has ended. Before, nothing of its work can be landed or removed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match self.run.state {
            RunState::Finished | RunState::Interrupted => true,
            RunState::Running | RunState::Landing => false,
        }
    }
}

/// A run, or a task of it, that a user named. The tasks of a run are not read, because a large run
/// may have yielded more than fits into memory.
#[derive(Clone, Debug)]
pub struct Located {
    /// The run.
    pub run: RunRow,
    /// The task, if one was named.
    pub task: Option<Box<TaskRow>>,
}

impl Located {
    /// Finds a target in the repository; the latest run if none is given.
    ///
    /// # Errors
    /// There is no such run or task, or not only one, or the ledger cannot be read.
    pub fn find(runs: &RepositoryRuns, given: &TargetWords) -> Result<Self, TargetError> {
        let root = &runs.root;
        let target = given.target.as_deref().unwrap_or("@");
        let found = match &given.task {
            Some(task) => task_of(&runs.reader, root, target, task),
            None => find(&runs.reader, root, target),
        };
        let found = match (found, &given.task) {
            (Err(FindError::UnknownRun { .. }), Some(more))
                if find(&runs.reader, root, target).is_ok_and(|it| it.task.is_some()) =>
            {
                return Err(TargetError::NotOnlyOne {
                    task: target.to_owned(),
                    more: more.clone(),
                });
            }
            (found, _) => match (labels::labelled(runs, target, found)?, &given.task) {
                (Ok(Self { run, task: None }), Some(task)) => {
                    let task = runs.reader.find_task(run.id, task);
                    Self::task(run, task.map_err(|error| not_found(error, runs, target))?)
                }
                (found, _) => found.map_err(|error| not_found(error, runs, target))?,
            },
        };
        if found.run.repo != *root {
            return Err(TargetError::OtherRepository {
                run: found.run.name,
                place: found.run.repo,
            });
        }
        Ok(found)
    }

    /// Reads the tasks of the target. What they yielded is left out if there are several.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn load(self, runs: &RepositoryRuns) -> Result<Target, LedgerError> {
        let Self { run, task } = self;
        Ok(match task {
            Some(task) => Target { run, tasks: vec![*task], kind: TargetKind::Task },
            None => {
                let tasks = runs.reader.tasks_without_yields(run.id)?;
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
fn another_task(runs: &RepositoryRuns, run: &RunRow, given: &str) -> Result<TaskRow, TargetError> {
    let unknown = match runs.reader.find_task(run.id, given) {
        Err(unknown @ FindError::UnknownTask { .. }) => unknown,
        found => return found.map_err(|error| not_found(error, runs, run.name.as_str())),
    };
    match find(&runs.reader, &runs.root, given) {
        Ok(Located { run: of, task: Some(task) }) if of.id == run.id => Ok(*task),
        Ok(Located { run: of, .. }) if of.id != run.id => Err(TargetError::OtherRun {
            given: given.to_owned(),
            of: of.name,
            run: run.name.clone(),
        }),
        Ok(_) | Err(_) => Err(not_found(unknown, runs, run.name.as_str())),
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
