//! Reads the tasks of a run, and finds those that a user names.

use engine::ports::LedgerError;
use protocol::{RunId, TaskId, TaskName};
use rusqlite::{OptionalExtension as _, params};

use super::Reader;
use crate::columns::{
    SELECT_TASKS, read_json_or_null, read_word, task_row, task_row_without_yield,
};
use crate::find::{FindError, ItemMatch, item_match, task_number};
use crate::rows::TaskRow;

impl Reader {
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
        let names = |tasks: &[&TaskLabel]| tasks.iter().map(|task| task.name.to_string()).collect();
        match found.as_slice() {
            [only] => named(&only.name)?.ok_or_else(|| {
                let tasks = names(&tasks.iter().collect::<Vec<_>>());
                FindError::UnknownTask { given, tasks }
            }),
            [] => {
                let tasks = names(&tasks.iter().collect::<Vec<_>>());
                Err(FindError::UnknownTask { given, tasks })
            }
            several => Err(FindError::AmbiguousTask { given, candidates: names(several) }),
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
}
