//! What models used, as columns have it.

use protocol::Usage;
use rusqlite::params;

use super::{Recording, count};
use crate::cause::Cause;

/// The row of whoever used it.
#[derive(Clone, Copy, Debug)]
pub(super) enum User {
    Run(i64),
    Task(i64),
}

impl Recording<'_> {
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
    use protocol::{Cost, ExitCode, LedgerEntry, TaskReport, Totals};
    use rusqlite::Connection;

    use super::*;
    use crate::sample::{House, done, run, started};

    #[tokio::test]
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
}
