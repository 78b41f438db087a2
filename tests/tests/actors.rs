//! The engine on fakes: who owns what, and who answers for whom.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actors::AnswerError;
use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, IsolationError};
use protocol::{
    EventKind, FailureClass, Landed, LandingReport, LedgerEntry, OnFailure, Outcome, Phase,
    QuestionId, RunId, TaskId, TaskLanding, TaskName, TaskReport, TaskSpec, Totals,
};
use serde_json::json;
use tests::fakes::{Step, TestEngine, task};
use tests::sandbox::eventually;

fn class(report: &TaskReport) -> Option<FailureClass> {
    match &report.outcome {
        Outcome::Failed { failure } => Some(failure.class),
        Outcome::Done { .. } | Outcome::Cancelled => None,
    }
}

fn after(mut task: TaskSpec, on: &[&str]) -> TaskSpec {
    task.depends_on = on.iter().map(|name| name.parse().expect("a name")).collect();
    task
}

#[test(flavor = "multi_thread")]
async fn two_hundred_tasks_finish_within_the_limit_and_leave_nothing_behind() {
    let mut engine = TestEngine::with_concurrency(8).await;
    let tasks = (0..200).map(|n| task(&format!("t{n}"), "gather 8")).collect();
    let (reports, totals) = engine.run(tasks).await;
    assert_eq!((reports.len(), totals.done, totals.landed), (200, 200, 200));
    assert_eq!(engine.commands.peak(), 8);
    assert_eq!((engine.repository.made(), engine.repository.leaked()), (200, 0));
    // The end of the run is told before its folder is removed, and the engine waits for that.
    assert_eq!(engine.engine.close().await, None);
    assert_eq!(engine.repository.closed(), 1);
}

