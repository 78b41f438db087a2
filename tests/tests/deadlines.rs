//! Every wait that can be long has a deadline, and says what it gave up.
//!
//! The clock is paused: it jumps to the next deadline as soon as nothing else can go on.

use std::time::Duration;

use actors::Engine;
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{Failure, FailureClass, Outcome, TaskReport, TaskSpec};
use tests::fakes::{TestEngine, agent, task};

/// Waits for `what`, for as long as anybody may have to.
async fn within<T>(what: impl Future<Output = T>) -> T {
    let hours = Duration::from_secs(10 * 3600);
    tokio::time::timeout(hours, what).await.expect("nobody waits for ever")
}

/// Runs a task to its end and returns its report. Its workspace must be kept, as it is.
async fn kept(engine: &mut TestEngine, stuck: TaskSpec) -> TaskReport {
    let place = format!("its workspace is kept at /workspaces/{}/tree", stuck.name);
    engine.submit(engine.spec(vec![stuck])).await;
    let (mut reports, totals) = within(engine.until_the_end()).await;
    let report = reports.remove(0).1;
    assert_eq!((totals.failed, totals.landed, totals.kept), (1, 0, 0));
    assert_eq!(engine.repository.captured().len(), 0, "a writer may still be at work");
    assert_eq!((engine.repository.made(), engine.repository.leaked()), (1, 1));
    assert_eq!(engine.repository.closed(), 0, "no other engine may capture it while we live");
    let message = failure(&report).1;
    assert!(message.contains("did not stop within 30 s") && message.contains(&place), "{message}");
    report
}

fn failure(report: &TaskReport) -> (FailureClass, String) {
    match &report.outcome {
        Outcome::Failed { failure } => (failure.class, failure.message.clone()),
        other => panic!("{other:?}"),
    }
}

async fn close(engine: Engine) -> Option<Failure> {
    within(engine.close()).await
}

#[test(start_paused = true)]
async fn a_tool_or_a_command_that_nothing_ends_holds_its_task_no_longer_and_its_workspace_is_kept()
{
    for mut stuck in [agent("stuck", "call stuck; yield 1"), task("stuck", "stuck")] {
        let mut engine = TestEngine::with_concurrency(1).await;
        stuck.limits.wall = Duration::from_secs(60);
        let report = kept(&mut engine, stuck).await;
        assert_eq!(failure(&report).0, FailureClass::Timeout);
        let (_, totals) = within(engine.run(vec![task("next", "yield")])).await;
        assert_eq!(totals.landed, 1);
        assert_eq!(close(engine.engine).await, None);
    }
}

#[test(start_paused = true)]
async fn a_cancelled_task_whose_tool_nothing_ends_says_that_its_workspace_is_kept() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let run = engine.submit(engine.spec(vec![agent("stuck", "call stuck; yield 1")])).await;
    while engine.tools.running() == 0 {
        within(engine.next()).await;
    }
    engine.engine.controls(run.id).cancel(CancelLevel::AtOnce, Interruption::Interrupt);
    let (reports, _) = within(engine.until_the_end()).await;
    let (class, message) = failure(&reports[0].1);
    assert_eq!(class, FailureClass::Workspace);
    assert!(message.contains("kept at /workspaces/stuck/tree"), "{message}");
    assert_eq!(engine.repository.leaked(), 1);
    assert_eq!(close(engine.engine).await, None);
}

#[test(start_paused = true)]
async fn a_crashed_session_whose_tool_nothing_ends_is_not_started_again() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let report = kept(&mut engine, agent("stuck", "call fatal stuck; yield 1")).await;
    assert_eq!(failure(&report).0, FailureClass::Crashed);
    assert_eq!(engine.models.requests().len(), 1);
    assert_eq!(close(engine.engine).await, None);
}

#[test(start_paused = true)]
async fn closing_gives_up_what_does_not_end_and_says_what() {
    for step in ["prepare", "capture", "discard", "land", "close"] {
        let mut engine = TestEngine::with_concurrency(1).await;
        engine.repository.failpoints.block_at(step);
        engine.submit(engine.spec(vec![task("one", "yield")])).await;
        within(engine.repository.failpoints.until_blocked()).await;
        let gave_up = close(engine.engine).await.unwrap_or_else(|| panic!("{step} is told"));
        assert!(gave_up.message.contains("gave up waiting for"), "{step}: {gave_up:?}");
        assert!(gave_up.message.contains("the runs"), "{step}: {gave_up:?}");
        // It had been at work for as long as it was waited for: its events come first.
        while let Some(_event) = within(engine.events.recv()).await {}
    }
}

#[test(start_paused = true)]
async fn a_ledger_that_does_not_answer_falls_and_the_engine_with_it() {
    let mut engine = TestEngine::with_concurrency(2).await;
    engine.submit(engine.spec(vec![task("one", "sleep")])).await;
    while engine.commands.running() == 0 {
        within(engine.next()).await;
    }
    engine.ledger.failpoints.block_at("append");
    engine.submit(engine.spec(vec![task("two", "yield")])).await;
    let fell = within(engine.engine.failed()).await;
    let said = "cannot write the ledger within 120 s";
    assert!(fell.message.contains(said) && fell.class == FailureClass::Resources, "{fell:?}");
    let repository = engine.repository.clone();
    assert_eq!(close(engine.engine).await, Some(fell));
    assert_eq!((repository.captured().len(), repository.leaked()), (1, 0));
}
