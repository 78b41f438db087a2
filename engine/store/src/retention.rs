//! Reads what decides whether the work of a run may be removed: without specifications and yields,
//! because it is read of every run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::ports::LedgerError;
use engine::retention::{RetainedTask, WorkFate};
use protocol::{CaptureRef, Conflict, RunName, RunState, TaskId, Timestamp};
use rusqlite::{Connection, Row};

use crate::Reader;
use crate::columns::{
    StoredPath, read_id, read_json, read_json_or_null, read_word, read_word_or_null,
};
use crate::error::LedgerCause;

/// A run, as far as its retention is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRetention {
    /// The canonical root of the repository.
    pub repo: PathBuf,
    /// The state.
    pub state: RunState,
    /// When the last thing happened to the run. A removal of its work does not count.
    pub last: Timestamp,
    /// The tasks, in the order of their declaration.
    pub tasks: Vec<TaskRetention>,
    /// The ids of all versions that conflicts of the run name.
    pub versions: BTreeSet<String>,
}

/// A task, as far as its retention is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRetention {
    /// The id.
    pub id: TaskId,
    /// What decides.
    pub task: RetainedTask,
    /// The last capture.
    pub capture: Option<CaptureRef>,
    /// Whether its work was removed, or was to be removed, before.
    pub is_collected: bool,
    /// What became of it: how it ended, or what its last landing made of its work.
    pub outcome: String,
}

const SELECT_TASKS: &str = "
    SELECT task.id, task.name, task.capture, task.files, task.discarded, task.state,
           task.failure_class,
           json_extract(task.spec, '$.depends_on') AS depends_on, landing.result,
           (SELECT type FROM transition AS last WHERE last.task = task.number
            AND last.type IN ('task_captured', 'task_collected')
            ORDER BY last.seq DESC LIMIT 1) AS kept
    FROM task LEFT JOIN landing ON landing.task = task.number AND landing.transition =
        (SELECT max(last.transition) FROM landing AS last WHERE last.task = task.number)
    WHERE task.run = ?1 ORDER BY task.position";

impl Reader {
    /// Returns the canonical roots of all repositories with runs, sorted.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn repositories(&self) -> Result<Vec<PathBuf>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached("SELECT DISTINCT repo FROM run")?;
            let found = select.query_map([], |row| row.get::<_, StoredPath>("repo"))?;
            let mut found: Vec<_> =
                found.map(|path| path.map(|path| path.0)).collect::<Result<_, _>>()?;
            found.sort();
            Ok(found)
        })
    }

    /// Returns the names of the runs over a repository, oldest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn run_names(&self, repo: &Path) -> Result<Vec<RunName>, LedgerError> {
        self.read(|ledger| {
            let sql = "SELECT name FROM run WHERE repo = ?1 ORDER BY number";
            let mut select = ledger.prepare_cached(sql)?;
            let of = [StoredPath(repo.to_owned())];
            let names = select.query_and_then(of, |row| read_word(row, "name"))?;
            Ok(names.collect::<Result<_, rusqlite::Error>>()?)
        })
    }

    /// Returns what decides about the work of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn retention(&self, run: &RunName) -> Result<Option<RunRetention>, LedgerError> {
        self.read(|ledger| {
            let mut select = ledger.prepare_cached(
                "SELECT number, repo, state, (SELECT at FROM transition AS last
                 WHERE last.run = run.number AND last.type <> 'task_collected'
                 ORDER BY last.seq DESC LIMIT 1) AS last, started FROM run WHERE name = ?1",
            )?;
            let mut rows = select.query([run.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let number: i64 = row.get("number")?;
            let StoredPath(repo) = row.get("repo")?;
            let last = match read_word_or_null(row, "last")? {
                Some(last) => last,
                None => read_word(row, "started")?,
            };
            let state = read_word(row, "state")?;
            let mut select = ledger.prepare_cached(SELECT_TASKS)?;
            let tasks = select.query_and_then([number], task)?.collect::<Result<_, _>>()?;
            let versions = versions(ledger, number)?;
            Ok(Some(RunRetention { repo, state, last, tasks, versions }))
        })
    }
}

fn task(row: &Row<'_>) -> rusqlite::Result<TaskRetention> {
    let result: Option<String> = row.get("result")?;
    let is_discarded = row.get::<_, Option<String>>("discarded")?.is_some();
    let has_changes = row.get::<_, Option<i64>>("files")?.is_some_and(|files| files != 0);
    let fate = match result.as_deref() {
        _ if is_discarded => WorkFate::Discarded,
        Some("landed" | "unchanged") => WorkFate::Landed,
        _ if has_changes => WorkFate::Unlanded,
        _ => WorkFate::Nothing,
    };
    let depends_on = read_json_or_null(row, "depends_on")?.unwrap_or_default();
    let outcome = match fate {
        WorkFate::Discarded => "discarded".to_owned(),
        fate => outcome(row, result.as_deref(), fate)?,
    };
    Ok(TaskRetention {
        id: read_id(row, "id")?,
        task: RetainedTask { name: read_word(row, "name")?, fate, depends_on },
        capture: read_word_or_null(row, "capture")?,
        is_collected: row.get::<_, Option<String>>("kept")?.as_deref() == Some("task_collected"),
        outcome,
    })
}