#[test(flavor = "multi_thread")]
async fn the_last_line_of_a_command_is_its_yield() {
    let mut engine = TestEngine::with_concurrency(3).await;
    let tasks =
        vec![task("json", r#"yield {"a":1}"#), task("text", "yield a word"), task("none", "yield")];
    let (mut reports, _) = engine.run(tasks).await;
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    let values: Vec<_> = reports
        .into_iter()
        .map(|(_, report)| match report.outcome {
            Outcome::Done { value } => value,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(values, [json!({ "a": 1 }), json!(null), json!("a word")]);
}

#[test(flavor = "multi_thread")]
async fn a_yield_against_the_schema_breaks_the_contract_at_once() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut wrong = task("wrong", r#"yield {"b":1}"#);
    wrong.schema = Some(Box::new(json!({ "required": "a" })));
    let (reports, _) = engine.run(vec![wrong]).await;
    assert_eq!(class(&reports[0].1), Some(FailureClass::Contract));
    assert_eq!(engine.commands.ran(), 1);
    assert_eq!(engine.repository.captured().len(), 1);
}

#[test(flavor = "multi_thread")]
async fn a_command_that_fails_fails_only_its_own_task() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let (reports, totals) = engine.run(vec![task("bad", "exit 3"), task("good", "yield 1")]).await;
    assert_eq!((totals.done, totals.failed, totals.landed, totals.kept), (1, 1, 1, 1));
    let bad = reports.iter().find(|(name, _)| name.as_str() == "bad").unwrap();
    assert_eq!(class(&bad.1), Some(FailureClass::Command));
}

#[test(flavor = "multi_thread")]
async fn a_crashing_session_fails_only_its_own_task_and_is_never_run_twice() {
    let mut engine = TestEngine::with_faults(1, "crash@session:1").await;
    let (reports, totals) = engine.run(vec![task("bad", "sleep"), task("good", "yield 1")]).await;
    assert_eq!((totals.done, totals.failed), (1, 1));
    let bad = reports.iter().find(|(name, _)| name.as_str() == "bad").unwrap();
    assert_eq!(class(&bad.1), Some(FailureClass::Crashed));
    assert_eq!(engine.repository.captured().len(), 2, "its work is kept");
    assert_eq!((engine.commands.ran(), engine.repository.leaked()), (2, 0));
}

#[test(flavor = "multi_thread")]
async fn a_panic_of_what_runs_commands_is_that_tasks_failure() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let (reports, totals) = engine.run(vec![task("bad", "panic oh"), task("good", "yield")]).await;
    assert_eq!((totals.done, totals.failed), (1, 1));
    let bad = reports.iter().find(|(name, _)| name.as_str() == "bad").unwrap();
    assert_eq!(class(&bad.1), Some(FailureClass::Crashed));
    assert_eq!(engine.repository.leaked(), 0);
}

#[test(flavor = "multi_thread")]
async fn cancelling_reaches_waiting_running_and_deaf_tasks_and_lands_nothing() {
    for how in [CancelLevel::Gently, CancelLevel::AtOnce] {
        let mut engine = TestEngine::with_concurrency(2).await;
        let tasks = vec![task("running", "sleep"), task("deaf", "deaf"), task("waiting", "yield")];
        let run = engine.submit(engine.spec(tasks)).await;
        while engine.commands.running() < 2 {
            engine.next().await;
        }
        engine.engine.controls(run.id).cancel(how, Interruption::Interrupt);
        if how == CancelLevel::Gently {
            engine
                .find(|event| matches!(event, EventKind::TaskFinished { .. }).then_some(()))
                .await;
            engine.engine.controls(run.id).cancel(CancelLevel::AtOnce, Interruption::Interrupt);
        }
        let (_, totals) = engine.until_the_end().await;
        assert_eq!((totals.cancelled, totals.landed), (3, 0));
        assert!(engine.repository.landings().is_empty());
        assert_eq!((engine.repository.made(), engine.repository.leaked()), (2, 0));
        assert_eq!(engine.repository.captured().len(), 2, "what ran is captured");
    }
}

#[test(flavor = "multi_thread")]
async fn a_second_cancel_ends_the_grace_of_the_first() {
    let mut engine = TestEngine::with_patience(1).await;
    let run = engine.submit(engine.spec(vec![task("deaf", "deaf")])).await;
    while engine.commands.running() == 0 {
        engine.next().await;
    }
    for how in [CancelLevel::Gently, CancelLevel::AtOnce] {
        engine.engine.controls(run.id).cancel(how, Interruption::Interrupt);
    }
    let (reports, _) = engine.until_the_end().await;
    assert_eq!(reports[0].1.outcome, Outcome::Cancelled);
}

#[test(flavor = "multi_thread")]
async fn a_task_that_is_cancelled_just_before_its_session_begins_runs_nothing() {
    let mut engine = TestEngine::with_patience(1).await;
    engine.ledger.hold_sessions();
    let run = engine.submit(engine.spec(vec![task("one", "sleep")])).await;
    engine.find(|event| matches!(event, EventKind::WorkspaceReady { .. }).then_some(())).await;
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let stopping =
        |event: &EventKind| matches!(event, EventKind::TaskProgress { phase: Phase::Stopping, .. });
    engine.find(|event| stopping(event).then_some(())).await;
    engine.ledger.let_go();
    let (reports, _) = engine.until_the_end().await;
    assert_eq!(reports[0].1.outcome, Outcome::Cancelled);
    assert_eq!((engine.commands.ran(), engine.repository.leaked()), (0, 0));
}

#[test(flavor = "multi_thread")]
async fn a_task_that_is_over_keeps_nobody_who_could_run_commands() {
    let mut engine = TestEngine::with_concurrency(8).await;
    let idle = Arc::strong_count(&engine.commands);
    let tasks = (0..8).map(|number| task(&format!("t{number}"), "yield")).collect();
    engine.run(tasks).await;
    let gone = || Arc::strong_count(&engine.commands) == idle;
    eventually(Duration::from_secs(30), "each executor ends with its task", gone);
}

#[test(flavor = "multi_thread")]
async fn a_predecessor_that_changed_nothing_stands_for_those_it_builds_on() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.find_nothing_of("second");
    let second = after(task("second", "yield"), &["first"]);
    let tasks = vec![task("first", "yield"), second, after(task("last", "yield"), &["second"])];
    engine.run(tasks).await;
    let landing = engine.repository.landings().remove(0);
    let on = |at: usize| landing.tasks[at].depends_on.iter().map(ToString::to_string);
    assert_eq!(landing.tasks[1].task.as_str(), "last");
    assert_eq!((on(0).count(), on(1).collect::<Vec<_>>()), (0, vec!["first".to_owned()]));
}

#[test(flavor = "multi_thread")]
async fn a_run_cancelled_just_before_its_landing_ends() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.ledger.hold_landings();
    let run = engine.submit(engine.spec(vec![task("one", "yield")])).await;
    engine.find(|event| matches!(event, EventKind::TaskFinished { .. }).then_some(())).await;
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    until_told(&engine, run.id).await;
    engine.ledger.let_go();
    let (_, totals) = engine.until_the_end().await;
    assert_eq!((totals.done, totals.landed, totals.kept), (1, 0, 1));
    assert!(engine.repository.landings().is_empty());
}

