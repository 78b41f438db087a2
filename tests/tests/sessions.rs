//! Sessions that no task uses, on fakes: inputs, aborts, crashes and their logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::{OpenSessionError, SessionSpec};
use engine::ports::CancelLevel;
use protocol::SessionMessage::Model;
use protocol::{
    AgentEnd, EventScope, FailureClass, InputId, Message, SessionEntry, SessionEvent, StopReason,
    UserInput,
};
use tests::fakes::{TestEngine, TestSession, input, session, session_tools, silent};

fn log() -> PathBuf {
    PathBuf::from("/sessions/one.jsonl")
}

async fn open(engine: &TestEngine) -> TestSession {
    TestSession::open(engine, &log()).await
}

/// Returns the messages of the log, a line for each.
fn said(engine: &TestEngine) -> Vec<String> {
    let line = |entry: &SessionEntry| match entry {
        SessionEntry::SessionInit { .. } => "init".to_owned(),
        SessionEntry::ModelChange { model, .. } => format!("model is {model}"),
        SessionEntry::Message { message: Model(Message::User(said)), input_id } => {
            assert!(input_id.is_some(), "{said:?}");
            format!("user: {}", said.text())
        }
        SessionEntry::Message { message: Model(Message::Assistant(answer)), .. } => {
            let calls: Vec<_> = answer.calls().map(|call| format!("{}()", call.name)).collect();
            let aborted = answer.stop_reason == StopReason::Aborted;
            let how = if aborted { " (aborted)" } else { "" };
            format!("model: {}{}{how}", answer.text(), calls.join(" "))
        }
        SessionEntry::Message { message: Model(Message::ToolResult(result)), .. } => {
            format!("{}: {}", result.tool_name, result.text())
        }
        other => panic!("{other:?}"),
    };
    let entries = engine.logs.at(&log()).into_iter();
    let entries = entries.filter(|it| !matches!(it, SessionEntry::ThinkingLevelChange { .. }));
    entries.map(|entry| line(&entry)).collect()
}

/// Returns what the model was told that users said, for each request.
fn asked(engine: &TestEngine) -> Vec<Vec<String>> {
    let said = |message: &Arc<Message>| match &**message {
        Message::User(said) => Some(said.text()),
        Message::Assistant(_) | Message::ToolResult(_) => None,
    };
    let requests = engine.models.requests();
    requests.iter().map(|request| request.messages.iter().filter_map(said).collect()).collect()
}

fn requests(engine: &TestEngine) -> Vec<usize> {
    engine.models.requests().iter().map(|request| request.messages.len()).collect()
}

#[test(flavor = "multi_thread")]
async fn a_session_is_prompted_steered_followed_up_aborted_and_prompted_again_without_a_task() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let script = "call wait; say one; say two; hang-once half a; say four";
    it.session.prompt(input(script));
    engine.tools.until_busy().await;
    it.session.follow_up(input("and then"));
    it.session.steer(input("look left"));
    it.settle().await;
    engine.tools.release();
    assert_eq!(it.end().await, silent());

    it.session.prompt(input("more"));
    it.until_said("half a").await;
    let late = input("too late");
    it.session.follow_up(late.clone());
    it.session.abort(CancelLevel::Gently);
    let dropped = it.find(|event| match event {
        SessionEvent::InputDropped { input_id } => Some(*input_id),
        _ => None,
    });
    assert_eq!(dropped.await, late.id);
    assert_eq!(it.end().await, AgentEnd::Aborted);

    // The same words twice are two messages; the same input twice is one.
    let (one, other) = (input("again"), input("again"));
    for again in [&one, &other, &one] {
        it.session.prompt(again.clone());
    }
    assert_eq!((it.end().await, it.end().await), (silent(), silent()));
    let id = it.session.id();
    it.session.close().await;
    let expected = [
        "model is fake/m",
        &format!("user: {script}"),
        "model: wait()",
        "wait: waited",
        "model is fake/m",
        "user: look left",
        "model: one",
        "user: and then",
        "model: two",
        "user: more",
        "model: half a (aborted)",
        "user: again",
        "model: half a",
        "user: again",
        "model: four",
    ];
    assert_eq!(said(&engine), expected);
    // What was given up is not said to the model.
    assert_eq!(requests(&engine), [1, 4, 6, 8, 9, 11]);
    let mut heard = 0;
    while let Some(event) = engine.events.take() {
        assert_eq!(event.scope, Some(EventScope::Session(id)), "no run has begun");
        heard += 1;
    }
    assert!(heard > expected.len(), "{heard}");
    assert_eq!(engine.engine.close().await, None);
}

