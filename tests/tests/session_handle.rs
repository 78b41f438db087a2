//! The handle of a session, as a program uses it: its state, its queues, what its models are told, and
//! how fast it answers an abort.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actors::{ContinueError, PromptError, SessionSpec};
use engine::agent::{InterruptMode, QueueMode, QueueModes, RequestHooks};
use engine::ports::CancelLevel;
use protocol::{
    AgentEnd, Attachment, AttachmentKind, Content, Message, MessageRole, QueueKind, SessionEvent,
    ThinkingLevel,
};
use tests::fakes::{TestEngine, TestSession, input, session, session_tools, silent};
use tokio::time::Instant;

async fn open(engine: &TestEngine) -> TestSession {
    TestSession::open(engine, "/sessions/one.jsonl".as_ref()).await
}

#[test(flavor = "multi_thread")]
async fn the_state_of_a_session_follows_what_it_does() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let idle = it.session.state().await.expect("it is open");
    assert_eq!((idle.is_streaming, idle.messages, idle.folder.to_str()), (false, 0, Some("/repo")));
    it.session.prompt(input("call wait; say done"));
    engine.tools.until_busy().await;
    it.session.follow_up(input("then"));
    it.session.steer(input("left"));
    it.session.prompt(input("next"));
    let busy = it.session.state().await.expect("it is open");
    assert!(busy.is_streaming);
    assert_eq!(busy.pending_tool_calls.len(), 1);
    let waits = (busy.prompts, busy.steering, busy.follow_ups);
    assert_eq!(waits, (vec!["next".into()], vec!["left".into()], vec!["then".into()]));
    let refused = it.session.prompt_if_idle(input("now")).await;
    assert_eq!(refused, Err(PromptError::Busy));
    assert_eq!(it.session.continue_work().await, Err(ContinueError::Busy));
    for (kind, text) in [
        (QueueKind::Prompt, Some("next")),
        (QueueKind::FollowUp, Some("then")),
        (QueueKind::Steering, Some("left")),
        (QueueKind::Steering, None),
    ] {
        let taken = it.session.take_back(kind).await.map(|input| input.text);
        assert_eq!(taken.as_deref(), text);
    }
    engine.tools.release();
    assert_eq!(it.end().await, silent());
    let end = it.session.state().await.expect("it is open");
    assert!(!end.is_streaming && end.pending_tool_calls.is_empty() && end.steering.is_empty());
    assert_eq!((end.messages, end.usage.input), (4, 20), "a prompt, a call, a result, an answer");
    let said = it.session.messages().await.expect("it is open");
    let roles: Vec<_> = said.iter().map(|message| message.role()).collect();
    let (asks, answers) = (MessageRole::User, MessageRole::Assistant);
    assert_eq!(roles, [asks, answers, MessageRole::ToolResult, answers]);
    assert_eq!(it.session.continue_work().await, Err(ContinueError::Answered));
    assert_eq!(it.session.prompt_if_idle(input("more")).await, Ok(()));
    assert_eq!(it.end().await, silent());
}

#[test(flavor = "multi_thread")]
async fn the_end_of_what_a_tool_left_in_the_background_is_a_follow_up_also_of_an_idle_session() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("call later; say done"));
    assert_eq!(it.end().await, silent());
    engine.tools.until_busy().await;
    engine.tools.release();
    let message = it.find(|event| match event {
        SessionEvent::Notice { message } => Some(message.clone()),
        _ => None,
    });
    assert_eq!(message.await, "say told");
    assert_eq!(it.end().await, silent());
}

#[test(flavor = "multi_thread")]
async fn steering_at_once_skips_the_calls_that_have_not_ended_and_waiting_does_not() {
    for (interrupt, skipped) in [(InterruptMode::Immediate, true), (InterruptMode::Wait, false)] {
        let engine = TestEngine::with_concurrency(1).await;
        let mut it = open(&engine).await;
        let (steering, follow_up) = (QueueMode::All, QueueMode::All);
        it.session.set_queue_modes(QueueModes { steering, follow_up, interrupt });
        it.session.prompt(input("call wait wait; say done"));
        while engine.tools.running() < 2 {
            tokio::task::yield_now().await;
        }
        it.session.steer(input("left"));
        let state = it.session.state().await.expect("it is open");
        assert_eq!(state.modes.interrupt, interrupt);
        engine.tools.release(); // both
        let mut results = Vec::new();
        loop {
            match it.next().await.expect("it is open") {
                SessionEvent::MessageEnd { message: Message::ToolResult(result) } => {
                    results.push(result.text());
                }
                SessionEvent::AgentEnd { .. } => break,
                _ => {}
            }
        }
        let waited = results.iter().filter(|text| *text == "waited").count();
        let left = results.iter().filter(|text| text.starts_with("Skipped due to queued")).count();
        assert_eq!((waited, left), if skipped { (1, 1) } else { (2, 0) }, "{results:?}");
    }
}

