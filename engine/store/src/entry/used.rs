//! What models used, as columns have it.

use protocol::{Cost, Usage};
use rusqlite::{Row, params};

use super::{Recording, count};
use crate::cause::Cause;

/// The row of whoever used it.
#[derive(Clone, Copy, Debug)]
pub(super) enum User {
    Run(i64),
    Task(i64),
}

/// Reads the columns of a run or a task; nothing where no model was asked.
pub(crate) fn used(row: &Row<'_>) -> rusqlite::Result<Option<Usage>> {
    let input = match row.get::<_, Option<i64>>("input_tokens") {
        Ok(Some(input)) => input,
        // A ledger of version 1 that nobody has written to since has no such columns.
        Ok(None) | Err(rusqlite::Error::InvalidColumnName(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let number = |column: &str| -> rusqlite::Result<Option<u64>> {
        let number: Option<i64> = row.get(column)?;
        Ok(number.map(|number| u64::try_from(number).unwrap_or(0)))
    };
    Ok(Some(Usage {
        input: u64::try_from(input).unwrap_or(0),
        output: number("output_tokens")?.unwrap_or(0),
        cache_read: number("cache_read_tokens")?.unwrap_or(0),
        cache_write: number("cache_write_tokens")?.unwrap_or(0),
        cost: number("cost_nanodollars")?.map(Cost::from_nanodollars),
    }))
}

impl Recording<'_> {
    /// Adds up what the tasks of a run have used. What has a part of unknown cost has no known cost.
    pub(super) fn used_by_tasks(&self, run: i64) -> Result<(), Cause> {
        self.execute(
            "UPDATE run SET (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
                             cost_nanodollars) =
             (SELECT sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
                     sum(cache_write_tokens),
                     CASE WHEN count(cost_nanodollars) = count(*) THEN sum(cost_nanodollars) END
              FROM task WHERE run = ?1 AND input_tokens IS NOT NULL)
             WHERE number = ?1",
            params![run],
        )
    }

    /// Says what was used in all; nothing where no model was asked.
    pub(super) fn used(&self, user: User, usage: Option<Usage>) -> Result<(), Cause> {
        let (sql, number) = match user {
            User::Run(number) => (
                "UPDATE run SET input_tokens = ?2, output_tokens = ?3, cache_read_tokens = ?4,
                 cache_write_tokens = ?5, cost_nanodollars = ?6 WHERE number = ?1",
                number,
            ),
            User::Task(number) => (
                "UPDATE task SET input_tokens = ?2, output_tokens = ?3, cache_read_tokens = ?4,
                 cache_write_tokens = ?5, cost_nanodollars = ?6 WHERE number = ?1",
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
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ExitCode, LedgerEntry, TaskReport, Totals};
    use rusqlite::Connection;

    use super::*;
    use crate::sample::{House, done, run, started};

    #[test]
    async fn what_models_used_is_in_the_reports_and_in_columns_of_its_own() {
        let house = House::new();
        let asked = run(&["a", "b", "c"]);
        let name = house.open(&asked).await;
        let known = Usage { input: 60, output: 5, cache_read: 40, cache_write: 1, ..Usage::ZERO };
        let priced = Usage { cost: Some(Cost::from_nanodollars(1_200_000)), ..known };
        let usages = [Some(priced), Some(Usage { cost: None, ..known }), None];
        let ends = asked.tasks.iter().zip(usages);
        let mut entries: Vec<_> = ends
            .map(|(task, usage)| LedgerEntry::TaskFinished {
                task: task.id,
                report: TaskReport { usage, ..done(None) },
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
                 cost_nanodollars FROM {table} ORDER BY number"
            );
            let mut select = ledger.prepare(&sql).unwrap();
            let rows = select
                .query_map([], |row| {
                    Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
                })
                .unwrap();
            rows.collect::<Result<Vec<[Option<i64>; 5]>, _>>().unwrap()
        };
        let used = |cost| [Some(60), Some(5), Some(40), Some(1), cost];
        assert_eq!(columns("task"), [used(Some(1_200_000)), used(None), [None; 5]]);
        assert_eq!(columns("run"), [[Some(120), Some(10), Some(80), Some(2), None]]);

        house.append(vec![started(&asked, 0)]).await.unwrap();
        assert_eq!(columns("task")[0], [None; 5]);
    }

    #[test]
    async fn what_models_had_used_when_an_engine_died_is_added_up() {
        let house = House::new();
        let (priced, none) = (run(&["a", "b", "c"]), run(&["a"]));
        let (name, other) = (house.open(&priced).await, house.open(&none).await);
        let cost = |cost| Some(Cost::from_nanodollars(cost));
        let usage = Usage { input: 60, output: 5, cost: cost(7), ..Usage::ZERO };
        house
            .append(vec![
                LedgerEntry::TaskFinished {
                    task: priced.tasks[0].id,
                    report: TaskReport { usage: Some(usage), ..done(None) },
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
        let run = house.reader().run_by_name(&name).unwrap().unwrap();
        assert_eq!(run.usage, Some(usage + unpriced));
        assert_eq!(run.usage.unwrap().cost, None);
    }
}
