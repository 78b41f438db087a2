//! A panic in any job of an actor reaches the actor: it ends in a report, a refusal or exit code
//! 70, never in a wait without end.
//!
//! The clock is paused: as soon as nothing can go on any more, the watchdog strikes.

use std::path::Path;
use std::time::Duration;

use actors::{AnswerError, OpenSessionError, SubmitError};
use protocol::{
    EventKind, FailureClass, Landed, LedgerEntry, Outcome, QuestionId, RunId, TaskName, TaskReport,
    TaskSpec, Totals,
};
use serde_json::json;
use tests::fakes::{TestEngine, TestSession, task};

/// Waits for `what`, unless nothing goes on any more.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(100), what).await.expect("nobody waits for ever")
}

async fn run(
    engine: &mut TestEngine,
    tasks: Vec<TaskSpec>,
) -> (Vec<(TaskName, TaskReport)>, Totals) {
    within(engine.run(tasks)).await
}

fn failure(report: &TaskReport) -> (FailureClass, String) {
    match &report.outcome {
        Outcome::Failed { failure } => (failure.class, failure.message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test(start_paused = true)]
async fn a_panic_while_a_workspace_is_prepared_fails_its_task_and_no_other() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_once_at("prepare");
    let (reports, totals) =
        run(&mut engine, vec![task("bad", "yield"), task("good", "yield")]).await;
    assert_eq!((totals.done, totals.failed), (1, 1));
    let (class, message) = failure(&reports[0].1);
    assert_eq!(class, FailureClass::Workspace);
    assert!(message.contains("prepare") && message.contains("a test asked for it"), "{message}");
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_a_workspace_is_captured_keeps_it() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_once_at("capture");
    let (reports, totals) =
        run(&mut engine, vec![task("bad", "yield"), task("good", "yield")]).await;
    assert_eq!((totals.done, totals.failed), (1, 1));
    let (class, message) = failure(&reports[0].1);
    assert_eq!(class, FailureClass::Workspace);
    assert!(message.contains("its workspace is kept at /workspaces/bad/tree"), "{message}");
    assert_eq!((engine.repository.made(), engine.repository.leaked()), (2, 1));
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_a_workspace_is_removed_costs_its_task_nothing() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_at("discard");
    let (_, totals) = run(&mut engine, vec![task("one", "yield")]).await;
    assert_eq!((totals.done, totals.landed), (1, 1));
    assert_eq!(engine.repository.leaked(), 1, "it is left for the next start");
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_the_tree_is_frozen_refuses_the_run_and_leaves_nothing_of_it() {
    let engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_at("freeze");
    let refused = within(engine.try_submit(engine.spec(vec![task("one", "yield")]))).await;
    assert!(matches!(refused, Err(SubmitError::Isolation(_))), "{refused:?}");
    let entries = engine.ledger.entries();
    assert!(matches!(entries[..], [LedgerEntry::RunWithdrawn { .. }]), "{entries:?}");
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_work_lands_is_told_of_every_task_and_the_next_landing_begins() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_once_at("land");
    let (_, totals) = run(&mut engine, vec![task("one", "yield")]).await;
    assert_eq!((totals.done, totals.landed, totals.kept), (1, 0, 1));
    let landed = engine.ledger.entries().into_iter().find_map(|entry| match entry {
        LedgerEntry::LandingFinished { report, .. } => Some(report.tasks[0].landed.clone()),
        _ => None,
    });
    assert!(matches!(landed, Some(Landed::Unwritten { .. })), "{landed:?}");
    let (_, totals) = run(&mut engine, vec![task("two", "yield")]).await;
    assert_eq!((totals.done, totals.landed), (1, 1));
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_a_run_ends_its_use_of_the_repository_does_not_keep_it_from_ending() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_at("close");
    let (_, totals) = run(&mut engine, vec![task("one", "yield")]).await;
    assert_eq!((totals.done, totals.landed), (1, 1));
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_the_work_of_a_task_that_crashed_is_taken_back_keeps_its_workspace() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.panic_at("capture");
    let mut crashing = task("crashing", "yield 1");
    crashing.schema = Some(Box::new(json!({ "required": "panic" })));
    let (reports, totals) = run(&mut engine, vec![crashing]).await;
    assert_eq!(failure(&reports[0].1).0, FailureClass::Crashed);
    assert_eq!((totals.failed, engine.repository.leaked()), (1, 1));
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_a_run_is_opened_refuses_it_and_the_next_run_is_accepted() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut one = task("one", "yield");
    one.schema = Some(Box::new(json!({ "panic": true })));
    let refused = within(engine.try_submit(engine.spec(vec![one]))).await;
    assert!(matches!(refused, Err(SubmitError::Crashed(_))), "{refused:?}");
    assert_eq!(engine.ledger.entries(), []);
    let (_, totals) = run(&mut engine, vec![task("two", "yield")]).await;
    assert_eq!((totals.done, totals.landed), (1, 1));
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_panic_while_the_ledger_writes_ends_the_engine_and_what_ran_is_captured() {
    let mut engine = TestEngine::with_concurrency(3).await;
    let tasks = vec![task("one", "sleep"), task("two", "sleep")];
    engine.submit(engine.spec(tasks)).await;
    while engine.commands.running() < 2 {
        within(engine.next()).await;
    }
    engine.ledger.failpoints.panic_at("append");
    engine.submit(engine.spec(vec![task("three", "yield")])).await;
    let fell = within(engine.engine.failed()).await;
    let said = &fell.message;
    assert!(said.contains("ledger") && said.contains("a test asked for it"), "{said}");
    assert_eq!(fell.class, FailureClass::Crashed);
    let repository = engine.repository.clone();
    assert_eq!(within(engine.engine.close()).await, Some(fell));
    assert_eq!((repository.captured().len(), repository.leaked()), (2, 0));
}

#[test(start_paused = true)]
async fn a_panic_while_the_ledger_names_a_run_refuses_it_and_ends_the_engine() {
    let engine = TestEngine::with_concurrency(1).await;
    engine.ledger.failpoints.panic_at("open_run");
    let refused = within(engine.try_submit(engine.spec(vec![task("one", "yield")]))).await;
    assert!(refused.is_err(), "{refused:?}");
    let fell = within(engine.engine.close()).await.expect("the ledger fell");
    let said = fell.message;
    assert!(said.contains("ledger") && said.contains("a test asked for it"), "{said}");
}

#[test(start_paused = true)]
async fn an_engine_that_fell_answers_whoever_asks_it() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let it = within(TestSession::open(&engine, Path::new("/sessions/one.jsonl"))).await;
    engine.ledger.failpoints.panic_at("append");
    engine.submit(engine.spec(vec![task("one", "yield")])).await;
    while within(engine.events.recv()).await.is_some() {}

    let refused = within(engine.try_submit(engine.spec(vec![task("two", "yield")]))).await;
    assert!(matches!(refused, Err(SubmitError::Closing)), "{refused:?}");
    let opened = within(TestSession::try_open(&engine, Path::new("/sessions/two.jsonl"))).await;
    assert!(matches!(opened, Err(OpenSessionError::Closing)));
    let controls = engine.engine.controls(RunId::generate());
    let answered = controls.answer(QuestionId::generate(), "yes".to_owned());
    assert_eq!(within(answered).await, Err(AnswerError::Closed));
    assert!(within(engine.engine.listen()).await.recv().await.is_none());
    let model = it.session.set_model("fake/other".parse().expect("it is a route"));
    assert_eq!(within(model).await.map_err(|failure| failure.class), Err(FailureClass::Crashed));
    within(it.session.close()).await;
    let fell = within(engine.engine.close()).await.expect("the ledger fell");
    assert!(fell.message.contains("the ledger"), "{fell:?}");
}

#[test(start_paused = true)]
async fn a_panic_of_what_runs_a_command_or_a_tool_ends_no_other_task() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let tool = tests::fakes::agent("tool", "call boom; yield 1");
    let tasks = vec![task("bad", "panic oh"), tool, task("good", "yield")];
    let (reports, totals) = run(&mut engine, tasks).await;
    assert_eq!((totals.done, totals.failed), (2, 1));
    let bad = reports.iter().find(|(name, _)| name.as_str() == "bad").expect("it has ended");
    assert_eq!(failure(&bad.1).0, FailureClass::Crashed);
    assert_eq!(engine.repository.leaked(), 0);
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_task_that_crashed_is_reported_and_its_work_captured() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut crashing = task("crashing", "yield 1");
    crashing.schema = Some(Box::new(json!({ "required": "panic" })));
    engine.submit(engine.spec(vec![crashing, task("good", "yield")])).await;
    let captured = within(engine.find(|event| match event {
        EventKind::TaskCaptured { task, .. } if task.as_str() == "crashing" => Some(()),
        EventKind::RunFinished { .. } => panic!("its work is lost"),
        _ => None,
    }));
    captured.await;
    assert_eq!(engine.repository.captured().len(), 2);
    assert_eq!(engine.repository.leaked(), 0);
    assert_eq!(within(engine.engine.close()).await, None);
}
