//! Sessions of models on fakes: what the contract, the tools and a crash make of them.

use std::time::Duration;

use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{
    EventKind, FailureClass, Message, Outcome, Part, ReachedLimit, SessionEntry, SessionEvent,
    TaskReport, Work,
};
use serde_json::json;
use tests::fakes::{TestEngine, agent, is_forced};

fn failure(report: &TaskReport) -> (FailureClass, &str) {
    match &report.outcome {
        Outcome::Failed { failure } => (failure.class, &failure.message),
        other => panic!("{other:?}"),
    }
}

fn value(report: &TaskReport) -> &serde_json::Value {
    match &report.outcome {
        Outcome::Done { value } => value,
        other => panic!("{other:?}"),
    }
}

/// Returns the messages of a log as one word each.
fn words(entries: &[SessionEntry]) -> Vec<String> {
    let said = |message: &Message| match message {
        Message::User(said) => format!("user: {}", said.text()),
        Message::Assistant(answer) => {
            let parts = answer.content.iter().map(|part| match part {
                Part::Text { text, .. } | Part::Thinking { thinking: text, .. } => text.clone(),
                Part::RedactedThinking { data } => data.clone(),
                Part::ServerTool { block } => format!("{block:?}"),
                Part::ToolCall(call) => format!("{}()", call.name),
            });
            format!("model: {}", parts.collect::<Vec<_>>().join(" "))
        }
        Message::ToolResult(result) => format!("{}: {}", result.tool_name, result.text()),
    };
    let words = entries.iter().map(|entry| match entry {
        SessionEntry::SessionInit { .. } => "init".to_owned(),
        SessionEntry::ModelChange { model, .. } => format!("model is {model}"),
        entry => said(entry.model_message().expect("nothing else is in it")),
    });
    words.collect()
}

#[test(flavor = "multi_thread")]
async fn a_model_that_calls_and_yields_is_done_and_its_log_tells_all_of_it() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let script = r#"call read read; yield {"a":1}"#;
    let (reports, totals) = engine.run(vec![agent("one", script)]).await;
    let report = &reports[0].1;
    assert_eq!(value(report), &json!({ "a": 1 }));
    assert_eq!(report.usage.map(|usage| usage.tokens()), Some(22));
    assert_eq!(totals.usage.map(|usage| usage.tokens()), Some(22));
    assert_eq!(totals.landed, 1);
    let said = words(&engine.logs.of("one"));
    let expected = [
        "init",
        "model is fake/m",
        &format!("user: {script}"),
        "model: read() read()",
        "read: text",
        "read: text",
        "model: yield()",
        "yield: received",
    ];
    assert_eq!(said, expected);
    assert_eq!(engine.repository.leaked(), 0);
}

#[test(flavor = "multi_thread")]
async fn a_model_that_does_not_yield_is_reminded_three_times_and_the_last_leaves_no_choice() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let spec = engine.spec(vec![agent("silent", "say a; say b; say c; say d; yield 1")]);
    engine.submit(spec).await;
    let mut complaints = Vec::new();
    let report = engine
        .find(|event| match event {
            EventKind::ContractReminded { complaint, .. } => {
                complaints.push(complaint.clone());
                None
            }
            EventKind::TaskFinished { report, .. } => Some(report.clone()),
            _ => None,
        })
        .await;
    assert_eq!(complaints, ["it ended without a yield"; 3]);
    let (class, message) = failure(&report);
    assert_eq!(class, FailureClass::Contract);
    assert!(message.contains("reminded 3 times"), "{message}");
    assert!(report.captured.is_some(), "what it did is kept");
    let forced: Vec<_> = engine.models.requests().iter().map(is_forced).collect();
    assert_eq!(forced, [false, false, false, true]);
}

#[test(flavor = "multi_thread")]
async fn a_yield_against_the_schema_can_be_repaired() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut task = agent("late", r#"yield {"b":1}; yield null; yield {"a":1}"#);
    task.schema = Some(Box::new(json!({ "required": "a" })));
    let (reports, _) = engine.run(vec![task]).await;
    assert_eq!(value(&reports[0].1), &json!({ "a": 1 }));
    let said = words(&engine.logs.of("late")).join("\n");
    assert!(
        said.contains("Reminder 1 of 3: what it yielded does not match the schema: /a"),
        "{said}"
    );
    assert!(said.contains("Reminder 2 of 3: it yielded null"), "{said}");
}

