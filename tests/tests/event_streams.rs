//! The events of random sessions: models that fail, stall and are replaced by others, calls side by side
//! that fail or are not there, steering, follow-ups and aborts at any moment. Each stream is within the grammar, and hardly
//! any stream that was tampered with is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actors::SessionSpec;
use async_trait::async_trait;
use engine::agent::{InterruptMode, QueueMode, QueueModes};
use engine::ports::{
    Access, AccountId, AccountLimits, AttemptFailure, CancelLevel, Concurrency, ModelAnswer,
    ModelEvent, ModelLocation, ModelRequest, ModelStream, Models, Provider, ProviderInfo, Tool,
    ToolBuildError, ToolContext, ToolEnv, ToolFactory, ToolOutcome, ToolOutput, ToolSpec,
};
use engine::request::RequestPolicy;
use futures_util::{StreamExt, stream};
use protocol::{
    EventKind, Failure, FailureClass, Message, ModelRoute, Part, SessionEvent, StopReason,
    ToolCall, Usage,
};
use serde_json::{Map, Value, json};
use test_limit::by_depth;
use tests::event_grammar;
use tests::fakes::{TestEngine, TestSession, input, session, spec};
use tests::fuzz::Random;

/// How many random scripts each of the eight tests plays.
const SCRIPTS: usize = 125;

/// How many it plays at least in quick depth. It goes on until it has seen every kind of events.
const QUICK_SCRIPTS: usize = 10;

/// How many streams each of them tampers with, and how many of these may be within the grammar all the
/// same.
fn tries() -> (usize, usize) {
    test_limit::by_depth((200, 6), (1_000, 10))
}

/// A model that says and calls at random. The answers of all sessions are drawn from one source.
#[derive(Clone)]
struct RandomModel(Arc<Mutex<Random>>);

impl Models for RandomModel {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        let info = ProviderInfo {
            api: "random",
            route: route.clone(),
            account: AccountId::of_provider(&route.provider),
            limits: AccountLimits::default(),
            location: ModelLocation::Remote,
        };
        Ok(Arc::new(RandomProvider { model: self.clone(), info }))
    }
}

struct RandomProvider {
    model: RandomModel,
    info: ProviderInfo,
}

impl Provider for RandomProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let mut random = self.model.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = request.messages.iter();
        let answers = answers.filter(|said| matches!(***said, Message::Assistant(_))).count();
        // The sixth calls nothing.
        let calls = if answers % 6 == 5 { 0 } else { random.below(4) };
        let (mut events, content) = answer(&mut random, calls);
        match random.below(100) {
            0..6 => {
                events.truncate(random.below(events.len() + 1));
                let class = match random.below(10) {
                    0..6 => FailureClass::Transient,
                    // Another model is asked.
                    6..8 => FailureClass::Quota,
                    _ => FailureClass::Refused,
                };
                events.push(ModelEvent::Failed(AttemptFailure::new(class, "it failed")));
            }
            6..8 => {
                events.truncate(random.below(events.len() + 1));
                let stalled = stream::iter(events).chain(stream::pending()).boxed();
                return ModelStream { request_bytes: 0, events: stalled };
            }
            _ => {
                events.push(ModelEvent::Used(Usage { input: 10, output: 1, ..Usage::ZERO }));
                let stop_reason = StopReason::Stop;
                events.push(ModelEvent::Ended(ModelAnswer { content, stop_reason }));
            }
        }
        let paced = stream::iter(events).then(|event| async move {
            tokio::time::sleep(Duration::from_millis(7)).await;
            event
        });
        ModelStream { request_bytes: 0, events: paced.boxed() }
    }
}

/// Picks events.
type Wanted = fn(&SessionEvent) -> bool;

