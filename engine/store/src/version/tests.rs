use std::error::Error;

use engine::fault::Faults;
use rusqlite::Connection;

use super::VERSION;
use crate::sample::file;
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
    assert!(because.starts_with("a newer version of this program wrote it (its version is 2"));
    assert!(Reader::open(&path).runs(None, 1).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
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
    assert_eq!(columns.iter().filter(|(table, _)| table == "run").count(), 12);
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
    assert_eq!(queries.len(), 4);
    for query in queries {
        assert!(!ledger.prepare(query).unwrap().exists([]).unwrap(), "{query}");
    }
}