fn attachment(kind: AttachmentKind, text: Option<&str>) -> Attachment {
    Attachment {
        id: "1".into(),
        kind,
        file_name: "a.bin".into(),
        mime_type: "image/png".into(),
        size: 2,
        content: "AAA=".into(),
        extracted_text: text.map(str::to_owned),
        preview: None,
    }
}

#[test(flavor = "multi_thread")]
async fn attachments_are_blocks_of_the_request_and_stay_in_the_log_as_they_came() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    let mut prompt = input("say fine");
    prompt.attachments = vec![
        attachment(AttachmentKind::Image, None),
        attachment(AttachmentKind::Document, Some("words")),
        attachment(AttachmentKind::Document, None),
    ];
    it.session.prompt(prompt.clone());
    assert_eq!(it.end().await, silent());
    let Message::User(told) = &*engine.models.requests()[0].messages[0] else { panic!("a prompt") };
    let image = Content::Image { data: "AAA=".into(), mime_type: "image/png".into() };
    let document = Content::text("[Document: a.bin]\nwords");
    assert_eq!(told.content, [Content::text("say fine"), image, document]);
    assert_eq!(told.attachments, []);
    let logged = engine.logs.at("/sessions/one.jsonl".as_ref());
    let logged = serde_json::to_value(&logged).expect("entries are JSON").to_string();
    assert_eq!(logged.matches("extractedText").count(), 1, "{logged}");
}

#[test(flavor = "multi_thread")]
async fn a_listener_sees_each_request_before_it_is_sent() {
    let engine = TestEngine::with_concurrency(1).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sizes = Arc::clone(&seen);
    let request_hooks = RequestHooks {
        listener: Some(Arc::new(move |request| {
            sizes.lock().expect("nobody panics").push(request.messages.len());
        })),
    };
    let spec = SessionSpec { request_hooks, ..session("/sessions/one.jsonl") };
    let opened = engine.engine.open_session(spec, session_tools()).await;
    let mut it = TestSession::new(opened.unwrap_or_else(|error| panic!("{error}")));
    for text in ["say one", "say two"] {
        it.session.prompt(input(text));
        assert_eq!(it.end().await, silent());
    }
    assert_eq!(*seen.lock().expect("nobody panics"), [1, 3]);
}

#[test(flavor = "multi_thread")]
async fn the_thinking_level_holds_from_the_next_request_on() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = open(&engine).await;
    it.session.prompt(input("say one; say two"));
    assert_eq!(it.end().await, silent());
    let level = it.session.set_thinking_level(ThinkingLevel::High).await;
    assert_eq!(level, Some(ThinkingLevel::High));
    let state = it.session.state().await.expect("it is open");
    assert_eq!(state.thinking_level, Some(ThinkingLevel::High));
    it.session.prompt(input("more"));
    let told = it.find(|event| match event {
        SessionEvent::ThinkingLevelChange { thinking_level } => Some(*thinking_level),
        _ => None,
    });
    assert_eq!(told.await, ThinkingLevel::High);
    assert_eq!(it.end().await, silent());
    let requests = engine.models.requests();
    let levels: Vec<_> = requests.iter().map(|request| request.options.thinking).collect();
    assert_eq!(levels, [None, Some(ThinkingLevel::High)]);
}

#[test(flavor = "multi_thread")]
async fn an_abort_is_answered_at_once_from_a_stalled_stream_and_from_a_tool_that_clings() {
    for script in ["hang-once half a", "call stuck", "call cling"] {
        let engine = TestEngine::with_patience(1).await;
        let mut it = open(&engine).await;
        it.session.prompt(input(script));
        match script {
            "hang-once half a" => it.until_said("half a").await,
            _ => engine.tools.until_busy().await,
        }
        let began = Instant::now();
        it.session.abort(CancelLevel::Gently);
        assert_eq!(it.end().await, AgentEnd::Aborted);
        // The bound is 200 ms; the machine may be busy.
        test_limit::took_at_most(began.elapsed(), Duration::from_secs(2), script);
        it.session.abort(CancelLevel::AtOnce);
    }
}
