//! The state of a session for those who follow it, and what may be changed of an open session.

use std::collections::BTreeSet;

use actors::{SessionState, SessionStates};
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{Message, QueueKind, SessionEvent};
use tests::fakes::{TestEngine, TestSession, input, silent};

async fn open(engine: &TestEngine) -> TestSession {
    TestSession::open(engine, "/sessions/one.jsonl".as_ref()).await
}

/// Waits until the state of the session is as wanted.
async fn until(states: &mut SessionStates, is_wanted: fn(&SessionState) -> bool) {
    while !is_wanted(&states.changed().await.expect("the session is open")) {}
}

#[test(flavor = "multi_thread")]
async fn who_follows_the_state_sees_that_the_session_begins_to_work_and_ends() {
    let engine = TestEngine::with_concurrency(1).await;
    let it = open(&engine).await;
    let mut states = it.session.watch().await.expect("it is open");
    let idle = states.current();
    assert!(idle.is_idle() && !idle.is_streaming);
    it.session.prompt(input("call wait; say done"));
    until(&mut states, |it| it.is_streaming).await;
    engine.tools.until_busy().await; // it may be called before it runs
    while states.current().pending_tool_calls.is_empty() {
        states.changed().await.expect("it is open");
    }
    engine.tools.release();
    until(&mut states, |it| !it.is_streaming).await;
    let end = states.current();
    assert_eq!((end.messages, end.is_idle()), (4, true), "a prompt, a call, a result, an answer");
    assert_eq!(Some(end), it.session.state().await, "it is the state that the session has");
    it.session.set_tools(Some(BTreeSet::new()));
    let none = states.changed().await.expect("it is open").tools;
    assert_eq!(none.as_deref(), Some(&BTreeSet::new()), "a change without an event is seen too");
    it.session.close().await;
    assert_eq!(states.changed().await, None);
}

#[test(flavor = "multi_thread")]
async fn a_session_is_waited_for_until_nothing_works_and_nothing_waits() {
    let engine = TestEngine::with_concurrency(1).await;
    let it = open(&engine).await;
    it.session.wait_for_idle().await; // it is
    it.session.prompt(input("call wait; say one; say two"));
    it.session.prompt(input("more"));
    let mut idle = Box::pin(it.session.wait_for_idle());
    tokio::select! {
        biased;
        () = &mut idle => panic!("a tool waits"),
        () = engine.tools.until_busy() => engine.tools.release(),
    }
    idle.await;
    let state = it.session.state().await.expect("it is open");
    assert_eq!((state.messages, state.is_idle()), (6, true), "both prompts were answered");
}

#[test(flavor = "multi_thread")]
async fn a_queue_is_cleared_alone_and_what_waited_comes_back_oldest_first() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call wait; say done"));
    engine.tools.until_busy().await;
    let (one, two, left) = (input("one"), input("two"), input("left"));
    for later in [&one, &two] {
        it.session.follow_up(later.clone());
    }
    it.session.steer(left.clone());
    assert_eq!(it.session.clear_queue(QueueKind::FollowUp).await, [one.clone(), two.clone()]);
    let mut dropped = Vec::new();
    for _ in 0..2 {
        let next = it.find(|event| match event {
            SessionEvent::InputDropped { input_id } => Some(*input_id),
            _ => None,
        });
        dropped.push(next.await);
    }
    assert_eq!(dropped, [one.id, two.id]);
    let state = it.session.state().await.expect("it is open");
    assert_eq!((state.follow_ups, state.steering), (Vec::new(), vec!["left".to_owned()]));
    assert_eq!(it.session.clear_queue(QueueKind::Prompt).await, []);
    engine.tools.release();
    assert_eq!(it.end().await, silent());
    assert_eq!(engine.models.requests().len(), 2, "nothing followed");
}

/// Returns what each request had: its tools and the first line of its system prompt.
fn asked_with(engine: &TestEngine) -> Vec<(Vec<String>, String)> {
    let names = |request: &engine::ports::ModelRequest| {
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let requests = engine.models.requests();
    requests.iter().map(|request| (names(request), first(&request.system))).collect()
}

#[test(flavor = "multi_thread")]
async fn tools_and_the_system_prompt_hold_from_the_next_request_on_also_after_a_crash() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call wait; call read bad; crash-once; say done; say all"));
    engine.tools.until_busy().await;
    let only = BTreeSet::from(["read".to_owned(), "absent".to_owned()]);
    it.session.set_tools(Some(only.clone()));
    let role = Role::Own("be brief".to_owned());
    it.session.set_system_prompt(SystemPrompt::of(role, Environment::default()));
    it.settle().await;
    engine.tools.release();
    let mut results = Vec::new();
    let end = loop {
        match it.next().await.expect("it is open") {
            SessionEvent::MessageEnd { message: Message::ToolResult(result) } => {
                results.push(result.text());
            }
            SessionEvent::AgentEnd { end } => break end,
            _ => {}
        }
    };
    assert_eq!(end, silent());
    let refused = |name| format!("Tool {name} not found. The tools there are: read");
    assert_eq!(results, ["waited".to_owned(), "text".to_owned(), refused("bad"), refused("yield")]);
    let state = it.session.state().await.expect("it is open");
    assert_eq!(state.tools.as_deref(), Some(&only));
    assert_eq!(state.system.role, Role::Own("be brief".to_owned()));
    it.session.set_tools(None);
    it.session.prompt(input("more"));
    assert_eq!(it.end().await, silent());
    let asked = asked_with(&engine);
    let all = asked[0].0.clone();
    assert!(all.len() > 5 && all.contains(&"bad".to_owned()), "{all:?}");
    let few = (vec!["read".to_owned()], "be brief".to_owned());
    let expected = [
        (all.clone(), "be good".to_owned()),
        few.clone(),
        few.clone(), // which crashes
        few.clone(),
        few,
        (all, "be brief".to_owned()),
    ];
    assert_eq!(asked, expected);
    let told = &engine.models.requests()[1].system;
    assert!(told.contains("`read`") && !told.contains("`bad`"), "it names the tools: {told}");
}
