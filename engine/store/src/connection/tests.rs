use std::error::Error;

use engine::fault::Faults;
use protocol::{Cost, Usage};
use rusqlite::Connection;

use super::VERSION;
use crate::test_support::{at, done, file, run};
use crate::{Ledger, Reader};

/// What opening and reading say of a file that `make` made.
fn refusals(make: impl FnOnce(&Connection)) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    make(&Connection::open(&path).unwrap());
    let opened = Ledger::open(&path, Faults::default()).unwrap_err();
    let read = Reader::open(&path).runs(None, 1).unwrap_err();
    assert_eq!(opened.to_string(), format!("cannot open the ledger at {}", path.display()));
    [opened, read].map(|error| error.source().unwrap().to_string())
}

#[test]
fn a_ledger_of_a_newer_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    drop(Ledger::open(&path, Faults::default()).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", VERSION + 1).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Ledger::open(&path, Faults::default()).unwrap_err();
    let because = error.source().unwrap().to_string();
    assert!(because.starts_with("a newer version of this program wrote it (its version is 5"));
    assert!(Reader::open(&path).runs(None, 1).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Makes the ledger of version 1 that an engine of that time would have left behind: one run of
/// one task that is done.
fn version_1(path: &std::path::Path) {
    let ledger = Connection::open(path).unwrap();
    ledger.execute_batch(super::MIGRATIONS[0]).unwrap();
    ledger.pragma_update(None, "application_id", super::APPLICATION).unwrap();
    ledger.pragma_update(None, "user_version", 1).unwrap();
    let run = run(&["a"]);
    crate::recording::open_run(&ledger, &run, at(0)).unwrap();
    let report = serde_json::to_string(&done(None)).unwrap();
    ledger.execute("UPDATE task SET state = 'done', ms = 31000, report = ?1", [report]).unwrap();
}

#[test]
fn a_ledger_of_version_1_is_brought_up_to_date_by_who_writes_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    version_1(&path);
    let reader = Reader::open(&path);
    let before = reader.runs(None, 9).unwrap();
    let tasks = reader.tasks(before[0].id).unwrap();
    assert_eq!((before.len(), tasks[0].report.clone()), (1, Some(done(None))));

    drop(Ledger::open(&path, Faults::default()).unwrap());
    assert_eq!(reader.runs(None, 9).unwrap(), before);
    assert_eq!(reader.tasks(before[0].id).unwrap(), tasks);
    let ledger = Connection::open(&path).unwrap();
    assert_eq!(super::pragma(&ledger, "user_version").unwrap(), VERSION);
    let sql = "SELECT input_tokens, cost_nanodollars FROM task UNION ALL
               SELECT input_tokens, cost_nanodollars FROM run";
    let mut select = ledger.prepare(sql).unwrap();
    let columns = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(Option<i64>, Option<i64>)> = columns.collect::<Result<_, _>>().unwrap();
    assert_eq!(columns, [(None, None); 2]);
}

#[test]
fn a_ledger_of_versions_2_and_3_is_read_and_brought_up_to_date_and_what_it_lacks_is_unknown() {
    for version in [2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        {
            let ledger = Connection::open(&path).unwrap();
            super::MIGRATIONS[..version].iter().for_each(|sql| ledger.execute_batch(sql).unwrap());
            ledger.pragma_update(None, "application_id", super::APPLICATION).unwrap();
            ledger.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
            crate::recording::open_run(&ledger, &run(&["a"]), at(0)).unwrap();
            let used =
                "UPDATE run SET input_tokens = 60, output_tokens = 5, cache_read_tokens = 40,
                        cache_write_tokens = 1, cost_nanodollars = 7";
            ledger.execute(used, []).unwrap();
        }
        let reader = Reader::open(&path);
        let before = reader.runs(None, 9).unwrap();
        let usage = Usage { input: 60, output: 5, cache_read: 40, cache_write: 1, ..Usage::ZERO };
        // Neither what the caches saved nor where the cost is from was recorded.
        let usage = Usage { cost: Some(Cost::from_nanodollars(7)), ..usage };
        assert_eq!(before[0].usage, Some(usage), "{version}");
        drop(Ledger::open(&path, Faults::default()).unwrap());
        assert_eq!(reader.runs(None, 9).unwrap(), before, "{version}");
        let ledger = Connection::open(&path).unwrap();
        assert_eq!(super::pragma(&ledger, "user_version").unwrap(), VERSION);
    }
}

#[test]
fn a_file_that_is_no_ledger_is_refused() {
    let table = refusals(|other| other.execute_batch("CREATE TABLE song (name)").unwrap());
    assert_eq!(table, ["it is a database, but not a ledger"; 2].map(str::to_owned));
    let mark = refusals(|other| other.pragma_update(None, "application_id", 7).unwrap());
    assert_eq!(mark, ["it is a database, but not a ledger"; 2].map(str::to_owned));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::write(&path, "not a database, but long enough to look like one".repeat(40)).unwrap();
    assert!(Ledger::open(&path, Faults::default()).is_err());
    assert!(Reader::open(&path).runs(None, 1).is_err());
}

#[test]
fn a_ledger_that_is_being_made_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::write(&path, "").unwrap();
    assert_eq!(Reader::open(&path).runs(None, 1).unwrap(), []);
}

#[test]
fn the_documentation_names_every_table_and_column() {
    let documentation = include_str!("../../../../docs/ledger.md");
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    drop(Ledger::open(&path, Faults::default()).unwrap());
    let ledger = Connection::open(&path).unwrap();
    let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
               WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
    let mut select = ledger.prepare(sql).unwrap();
    let columns = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, String)> = columns.collect::<Result<_, _>>().unwrap();
    assert_eq!(columns.iter().filter(|(table, _)| table == "run").count(), 19);
    for (table, column) in columns {
        let part = documentation.split(&format!("## {table}\n")).nth(1);
        let part = part.unwrap_or_else(|| panic!("no part about {table}"));
        let part = part.split("\n## ").next().unwrap();
        assert!(part.contains(&format!("| `{column}` |")), "{table}.{column} is not described");
    }
    assert!(documentation.contains(&format!("`PRAGMA user_version` is {VERSION}")));
}

#[test]
fn the_queries_in_the_documentation_can_be_asked() {
    let documentation = include_str!("../../../../docs/ledger.md");
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    drop(Ledger::open(&path, Faults::default()).unwrap());
    let ledger = Connection::open(&path).unwrap();
    let queries = documentation.split("```sql\n").nth(1).unwrap().split("```").next().unwrap();
    let queries: Vec<_> = queries.split(';').filter(|query| query.contains("SELECT")).collect();
    assert_eq!(queries.len(), 5);
    for query in queries {
        assert!(!ledger.prepare(query).unwrap().exists([]).unwrap(), "{query}");
    }
}