/// Returns the events of an answer, and its content.
fn answer(random: &mut Random, calls: usize) -> (Vec<ModelEvent>, Vec<Part>) {
    let (mut events, mut content) = (Vec::new(), Vec::new());
    if random.chance(30) {
        let block = content.len();
        let pieces = pieces(random);
        content.push(Part::thinking(pieces.concat()));
        events.extend(pieces.into_iter().map(|text| ModelEvent::Thinking { block, text }));
    }
    if random.chance(60) {
        let block = content.len();
        let pieces = pieces(random);
        content.push(Part::text(pieces.concat()));
        events.extend(pieces.into_iter().map(|text| ModelEvent::Text { block, text }));
    }
    for number in 0..calls {
        let block = content.len();
        let names = [
            "pause", "pause", "pause", "pause", "pause", "pause", "pause", "pause", "alone",
            "alone", "alone", "fail", "fail", "fail", "fail", "unknown", "unknown", "unknown",
            "unknown", "boom",
        ];
        let (name, id) = (*random.pick(&names), format!("call_{number}_{}", random.bits()));
        let arguments = json!({ "ms": random.below(300) });
        let text = arguments.to_string();
        let cut = random.below(text.len());
        events.push(ModelEvent::Calling { block, id: id.clone(), tool: name.to_owned() });
        for json in [&text[..cut], &text[cut..]] {
            events.push(ModelEvent::Arguments { block, json: json.to_owned() });
        }
        content.push(Part::ToolCall(ToolCall {
            id,
            name: name.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            malformed: None,
            thought_signature: None,
        }));
    }
    (events, content)
}

fn pieces(random: &mut Random) -> Vec<String> {
    (0..random.between(1, 4)).map(|_| format!("{} ", random.below(1_000))).collect()
}

/// The tools `pause`, which takes its time, `alone`, which runs alone, and `fail`.
struct PausingTools;

#[async_trait]
impl ToolFactory for PausingTools {
    fn name(&self) -> &str {
        "pausing tools"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        let tool = |name| Ok(Arc::new(Pause(spec(name))) as Arc<dyn Tool>);
        ["pause", "alone", "fail"].map(tool).into()
    }
}

struct Pause(ToolSpec);

#[async_trait]
impl Tool for Pause {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        let concurrency = match self.0.name.as_str() {
            "alone" => Concurrency::Exclusive,
            _ => Concurrency::Shared,
        };
        Access { concurrency, ..Access::none() }
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let ms = call.arguments.get("ms").and_then(Value::as_u64).unwrap_or_default();
        let pause = tokio::time::sleep(Duration::from_millis(ms));
        if ms.is_multiple_of(32) {
            (context.progress)(format!("pauses {ms} ms"));
        }
        tokio::select! {
            () = context.cancel.cancelled() => return ToolOutcome::Failed(ToolOutput::text("stopped")),
            () = pause => {}
        }
        let output = ToolOutput::text(format!("{} after {ms} ms", call.id));
        match self.0.name.as_str() {
            "fail" => ToolOutcome::Failed(output),
            _ => ToolOutcome::Output(output.with_details(json!({ "ms": ms }))),
        }
    }
}

/// What a user does beside prompts.
#[derive(Clone, Copy)]
enum Act {
    Steer,
    FollowUp,
    Prompt,
    Abort,
}

