//! What does the work of a task, whatever it is: the agent of another program, on fakes.
//!
//! The clock is paused: it jumps to the next deadline as soon as nothing else can go on.

use std::time::Duration;

use protocol::{
    Conversation, EventKind, FailureClass, Outcome, Phase, TaskId, TaskReport, TaskSpec, Work,
};
use serde_json::json;
use tests::fakes::{TestEngine, agent, external, task};

fn failure(report: &TaskReport) -> (FailureClass, &str) {
    match &report.outcome {
        Outcome::Failed { failure } => (failure.class, &failure.message),
        other => panic!("{other:?}"),
    }
}

#[test(start_paused = true)]
async fn another_program_edits_reports_is_reminded_and_yields() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let words = "say reads; use 100; edit a.rs; silent; edit b.rs; use 20; {\"a\":1}";
    let mut spec = external("other", words);
    spec.schema = Some(Box::new(json!({ "required": "a" })));
    engine.submit(engine.spec(vec![spec])).await;
    let (mut lines, mut degraded, mut complaints) = (Vec::new(), Vec::new(), Vec::new());
    let report = engine
        .find(|event| match event {
            EventKind::TaskProgress { line, .. } => {
                lines.extend(line.clone());
                None
            }
            EventKind::Degraded { to, .. } => {
                degraded.push(to.clone());
                None
            }
            EventKind::ContractReminded { complaint, .. } => {
                complaints.push(complaint.clone());
                None
            }
            EventKind::TaskFinished { report, .. } => Some(report.clone()),
            _ => None,
        })
        .await;
    assert_eq!(report.outcome, Outcome::Done { value: json!({ "a": 1 }) });
    assert_eq!(report.usage.map(|usage| usage.tokens()), Some(120));
    assert!(report.captured.is_some());
    assert_eq!(degraded, ["requests of `other` itself"]);
    assert_eq!(complaints, ["it said nothing"]);
    assert!(lines.contains(&"reads".to_owned()), "{lines:?}");
    let edited = engine.external.edited();
    let names: Vec<_> = edited.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["a.rs", "b.rs"]);
    assert!(edited[0].starts_with("/workspaces/other/tree"), "{edited:?}");
    assert_eq!((engine.external.reminders().len(), engine.external.opened()), (1, 1));
    assert_eq!(engine.repository.leaked(), 0);
}

#[test(start_paused = true)]
async fn another_program_that_ignores_a_stop_is_dropped_when_its_time_is_over() {
    for (words, what) in [("say hm; wait", "it stops"), ("say hm; deaf", "it is dropped")] {
        let mut engine = TestEngine::with_concurrency(1).await;
        let mut spec = external("slow", words);
        spec.limits.wall = Duration::from_secs(60);
        let (reports, _) = engine.run(vec![spec]).await;
        assert_eq!(failure(&reports[0].1).0, FailureClass::Timeout, "{what}");
        assert!(reports[0].1.captured.is_some(), "{what}");
        assert_eq!(engine.repository.leaked(), 0, "{what}");
        assert_eq!(engine.engine.close().await, None, "{what}");
    }
}

#[test(start_paused = true)]
async fn a_panic_of_what_drives_another_program_fails_its_task_and_no_other() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let tasks = vec![external("bad", "edit a.rs; panic"), task("good", "yield")];
    let (mut reports, totals) = engine.run(tasks).await;
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    let (class, message) = failure(&reports[0].1);
    assert_eq!((class, message), (FailureClass::Crashed, "the other program's adapter crashed"));
    assert!(reports[0].1.captured.is_some(), "what it did is kept");
    assert_eq!((totals.done, totals.failed, engine.external.opened()), (1, 1, 1));
    assert_eq!(engine.engine.close().await, None);
}

#[test(start_paused = true)]
async fn a_program_that_is_not_known_fails_its_task() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut spec = external("lost", "1");
    let Work::External(program) = &mut spec.work else { panic!("it is another program's") };
    program.program = "unknown".to_owned();
    let (reports, _) = engine.run(vec![spec]).await;
    assert_eq!(failure(&reports[0].1), (FailureClass::Invalid, "no such program"));
    assert_eq!(engine.repository.leaked(), 0);
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
    assert!(engine.engine.checkpoint(run.id, TaskId::generate()).await.is_err(), "no such task");
    let checkpoint = engine.engine.checkpoint(run.id, id).await.expect("it works");
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
    engine.engine.end_conversation(run.id, id);
    let report = engine.find(ended("talk")).await;
    assert_eq!(report.outcome, Outcome::Done { value: json!(null) });
    assert!(report.captured.is_some());
    assert!(engine.engine.checkpoint(run.id, id).await.is_err(), "it has ended");
    assert_eq!(engine.engine.close().await, None);
    assert_eq!(engine.repository.leaked(), 0);
}