#[test(flavor = "multi_thread")]
async fn a_run_cancelled_just_after_its_landing_began_is_seen_through() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.block_at("land");
    let run = engine.submit(engine.spec(vec![task("one", "yield")])).await;
    engine.repository.failpoints.until_blocked().await;
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    until_told(&engine, run.id).await;
    engine.repository.failpoints.release();
    let (_, totals) = engine.until_the_end().await;
    assert_eq!((totals.done, totals.landed, totals.kept), (1, 1, 0));
    assert_eq!(engine.repository.landings().len(), 1);
}

/// Waits until a run has handled earlier messages: it answers a later request.
async fn until_told(engine: &TestEngine, run: RunId) {
    let controls = engine.engine.controls(run);
    let answered = controls.answer(QuestionId::generate(), "no".to_owned()).await;
    assert_eq!(answered, Err(AnswerError::NotOpen));
}

#[test(flavor = "multi_thread")]
async fn a_landing_that_waits_is_withdrawn_by_a_cancel_and_nothing_is_said_to_have_failed() {
    let (said, totals, report) = cancelled_while_landing(|| IsolationError::Withdrawn).await;
    assert_eq!((totals.done, totals.landed, totals.kept), (1, 0, 1));
    assert_eq!((said, report), (Vec::new(), LandingReport::default()));
}

#[test(flavor = "multi_thread")]
async fn a_landing_that_fails_after_a_cancel_is_told_of_every_task() {
    let failed = || IsolationError::Failed { what: "land".to_owned(), source: "no".into() };
    let (said, totals, report) = cancelled_while_landing(failed).await;
    assert_eq!((totals.done, totals.landed, totals.kept), (1, 0, 1));
    assert_eq!(said, ["one"]);
    let [TaskLanding { task, landed: Landed::Unwritten { .. }, .. }] = &report.tasks[..] else {
        panic!("{report:?}")
    };
    assert_eq!(task.as_str(), "one");
}

/// Cancels a run whose landing waits and then ends with `error`. Returns the tasks of which it is
/// said that they could not land, the totals, and what the ledger has of the landing.
async fn cancelled_while_landing(
    error: fn() -> IsolationError,
) -> (Vec<String>, Totals, LandingReport) {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.hold_landings(error);
    let run = engine.submit(engine.spec(vec![task("one", "yield")])).await;
    engine.find(|event| matches!(event, EventKind::LandingWaited).then_some(())).await;
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let mut said = Vec::new();
    let totals = engine.find(|event| match event {
        EventKind::TaskKept { task, .. } => {
            said.push(task.to_string());
            None
        }
        EventKind::RunFinished { totals, .. } => Some(totals.clone()),
        _ => None,
    });
    let totals = totals.await;
    let report = engine.ledger.entries().into_iter().find_map(|entry| match entry {
        LedgerEntry::LandingFinished { report, .. } => Some(report),
        _ => None,
    });
    (said, totals, report.expect("the ledger knows how the landing ended"))
}

#[test(flavor = "multi_thread")]
async fn a_task_that_runs_too_long_is_stopped_and_its_work_kept() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut slow = task("slow", "sleep");
    slow.limits.wall = Duration::from_millis(50);
    let (reports, _) = engine.run(vec![slow]).await;
    assert_eq!(class(&reports[0].1), Some(FailureClass::Timeout));
    assert_eq!(engine.repository.captured().len(), 1);
}