/// Plays one random script and returns the events of its session.
async fn play(engine: &TestEngine, random: &mut Random, number: usize) -> Vec<SessionEvent> {
    let log = format!("/sessions/{number}.jsonl");
    let fallbacks = vec!["fake/second".parse().expect("it is a route")];
    let spec = SessionSpec { fallbacks, ..session(&log) };
    let mut it = TestSession::of(engine, spec).await.expect("it opens");
    let mode = |all| if all { QueueMode::All } else { QueueMode::OneAtATime };
    it.session.set_queue_modes(QueueModes {
        steering: mode(random.chance(50)),
        follow_up: mode(random.chance(50)),
        interrupt: *random.pick(&[InterruptMode::Immediate, InterruptMode::Wait]),
    });
    let mut events = Vec::new();
    it.session.prompt(input("begin"));
    let (mut acts, mut ended) = (random.between(0, 4), false);
    loop {
        if acts > 0 && random.chance(8) {
            acts -= 1;
            let text = format!("act {acts}");
            match random.pick(&[Act::Steer, Act::Steer, Act::FollowUp, Act::Prompt, Act::Abort]) {
                Act::Steer => it.session.steer(input(&text)),
                Act::FollowUp => it.session.follow_up(input(&text)),
                Act::Prompt => it.session.prompt(input(&text)),
                Act::Abort => it.session.abort(CancelLevel::Gently),
            }
        }
        // A silent model takes longer than a test waits for an event, on its clock.
        let event = it.events.recv().await.expect("the session is open");
        if let EventKind::SessionEvent { event, .. } = &event.kind {
            ended |= matches!(event, SessionEvent::AgentEnd { .. });
            events.push(event.clone());
        }
        if ended && it.events.is_empty() {
            let state = it.session.state().await.expect("the session is open");
            let waits = state.prompts.len() + state.steering.len() + state.follow_ups.len();
            if waits == 0 && !state.is_streaming && it.events.is_empty() {
                break;
            }
        }
    }
    let TestSession { session, events: mut rest, .. } = it;
    session.close().await;
    while let Some(event) = rest.recv().await {
        if let EventKind::SessionEvent { event, .. } = &event.kind {
            events.push(event.clone());
        }
    }
    events
}

async fn streams(seed: u64) -> Vec<Vec<SessionEvent>> {
    let model = RandomModel(Arc::new(Mutex::new(Random::new(seed))));
    let policy = RequestPolicy::default();
    let tools: Vec<Arc<dyn ToolFactory>> = vec![Arc::new(PausingTools)];
    let engine = TestEngine::with_models_and_tools(Arc::new(model), policy, tools).await;
    let mut random = Random::new(!seed);
    let mut streams = Vec::new();
    for number in 0..SCRIPTS {
        if number >= by_depth(QUICK_SCRIPTS, SCRIPTS) && missing(&streams).is_empty() {
            break;
        }
        streams.push(play(&engine, &mut random, number).await);
    }
    streams
}

/// Changes a stream in one place: drops an event, doubles one, or swaps two that differ.
fn tamper(random: &mut Random, events: &mut Vec<SessionEvent>) -> String {
    let at = random.below(events.len());
    match random.below(3) {
        0 => format!("dropped {at}: {:?}", events.remove(at)),
        1 => {
            events.insert(at, events[at].clone());
            format!("doubled {at}: {:?}", events[at])
        }
        _ => {
            let mut other = random.below(events.len());
            while events[other] == events[at] {
                other = random.below(events.len());
            }
            events.swap(at, other);
            format!("swapped {at} and {other}: {:?} and {:?}", events[at], events[other])
        }
    }
}

/// Returns the kinds of events that are in no stream.
fn missing(streams: &[Vec<SessionEvent>]) -> Vec<&'static str> {
    let kinds: [(&str, Wanted); 7] = [
        ("retries", |it| matches!(it, SessionEvent::AutoRetryEnd { success: true, .. })),
        ("fallbacks", |it| matches!(it, SessionEvent::RetryFallbackApplied { .. })),
        ("answers of fallbacks", |it| matches!(it, SessionEvent::RetryFallbackSucceeded { .. })),
        ("aborts", |it| matches!(it, SessionEvent::AgentEnd { end: protocol::AgentEnd::Aborted })),
        ("failures", |it| {
            matches!(it, SessionEvent::AgentEnd { end: protocol::AgentEnd::Failed(_) })
        }),
        ("failed calls", |it| matches!(it, SessionEvent::ToolExecutionEnd { is_error: true, .. })),
        ("progress", |it| matches!(it, SessionEvent::ToolExecutionUpdate { .. })),
    ];
    let is_missing = |wanted: Wanted| !streams.iter().flatten().any(wanted);
    kinds.into_iter().filter(|(_, wanted)| is_missing(*wanted)).map(|(name, _)| name).collect()
}

