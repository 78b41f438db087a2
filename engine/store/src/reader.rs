//! Reads runs and tasks from the ledger, also while other processes write to it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::ports::LedgerError;
use protocol::{GroupName, LandingId, RunId, RunName, TaskId, TimedPhase, Timestamp};
use rusqlite::{Connection, params};

use crate::columns::{StoredPath, read_word, run_row};
use crate::connection;
use crate::error::LedgerCause;
use crate::find::{FindError, Matches, matches};
use crate::rows::RunRow;

/// Selects the open runs of a repository. Every command executes this statement, which must not
/// scan all runs. The states are literals as in the index, so that SQLite uses the index.
const OPEN_RUNS: &str = "SELECT * FROM run WHERE repo = ?1 AND state IN ('running', 'landing')
                         ORDER BY number DESC";

/// Selects the runs that have not ended of calls of models.
const OPEN_RUNS_OF_CALLS: &str = "SELECT * FROM run WHERE state IN ('running', 'landing')
                                  AND json_extract(spec, '$.caller') IS NOT NULL ORDER BY number";

/// A ledger, open for reading. A missing file counts as an empty ledger, and each read tries again
/// to open it.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

impl Reader {
    /// Returns a reader of the ledger at `path`. The first read opens the file.
    #[must_use]
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), connection: Mutex::new(None) }
    }

    /// Returns at most `limit` runs, latest first: those of the repository at the canonical root
    /// `repo`, or of all repositories.
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

    /// Returns the open runs of the repository at this canonical root, latest first.
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

    /// Returns the open runs of calls that were made in one of these runs, the earliest first. They work in the
    /// workspaces of those runs.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn open_runs_below(&self, runs: &[RunId]) -> Result<Vec<RunRow>, LedgerError> {
        let is_below = |row: &RunRow| {
            let task = row.spec.caller.as_ref().and_then(|caller| caller.task);
            task.is_some_and(|(run, _)| runs.contains(&run))
        };
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(OPEN_RUNS_OF_CALLS)?;
            let open = select.query_and_then([], |row| run_row(ledger, row))?;
            open.filter(|row| row.as_ref().map_or(true, is_below)).collect()
        })
    }

    /// Finds a run: `@` or an empty text is the latest in `repo`, other text is its id, or its name or
    /// the beginning of it. Runs of `repo` take precedence over those of other repositories.
    ///
    /// # Errors
    /// No or several runs match, or the ledger cannot be read.
    pub fn find_run(&self, repo: Option<&Path>, given: &str) -> Result<RunRow, FindError> {
        if matches!(given, "" | "@") {
            return self.runs(repo, 1)?.pop().ok_or(FindError::NoRuns);
        }
        if let Some(run) = given.parse().ok().map(|id| self.run_by_id(id)).transpose()?.flatten() {
            return Ok(run);
        }
        let mut found = matches(self.names(repo)?, RunName::as_str, given);
        if repo.is_some() && found == Matches::None {
            found = matches(self.names(None)?, RunName::as_str, given);
        }
        let given = given.to_owned();
        match found {
            Matches::None => Err(FindError::UnknownRun { given }),
            Matches::Several(candidates) => Err(FindError::AmbiguousRun { given, candidates }),
            Matches::One(name) => self.run_by_name(&name)?.ok_or(FindError::UnknownRun { given }),
        }
    }

    /// Returns the run with exactly this name.
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

    /// Returns the runs of a group, in the order in which they were started; none if there is no such group.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn runs_of_group(&self, group: &GroupName) -> Result<Vec<RunRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT * FROM run WHERE json_extract(spec, '$.group') = ?1 ORDER BY number",
            )?;
            let runs = select.query_and_then([group.as_str()], |row| run_row(ledger, row))?;
            runs.collect()
        })
    }

    fn run_by_id(&self, id: RunId) -> Result<Option<RunRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached("SELECT * FROM run WHERE id = ?1")?;
            let mut rows = select.query([id.to_string()])?;
            rows.next()?.map(|row| run_row(ledger, row)).transpose()
        })
    }

    /// Returns the run of a task.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn run_of_task(&self, id: TaskId) -> Result<Option<RunRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT run.* FROM run JOIN task ON task.run = run.number WHERE task.id = ?1",
            )?;
            let mut rows = select.query([id.to_string()])?;
            rows.next()?.map(|row| run_row(ledger, row)).transpose()
        })
    }

    /// Returns the run of a landing that is its only one; undos count as landings.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn run_of_landing(&self, id: LandingId) -> Result<Option<RunRow>, LedgerError> {
        let id = serde_json::to_string(&id).unwrap_or_default();
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT run.* FROM run JOIN transition ON transition.run = run.number \
                 WHERE transition.type = 'landing_started' AND instr(transition.entry, ?1) > 0 \
                 AND (SELECT count(*) FROM transition AS each WHERE each.run = run.number \
                 AND each.type = 'landing_started') = 1",
            )?;
            let mut rows = select.query([id])?;
            rows.next()?.map(|row| run_row(ledger, row)).transpose()
        })
    }

    /// Returns how long each verification of a run's work and each landing took; a landing from its
    /// begin in the ledger to its end there.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn phase_times(&self, run: RunId) -> Result<Vec<(TimedPhase, Duration)>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT transition.type, transition.at,
                        json_extract(transition.entry, '$.totals.ms') AS ms FROM transition
                 JOIN run ON run.number = transition.run WHERE run.id = ?1
                 AND transition.type IN ('work_verified', 'landing_started', 'landing_finished')
                 ORDER BY transition.seq",
            )?;
            let (mut began, mut times) = (None, Vec::new());
            let mut rows = select.query([run.to_string()])?;
            while let Some(row) = rows.next()? {
                let at = read_word::<Timestamp>(row, "at")?.as_millisecond();
                let time = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
                match (row.get::<_, String>("type")?.as_str(), began.take()) {
                    ("work_verified", _) => {
                        let ms = row.get::<_, Option<i64>>("ms")?.unwrap_or(0);
                        times.push((TimedPhase::Verify, time(ms)));
                    }
                    ("landing_started", _) => began = Some(at),
                    (_, Some(began)) => times.push((TimedPhase::Landing, time(at - began))),
                    (_, None) => {}
                }
            }
            Ok(times)
        })
    }

    /// Returns the names of the runs over the repository at this root, or of all runs, latest first.
    /// # Errors
    /// The ledger cannot be read.
    pub fn names(&self, repo: Option<&Path>) -> Result<Vec<RunName>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT name FROM run WHERE ?1 IS NULL OR repo = ?1 ORDER BY number DESC",
            )?;
            let repo = repo.map(|root| StoredPath(root.to_owned()));
            let names = select.query_and_then([repo], |row| read_word(row, "name"))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
    }

    /// Reads in one transaction. A missing ledger yields the default value.
    pub(crate) fn read<T: Default>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, LedgerCause>,
    ) -> Result<T, LedgerError> {
        let mut open = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let result = (|| {
            if open.is_none() {
                *open = connection::readable(&self.path)?;
            }
            let Some(connection) = open.as_ref() else { return Ok(T::default()) };
            let snapshot = connection.unchecked_transaction()?;
            if connection::check(&snapshot)? == 0 {
                return Ok(T::default());
            }
            read(&snapshot)
        })();
        result.map_err(|cause: LedgerCause| cause.to_error("read", &self.path))
    }
}

mod tasks;
#[cfg(test)]
mod tests;
