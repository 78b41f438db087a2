//! Reads runs and tasks from the ledger, also while other processes write to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::ports::LedgerError;
use protocol::{GroupName, LandingId, RunId, RunName, TaskId, TaskName, TimedPhase, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::columns::{
    SELECT_TASKS, StoredPath, read_json_or_null, read_word, run_row, task_row,
    task_row_without_yield,
};
use crate::connection;
use crate::error::LedgerCause;
use crate::find::{FindError, ItemMatch, Matches, item_match, matches, task_number};
use crate::rows::{RunRow, TaskRow};

/// Selects the open runs of a repository. Every command executes this statement, which must not
/// scan all runs. The states are literals as in the index, so that SQLite uses the index.
const OPEN_RUNS: &str = "SELECT * FROM run WHERE repo = ?1 AND state IN ('running', 'landing')
                         ORDER BY number DESC";

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

    /// Returns the tasks of a run in the order of their declaration; none if the run is unknown.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn tasks(&self, run: RunId) -> Result<Vec<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!("{SELECT_TASKS} ORDER BY position"))?;
            let tasks = select.query_and_then([run.to_string()], task_row)?;
            Ok(tasks.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the tasks of a run as [`Reader::tasks`] does, with null as the yield of each. The
    /// yields of a large run may not fit into memory.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn tasks_without_yields(&self, run: RunId) -> Result<Vec<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!("{SELECT_TASKS} ORDER BY position"))?;
            let tasks = select.query_and_then([run.to_string()], task_row_without_yield)?;
            Ok(tasks.collect::<Result<_, _>>()?)
        })
    }

    /// Returns at most `limit` tasks of a run in the order of their declaration, without the first
    /// `skipped` ones. Whoever needs one task after the other reads a large run in such pages,
    /// because every task brings along what it yielded.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn page_of_tasks(
        &self,
        run: RunId,
        skipped: usize,
        limit: usize,
    ) -> Result<Vec<TaskRow>, LedgerError> {
        let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!(
                "{SELECT_TASKS} AND position >= ?2 ORDER BY position LIMIT ?3"
            ))?;
            let page = params![run.to_string(), number(skipped), number(limit)];
            let tasks = select.query_and_then(page, task_row)?;
            Ok(tasks.collect::<Result<_, _>>()?)
        })
    }

    /// Finds a task of a run by its name, ignoring case, by its id, or by one of its items, or by a part
    /// of these. A whole name takes precedence over a whole item, and that over a part. Unless a task of
    /// the run has a name like `t3`, such a text also means the task of this number.
    ///
    /// # Errors
    /// No or several tasks match, or the ledger cannot be read.
    pub fn find_task(&self, run: RunId, given: &str) -> Result<TaskRow, FindError> {
        let named = |name: &TaskName| self.task_by_name(run, name);
        if let Ok(name) = given.parse()
            && let Some(row) = named(&name)?
        {
            return Ok(row);
        }
        if let Some(row) =
            given.parse().ok().map(|id| self.task_by_id(run, id)).transpose()?.flatten()
        {
            return Ok(row);
        }
        let tasks = self.task_labels(run)?;
        let whole = |task: &&TaskLabel| task.matches(given) == Some(ItemMatch::Whole);
        let number = task_number(given);
        // A retry keeps the names, so a task that is named by a number may have another place there.
        let is_named = |task: &TaskLabel| task_number(task.name.as_str()).is_some();
        let place = number.filter(|_| !tasks.iter().any(is_named)).map(|number| number - 1);
        let begins =
            |task: &TaskLabel| task.begins_with(given) && !(number.is_some() && is_named(task));
        let mut found: Vec<_> = tasks.iter().filter(whole).collect();
        if found.is_empty() {
            let is_meant = |(at, task): &(usize, &TaskLabel)| {
                task.matches(given).is_some() || begins(task) || place == Some(*at)
            };
            found = tasks.iter().enumerate().filter(is_meant).map(|(_, task)| task).collect();
        }
        let given = given.to_owned();
        let labels =
            |tasks: &mut dyn Iterator<Item = &TaskLabel>| tasks.map(TaskLabel::text).collect();
        match found.as_slice() {
            [only] => named(&only.name)?.ok_or_else(|| {
                let tasks = labels(&mut tasks.iter());
                FindError::UnknownTask { given, tasks }
            }),
            [] => Err(FindError::UnknownTask { given, tasks: labels(&mut tasks.iter()) }),
            several => {
                // Tasks of equal items are told apart by their names.
                let texts: BTreeSet<_> = several.iter().map(|task| task.text()).collect();
                let candidates = match texts.len() == several.len() {
                    true => labels(&mut several.iter().copied()),
                    false => several.iter().map(|task| task.name.to_string()).collect(),
                };
                Err(FindError::AmbiguousTask { given, candidates })
            }
        }
    }

    /// Returns the names and items of a run's tasks, in the order of their declaration.
    fn task_labels(&self, run: RunId) -> Result<Vec<TaskLabel>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT task.name, json_extract(task.spec, '$.items') AS items
                 FROM task JOIN run ON run.number = task.run WHERE run.id = ?1 ORDER BY position",
            )?;
            let labels = select.query_and_then([run.to_string()], |row| {
                let items = read_json_or_null(row, "items")?.unwrap_or_default();
                Ok::<_, rusqlite::Error>(TaskLabel { name: read_word(row, "name")?, items })
            })?;
            Ok(labels.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the task of a run with exactly this name, ignoring case.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn task_by_name(
        &self,
        run: RunId,
        name: &TaskName,
    ) -> Result<Option<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select =
                ledger.prepare_cached(&format!("{SELECT_TASKS} AND task.name = ?2"))?;
            let found = select.query_row(params![run.to_string(), name.as_str()], task_row);
            Ok(found.optional()?)
        })
    }

    fn task_by_id(&self, run: RunId, id: TaskId) -> Result<Option<TaskRow>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(&format!("{SELECT_TASKS} AND task.id = ?2"))?;
            let found = select.query_row(params![run.to_string(), id.to_string()], task_row);
            Ok(found.optional()?)
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

/// The name and the items of a task.
struct TaskLabel {
    name: TaskName,
    items: Vec<String>,
}

impl TaskLabel {
    /// Returns how well one of the items matches what the user typed.
    fn matches(&self, given: &str) -> Option<ItemMatch> {
        let mut matches = self.items.iter().filter_map(|item| item_match(item, given));
        let first = matches.next()?;
        let is_whole = first == ItemMatch::Whole || matches.any(|other| other == ItemMatch::Whole);
        Some(if is_whole { ItemMatch::Whole } else { ItemMatch::Part })
    }

    /// Returns whether the name begins with what the user typed, ignoring case.
    fn begins_with(&self, given: &str) -> bool {
        let beginning = self.name.as_str().as_bytes().get(..given.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(given.as_bytes()))
    }

    /// Returns the only item, or else the name.
    fn text(&self) -> String {
        match self.items.as_slice() {
            [item] => item.clone(),
            _ => self.name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