/// Plays random scripts from a seed. Each stream is within the grammar; of those that were tampered
/// with hardly one is.
async fn expect_grammar(seed: u64) {
    let streams = streams(seed).await;
    for (number, events) in streams.iter().enumerate() {
        if let Err(why) = event_grammar::check(events) {
            let lines: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
            panic!("script {number}: {why}\n{}", lines.join("\n"));
        }
    }
    assert_eq!(missing(&streams), [""; 0], "kinds of events that there are not");
    let mut random = Random::new(seed);
    let (tries, allowed) = tries();
    let mut missed = Vec::new();
    for _ in 0..tries {
        let mut events = random.pick(&streams).clone();
        let what = tamper(&mut random, &mut events);
        if event_grammar::check(&events).is_ok() {
            missed.push(what);
        }
    }
    assert!(missed.len() <= allowed, "{} were not noticed:\n{}", missed.len(), missed.join("\n"));
}

// Eight tests, so that they run side by side: a thousand scripts.

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_one() {
    expect_grammar(1).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_two() {
    expect_grammar(2).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_three() {
    expect_grammar(3).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_four() {
    expect_grammar(4).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_five() {
    expect_grammar(5).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_six() {
    expect_grammar(6).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_seven() {
    expect_grammar(7).await;
}

#[test(start_paused = true)]
async fn random_sessions_keep_to_the_grammar_eight() {
    expect_grammar(8).await;
}

/// A model that fails twice in the middle of its answer.
struct FailsTwice(Arc<AtomicUsize>);

impl Models for FailsTwice {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        let info = ProviderInfo {
            api: "failing",
            route: route.clone(),
            account: AccountId::of_provider(&route.provider),
            limits: AccountLimits::default(),
            location: ModelLocation::Remote,
        };
        Ok(Arc::new(FailingProvider { asked: Arc::clone(&self.0), info }))
    }
}

struct FailingProvider {
    asked: Arc<AtomicUsize>,
    info: ProviderInfo,
}

impl Provider for FailingProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        let end = match self.asked.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => ModelEvent::Failed(AttemptFailure::new(FailureClass::Transient, "503")),
            _ => ModelEvent::Ended(ModelAnswer {
                content: vec![Part::text("hi")],
                stop_reason: StopReason::Stop,
            }),
        };
        let events = [ModelEvent::Text { block: 0, text: "hi".to_owned() }, end];
        ModelStream { request_bytes: 0, events: stream::iter(events).boxed() }
    }
}

#[test(start_paused = true)]
async fn a_request_that_fails_twice_is_retried_twice_and_each_attempt_has_its_message() {
    let models = Arc::new(FailsTwice(Arc::default()));
    let engine = TestEngine::with_models(1, models, RequestPolicy::default(), "").await;
    let mut it = TestSession::open(&engine, "/sessions/one.jsonl".as_ref()).await;
    it.session.prompt(input("begin"));
    let (mut events, mut said) = (Vec::new(), Vec::new());
    while !matches!(events.last(), Some(SessionEvent::AgentEnd { .. })) {
        let event = it.next().await.expect("the session is open");
        match &event {
            SessionEvent::AutoRetryStart { attempt, .. } => said.push(format!("retry {attempt}")),
            SessionEvent::AutoRetryEnd { success, attempt, .. } => {
                said.push(format!("retried {attempt}: {success}"));
            }
            SessionEvent::MessageEnd { message: Message::Assistant(answer) } => {
                said.push(format!("{} {:?}", answer.text(), answer.stop_reason));
            }
            _ => {}
        }
        events.push(event);
    }
    let expected = ["hi Error", "retry 1", "hi Error", "retry 2", "hi Stop", "retried 2: true"];
    assert_eq!(said, expected);
    assert_eq!(event_grammar::check(&events), Ok(()));
}
