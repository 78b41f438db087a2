use protocol::{SessionId, StopReason, ThinkingLevel, Timestamp};
use serde_json::json;

use super::*;
use crate::ports::{
    AccountId, AccountLimits, ModelLocation, RequestOptions, ToolChoice, ToolDeclaration,
};

/// A timer that fires at once, or never.
#[derive(Clone, Copy)]
enum TestTimer {
    AtOnce,
    Never,
}

impl Timer for TestTimer {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        assert_eq!(duration, LONGEST_WAIT);
        match self {
            Self::AtOnce => std::future::ready(()).boxed(),
            Self::Never => std::future::pending().boxed(),
        }
    }
}

/// A model that is never asked.
struct TestModel(ProviderInfo, Option<u32>);

impl Provider for TestModel {
    fn info(&self) -> &ProviderInfo {
        &self.0
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        unreachable!("a turn is not an attempt")
    }

    fn cached_prefix(&self) -> Option<u32> {
        self.1
    }

    fn context_window(&self) -> Option<u64> {
        Some(12_000)
    }

    fn thinking_level(&self, asked: ThinkingLevel) -> ThinkingLevel {
        asked.min(ThinkingLevel::Low)
    }
}

struct TestModels(Option<u32>);

impl Models for TestModels {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(model_of(route.clone(), self.0)))
    }
}

fn model_of(route: ModelRoute, least: Option<u32>) -> TestModel {
    let account = AccountId::of_provider(&route.provider);
    let location = ModelLocation::Remote;
    TestModel(
        ProviderInfo { api: "test", route, account, location, limits: AccountLimits::default() },
        least,
    )
}

fn open(least: Option<u32>, timer: TestTimer) -> Arc<dyn Provider> {
    let models = LedModels::new(Arc::new(TestModels(least)), Arc::new(timer));
    models.open(&"acme/m".parse().unwrap()).unwrap()
}

/// A model, and what requests of it that begin with `shared` wait for.
fn with_lead(timer: TestTimer) -> (LedProvider, Arc<Lead>) {
    let provider = Arc::new(model_of("acme/m".parse().unwrap(), Some(25)));
    let (leads, timer) = (Arc::default(), Arc::new(timer));
    let model = LedProvider { provider, least: 25, leads, timer };
    drop(model.turn(&request("shared", "x"))); // makes it, and is never sent
    let lead = lock(&model.leads).values().next().cloned();
    (model, lead.unwrap())
}

fn request(system: &str, prompt: &str) -> ModelRequest {
    let tool = ToolDeclaration {
        name: "read".to_owned(),
        description: "r".repeat(40).into(),
        parameters: json!({ "type": "object" }).into(),
    };
    ModelRequest {
        session: SessionId::generate(),
        system: system.repeat(10).into(),
        messages: vec![Arc::new(Message::user(prompt, Timestamp::from_millisecond(0)))],
        tools: [tool].into(),
        choice: ToolChoice::Free,
        options: RequestOptions::default(),
    }
}

/// The wait of a request for its turn.
type Wait = BoxFuture<'static, Option<RequestTurn>>;

/// Returns whether a request may be sent now, and no other waits for it.
fn may_follow(wait: &mut Wait) -> bool {
    matches!(wait.now_or_never(), Some(None))
}

#[test]
fn one_request_goes_ahead_until_it_is_answered() {
    let (model, lead) = with_lead(TestTimer::Never);
    let wait = |system, prompt| model.turn(&request(system, prompt));
    let ahead = wait("shared", "first").now_or_never().flatten().unwrap();
    let mut siblings = ["a", "b", "c"].map(|prompt| wait("shared", prompt));
    assert!(siblings.iter_mut().all(|wait| wait.now_or_never().is_none()));
    let another = wait("another", "d").now_or_never().flatten();
    assert!(another.is_some(), "it begins otherwise");
    ahead.answered();
    assert!(siblings.iter_mut().all(may_follow));
    assert!(may_follow(&mut wait("shared", "e")));
    assert_eq!(lock(&lead.0).phase, Phase::Answered);
}

#[test]
fn a_request_that_fails_or_is_given_up_leaves_it_to_the_next() {
    let (model, lead) = with_lead(TestTimer::Never);
    let wait = |prompt| model.turn(&request("shared", prompt));
    let ahead = wait("first").now_or_never().flatten().unwrap();
    let mut waiting = wait("a");
    assert!((&mut waiting).now_or_never().is_none());
    drop(ahead);
    assert_eq!(lock(&lead.0).phase, Phase::Before);
    let next = waiting.now_or_never().flatten().unwrap();
    let mut third = wait("b");
    assert!((&mut third).now_or_never().is_none());
    next.answered();
    assert!(may_follow(&mut third));
}

#[test]
fn nobody_waits_for_longer_than_the_limit() {
    let (model, lead) = with_lead(TestTimer::AtOnce);
    let _ahead = lead.turn().now_or_never().flatten().unwrap();
    assert!(may_follow(&mut model.turn(&request("shared", "a"))));
}

#[test]
fn what_is_short_or_not_cached_or_no_first_request_waits_for_nobody() {
    let answer = protocol::AssistantMessage {
        content: vec![],
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: Usage::ZERO,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: Timestamp::from_millisecond(0),
    };
    let mut later = request("shared", "a");
    later.messages.push(Arc::new(Message::Assistant(answer)));
    for (least, request) in
        [(Some(1_000), request("shared", "a")), (None, request("shared", "a")), (Some(25), later)]
    {
        let (model, key) = (open(least, TestTimer::Never), format!("{least:?}"));
        for mut wait in [0, 1].map(|_time| model.turn(&request)) {
            assert!(may_follow(&mut wait), "{key}");
        }
    }
}

#[test]
fn what_is_known_about_a_model_is_known_too_where_its_requests_wait() {
    for least in [None, Some(25)] {
        let model = open(least, TestTimer::Never);
        assert_eq!(model.context_window(), Some(12_000), "{least:?}");
        assert_eq!(model.thinking_level(ThinkingLevel::High), ThinkingLevel::Low, "{least:?}");
        assert_eq!(model.cached_prefix(), least);
    }
}
