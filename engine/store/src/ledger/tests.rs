use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Instant;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{LedgerStore, LockRun};
use protocol::{
    ExitCode, Failure, FailureClass, FailureDetail, LedgerEntry, Outcome, RunId, RunState, TaskId,
    TaskReport, TaskState, Totals,
};
use rusqlite::Connection;

use crate::test_support::{TestLedger, at, captured, done, file, run, started};
use crate::{Ledger, Reader, RunTerms};

#[test]
async fn a_run_and_its_tasks_read_back_as_they_were_asked_for() {
    let house = TestLedger::new();
    let asked = run(&["auth", "Billing.tests"]);
    let name = house.open(&asked).await;
    let row = house.reader().run_by_name(&name).unwrap().unwrap();
    assert_eq!((row.id, &row.name, &row.label), (asked.id, &name, &asked.label));
    assert_eq!((row.state, row.started, row.finished), (RunState::Running, at(0), None));
    assert_eq!((row.tasks.all, row.tasks.queued), (2, 2));
    assert_eq!((&row.repo, &row.spec), (&asked.repo, &RunTerms::from(&asked)));
    let tasks = house.reader().tasks(asked.id).unwrap();
    let specs: Vec<_> = tasks.iter().map(|task| &task.spec).collect();
    assert_eq!(specs, asked.tasks.iter().collect::<Vec<_>>());
    assert!(tasks.iter().all(|task| task.state == TaskState::Queued && task.attempt == 0));
}

#[test]
async fn each_transition_of_a_task_shows_in_its_row() {
    let house = TestLedger::new();
    let asked = run(&["auth"]);
    let name = house.open(&asked).await;
    let task = &asked.tasks[0];
    let work = captured(&name, task, 1);
    let row = || house.reader().tasks(asked.id).unwrap().remove(0);

    house.append(vec![started(&asked, 0)]).await.unwrap();
    assert_eq!((row().state, row().attempt, row().started), (TaskState::Running, 1, Some(at(1))));

    let workspace = "/data/w".to_owned();
    let session = LedgerEntry::SessionStarted { task: task.id, attempt: 1, workspace };
    let capture = LedgerEntry::TaskCaptured { task: task.id, attempt: 1, captured: work.clone() };
    house.append(vec![session, capture]).await.unwrap();
    assert_eq!(row().workspace.as_deref(), Some("/data/w"));
    assert_eq!((row().captured, row().report), (Some(work.clone()), None));

    let report = done(Some(work.clone()));
    let finished = LedgerEntry::TaskFinished { task: task.id, report: Box::new(report.clone()) };
    house.append(vec![finished]).await.unwrap();
    assert_eq!((row().state, row().finished), (TaskState::Done, Some(at(1))));
    assert_eq!(row().report, Some(report));

    house.append(vec![LedgerEntry::TaskDiscarded { task: task.id }]).await.unwrap();
    assert_eq!((row().discarded, row().captured), (Some(at(1)), Some(work)));
}

#[test]
async fn every_way_a_task_can_end_reads_back() {
    let house = TestLedger::new();
    let asked = run(&["a", "b", "c"]);
    house.open(&asked).await;
    let failure = Failure::new(FailureClass::Command, "it ended with 3")
        .with(FailureDetail::Exit { code: 3 });
    let reports = [
        done(None),
        TaskReport {
            outcome: Outcome::Failed { failure },
            captured: None,
            ms: 7,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        },
        TaskReport::unstarted(Outcome::Cancelled),
    ];
    let ends = asked.tasks.iter().zip(&reports);
    let finished = |(task, report): (&protocol::TaskSpec, &TaskReport)| LedgerEntry::TaskFinished {
        task: task.id,
        report: Box::new(report.clone()),
    };
    house.append(ends.map(finished).collect()).await.unwrap();
    let rows = house.reader().tasks(asked.id).unwrap();
    let read: Vec<_> = rows.iter().map(|row| (row.state, row.report.clone().unwrap())).collect();
    let states = [TaskState::Done, TaskState::Failed, TaskState::Cancelled];
    assert_eq!(read, states.into_iter().zip(reports).collect::<Vec<_>>());
    let counts = house.reader().runs(None, 1).unwrap().remove(0).tasks;
    assert_eq!((counts.done, counts.failed, counts.cancelled, counts.queued), (1, 1, 1, 0));
}

#[test]
async fn a_run_that_is_over_says_what_it_came_to_and_stays_over() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    let name = house.open(&asked).await;
    let totals = Totals { done: 1, landed: 1, ms: 5, ..Totals::default() };
    let exit_code = ExitCode::Kept;
    let finished = LedgerEntry::RunFinished { run: asked.id, totals: totals.clone(), exit_code };
    house.append(vec![finished]).await.unwrap();
    let row = || house.reader().run_by_name(&name).unwrap().unwrap();
    assert_eq!((row().state, row().finished), (RunState::Finished, Some(at(1))));
    assert_eq!((row().totals, row().exit_code), (Some(totals), Some(exit_code)));

    let late = vec![
        LedgerEntry::RunInterrupted { run: asked.id },
        LedgerEntry::LandingStarted { run: asked.id, landing: None },
    ];
    house.append(late).await.unwrap();
    assert_eq!(row().state, RunState::Finished);
    assert_eq!(row().tasks.queued, 1);
}

