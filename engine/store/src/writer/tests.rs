use std::sync::{Mutex, mpsc};
use std::thread;

use engine::fault::Faults;
use engine::ports::LockRun;
use protocol::{LedgerEntry, RunSpec, TaskId};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{Request, commit};
use crate::connection;
use crate::test_support::{at, file, run, started};

struct Bench {
    folder: tempfile::TempDir,
    ledger: Connection,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = connection::writable(&file(folder.path())).unwrap();
        Self { folder, ledger }
    }

    /// Commits a batch, and returns which of its requests succeeded.
    fn commit(&mut self, batch: &[Request]) -> Option<Vec<bool>> {
        let results = commit(&mut self.ledger, &Faults::default(), batch).ok()?;
        Some(results.iter().map(Result::is_ok).collect())
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM \"{table}\"");
        self.ledger.query_row(&sql, [], |row| row.get(0)).unwrap()
    }
}

fn open(run: &RunSpec) -> Request {
    let lock = Mutex::new(Some(LockRun::nothing()));
    Request::Open { run: Box::new(run.clone()), at: at(0), lock, reply: oneshot::channel().0 }
}

fn append(entries: Vec<LedgerEntry>) -> Request {
    let entries = entries.into_iter().map(|entry| (at(1), entry)).collect();
    Request::Append { entries, reply: oneshot::channel().0 }
}

#[test]
fn a_request_that_fails_leaves_no_trace_and_does_not_concern_its_neighbours() {
    let mut bench = Bench::new();
    let asked = run(&["a", "b"]);
    let stranger = LedgerEntry::TaskDiscarded { task: TaskId::generate() };
    let batch = [
        open(&asked),
        append(vec![started(&asked, 0)]),
        append(vec![started(&asked, 1), stranger]),
        open(&asked),
        append(vec![started(&asked, 0)]),
    ];
    assert_eq!(bench.commit(&batch), Some(vec![true, true, false, false, true]));
    assert_eq!((bench.count("run"), bench.count("transition")), (1, 3));
}

#[test]
fn a_run_whose_lock_cannot_be_had_is_not_recorded() {
    let mut bench = Bench::new();
    let refuse = LockRun::new(|_| Err(engine::ports::IsolationError::Withdrawn));
    let Request::Open { run, at, reply, .. } = open(&run(&["a"])) else { unreachable!() };
    let batch = [Request::Open { run, at, lock: Mutex::new(Some(refuse)), reply }];
    assert_eq!(bench.commit(&batch), Some(vec![false]));
    assert_eq!(bench.count("run"), 0);
}

#[test]
fn a_full_disk_fails_the_batch_and_nothing_of_it_stays() {
    let mut bench = Bench::new();
    let small = run(&["a"]);
    assert_eq!(bench.commit(&[open(&small)]), Some(vec![true]));
    let pages: i64 = bench.ledger.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let limit = |bench: &Bench, pages: i64| {
        let set = format!("PRAGMA max_page_count = {pages}");
        bench.ledger.query_row(&set, [], |row| row.get::<_, i64>(0)).unwrap();
    };
    limit(&bench, pages);
    let names: Vec<String> = (0..2_000).map(|number| format!("t{number}")).collect();
    let large = run(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let batch = || [append(vec![started(&small, 0)]), open(&large)];
    assert_ne!(bench.commit(&batch()), Some(vec![true, true]));
    assert_eq!(bench.count("task"), 1);

    limit(&bench, 1 << 30);
    assert_eq!(bench.commit(&batch()), Some(vec![true, true]));
    assert_eq!(bench.count("task"), 2_001);
}

#[test]
fn a_commit_is_synced_whole() {
    let bench = Bench::new();
    let pragma = |name: &str| -> String {
        let value = bench.ledger.pragma_query_value(None, name, |row| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => String::from_utf8_lossy(other.as_bytes().unwrap()).into_owned(),
            })
        });
        value.unwrap()
    };
    let found = ["journal_mode", "synchronous", "foreign_keys"].map(pragma);
    assert_eq!(found, ["wal", "2", "1"]);
}

#[test]
fn sixty_four_writers_share_commits() {
    const WRITERS: usize = 64;
    const EACH: usize = 40;
    let mut bench = Bench::new();
    let names: Vec<String> = (0..WRITERS).map(|number| format!("t{number}")).collect();
    let asked = run(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(bench.commit(&[open(&asked)]), Some(vec![true]));
    let ledger = connection::writable(&file(bench.folder.path())).unwrap();
    let (requests, asked_for) = mpsc::channel();
    // All requests wait when the writer begins, so that nothing depends on when its callers run.
    let answers: Vec<_> = thread::scope(|scope| {
        let write = |task: usize| {
            let (requests, asked) = (requests.clone(), &asked);
            scope.spawn(move || {
                let request = |_| {
                    let (reply, answer) = oneshot::channel();
                    let entries = vec![(at(1), started(asked, task))];
                    requests.send(Request::Append { entries, reply }).unwrap();
                    answer
                };
                (0..EACH).map(request).collect::<Vec<_>>()
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    drop(requests);
    let commits = super::run(ledger, &Faults::default(), &asked_for);
    answers.into_iter().for_each(|answer| answer.blocking_recv().unwrap().unwrap());
    let and_the_run = 1;
    assert_eq!(bench.count("transition"), i64::try_from(WRITERS * EACH + and_the_run).unwrap());
    let fewest = (WRITERS * EACH).div_ceil(super::MAX_BATCH);
    assert_eq!(commits, u64::try_from(fewest).unwrap(), "{WRITERS} times {EACH} requests");
}
