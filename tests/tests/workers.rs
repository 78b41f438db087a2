//! What does the work of a task: what a session reports, and the conversation of a user, on fakes.
//!
//! The clock is paused: it jumps to the next deadline as soon as nothing else can go on.

use std::time::Duration;

use protocol::{
    Conversation, EventKind, FailureClass, Outcome, Phase, TaskId, TaskReport, TaskSpec, Work,
};
use serde_json::json;
use tests::fakes::{TestEngine, agent, task};

fn failure(report: &TaskReport) -> (FailureClass, &str) {
    match &report.outcome {
        Outcome::Failed { failure } => (failure.class, &failure.message),
        other => panic!("{other:?}"),
    }
}

#[test(start_paused = true)]
async fn what_a_session_says_in_pieces_is_no_event_of_its_run() {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.submit(engine.spec(vec![agent("one", "stream 100; call read; yield 1")])).await;
    let mut types = Vec::new();
    engine
        .find(|event| match event {
            EventKind::SessionEvent { event, .. } => {
                let event = serde_json::to_value(event).expect("an event is JSON");
                types.push(event["type"].as_str().unwrap_or_default().to_owned());
                None
            }
            EventKind::TaskFinished { .. } => Some(()),
            _ => None,
        })
        .await;
    let turn = |calls: usize| {
        let tools = ["tool_execution_start", "tool_execution_end"].repeat(calls);
        [&["turn_start", "message_end"], tools.as_slice(), &["turn_end"]].concat()
    };
    assert_eq!(types, [turn(0), turn(1), turn(1)].concat());
}

#[test(start_paused = true)]
async fn a_conversation_takes_no_permit_and_has_no_limit_of_time_and_its_end_is_a_capture() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let work = Work::Conversation(Conversation { log: "/session.jsonl".into() });
    let mut talk = TaskSpec { work, ..task("talk", "") };
    talk.limits.wall = Duration::from_secs(60);
    let (id, run) = (talk.id, engine.spec(vec![talk]));
    let run = engine.submit(run).await;
    let works = |event: &EventKind| match event {
        EventKind::TaskProgress { task, phase: Phase::Working, .. } if task.as_str() == "talk" => {
            Some(())
        }
        _ => None,
    };
    engine.find(works).await;
    assert!(
        engine.engine.controls(run.id).checkpoint(TaskId::generate()).await.is_err(),
        "no such task"
    );
    let checkpoint = engine.engine.controls(run.id).checkpoint(id).await.expect("it works");
    assert!(checkpoint.is_some());
    // The only permit is free for others, however long they take.
    let mut slow = task("slow", "sleep");
    slow.limits.wall = Duration::from_secs(90);
    engine.submit(engine.spec(vec![slow])).await;
    let ended = |name: &'static str| {
        move |event: &EventKind| match event {
            EventKind::TaskFinished { task, report } if task.as_str() == name => {
                Some(report.clone())
            }
            EventKind::TaskFinished { task, .. } => panic!("{task} has ended"),
            _ => None,
        }
    };
    let slow = engine.find(ended("slow")).await;
    assert_eq!(failure(&slow).0, FailureClass::Timeout);
    engine.engine.controls(run.id).end_conversation(id);
    let report = engine.find(ended("talk")).await;
    assert_eq!(report.outcome, Outcome::Done { value: json!(null) });
    assert!(report.captured.is_some());
    assert_eq!(report.usage, None, "its session counts it");
    assert!(engine.engine.controls(run.id).checkpoint(id).await.is_err(), "it has ended");
    assert_eq!(engine.engine.close().await, None);
    assert_eq!(engine.repository.leaked(), 0);
}