#[test(flavor = "multi_thread")]
async fn an_abort_stops_what_was_called_answers_it_and_keeps_the_conversation() {
    let engine = TestEngine::with_patience(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call read tidy; say fine"));
    it.find(|event| matches!(event, SessionEvent::ToolExecutionEnd { .. }).then_some(())).await;
    engine.tools.until_busy().await;
    it.session.abort(CancelLevel::Gently);
    assert_eq!(it.end().await, AgentEnd::Aborted);
    it.session.prompt(input("go on"));
    assert_eq!(it.end().await, silent());
    assert_eq!((engine.tools.running(), engine.tools.tidied()), (0, 1));
    assert_eq!(engine.models.busiest(), 0, "nothing of the old work runs beside the new");
    let said = said(&engine);
    assert_eq!(&said[3..4], ["read: text"]);
    assert!(said[4].starts_with("tidy: interrupted: the work was aborted"), "{said:?}");
    assert_eq!(&said[5..], ["user: go on", "model: fine"]);
}

#[test(flavor = "multi_thread")]
async fn a_tool_that_is_called_after_an_abort_runs() {
    let engine = TestEngine::with_patience(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call cling; call wait; say done"));
    engine.tools.until_busy().await;
    it.session.abort(CancelLevel::Gently);
    it.session.abort(CancelLevel::AtOnce);
    assert_eq!(it.end().await, AgentEnd::Aborted);
    it.session.prompt(input("go on"));
    it.find(|event| match event {
        SessionEvent::ToolExecutionStart { tool_name, .. } if tool_name == "wait" => Some(()),
        _ => None,
    })
    .await;
    assert_eq!(engine.models.busiest(), 0, "the old call has ended");
    engine.tools.until_busy().await;
    engine.tools.release();
    assert_eq!(it.end().await, silent());
    assert_eq!(said(&engine).last().map(String::as_str), Some("model: done"));
}

#[test(start_paused = true)]
async fn a_tool_that_nothing_ends_holds_up_an_abort_no_longer_than_its_deadline() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call stuck; say fine"));
    engine.tools.until_busy().await;
    it.session.abort(CancelLevel::Gently);
    assert_eq!(it.end().await, AgentEnd::Aborted);
    it.session.prompt(input("go on"));
    assert_eq!(it.end().await, silent());
    it.session.close().await;
    assert_eq!(engine.tools.running(), 0, "it is dropped with the session");
    assert_eq!(engine.engine.close().await, None);
}

#[test(flavor = "multi_thread")]
async fn another_model_answers_from_the_next_request_on_and_an_unknown_one_is_refused() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call wait; say done; crash-once"));
    engine.tools.until_busy().await;
    let refused = it.session.set_model("unknown/x".parse().expect("it is a route")).await;
    assert_eq!(refused.map_err(|failure| failure.class), Err(FailureClass::Invalid));
    let other = it.session.set_model("fake/other".parse().expect("it is a route")).await;
    assert_eq!(other, Ok(()));
    engine.tools.release();
    assert_eq!(it.end().await, silent());
    assert_eq!(said(&engine)[3..], ["wait: waited", "model is fake/other", "model: done"]);
    // A crash does not bring the first one back.
    it.session.prompt(input("go on"));
    assert!(matches!(it.end().await, AgentEnd::Yielded(_)));
    let changes = said(&engine).iter().filter(|line| line.starts_with("model is")).count();
    assert_eq!(changes, 2);
}

#[test(flavor = "multi_thread")]
async fn a_crashed_session_goes_on_from_its_log_and_says_nothing_twice() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call fatal cling; call read; say done; say later"));
    engine.tools.until_busy().await;
    let waiting = input("later");
    it.session.prompt(waiting.clone());
    it.session.prompt(waiting);
    it.find(|event| matches!(event, SessionEvent::SessionRestart { .. }).then_some(())).await;
    assert_eq!((it.end().await, it.end().await), (silent(), silent()));
    let said = said(&engine);
    assert!(said[3].starts_with("fatal: interrupted: the engine was restarted"), "{said:?}");
    assert!(said[4].starts_with("cling: interrupted: "), "{said:?}");
    let expected = ["model: read()", "read: text", "model: done", "user: later", "model: later"];
    assert_eq!(said[5..], expected);
    assert_eq!((requests(&engine), engine.models.busiest()), (vec![1, 4, 6, 8], 0));
    it.session.close().await;
}

