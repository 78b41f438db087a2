//! What the tasks of a run yielded.

use engine::ports::LedgerError;
use protocol::{ChangeSummary, Failure, Outcome, TaskId, TaskName, TaskState, Usage};
use serde::Serialize;
use serde_json::Value;
use store::TaskRow;

use super::repository_runs::RepositoryRuns;
use super::target::Located;

/// How many tasks are read at a time. Each may have yielded half a megabyte.
const PAGE: usize = 16;

/// The result of one task, as programs read it.
#[derive(Debug, Serialize)]
pub struct TaskResult<'a> {
    /// The id, which is unique across ledgers.
    pub id: TaskId,
    /// The name of the task.
    pub name: &'a TaskName,
    /// The only item of the task.
    pub item: Option<&'a str>,
    /// The items of the task, if it has several.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub items: &'a [String],
    /// How far the task has come.
    pub outcome: TaskState,
    /// Why it failed, if it did.
    pub failure: Option<&'a Failure>,
    /// What it yielded, if it is done.
    #[serde(rename = "yield")]
    pub value: Option<&'a Value>,
    /// How much it changed.
    pub changes: Option<ChangeSummary>,
    /// What its model used.
    pub usage: Option<Usage>,
}

impl<'a> TaskResult<'a> {
    /// Returns the result of a task.
    #[must_use]
    pub fn of(row: &'a TaskRow) -> Self {
        let (failure, value) = match row.report.as_ref().map(|report| &report.outcome) {
            Some(Outcome::Done { value }) => (None, Some(value)),
            Some(Outcome::Failed { failure }) => (Some(failure), None),
            Some(Outcome::Cancelled) | None => (None, None),
        };
        Self {
            id: row.id,
            name: &row.name,
            item: row.item.as_deref(),
            items: &row.items,
            outcome: row.state,
            failure,
            value,
            changes: row.captured.as_ref().map(|captured| captured.changes),
            usage: row.usage,
        }
    }
}

/// Calls `each` with every task of a target, in the order of their declaration. Only a few tasks are in
/// memory at a time.
///
/// # Errors
/// Those of `each`; or the ledger cannot be read.
pub fn each_task<E: From<LedgerError>>(
    runs: &RepositoryRuns,
    located: &Located,
    mut each: impl FnMut(&TaskRow) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(task) = &located.task {
        return each(task);
    }
    let mut read = 0;
    loop {
        let page = runs.reader.page_of_tasks(located.run.id, read, PAGE)?;
        if page.is_empty() {
            return Ok(());
        }
        read += page.len();
        page.iter().try_for_each(&mut each)?;
    }
}
