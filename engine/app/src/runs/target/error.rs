//! Why a run or a task was not found, with what there is instead.

use std::path::PathBuf;

use engine::ports::LedgerError;
use protocol::RunName;
use store::FindError;

use super::RepositoryRuns;
use crate::text::one_line;

/// Why a run or a task was not found.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The repository has no run.
    #[error("there is no run yet in {}", .root.display())]
    NoRuns {
        /// The root of the repository.
        root: PathBuf,
    },
    /// Nothing has this name.
    #[error("there is no run or task `{given}`")]
    Unknown {
        /// The given name.
        given: String,
        /// The latest runs, the latest first.
        latest: Vec<RunName>,
    },
    /// Several runs begin with this name.
    #[error(transparent)]
    SeveralRuns(FindError),
    /// Several runs have this label.
    #[error("several runs have the label `{}`", one_line(.label))]
    SeveralLabelled {
        /// The label.
        label: String,
        /// The runs, the latest first.
        runs: Vec<RunName>,
    },
    /// A run begins with this name, and so does a task of the latest run.
    #[error("`{given}` could be a run or the task {task}")]
    RunOrTask {
        /// The given name.
        given: String,
        /// The task.
        task: String,
    },
    /// A run has no such task, or several.
    #[error("{of}")]
    Task {
        /// The run as it was typed, if it was found under another name.
        run: String,
        /// What there is instead.
        of: FindError,
    },
    /// A task and more was given where one target is taken.
    #[error("unexpected argument `{more}`")]
    NotOnlyOne {
        /// The task.
        task: String,
        /// What stands behind it.
        more: String,
    },
    /// A task is of another run than the others.
    #[error("`{given}` is of run {of}, and not of run {run}")]
    OtherRun {
        /// The task as it was typed.
        given: String,
        /// Its run.
        of: RunName,
        /// The run of the others.
        run: RunName,
    },
    /// The run has worked on another repository.
    #[error("run {run} is of another repository")]
    OtherRepository {
        /// The run.
        run: RunName,
        /// The root of that repository, which may not exist any more.
        place: PathBuf,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// How many runs are named where another one was meant.
const LATEST: usize = 5;

/// Returns the error of a target that was not found, with what there is instead. `target` is what was
/// typed of the run.
pub(super) fn not_found(error: FindError, runs: &RepositoryRuns, target: &str) -> TargetError {
    match error {
        FindError::NoRuns => TargetError::NoRuns { root: runs.root.clone() },
        FindError::UnknownRun { given } => {
            let latest = runs.reader.runs(Some(&runs.root), LATEST).unwrap_or_default();
            TargetError::Unknown { given, latest: latest.into_iter().map(|run| run.name).collect() }
        }
        FindError::AmbiguousTask { candidates, given } if candidates.len() == 1 => {
            TargetError::RunOrTask { given, task: candidates.concat() }
        }
        FindError::Unreadable(error) => error.into(),
        of @ FindError::AmbiguousRun { .. } => TargetError::SeveralRuns(of),
        of @ (FindError::AmbiguousTask { .. } | FindError::UnknownTask { .. }) => {
            let run = target.split('/').next().unwrap_or_default();
            let run = runs.reader.find_run(Some(&runs.root), run);
            let run = run.map_or_else(|_| "@".to_owned(), |run| run.name.to_string());
            TargetError::Task { run, of }
        }
    }
}
