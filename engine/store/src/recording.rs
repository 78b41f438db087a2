//! Records one ledger entry: its own row, and its changes to the rows of its run and task.

mod runs;
mod tasks;

use protocol::{CacheSaving, LedgerEntry, RunId, TaskId, Timestamp, Usage};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::columns::{json, word};
use crate::error::LedgerCause;

pub(crate) use self::runs::open_run;

/// A ledger entry that is being recorded in a transaction.
struct Recording<'a> {
    ledger: &'a Connection,
    /// The time, as it is stored.
    at: String,
    /// The entry as JSON.
    entry: String,
}

/// The row numbers of a task and of its run.
#[derive(Clone, Copy)]
struct TaskKey {
    number: i64,
    run: i64,
}

/// Records `entry`; fails if the ledger does not know one of its ids.
pub(crate) fn record(
    ledger: &Connection,
    at: Timestamp,
    entry: &LedgerEntry,
) -> Result<(), LedgerCause> {
    let recording = Recording { ledger, at: word(&at)?, entry: json(entry)? };
    match entry {
        LedgerEntry::TaskStarted { run, task, attempt } => {
            recording.task_started(*run, *task, *attempt)
        }
        LedgerEntry::SessionStarted { task, attempt, workspace } => {
            recording.session_started(*task, *attempt, workspace)
        }
        LedgerEntry::TaskCaptured { task, attempt, captured } => {
            recording.task_captured(*task, *attempt, captured)
        }
        LedgerEntry::TaskUsed { task, usage } => recording.task_used(*task, *usage),
        LedgerEntry::TaskFinished { task, report } => recording.task_finished(*task, report),
        LedgerEntry::TaskDiscarded { task } => recording.task_discarded(*task),
        LedgerEntry::TaskCollected { task } => recording.task_step(*task, "task_collected"),
        LedgerEntry::ResolverFailed { task, .. } => recording.task_step(*task, "resolver_failed"),
        LedgerEntry::WorkVerified { run, .. } => recording.work_verified(*run),
        LedgerEntry::LandingStarted { run, .. } => recording.landing_started(*run),
        LedgerEntry::LandingFinished { run, report, .. } => {
            recording.landing_finished(*run, report)
        }
        LedgerEntry::RunFinished { run, totals, exit_code } => {
            recording.run_finished(*run, totals, *exit_code)
        }
        LedgerEntry::RunInterrupted { run } => recording.run_interrupted(*run),
        LedgerEntry::RunWithdrawn { run } => recording.run_withdrawn(*run),
    }
}

impl Recording<'_> {
    /// Inserts the row of the entry itself, and returns its number.
    fn transition(&self, run: i64, task: Option<TaskKey>, kind: &str) -> Result<i64, LedgerCause> {
        self.execute(
            "INSERT INTO transition (at, run, task, type, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.at, run, task.map(|task| task.number), kind, self.entry],
        )?;
        Ok(self.ledger.last_insert_rowid())
    }

    fn run(&self, id: RunId) -> Result<i64, LedgerCause> {
        let mut select = self.ledger.prepare_cached("SELECT number FROM run WHERE id = ?1")?;
        let found = select.query_row([id.to_string()], |row| row.get(0)).optional()?;
        found.ok_or(LedgerCause::UnknownRun(id))
    }

    fn task(&self, id: TaskId) -> Result<TaskKey, LedgerCause> {
        let mut select =
            self.ledger.prepare_cached("SELECT number, run FROM task WHERE id = ?1")?;
        let found = select
            .query_row([id.to_string()], |row| {
                Ok(TaskKey { number: row.get(0)?, run: row.get(1)? })
            })
            .optional()?;
        found.ok_or(LedgerCause::UnknownTask(id))
    }

    fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), LedgerCause> {
        self.ledger.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }
}

/// Converts a count to the integer type of SQLite, which is signed.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The row that usage is written to.
#[derive(Clone, Copy, Debug)]
enum UsageRow {
    Run(i64),
    Task(i64),
}

