//! Engines that are killed while they write: what they were told is durable is in the ledger.

#[macro_use]
extern crate test_limit;

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Child;

use engine::fault::Faults;
use engine::ports::{LedgerStore, LockRun};
use protocol::{
    ChangeDemand, IsolationMode, LedgerEntry, MergeMode, OnFailure, RunId, RunSpec, TaskId,
    TaskLimits, TaskSpec, Timestamp, VerifySpec, Work, WorkspaceNeeds,
};
use rusqlite::Connection;
use store::{Ledger, Reader};

mod common;

use common::this_program;

/// Names the ledger that a child writes.
const LEDGER: &str = "REGATTA_TEST_LEDGER";

const ENGINES: usize = 3;

#[test]
fn what_killed_engines_were_told_is_durable_is_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut acknowledged: Vec<(String, usize)> = Vec::new();
    let rounds = test_limit::by_depth(3, 6);
    for round in 0..rounds {
        let mut engines: Vec<_> = (0..ENGINES).map(|_| engine(&path)).collect();
        for (number, engine) in engines.iter_mut().enumerate() {
            let output = engine.stdout.take().unwrap();
            let mut words = BufReader::new(output).lines().map(Result::unwrap);
            let name =
                words.find_map(|word| Some(word.strip_prefix("opened ")?.to_owned())).unwrap();
            let enough = 1 + 7 * round + number;
            let durable = words.by_ref().filter(|word| word == "durable").take(enough).count();
            engine.kill().unwrap();
            // What it still said before it died counts as well.
            let late = words.filter(|word| word == "durable").count();
            acknowledged.push((name, durable + late));
        }
        for mut engine in engines {
            engine.wait().unwrap();
        }
    }

    let runs = Reader::open(&path).runs(None, usize::MAX).unwrap();
    assert_eq!(runs.len(), ENGINES * rounds);
    let ledger = Connection::open(&path).unwrap();
    let sound: String = ledger.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let sql = "SELECT count(*) FROM transition JOIN run ON run.number = transition.run
               WHERE run.name = ?1 AND type = 'task_started'";
    for (name, durable) in acknowledged {
        let written: u32 = ledger.query_row(sql, [&name], |row| row.get(0)).unwrap();
        let written = written as usize;
        assert!(written == durable || written == durable + 1, "{name}: {written} of {durable}");
    }
}

/// Starts this program again as an engine that writes until it is killed.
fn engine(path: &Path) -> Child {
    this_program("an_engine_that_writes_until_it_is_killed")
        .env(LEDGER, path)
        .spawn()
        .expect("this program can be started again")
}

/// The child of the test above. Without a ledger to write there is nothing to do.
#[test]
async fn an_engine_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(LEDGER).map(PathBuf::from) else { return };
    let ledger = Ledger::open(path, Faults::default()).unwrap();
    let run = run();
    let at = Timestamp::from_millisecond(0);
    let mut out = std::io::stdout();
    let (name, _lock) = ledger.open_run(&run, at, LockRun::nothing()).await.unwrap();
    writeln!(out, "\nopened {name}").unwrap();
    let task = run.tasks[0].id;
    for attempt in 1.. {
        let started = LedgerEntry::TaskStarted { run: run.id, task, attempt };
        ledger.append(vec![(at, started)]).await.unwrap();
        writeln!(out, "durable").unwrap();
    }
}

fn run() -> RunSpec {
    let command = protocol::Command { script: "true".to_owned(), item: None, arguments: vec![] };
    let task = TaskSpec {
        id: TaskId::generate(),
        name: "a".parse().expect("it is a name"),
        title: "a".to_owned(),
        items: Vec::new(),
        work: Work::Command(command),
        depends_on: Vec::new(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: TaskLimits::default(),
        needs: protocol::TaskNeeds::default(),
    };
    RunSpec {
        id: RunId::generate(),
        label: None,
        repo: PathBuf::from("/a"),
        subfolder: PathBuf::new(),
        tasks: vec![task],
        jobs: NonZeroUsize::MIN,
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        stack: None,
        land: protocol::LandTime::End,
        on_failure: OnFailure::Continue,
        union: Vec::new(),
        branch_prefix: "regatta".to_owned(),
        untracked_limit: 0,
        pass_env: Vec::new(),
        needs: WorkspaceNeeds::default(),
        verify: VerifySpec::default(),
        commits: protocol::CommitSubjects::default(),
        group: None,
        retry: None,
        caller: None,
    }
}