#[test]
async fn a_run_whose_engine_died_is_interrupted_and_so_is_what_had_not_ended() {
    let house = TestLedger::new();
    let asked = run(&["a", "b", "c"]);
    let name = house.open(&asked).await;
    let first = &asked.tasks[0];
    let entries = vec![
        started(&asked, 0),
        LedgerEntry::TaskFinished { task: first.id, report: Box::new(done(None)) },
        started(&asked, 1),
        LedgerEntry::LandingStarted { run: asked.id, landing: None },
        LedgerEntry::RunInterrupted { run: asked.id },
        LedgerEntry::TaskCaptured {
            task: asked.tasks[1].id,
            attempt: 1,
            captured: captured(&name, &asked.tasks[1], 1),
        },
    ];
    house.append(entries).await.unwrap();
    let row = house.reader().run_by_name(&name).unwrap().unwrap();
    assert_eq!((row.state, row.tasks.done, row.tasks.interrupted), (RunState::Interrupted, 1, 2));
    let tasks = house.reader().tasks(asked.id).unwrap();
    assert_eq!(tasks[1].state, TaskState::Interrupted);
    assert!(tasks[1].captured.is_some());
}

#[test]
async fn nothing_stays_of_a_run_that_was_withdrawn() {
    let house = TestLedger::new();
    let asked = run(&["a", "b"]);
    house.open(&asked).await;
    let withdrawn = LedgerEntry::RunWithdrawn { run: asked.id };
    house.append(vec![started(&asked, 0), withdrawn]).await.unwrap();
    let ledger = Connection::open(house.ledger.path()).unwrap();
    for table in ["run", "task", "attempt", "transition", "landing"] {
        let sql = format!("SELECT count(*) FROM \"{table}\"");
        let rows: i64 = ledger.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[test]
async fn every_transition_reads_back_from_a_row_of_its_own_in_order() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    let name = house.open(&asked).await;
    let (id, task) = (asked.id, &asked.tasks[0]);
    let work = captured(&name, task, 1);
    let workspace = "/w/ö".to_owned();
    let landed = protocol::Landed::Landed { branch: None, joined: Vec::new() };
    let landing = protocol::TaskLanding::of(task.name.clone(), landed);
    let entries = vec![
        started(&asked, 0),
        LedgerEntry::SessionStarted { task: task.id, attempt: 1, workspace },
        LedgerEntry::TaskCaptured { task: task.id, attempt: 1, captured: work.clone() },
        LedgerEntry::TaskFinished { task: task.id, report: Box::new(done(Some(work))) },
        LedgerEntry::LandingStarted { run: id, landing: None },
        LedgerEntry::LandingFinished {
            run: id,
            landing: None,
            report: protocol::LandingReport { tasks: vec![landing] },
        },
        LedgerEntry::RunFinished {
            run: id,
            totals: Totals { done: 1, failures: vec![FailureClass::Proof], ..Totals::default() },
            exit_code: ExitCode::Interrupted,
        },
        LedgerEntry::TaskDiscarded { task: task.id },
        LedgerEntry::RunInterrupted { run: id },
    ];
    house.append(entries.clone()).await.unwrap();
    let ledger = Connection::open(house.ledger.path()).unwrap();
    let sql = "SELECT type, entry, task IS NULL FROM transition ORDER BY seq";
    let mut select = ledger.prepare(sql).unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let rows: Vec<(String, String, bool)> = rows.collect::<Result<_, _>>().unwrap();
    let types: Vec<_> = rows.iter().map(|(kind, _, of_run)| (kind.as_str(), *of_run)).collect();
    let expected = [
        ("run_opened", true),
        ("task_started", false),
        ("session_started", false),
        ("task_captured", false),
        ("task_finished", false),
        ("landing_started", true),
        ("landing_finished", true),
        ("run_finished", true),
        ("task_discarded", false),
        ("run_interrupted", true),
    ];
    assert_eq!(types, expected);
    for ((kind, json, _), entry) in rows[1..].iter().zip(entries) {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["type"], kind.as_str());
        assert_eq!(serde_json::from_str::<LedgerEntry>(json).unwrap(), entry);
    }
}

#[test]
async fn an_id_that_the_ledger_does_not_know_fails_its_whole_batch() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    house.open(&asked).await;
    let stranger = TaskId::generate();
    let unknown = [
        LedgerEntry::TaskDiscarded { task: stranger },
        LedgerEntry::LandingStarted { run: RunId::generate(), landing: None },
        LedgerEntry::TaskStarted { run: RunId::generate(), task: asked.tasks[0].id, attempt: 1 },
    ];
    for entry in unknown {
        let error = house.append(vec![started(&asked, 0), entry]).await.unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("is not in the ledger"), "{source}");
    }
    assert_eq!(house.reader().tasks(asked.id).unwrap()[0].state, TaskState::Queued);
    house.append(vec![started(&asked, 0)]).await.unwrap();
}