#[test(flavor = "multi_thread")]
async fn a_dependant_builds_on_all_its_predecessors_in_their_order() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = vec![
        after(task("last", "yield"), &["right", "left"]),
        after(task("left", "yield"), &["top"]),
        after(task("right", "yield"), &["top"]),
        task("top", "yield"),
    ];
    let (reports, totals) = engine.run(tasks).await;
    assert_eq!(totals.done, 4);
    assert_eq!(reports.first().map(|(name, _)| name.as_str()), Some("top"));
    assert_eq!(reports.last().map(|(name, _)| name.as_str()), Some("last"));
    let on = engine.repository.predecessors("last").unwrap();
    assert_eq!(on, ["top", "right", "left"]);
    let landed: Vec<_> =
        engine.repository.landings()[0].tasks.iter().map(|task| task.task.to_string()).collect();
    assert_eq!(landed, ["top", "right", "left", "last"]);
}

#[test(flavor = "multi_thread")]
async fn what_depends_on_a_failure_is_not_started_and_says_why() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = vec![
        task("bad", "exit 1"),
        after(task("next", "yield"), &["bad"]),
        after(task("third", "yield"), &["next"]),
    ];
    let (reports, totals) = engine.run(tasks).await;
    assert_eq!((totals.done, totals.failed, engine.commands.ran()), (0, 3, 1));
    let third = reports.iter().find(|(name, _)| name.as_str() == "third").unwrap();
    let Outcome::Failed { failure } = &third.1.outcome else { panic!("{third:?}") };
    assert_eq!(failure.class, FailureClass::Dependency);
    assert!(failure.message.contains("`next` did not succeed"), "{}", failure.message);
}

#[test(flavor = "multi_thread")]
async fn the_first_failure_cancels_the_rest_when_that_was_asked_for() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let tasks = vec![task("bad", "exit 1"), task("running", "sleep"), task("waiting", "sleep")];
    let mut spec = engine.spec(tasks);
    spec.on_failure = OnFailure::CancelTheRest;
    engine.submit(spec).await;
    let (_, totals) = engine.until_the_end().await;
    assert_eq!((totals.failed, totals.cancelled), (1, 2));
}

#[test(flavor = "multi_thread")]
async fn a_workspace_with_files_that_are_not_captured_is_kept_and_so_is_its_task() {
    let mut engine = TestEngine::with_concurrency(1).await;
    for task in ["partial", "idle"] {
        engine.repository.leave_files_out_of(task);
    }
    engine.repository.find_nothing_of("idle");
    let tasks = vec![task("partial", "yield 1"), task("idle", "yield 1"), task("whole", "yield 1")];
    let (reports, totals) = engine.run(tasks).await;
    assert!(reports.iter().all(|(_, report)| matches!(report.outcome, Outcome::Done { .. })));
    assert_eq!((totals.done, totals.landed, totals.unlanded, totals.kept), (3, 1, 2, 2));
    assert_eq!(engine.repository.leaked(), 2);
    let landed = &engine.repository.landings()[0].tasks;
    assert_eq!(landed.len(), 2, "what was captured of it lands: {landed:?}");
}

#[test(flavor = "multi_thread")]
async fn a_workspace_that_cannot_be_captured_is_kept() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.refuse_to_capture("bad");
    let (reports, totals) = engine.run(vec![task("bad", "yield 1")]).await;
    assert_eq!(class(&reports[0].1), Some(FailureClass::Workspace));
    assert_eq!((totals.failed, engine.repository.leaked()), (1, 1));
}

#[test]
async fn every_transition_is_in_the_ledger_before_it_is_done() {
    let mut engine = TestEngine::with_concurrency(2).await;
    engine.ledger.slow_down();
    let tasks = vec![task("one", "yield"), task("two", "exit 1")];
    let ids: BTreeMap<_, _> = tasks.iter().map(|task| (task.name.clone(), task.id)).collect();
    engine.submit(engine.spec(tasks)).await;
    let mut announced = 0;
    loop {
        let event = engine.next().await;
        let Some(needed) = announces(&event.kind, &ids) else { continue };
        announced += 1;
        assert!(engine.ledger.entries().iter().any(needed), "too early: {event:?}");
        if let EventKind::RunFinished { .. } = event.kind {
            break;
        }
    }
    assert_eq!(announced, 3 * 2 + 3);
    let steps = engine.trace.steps();
    let mut effects = 0;
    for (at, step) in steps.iter().enumerate() {
        let Some(needed) = needs(step, &ids) else { continue };
        effects += 1;
        let wrote = |before: &Step| matches!(before, Step::Wrote(entry) if needed(entry));
        assert!(steps[..at].iter().any(wrote), "too early: {step:?} in {steps:?}");
    }
    assert_eq!(effects, 3 * 2 + 2, "{steps:?}");
}

