//! Reads the ledger, also while engines of other processes write it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use engine::ports::LedgerError;
use protocol::{RunId, RunName, TaskName};
use rusqlite::{Connection, OptionalExtension, params};

use crate::cause::Cause;
use crate::fetch::{TASK, run_row, task_row};
use crate::find::{FindError, Named, named};
use crate::rows::{RunRow, TaskRow};
use crate::words::{StoredPath, read_word};
use crate::{connection, version};

/// The runs of a repository that are not over. The states are written out, as in the index of them:
/// every command asks this, and must not go through all runs that ever were.
const OPEN_RUNS: &str = "SELECT * FROM run WHERE repo = ?1 AND state IN ('running', 'landing')
                         ORDER BY number DESC";

/// A ledger, open for reading. One that is not there is empty, and is looked for again each time.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

impl Reader {
    /// Returns a reader of the ledger at `path`. Nothing is opened or made yet.
    #[must_use]
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), connection: Mutex::new(None) }
    }

    /// Returns the latest runs, latest first: of one repository by its canonical root, or of all.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn runs(&self, repo: Option<&Path>, limit: usize) -> Result<Vec<RunRow>, LedgerError> {
        self.read(|ledger| {
            let repo = repo.map(|root| StoredPath(root.to_owned()));
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut select = ledger.prepare_cached(
                "SELECT * FROM run WHERE ?1 IS NULL OR repo = ?1 ORDER BY number DESC LIMIT ?2",
            )?;
            let runs = select.query_and_then(params![repo, limit], |row| run_row(ledger, row))?;
            runs.collect()
        })
    }

    /// Returns the runs over the repository at this canonical root that are not over, latest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn open_runs(&self, repo: &Path) -> Result<Vec<RunRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(OPEN_RUNS)?;
            let of = params![StoredPath(repo.to_owned())];
            let runs = select.query_and_then(of, |row| run_row(ledger, row))?;
            runs.collect()
        })
    }

    /// Returns the run that `given` means: `@` or nothing for the latest in `repo`, else its name
    /// or the first letters of it. Letters that fit one run of `repo` mean that run, whatever
    /// other repositories have.
    ///
    /// # Errors
    /// There is none or more than one, or the ledger cannot be read.
    pub fn find_run(&self, repo: Option<&Path>, given: &str) -> Result<RunRow, FindError> {
        if matches!(given, "" | "@") {
            return self.runs(repo, 1)?.pop().ok_or(FindError::NoRuns);
        }
        let mut found = named(self.names(repo)?, RunName::as_str, given);
        if repo.is_some() && found == Named::Nothing {
            found = named(self.names(None)?, RunName::as_str, given);
        }
        let given = given.to_owned();
        match found {
            Named::Nothing => Err(FindError::UnknownRun { given }),
            Named::Several(candidates) => Err(FindError::AmbiguousRun { given, candidates }),
            Named::One(name) => self.run_by_name(&name)?.ok_or(FindError::UnknownRun { given }),
        }
    }

    /// Returns the run of exactly this name.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn run_by_name(&self, name: &RunName) -> Result<Option<RunRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached("SELECT * FROM run WHERE name = ?1")?;
            let mut rows = select.query([name.as_str()])?;
            rows.next()?.map(|row| run_row(ledger, row)).transpose()
        })
    }

    /// Returns the tasks of a run in the order of their declaration; none of a run that the ledger
    /// does not know.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn tasks(&self, run: RunId) -> Result<Vec<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!("{TASK} ORDER BY position"))?;
            let tasks = select.query_and_then([run.to_string()], task_row)?;
            Ok(tasks.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the task of a run that `given` means: its name or the first letters of it, without
    /// case.
    ///
    /// # Errors
    /// There is none or more than one, or the ledger cannot be read.
    pub fn find_task(&self, run: RunId, given: &str) -> Result<TaskRow, FindError> {
        let names: Vec<TaskName> = self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT task.name FROM task JOIN run ON run.number = task.run
                 WHERE run.id = ?1 ORDER BY position",
            )?;
            let names = select.query_and_then([run.to_string()], |row| read_word(row, "name"))?;
            Ok(names.collect::<Result<_, _>>()?)
        })?;
        let found = named(names.clone(), TaskName::as_str, given);
        let given = given.to_owned();
        match found {
            Named::Nothing => Err(FindError::UnknownTask { given, tasks: names }),
            Named::Several(candidates) => Err(FindError::AmbiguousTask { given, candidates }),
            Named::One(name) => {
                self.task_by_name(run, &name)?.ok_or(FindError::UnknownTask { given, tasks: names })
            }
        }
    }

    /// Returns the task of a run that has exactly this name, compared without case.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn task_by_name(
        &self,
        run: RunId,
        name: &TaskName,
    ) -> Result<Option<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!("{TASK} AND task.name = ?2"))?;
            let found = select.query_row(params![run.to_string(), name.as_str()], task_row);
            Ok(found.optional()?)
        })
    }

    fn names(&self, repo: Option<&Path>) -> Result<Vec<RunName>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT name FROM run WHERE ?1 IS NULL OR repo = ?1 ORDER BY number DESC",
            )?;
            let repo = repo.map(|root| StoredPath(root.to_owned()));
            let names = select.query_and_then([repo], |row| read_word(row, "name"))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
    }

    /// Reads at one moment of the ledger. What a missing ledger holds is nothing.
    pub(crate) fn read<T: Default>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Cause>,
    ) -> Result<T, LedgerError> {
        let mut open = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let result = (|| {
            if open.is_none() {
                *open = connection::readable(&self.path)?;
            }
            let Some(connection) = open.as_ref() else { return Ok(T::default()) };
            let moment = connection.unchecked_transaction()?;
            if version::check(&moment)? == 0 {
                return Ok(T::default());
            }
            read(&moment)
        })();
        result.map_err(|cause: Cause| cause.to_error("read", &self.path))
    }
}

#[cfg(test)]
mod tests;