/// Returns the outcome of a task that was not discarded, in the words of the table of its run.
fn outcome(row: &Row<'_>, landing: Option<&str>, fate: WorkFate) -> rusqlite::Result<String> {
    let class: Option<String> = row.get("failure_class")?;
    if let (None, Some(class)) = (landing, class) {
        return Ok(format!("failed: {}", class.replace('_', " ")));
    }
    let state: String = row.get("state")?;
    let word = match (landing, state.as_str()) {
        (Some("conflicted"), _) => "conflict",
        (Some("taken_back"), _) => "taken back",
        (Some("unwritten" | "waiting"), _) => "kept",
        (Some("unchanged"), _) => "no change",
        (Some(other), _) => other,
        (None, "done") if fate == WorkFate::Unlanded => "kept",
        (None, "done") => "no change",
        (None, other) => other,
    };
    Ok(word.to_owned())
}

/// Returns the ids of the versions in all conflicts of a run.
fn versions(ledger: &Connection, run: i64) -> Result<BTreeSet<String>, LedgerCause> {
    let mut select = ledger.prepare_cached(
        "SELECT landing.conflicts FROM landing JOIN task ON task.number = landing.task
         WHERE task.run = ?1 AND landing.conflicts IS NOT NULL",
    )?;
    let mut found = BTreeSet::new();
    let mut rows = select.query([run])?;
    while let Some(row) = rows.next()? {
        for conflict in read_json::<Vec<Conflict>>(row, "conflicts")? {
            let sides = [conflict.base, conflict.ours, conflict.theirs];
            found.extend(sides.into_iter().flatten().map(|side| side.oid));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use protocol::{Landed, LandingReport, LedgerEntry, TaskLanding};

    use super::*;
    use crate::test_support::{TestLedger, at, captured, run};

    #[test]
    async fn the_fate_of_each_task_and_the_last_step_of_the_run_are_found() {
        let house = TestLedger::new();
        let spec = run(&["landed", "kept", "thrown", "idle"]);
        let name = house.open(&spec).await;
        let task = |at: usize| spec.tasks[at].id;
        let capture = |at: usize| LedgerEntry::TaskCaptured {
            task: task(at),
            attempt: 1,
            captured: captured(&name, &spec.tasks[at], 1),
        };
        let landed = Landed::Landed { branch: None, joined: Vec::new() };
        let landing = TaskLanding::of(spec.tasks[0].name.clone(), landed);
        house
            .append(vec![
                capture(0),
                capture(1),
                capture(2),
                LedgerEntry::LandingFinished {
                    run: spec.id,
                    landing: None,
                    report: LandingReport { tasks: vec![landing] },
                },
                LedgerEntry::TaskDiscarded { task: task(2) },
                LedgerEntry::RunInterrupted { run: spec.id },
                LedgerEntry::TaskCollected { task: task(0) },
            ])
            .await
            .unwrap();
        let reader = house.reader();
        let found = reader.retention(&name).unwrap().unwrap();
        let fates: Vec<_> = found.tasks.iter().map(|task| task.task.fate).collect();
        let expected =
            [WorkFate::Landed, WorkFate::Unlanded, WorkFate::Discarded, WorkFate::Nothing];
        assert_eq!(fates, expected);
        let collected: Vec<_> = found.tasks.iter().map(|task| task.is_collected).collect();
        assert_eq!(collected, [true, false, false, false]);
        assert_eq!((found.state, found.last), (RunState::Interrupted, at(6)));
        assert_eq!(reader.repositories().unwrap(), std::slice::from_ref(&spec.repo));
        assert_eq!(reader.run_names(&spec.repo).unwrap(), std::slice::from_ref(&name));
        assert_eq!(reader.tasks(spec.id).unwrap()[0].collected, Some(at(7)));
        assert!(reader.record(&name).unwrap().is_some(), "the run can still be replayed");
        // What is captured after a removal is there again.
        house.append(vec![capture(0)]).await.unwrap();
        assert!(!reader.retention(&name).unwrap().unwrap().tasks[0].is_collected);
        assert_eq!(reader.retention(&"rzzzz".parse().unwrap()).unwrap(), None);
    }
}