impl Recording<'_> {
    /// Writes the sum of the usage of all tasks of a run. The total cost is unknown if the cost of
    /// one task is, and what caches have saved if that is unknown of a task that used one. The source of
    /// the cost is that of a sum of [`Usage`].
    fn sum_usage(&self, run: i64) -> Result<(), LedgerCause> {
        self.execute(
            "UPDATE run SET (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
                             cost_nanodollars, cost_source, cache_saving_nanodollars) =
             (SELECT sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
                     sum(cache_write_tokens),
                     CASE WHEN count(cost_nanodollars) = count(*) THEN sum(cost_nanodollars) END,
                     CASE WHEN count(*) = 0 THEN NULL
                          WHEN count(cost_nanodollars) < count(*) THEN 'unknown'
                          -- Its values sort as they prevail: priced, reported, unknown.
                          WHEN max(ifnull(cost_source, 'unknown')) FILTER (WHERE is_used) < 'unknown'
                          THEN min(cost_source) FILTER (WHERE is_used)
                          ELSE 'unknown' END,
                     CASE WHEN count(cache_saving_nanodollars) =
                               sum(cache_read_tokens + cache_write_tokens > 0)
                          THEN sum(cache_saving_nanodollars) END
              FROM (SELECT *, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens
                              + ifnull(cost_nanodollars, 1) > 0 AS is_used
                    FROM task WHERE run = ?1 AND input_tokens IS NOT NULL))
             WHERE number = ?1",
            params![run],
        )
    }

    /// Writes the total usage; `None` if no model was asked.
    fn write_usage(&self, row: UsageRow, usage: Option<Usage>) -> Result<(), LedgerCause> {
        let (sql, number) = match row {
            UsageRow::Run(number) => (
                "UPDATE run SET input_tokens = ?2, output_tokens = ?3, cache_read_tokens = ?4,
                 cache_write_tokens = ?5, cost_nanodollars = ?6, cache_saving_nanodollars = ?7,
                 cost_source = ?8 WHERE number = ?1",
                number,
            ),
            UsageRow::Task(number) => (
                "UPDATE task SET input_tokens = ?2, output_tokens = ?3, cache_read_tokens = ?4,
                 cache_write_tokens = ?5, cost_nanodollars = ?6, cache_saving_nanodollars = ?7,
                 cost_source = ?8 WHERE number = ?1",
                number,
            ),
        };
        let cost = usage.and_then(|usage| usage.cost).map(|cost| count(cost.as_nanodollars()));
        self.execute(
            sql,
            params![
                number,
                usage.map(|usage| count(usage.input)),
                usage.map(|usage| count(usage.output)),
                usage.map(|usage| count(usage.cache_read)),
                usage.map(|usage| count(usage.cache_write)),
                cost,
                usage.and_then(|usage| usage.cache_saving).map(CacheSaving::as_nanodollars),
                usage.map(|usage| word(&usage.cost_source)).transpose()?,
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Cost, CostSource, ExitCode, LedgerEntry, TaskReport, Totals};
    use rusqlite::Connection;

    use super::*;
    use crate::test_support::{TestLedger, done, run, started};

    #[test]
    async fn what_models_used_is_in_the_reports_and_in_columns_of_its_own() {
        let house = TestLedger::new();
        let asked = run(&["a", "b", "c"]);
        let name = house.open(&asked).await;
        let known = Usage { input: 60, output: 5, cache_read: 40, cache_write: 1, ..Usage::ZERO };
        let priced = Usage {
            cost: Some(Cost::from_nanodollars(1_200_000)),
            cost_source: CostSource::Priced,
            cache_saving: Some(CacheSaving::from_nanodollars(-5)),
            ..known
        };
        let usages = [Some(priced), Some(Usage { cost: None, ..known }), None];
        let ends = asked.tasks.iter().zip(usages);
        let mut entries: Vec<_> = ends
            .map(|(task, usage)| LedgerEntry::TaskFinished {
                task: task.id,
                report: Box::new(TaskReport { usage, ..done(None) }),
            })
            .collect();
        let usage = usages.into_iter().flatten().sum();
        let totals = Totals { done: 3, usage: Some(usage), ..Totals::default() };
        let exit_code = ExitCode::Success;
        entries.push(LedgerEntry::RunFinished { run: asked.id, totals: totals.clone(), exit_code });
        house.append(entries).await.unwrap();

        let rows = house.reader().tasks(asked.id).unwrap();
        assert_eq!(
            rows.into_iter().map(|row| row.report.unwrap().usage).collect::<Vec<_>>(),
            usages
        );
        let row = house.reader().run_by_name(&name).unwrap().unwrap();
        assert_eq!(row.totals, Some(totals));
        let columns = |table: &str| {
            let ledger = Connection::open(house.ledger.path()).unwrap();
            let sql = format!(
                "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
                 cost_nanodollars, cache_saving_nanodollars FROM {table} ORDER BY number"
            );
            let mut select = ledger.prepare(&sql).unwrap();
            let rows = select
                .query_map([], |row| {
                    let value = |column| row.get(column);
                    Ok([value(0)?, value(1)?, value(2)?, value(3)?, value(4)?, value(5)?])
                })
                .unwrap();
            rows.collect::<Result<Vec<[Option<i64>; 6]>, _>>().unwrap()
        };
        let used = |cost, saving| [Some(60), Some(5), Some(40), Some(1), cost, saving];
        let tasks = [used(Some(1_200_000), Some(-5)), used(None, None), [None; 6]];
        assert_eq!(columns("task"), tasks);
        assert_eq!(columns("run"), [[Some(120), Some(10), Some(80), Some(2), None, None]]);
        let sources = |table: &str| {
            let ledger = Connection::open(house.ledger.path()).unwrap();
            let sql = format!("SELECT cost_source FROM {table} ORDER BY number");
            let mut select = ledger.prepare(&sql).unwrap();
            let rows = select.query_map([], |row| row.get(0)).unwrap();
            rows.collect::<Result<Vec<Option<String>>, _>>().unwrap()
        };
        let word = |word: &str| Some(word.to_owned());
        assert_eq!(sources("task"), [word("priced"), word("unknown"), None]);
        assert_eq!(sources("run"), [word("unknown")]);
        let rows = house.reader().tasks(asked.id).unwrap();
        assert_eq!(rows[0].usage, Some(priced), "a row has what its report has");

        house.append(vec![started(&asked, 0)]).await.unwrap();
        assert_eq!(columns("task")[0], [None; 6]);
    }

    #[test]
    async fn what_models_had_used_when_an_engine_died_is_added_up() {
        use CostSource::{Priced, Reported, Unknown};
        let house = TestLedger::new();
        let (priced, none) = (run(&["a", "b", "c"]), run(&["a"]));
        let (name, other) = (house.open(&priced).await, house.open(&none).await);
        let cost = |cost| Some(Cost::from_nanodollars(cost));
        let usage = Usage { input: 60, output: 5, cost: cost(7), ..Usage::ZERO };
        house
            .append(vec![
                LedgerEntry::TaskFinished {
                    task: priced.tasks[0].id,
                    report: Box::new(TaskReport { usage: Some(usage), ..done(None) }),
                },
                started(&priced, 1),
                LedgerEntry::TaskUsed { task: priced.tasks[1].id, usage },
                LedgerEntry::RunInterrupted { run: priced.id },
                LedgerEntry::RunInterrupted { run: none.id },
            ])
            .await
            .unwrap();
        let reader = house.reader();
        let used = |name| reader.run_by_name(name).unwrap().unwrap().usage;
        assert_eq!(used(&name), Some(usage + usage));
        assert_eq!(used(&other), None);
        let tasks = reader.tasks(priced.id).unwrap();
        let each: Vec<_> = tasks.into_iter().map(|row| row.usage).collect();
        assert_eq!(each, [Some(usage), Some(usage), None]);

        let unpriced = Usage { cost: None, ..usage };
        let mixed = run(&["a", "b"]);
        let name = house.open(&mixed).await;
        let entry = |at: usize, usage| LedgerEntry::TaskUsed { task: mixed.tasks[at].id, usage };
        let end = LedgerEntry::RunInterrupted { run: mixed.id };
        house.append(vec![entry(0, usage), entry(1, unpriced), end]).await.unwrap();
        let row = house.reader().run_by_name(&name).unwrap().unwrap();
        assert_eq!(row.usage, Some(usage + unpriced));
        assert_eq!(row.usage.unwrap().cost, None);

        // The source of a sum is that of the same sum in memory.
        let none = Usage { cost_source: Unknown, ..Usage::ZERO };
        let of = |cost_source| Usage { cost_source, ..usage };
        for parts in [
            [of(Priced), of(Reported)],
            [of(Reported), of(Reported)],
            [of(Reported), none],
            [of(Unknown), of(Priced)],
            [none, none],
            [of(Reported), Usage { cost: None, ..of(Unknown) }],
        ] {
            let run = run(&["a", "b"]);
            let name = house.open(&run).await;
            let used = run.tasks.iter().zip(parts);
            let used = used.map(|(task, usage)| LedgerEntry::TaskUsed { task: task.id, usage });
            let end = LedgerEntry::RunInterrupted { run: run.id };
            house.append(used.chain([end]).collect()).await.unwrap();
            let row = house.reader().run_by_name(&name).unwrap().unwrap();
            assert_eq!(row.usage, Some(parts[0] + parts[1]), "{parts:?}");
        }

        let saving = |saving| Some(CacheSaving::from_nanodollars(saving));
        let cached = Usage { cache_read: 9, cache_saving: saving(8), ..usage };
        let dear = Usage { cache_saving: saving(-3), ..cached };
        let caching = run(&["a", "b", "c"]);
        let name = house.open(&caching).await;
        let entry = |at: usize, usage| LedgerEntry::TaskUsed { task: caching.tasks[at].id, usage };
        let end = LedgerEntry::RunInterrupted { run: caching.id };
        house.append(vec![entry(0, cached), entry(1, usage), entry(2, dear), end]).await.unwrap();
        let row = house.reader().run_by_name(&name).unwrap().unwrap();
        assert_eq!(row.usage, Some(cached + usage + dear));
        assert_eq!(row.usage.unwrap().cache_saving, saving(5));
    }
}