#[test(flavor = "multi_thread")]
async fn a_result_that_nobody_could_read_is_asked_for_again() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let script = format!("yield \"{}\"; yield \"short\"", "x".repeat(500_000));
    let (reports, _) = engine.run(vec![agent("verbose", &script)]).await;
    assert_eq!(value(&reports[0].1), &json!("short"));
    let said = words(&engine.logs.of("verbose")).join("\n");
    assert!(said.contains("what it yielded is longer than 500000 bytes as JSON"));
}

#[test(flavor = "multi_thread")]
async fn one_that_says_it_cannot_has_given_up_and_is_not_reminded() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (reports, _) = engine.run(vec![agent("honest", "give-up no network")]).await;
    assert_eq!(failure(&reports[0].1), (FailureClass::GaveUp, "no network"));
    assert_eq!(engine.models.requests().len(), 1);
}

#[test(flavor = "multi_thread")]
async fn a_tool_that_panics_has_failed_and_its_task_goes_on() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (reports, totals) = engine.run(vec![agent("brave", "call boom read; yield 1")]).await;
    assert_eq!((value(&reports[0].1), totals.landed), (&json!(1), 1));
    let said = words(&engine.logs.of("brave"));
    assert!(said[4].starts_with("boom: the tool `boom` crashed: boom."), "{said:?}");
    assert_eq!(said[5], "read: text");
}

#[test(flavor = "multi_thread")]
async fn a_crashed_session_goes_on_from_its_log() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (reports, _) = engine.run(vec![agent("phoenix", "call read; crash-once")]).await;
    assert_eq!(value(&reports[0].1), &json!({ "after": 1 }));
    assert_eq!(reports[0].1.usage.map(|usage| usage.tokens()), Some(22));
    let requests = engine.models.requests();
    let sessions: std::collections::BTreeSet<_> =
        requests.iter().map(|request| request.session).collect();
    assert_eq!((requests.len(), sessions.len()), (3, 1), "it is the same session");
    let lengths: Vec<_> = requests.iter().map(|request| request.messages.len()).collect();
    assert_eq!(lengths, [1, 3, 3], "nothing was said twice");
    assert_eq!(words(&engine.logs.of("phoenix")).iter().filter(|said| *said == "init").count(), 1);
}

#[test(flavor = "multi_thread")]
async fn a_session_that_keeps_crashing_fails_only_its_own_task() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let tasks = vec![agent("doomed", "crash"), agent("fine", "yield 1")];
    let (mut reports, totals) = engine.run(tasks).await;
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    let (class, message) = failure(&reports[0].1);
    assert_eq!((class, message), (FailureClass::Crashed, "the fake provider crashed"));
    assert!(reports[0].1.captured.is_some());
    assert_eq!(value(&reports[1].1), &json!(1));
    assert_eq!((totals.done, totals.failed), (1, 1));
    assert_eq!(engine.models.requests().len(), 1 + 1 + 3, "three restarts and no more");
}

#[test(flavor = "multi_thread")]
async fn what_the_provider_cannot_answer_fails_its_task_with_its_class() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (reports, _) = engine.run(vec![agent("unknown", "call read; fail")]).await;
    assert_eq!(failure(&reports[0].1), (FailureClass::Invalid, "no such model"));
    assert!(reports[0].1.captured.is_some());
    assert_eq!(words(&engine.logs.of("unknown")).last().unwrap(), "model: ");
}

#[test(flavor = "multi_thread")]
async fn a_circle_of_the_same_failing_call_is_poison() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let script = ["call bad"; 9].join(";");
    let (reports, _) = engine.run(vec![agent("mule", &script)]).await;
    assert_eq!(failure(&reports[0].1).0, FailureClass::Poison);
    assert_eq!(engine.models.requests().len(), 5);
}

#[test(flavor = "multi_thread")]
async fn at_the_turn_limit_a_model_is_asked_to_yield_once_and_a_task_that_is_done_there_says_so() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let limited = |name: &str, words: &str| {
        let mut task = agent(name, words);
        task.limits.turns = std::num::NonZeroU32::new(2).unwrap();
        task
    };
    let tasks = vec![
        limited("obeys", "call read; call read; yield 1"),
        limited("loops", "call read; call read; call read; call read"),
        limited("sparing", "yield 1"),
        limited("wholly", "call read; yield 1"),
    ];
    let (mut reports, _) = engine.run(tasks).await;
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    let (class, message) = failure(&reports[0].1);
    assert_eq!(class, FailureClass::Budget);
    assert!(message.starts_with("turns 3 of 2: "), "{message}");
    let reached = |used| Some(ReachedLimit::Turns { used, most: 2 });
    let limits = [None, reached(3), None, reached(2)];
    for ((name, report), limit) in reports.iter().zip(limits) {
        assert_eq!(report.reached_limit, limit, "{name}");
    }
    assert_eq!(value(&reports[1].1), &json!(1));
    let said = words(&engine.logs.of("loops"));
    assert!(said.last().unwrap().contains("only `yield` can be called"), "{said:?}");
    assert_eq!(said.iter().filter(|said| said.contains("You have reached")).count(), 1);
}

