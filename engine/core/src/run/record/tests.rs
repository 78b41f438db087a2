use protocol::{
    DoneTask, ExitCode, Failure, FailureClass, Landed, LandingReport, LedgerEntry, Outcome, Retry,
    TaskLanding, TaskReport, Totals,
};

use super::*;
use crate::run::test_support::{captured, done, id, run, run_of, spec, started};
use crate::task::TaskStatus;

fn finished(run: &RunRecord, at: usize, report: TaskReport) -> LedgerEntry {
    LedgerEntry::TaskFinished { task: id(run, at), report: Box::new(report) }
}

#[test]
fn each_entry_of_a_task_shows_in_its_record() {
    let mut run = run(&["one", "two"]);
    run.apply(&started(&run, 0));
    let task = id(&run, 0);
    let workspace = "/w".to_owned();
    run.apply(&LedgerEntry::SessionStarted { task, attempt: 1, workspace });
    let work = captured("one", 2);
    run.apply(&LedgerEntry::TaskCaptured { task, attempt: 1, captured: work.clone() });
    let one = &run.tasks()[0];
    assert_eq!((one.attempt, one.workspace.as_deref()), (1, Some("/w")));
    assert_eq!((&one.status, one.captured.as_deref()), (&TaskStatus::Running, Some(&work)));

    run.apply(&finished(&run, 0, done(Some(work.clone()))));
    run.apply(&LedgerEntry::TaskDiscarded { task });
    let one = run.task(task).unwrap();
    assert_eq!((one.is_done(), one.is_discarded, one.changes()), (true, true, Some(&work)));
    assert_eq!(run.tasks()[1].status, TaskStatus::Queued);

    run.apply(&LedgerEntry::TaskStarted { run: run.spec.id, task, attempt: 2 });
    let one = run.task(task).unwrap();
    assert_eq!((one.attempt, one.workspace.as_ref(), one.report()), (2, None, None));
}

#[test]
fn entries_of_other_runs_and_tasks_change_nothing() {
    let (mut run, other) = (run(&["one"]), run(&["one"]));
    let before = run.clone();
    let id = other.spec.id;
    let entries = [
        started(&other, 0),
        finished(&other, 0, done(None)),
        LedgerEntry::LandingStarted { run: id, landing: None },
        LedgerEntry::RunInterrupted { run: id },
    ];
    for entry in entries {
        assert!(!run.concerns(&entry) && other.concerns(&entry), "{entry:?}");
        run.apply(&entry);
        assert_eq!(run, before, "{entry:?}");
    }
}

#[test]
fn predecessors_come_first_also_where_they_are_declared_last() {
    let mut run = run_of(vec![
        spec("last", &["first"]),
        spec("first", &[]),
        spec("child", &["other", "last"]),
        spec("other", &[]),
    ]);
    let names = |tasks: Vec<&TaskRecord>| -> Vec<String> {
        tasks.into_iter().map(|task| task.spec.name.to_string()).collect()
    };
    assert_eq!(names(run.tasks().iter().collect()), ["last", "first", "child", "other"]);
    assert_eq!(names(run.tasks_in_order()), ["first", "last", "other", "child"]);

    for (at, name) in [(1, "first"), (0, "last"), (3, "other")] {
        let report = done(Some(captured(name, u64::from(name != "last"))));
        run.apply(&finished(&run, at, report));
    }
    let on = run.predecessor_captures(id(&run, 2)).into_iter().map(|(name, _)| name.to_string());
    assert_eq!(on.collect::<Vec<_>>(), ["first", "other"], "the last changed nothing");
}

#[test]
fn the_report_of_a_landing_stands_beside_each_task() {
    let mut run = run(&["one", "two"]);
    run.apply(&LedgerEntry::LandingStarted { run: run.spec.id, landing: None });
    assert_eq!(run.landing, LandingRecord::Begun);
    let task = run.tasks()[1].spec.name.clone();
    let report = LandingReport { tasks: vec![TaskLanding::of(task, Landed::Unchanged)] };
    let id = run.spec.id;
    run.apply(&LedgerEntry::LandingFinished { run: id, landing: None, report: report.clone() });
    assert_eq!(run.landing, LandingRecord::Finished(report));
    assert_eq!((&run.tasks()[0].landed, &run.tasks()[1].landed), (&None, &Some(Landed::Unchanged)));
}

#[test]
fn who_had_nothing_to_land_does_not_count_as_landed() {
    let mut run = run(&["landed", "same", "nothing", "kept"]);
    for (at, files) in [1, 1, 0, 1].into_iter().enumerate() {
        let name = run.tasks()[at].spec.name.to_string();
        run.apply(&finished(&run, at, done(Some(captured(&name, files)))));
    }
    let landed = Landed::Landed { branch: None, joined: Vec::new() };
    let landings = [landed, Landed::Unchanged].into_iter().zip(run.tasks());
    let tasks = landings.map(|(landed, task)| TaskLanding::of(task.spec.name.clone(), landed));
    let report = LandingReport { tasks: tasks.collect() };
    run.apply(&LedgerEntry::LandingFinished { run: run.spec.id, landing: None, report });
    let totals = totals(&run, 7);
    let counted = (totals.done, totals.landed, totals.unchanged, totals.unlanded, totals.kept);
    assert_eq!(counted, (4, 1, 2, 1, 1));
}

#[test]
fn a_run_that_is_over_stays_so_and_one_whose_engine_died_is_interrupted() {
    let mut over = run(&["one", "two"]);
    let mut died = over.clone();
    let failure = Failure::new(FailureClass::Command, "no");
    let report = TaskReport { outcome: Outcome::Failed { failure }, ..done(None) };
    for run in [&mut over, &mut died] {
        run.apply(&finished(run, 0, report.clone()));
    }
    let end = LedgerEntry::RunFinished {
        run: over.spec.id,
        totals: Totals::default(),
        exit_code: ExitCode::NoSuccess,
    };
    over.apply(&end);
    let finished = over.clone();
    for run in [&mut over, &mut died] {
        run.apply(&LedgerEntry::RunInterrupted { run: run.spec.id });
    }
    assert_eq!(over, finished);
    assert_eq!(died.status, RunStatus::Interrupted);
    assert_eq!(died.tasks()[0].report(), Some(&report));
    assert_eq!(died.tasks()[1].status, TaskStatus::Interrupted);
}

#[test]
fn a_task_has_the_yields_of_its_direct_predecessors_also_of_the_retried_run() {
    let mut run = run_of(vec![
        spec("one", &[]),
        spec("two", &["ONE", "before"]),
        spec("three", &["two", "four"]),
        spec("four", &[]),
    ]);
    let before = DoneTask { name: "Before".parse().unwrap(), value: Value::from("earlier") };
    run.spec.retry = Some(Retry { run: "r7k3f".parse().unwrap(), done: vec![before] });
    for (at, value) in [(0, 1), (1, 2)] {
        let outcome = Outcome::Done { value: Value::from(value) };
        run.apply(&finished(&run, at, TaskReport { outcome, ..done(None) }));
    }
    let yields = |at: usize| -> Vec<_> {
        let yields = run.predecessor_yields(id(&run, at)).into_iter();
        yields.map(|(task, value)| format!("{task}: {value}")).collect()
    };
    assert_eq!(yields(0), Vec::<String>::new());
    assert_eq!(yields(1), ["one: 1", "Before: \"earlier\""]);
    assert_eq!(yields(2), ["two: 2"], "the other is not done");
}