#[test(flavor = "multi_thread")]
async fn the_same_words_twice_are_two_messages_and_the_same_input_twice_is_one() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let begin = input("call wait; say one; say two; say three");
    it.session.prompt(begin.clone());
    engine.tools.until_busy().await;
    let again = [input("again"), input("again"), input("again"), input("again")];
    for input in [&again[0], &again[1], &again[0], &begin] {
        it.session.steer(input.clone());
    }
    for input in [&again[2], &again[1], &again[2]] {
        it.session.follow_up(input.clone());
    }
    for input in [&again[3], &again[0], &again[3]] {
        it.session.prompt(input.clone());
    }
    it.settle().await;
    engine.tools.release();
    assert_eq!((it.end().await, it.end().await), (silent(), silent()));
    it.session.close().await;
    let inputs = engine.logs.at(&log());
    let inputs = inputs.iter().filter_map(|entry| match entry {
        SessionEntry::Message { input_id, .. } => *input_id,
        _other => None,
    });
    let said_in = [&begin, &again[0], &again[1], &again[2], &again[3]];
    assert_eq!(inputs.collect::<Vec<_>>(), said_in.map(|input| input.id));
    let expected = [&*begin.text, "again", "again", "again", "again"];
    assert_eq!(asked(&engine).pop().expect("the model was asked"), expected);
}

#[test(flavor = "multi_thread")]
async fn what_waits_when_a_session_crashes_is_said_once_and_what_was_said_is_not_said_again() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let script = "call wait; crash-once; say two; say three; say four";
    it.session.prompt(input(script));
    engine.tools.until_busy().await;
    let (steered, waiting) = (input("steered"), input("prompted"));
    it.session.prompt(waiting.clone());
    it.session.follow_up(input("followed up"));
    it.session.steer(steered.clone());
    it.settle().await;
    engine.tools.release(); // the request after that is the one that crashes
    it.find(|event| matches!(event, SessionEvent::SessionRestart { .. }).then_some(())).await;
    let late = input("late");
    for again in [&steered, &waiting, &late] {
        it.session.prompt(again.clone());
    }
    assert!(matches!(it.end().await, AgentEnd::Yielded(_)));
    let taken = |event: &SessionEvent| match event {
        SessionEvent::InputTaken { input_id } => (*input_id == late.id).then_some(()),
        _ => None,
    };
    it.find(taken).await;
    assert_eq!(it.end().await, silent());
    it.session.close().await;
    let expected = [script, "steered", "followed up", "prompted", "late"];
    let asked = asked(&engine);
    assert_eq!(asked[1], asked[2], "it goes on where it was");
    assert_eq!(asked.last().expect("the model was asked")[..], expected);
    let said = said(&engine);
    let said: Vec<_> = said.iter().filter_map(|line| line.strip_prefix("user: ")).collect();
    assert_eq!(said, expected);
}

#[test(start_paused = true)]
async fn an_abort_between_a_crash_and_the_next_start_ends_the_work_and_what_waits() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call fatal cling; say fine"));
    let late = input("too late");
    it.session.prompt(late.clone());
    // What the crashed session called needs a moment to end, which only passes when all wait.
    it.find(|event| matches!(event, SessionEvent::SessionRestart { .. }).then_some(())).await;
    it.session.abort(CancelLevel::Gently);
    assert_eq!(it.next().await, Some(SessionEvent::InputDropped { input_id: late.id }));
    assert_eq!(it.end().await, AgentEnd::Aborted);
    it.session.prompt(input("go on"));
    assert_eq!(it.end().await, silent());
    assert_eq!(said(&engine)[5..], ["user: go on", "model: fine"]);
    assert_eq!(requests(&engine), [1, 5]);
    assert_eq!(engine.engine.close().await, None);
}

#[test(flavor = "multi_thread")]
async fn a_session_that_keeps_crashing_ends_and_no_other_does() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let mut fine = TestSession::open(&engine, Path::new("/sessions/two.jsonl")).await;
    it.session.prompt(input("crash"));
    let AgentEnd::Failed(failure) = it.end().await else { panic!("it cannot go on") };
    assert_eq!(failure.class, FailureClass::Crashed);
    assert_eq!(failure.message, "the fake provider crashed");
    assert_eq!(it.next().await, None, "it is closed");
    assert_eq!(engine.models.requests().len(), 1 + 3, "three restarts and no more");
    fine.session.prompt(input("say fine"));
    assert_eq!(fine.end().await, silent());
    it.session.close().await;
    assert_eq!(engine.engine.close().await, None);
}