#[test(flavor = "multi_thread")]
async fn a_model_that_never_answers_can_be_cancelled_and_runs_into_its_wall_clock() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let mut late = agent("late", "call read; hang");
    late.limits.wall = Duration::from_millis(200);
    let (reports, _) = engine.run(vec![late]).await;
    assert_eq!(failure(&reports[0].1).0, FailureClass::Timeout);
    assert!(reports[0].1.captured.is_some());

    let spec = engine.spec(vec![agent("stuck", "call read; hang")]);
    let run = engine.submit(spec).await;
    engine
        .find(|event| match event {
            EventKind::SessionEvent { event: SessionEvent::TurnStart { turn: 2 }, .. } => Some(()),
            _ => None,
        })
        .await;
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let (reports, totals) = engine.until_the_end().await;
    assert_eq!(reports[0].1.outcome, Outcome::Cancelled);
    assert_eq!((totals.cancelled, totals.landed), (1, 0));
    assert_eq!(engine.repository.leaked(), 0);
}

#[test(flavor = "multi_thread")]
async fn nothing_writes_into_a_workspace_while_it_is_captured() {
    let mut engine = TestEngine::with_concurrency(1).await;
    // What one tool says cannot be logged, while the other still runs.
    let (reports, _) = engine.run(vec![agent("cut", "call lost cling")]).await;
    assert_eq!(failure(&reports[0].1).0, FailureClass::Resources);
    assert!(reports[0].1.captured.is_some());
    assert_eq!((engine.repository.busiest(), engine.tools.running()), (0, 0));
}

#[test(flavor = "multi_thread")]
async fn a_crashed_session_is_started_again_when_nothing_of_it_runs_any_more() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (reports, _) = engine.run(vec![agent("phoenix", "call fatal cling; yield 1")]).await;
    assert_eq!(value(&reports[0].1), &json!(1));
    assert_eq!((engine.models.requests().len(), engine.models.busiest()), (2, 0));
    let said = words(&engine.logs.of("phoenix"));
    let interrupted = |tool: &str| format!("{tool}: interrupted: ");
    assert!(said[4].starts_with(&interrupted("fatal")), "{said:?}");
    assert!(said[5].starts_with(&interrupted("cling")), "{said:?}");
}

#[test(flavor = "multi_thread")]
async fn what_a_model_has_called_gets_its_grace_when_it_is_cancelled() {
    let mut engine = TestEngine::with_patience(1).await;
    let run = engine.submit(engine.spec(vec![agent("orderly", "call tidy")])).await;
    while engine.tools.running() == 0 {
        tokio::task::yield_now().await;
    }
    engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let (reports, _) = engine.until_the_end().await;
    assert_eq!(reports[0].1.outcome, Outcome::Cancelled);
    assert_eq!((engine.tools.tidied(), engine.repository.busiest()), (1, 0));
}

#[test(flavor = "multi_thread")]
async fn a_session_is_given_what_its_task_says() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut task = agent("informed", "give-up because");
    let Work::Agent(model) = &mut task.work else { panic!("it is an agent's") };
    model.context = Some("All of it is Rust.".to_owned());
    task.schema = Some(Box::new(json!({ "required": "a" })));
    task.limits.output = 4321;
    engine.run(vec![task.clone()]).await;
    let env = engine.tools.envs().remove(0);
    assert_eq!((env.schema.as_ref(), env.keep), (task.schema.as_deref(), 4321));
    let root = std::path::Path::new(&env.environment["REGATTA_WORKSPACE"]);
    assert!(root.ends_with("informed/tree"), "{root:?}");
    assert_eq!(env.environment["REGATTA_TASK"], "informed");
    let request = engine.models.requests().remove(0);
    let Message::User(said) = &*request.messages[0] else { panic!("{:?}", request.messages) };
    assert_eq!(said.text(), "give-up because");
    assert!(request.system.ends_with("<context>\nAll of it is Rust.\n</context>"));
}