type Needed = Box<dyn Fn(&LedgerEntry) -> bool>;

/// Returns the entry that has to be there before an event is announced.
fn announces(event: &EventKind, ids: &BTreeMap<TaskName, TaskId>) -> Option<Needed> {
    let id = |task: &TaskName| ids[task];
    Some(match event {
        EventKind::TaskStarted { task, .. } => {
            let id = id(task);
            Box::new(
                move |entry| matches!(entry, LedgerEntry::TaskStarted { task, .. } if *task == id),
            )
        }
        EventKind::TaskCaptured { task, .. } => {
            let id = id(task);
            Box::new(
                move |entry| matches!(entry, LedgerEntry::TaskCaptured { task, .. } if *task == id),
            )
        }
        EventKind::TaskFinished { task, .. } => {
            let id = id(task);
            Box::new(
                move |entry| matches!(entry, LedgerEntry::TaskFinished { task, .. } if *task == id),
            )
        }
        EventKind::LandingStarted { .. } => {
            Box::new(|entry| matches!(entry, LedgerEntry::LandingStarted { .. }))
        }
        EventKind::TaskLanded { .. } => {
            Box::new(|entry| matches!(entry, LedgerEntry::LandingFinished { .. }))
        }
        EventKind::RunFinished { .. } => {
            Box::new(|entry| matches!(entry, LedgerEntry::RunFinished { .. }))
        }
        _ => return None,
    })
}

/// Returns the entry that has to be there before a step is done.
fn needs(step: &Step, ids: &BTreeMap<TaskName, TaskId>) -> Option<Needed> {
    Some(match step {
        Step::Wrote(_) => return None,
        Step::Prepared(task) => {
            let id = ids[task];
            Box::new(
                move |entry| matches!(entry, LedgerEntry::TaskStarted { task, .. } if *task == id),
            )
        }
        Step::Ran(task) | Step::SetUp(task) => {
            let id = ids[task];
            Box::new(
                move |entry| matches!(entry, LedgerEntry::SessionStarted { task, .. } if *task == id),
            )
        }
        Step::Discarded(task) => {
            let id = ids[task];
            Box::new(
                move |entry| matches!(entry, LedgerEntry::TaskCaptured { task, .. } if *task == id),
            )
        }
        Step::Landed => Box::new(|entry| matches!(entry, LedgerEntry::LandingStarted { .. })),
        Step::Closed => Box::new(|entry| matches!(entry, LedgerEntry::RunFinished { .. })),
    })
}

#[test(flavor = "multi_thread")]
async fn a_house_whose_ledger_fails_captures_what_runs_and_says_so() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = (0..6).map(|n| task(&format!("t{n}"), "wait")).collect();
    engine.submit(engine.spec(tasks)).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    engine.ledger.tear();
    engine.commands.release();
    let fell = engine.engine.failed().await;
    assert!(fell.message.contains("the ledger"), "{fell:?}");
    let (repository, handle) = (engine.repository.clone(), engine.engine);
    assert_eq!(handle.close().await, Some(fell));
    assert_eq!((repository.made(), repository.leaked()), (4, 0));
    assert_eq!(repository.captured().len(), 4);
}

#[test(flavor = "multi_thread")]
async fn closing_the_house_gives_every_workspace_back() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = (0..8).map(|n| task(&format!("t{n}"), "sleep")).collect();
    engine.submit(engine.spec(tasks)).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    let repository = engine.repository.clone();
    assert_eq!(engine.engine.close().await, None);
    assert_eq!((repository.made(), repository.leaked(), repository.closed()), (4, 0, 1));
}

#[test(flavor = "multi_thread")]
async fn the_events_of_a_run_are_numbered_without_gaps_and_end_with_its_end() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = (0..20).map(|n| task(&format!("t{n}"), "yield")).collect();
    engine.submit(engine.spec(tasks)).await;
    let mut seqs = Vec::new();
    loop {
        let event = engine.next().await;
        seqs.push(event.seq);
        if let EventKind::RunFinished { .. } = event.kind {
            break;
        }
    }
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}