#[test(flavor = "multi_thread")]
async fn a_compaction_that_is_asked_for_ends_the_work_and_the_next_input_follows_the_summary() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input(&format!("say one; hang {}", "a ".repeat(100_000))));
    assert_eq!(it.end().await, silent());
    it.session.prompt(input(&"b ".repeat(50_000)));
    it.find(|event| matches!(event, SessionEvent::TurnStart { .. }).then_some(())).await;
    let compacted = it.session.compact(Some("Name the letters.".to_owned())).await.unwrap();
    assert_eq!(it.end().await, AgentEnd::Aborted);
    let entries = engine.logs.at(&log());
    let Some(SessionEntry::Compaction { first_kept_entry_id, .. }) = entries.last() else {
        panic!("{:?}", entries.last())
    };
    let kept = first_kept_entry_id.as_ref().map(|id| id.as_str().to_owned());
    assert_eq!(kept, Some(compacted.first_kept_entry_id));
    it.session.prompt(input("and c"));
    assert_eq!(it.end().await, silent());
    let asked = asked(&engine).pop().unwrap();
    assert!(asked[0].contains("<summary>"), "{}", asked[0].len());
    assert_eq!((asked.len(), asked[1].starts_with("b b"), asked[2].as_str()), (3, true, "and c"));
    let refused = it.session.compact(None).await.unwrap_err();
    assert!(refused.message.starts_with("there is nothing to sum up"), "{}", refused.message);
    it.session.close().await;
}

#[test(flavor = "multi_thread")]
async fn a_session_that_is_opened_again_knows_what_was_said() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let first = input("say one; say two");
    it.session.prompt(first.clone());
    assert_eq!(it.end().await, silent());
    let id = it.session.id();
    it.session.close().await;

    let mut it = open(&engine).await;
    assert_eq!(it.session.id(), id, "it is the same session");
    it.session.prompt(first.clone());
    assert_eq!(it.end().await, silent());
    assert_eq!(requests(&engine), [1], "an input that is in the log is not said again");
    it.session.prompt(UserInput { id: InputId::generate(), ..first });
    assert_eq!(it.end().await, silent());
    assert_eq!(requests(&engine), [1, 3]);
}

#[test(flavor = "multi_thread")]
async fn a_session_whose_log_or_model_cannot_be_had_is_not_opened() {
    let engine = TestEngine::with_concurrency(1).await;
    let model = "unknown/x".parse().expect("it is a route");
    let unknown = SessionSpec { model, ..session("/sessions/one.jsonl") };
    match engine.engine.open_session(unknown, session_tools()).await {
        Err(OpenSessionError::Failed(failure)) => assert_eq!(failure.class, FailureClass::Invalid),
        Err(OpenSessionError::Closing) => panic!("the engine is open"),
        Ok(_session) => panic!("it has no model"),
    }
    assert_eq!(engine.engine.close().await, None);
}

#[test(flavor = "multi_thread")]
async fn an_engine_that_closes_closes_its_sessions_and_nothing_of_them_runs_on() {
    let engine = TestEngine::with_patience(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call tidy; say never"));
    engine.tools.until_busy().await;
    let (tools, logs) = (engine.tools.clone(), engine.logs.clone());
    assert_eq!(engine.engine.close().await, None);
    assert_eq!((tools.running(), tools.tidied()), (0, 1));
    assert_eq!(it.end().await, AgentEnd::Aborted);
    assert_eq!(it.next().await, None);
    let last = logs.at(Path::new("/sessions/one.jsonl")).pop();
    let Some(Message::ToolResult(result)) = last.as_ref().and_then(SessionEntry::model_message)
    else {
        panic!("every call has a result: {last:?}")
    };
    assert!(result.is_error);
}

#[test(flavor = "multi_thread")]
async fn many_small_deltas_are_few_and_hold_the_whole_text() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("stream 5000"));
    let (mut text, mut deltas) = (String::new(), 0);
    let message = loop {
        match it.next().await.expect("the session is open") {
            SessionEvent::TextDelta { delta, .. } => {
                deltas += 1;
                text.push_str(&delta);
            }
            SessionEvent::MessageEnd { message: Message::Assistant(message) } => break message,
            _ => {}
        }
    };
    assert_eq!(text, message.text(), "no delta is lost or comes after its message");
    assert!(deltas < 500, "{deltas}");
}