#[test]
async fn a_name_that_is_taken_makes_the_next_one_longer() {
    let house = TestLedger::new();
    let mut names = Vec::new();
    for number in 0..9 {
        let mut twin = run(&[]);
        twin.id = format!("019700000000700{number}8000000000000000").parse().unwrap();
        names.push(house.open(&twin).await);
    }
    let lengths: Vec<_> = names.iter().map(|name| name.as_str().len()).collect();
    assert_eq!(lengths, [5, 6, 7, 8, 9, 10, 11, 12, 13]);
    let mut last = run(&[]);
    last.id = "01970000000070098000000000000000".parse().unwrap();
    assert!(house.ledger.open_run(&last, at(0), LockRun::nothing()).await.is_err());
}

#[test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_that_start_at_once_share_one_ledger_and_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let engines = (0..8_u8).map(|number| {
        let path = path.clone();
        tokio::task::spawn_blocking(move || {
            let ledger = Ledger::open(path, Faults::default()).unwrap();
            let mut twin = run(&["a"]);
            // All the names are made from the same bits.
            twin.id = format!("019700000000700{number}8000000000000000").parse().unwrap();
            let opening = ledger.open_run(&twin, at(0), LockRun::nothing());
            tokio::runtime::Handle::current().block_on(opening).unwrap().0
        })
    });
    let engines: Vec<_> = engines.collect();
    let mut names = std::collections::BTreeSet::new();
    for engine in engines {
        assert!(names.insert(engine.await.unwrap()));
    }
    assert_eq!(Reader::open(&path).runs(None, 100).unwrap().len(), 8);
}

#[test]
async fn what_was_acknowledged_is_in_the_file_although_nobody_closed_it() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    let name = house.open(&asked).await;
    house.append(vec![started(&asked, 0)]).await.unwrap();
    // What another machine would find on the disk after a crash: the file and its log.
    let after = tempfile::tempdir().unwrap();
    for part in ["ledger.db", "ledger.db-wal"] {
        let from = house.ledger.path().with_file_name(part);
        std::fs::copy(from, after.path().join(part)).unwrap();
    }
    let reader = Reader::open(after.path().join("ledger.db"));
    let row = reader.run_by_name(&name).unwrap().unwrap();
    assert_eq!(row.tasks.running, 1);
}

#[test]
async fn only_its_user_can_read_the_ledger() {
    let house = TestLedger::new();
    house.open(&run(&["a"])).await;
    let folder = house.ledger.path().parent().unwrap();
    let mut modes: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    modes.push(folder.metadata().unwrap().permissions().mode() & 0o077);
    assert_eq!(modes, [0o600, 0o600, 0o600, 0]);
    assert!(house.folder.path().exists());
}

#[test]
async fn a_fault_at_the_append_is_an_error_and_the_ledger_goes_on() {
    let faults = Faults::read("full@ledger.append:2", FaultHooks::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(file(folder.path()), faults).unwrap();
    let asked = run(&["a"]);
    ledger.open_run(&asked, at(0), LockRun::nothing()).await.unwrap();
    let mut results = Vec::new();
    for _ in 0..3 {
        results.push(ledger.append(vec![(at(1), started(&asked, 0))]).await.is_ok());
    }
    assert_eq!(results, [true, !cfg!(debug_assertions), true]);
}

#[test]
async fn a_writer_that_died_is_an_error_for_everyone_who_asks_and_nobody_waits() {
    let faults = Faults::read("crash@ledger.append", FaultHooks::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(file(folder.path()), faults).unwrap();
    let asked = run(&["a"]);
    ledger.open_run(&asked, at(0), LockRun::nothing()).await.unwrap();
    for _ in 0..3 {
        let result = ledger.append(vec![(at(1), started(&asked, 0))]).await;
        let because = result.err().map(|error| error.source.to_string());
        let expected = cfg!(debug_assertions).then(|| "its writer has ended".to_owned());
        assert_eq!(because, expected);
    }
}

#[test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_writers_at_once_are_all_recorded() {
    const WRITERS: usize = 64;
    const EACH: usize = 40;
    let house = TestLedger::new();
    let names: Vec<String> = (0..WRITERS).map(|number| format!("t{number}")).collect();
    let asked = Arc::new(run(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    house.open(&asked).await;
    let began = Instant::now();
    let writers = (0..WRITERS).map(|task| {
        let (ledger, asked) = (Arc::clone(&house.ledger), Arc::clone(&asked));
        tokio::spawn(async move {
            for _ in 0..EACH {
                ledger.append(vec![(at(1), started(&asked, task))]).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let took = began.elapsed();
    let rate = (WRITERS * EACH) as f64 / took.as_secs_f64();
    let mut out = std::io::stderr();
    writeln!(out, "{rate:.0} transitions per second from {WRITERS} writers").unwrap();
    let ledger = Connection::open(house.ledger.path()).unwrap();
    let sql = "SELECT count(*) FROM transition WHERE type = 'task_started'";
    let rows: u32 = ledger.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(rows as usize, WRITERS * EACH);
}
