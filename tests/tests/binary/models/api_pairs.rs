//! A session whose model and API change in the middle of its work, after thinking and calls: every
//! request is one that its API accepts, and the same conversation twice is the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    Clock, Gate, GateEvent, GateRequest, ModelRequest, Models, Permit, Provider, RequestOptions,
    Requester, Timer, ToolChoice, ToolDeclaration,
};
use engine::request::{FallbackRevert, ModelClient, Progress, RequestPolicy, Routes};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use protocol::{
    AssistantMessage, Content, Message, ModelRoute, Part, SessionId, ThinkingLevel, Timestamp,
    ToolResult,
};
use providers::{Catalogue, CatalogueConfig};
use serde_json::json;
use tests::model::{Answer, Call, LoopbackModel, Said, Wire, marker, steps};

use crate::binary::agents::fallbacks::pairs;

/// A clock that stands still.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_000)
    }
}

/// Admits every request at once.
struct OpenGate;

impl Gate for OpenGate {
    fn acquire(&self, _request: GateRequest) -> BoxStream<'static, GateEvent> {
        stream::iter([GateEvent::Admitted(Permit::new(drop))]).boxed()
    }
}

/// The timer of the runtime.
struct RuntimeTimer(tokio::time::Instant);

impl Timer for RuntimeTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

fn open(wire: Wire, server: &LoopbackModel) -> Arc<dyn Provider> {
    let catalogue = Catalogue::new(CatalogueConfig {
        keys: Arc::new(|_| Some("key".to_owned())),
        user: Arc::new(providers::NoUserProviders),
        prices: BTreeMap::new(),
        clock: Arc::new(Noon),
    });
    let mut route: ModelRoute = wire.route().parse().expect("a route is one");
    route.base_url = Some(server.url_of(wire));
    catalogue.open(&route).expect("the model can be opened")
}

/// A conversation that is told to models.
struct Conversation {
    session: SessionId,
    messages: Vec<Arc<Message>>,
    calls: usize,
}

impl Conversation {
    fn push(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    fn say(&mut self, text: &str) {
        self.push(Message::user(text, Noon.now()));
    }

    /// Asks the first model, and the second if the first fails. Each call gets a result.
    async fn ask(&mut self, models: &[&Arc<dyn Provider>]) -> AssistantMessage {
        let (first, rest) = models.split_first().expect("a model is asked");
        let routes = Routes::only(Arc::clone(first));
        let fallbacks = rest.iter().copied().cloned();
        let mut client = ModelClient {
            routes: routes.with(fallbacks, Arc::default(), FallbackRevert::CooldownExpiry),
            gate: Arc::new(OpenGate),
            requester: Requester::Person,
            timer: Arc::new(RuntimeTimer(tokio::time::Instant::now())),
            clock: Arc::new(Noon),
            policy: RequestPolicy::default(),
        };
        let tool = |name: &str| ToolDeclaration {
            name: name.to_owned(),
            description: format!("Does {name}.").into(),
            parameters:
                json!({ "type": "object", "properties": {}, "additionalProperties": false }).into(),
        };
        let options = RequestOptions { thinking: Some(ThinkingLevel::High), ..Default::default() };
        let request = ModelRequest {
            session: self.session,
            system: "You are.".into(),
            messages: self.messages.clone(),
            tools: [tool("read"), tool("yield")].into(),
            choice: ToolChoice::Free,
            options,
        };
        let mut answer = loop {
            let failed = match client.ask(&request, &|_: Progress<'_>| {}).await {
                Ok(answer) => break answer,
                Err(failed) => failed,
            };
            assert!(client.fall_back(&failed).is_some(), "{failed:?}");
        };
        for part in &mut answer.content {
            if let Part::ToolCall(call) = part {
                self.calls += 1;
                if call.id.is_empty() {
                    call.id = format!("call-{}", self.calls);
                }
            }
        }
        self.push(Message::Assistant(answer.clone()));
        for call in answer.calls() {
            self.push(Message::ToolResult(ToolResult {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content: vec![Content::text("größe")],
                details: None,
                is_error: false,
                pruned_at: None,
                timestamp: Noon.now(),
            }));
        }
        answer
    }
}

fn thinks(text: &str, calls: usize) -> Answer {
    // No two providers give the same id.
    let call = |at: usize| {
        let path = format!("{text}-{at}");
        Call::new("read", &json!({ "path": path })).with_id(&format!("call_{text}_{at}"))
    };
    Answer::Says(Said {
        thinking: format!("About {text}: überlegt"),
        text: format!("I do {text}."),
        calls: (0..calls).map(call).collect(),
        ..Said::default()
    })
}

/// Has a session change from one API to another and back. Returns the bytes of every request.
async fn change(from: Wire, to: Wire, session: SessionId) -> Vec<Vec<u8>> {
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    let gone = Answer::error(401, "invalid_api_key", "Incorrect API key provided");
    let back = vec![thinks("one", 2), gone, thinks("three", 1), Answer::text("Done.")];
    first.talk("t1", steps(back));
    second.talk("t1", steps(vec![thinks("two", 2), Answer::text("So far.")]));
    let (one, two) = (open(from, &first), open(to, &second));
    let mut conversation = Conversation { session, messages: Vec::new(), calls: 0 };
    conversation.say(&format!("Do it. {}", marker("t1")));
    assert_eq!(conversation.ask(&[&one]).await.api, from.name());
    // In the middle of the task the first model is gone.
    assert_eq!(conversation.ask(&[&one, &two]).await.api, to.name());
    assert_eq!(conversation.ask(&[&two]).await.text(), "So far.");
    conversation.say("Go on.");
    assert_eq!(conversation.ask(&[&one]).await.api, from.name());
    assert_eq!(conversation.ask(&[&one]).await.text(), "Done.");
    for (wire, server) in [(from, &first), (to, &second)] {
        assert_eq!(server.take_violations(), Vec::<String>::new(), "{from:?} to {to:?}: {wire:?}");
    }
    let asked = first.asked("t1").into_iter().chain(second.asked("t1"));
    asked.map(|asked| asked.bytes).collect()
}

#[test]
async fn a_session_may_change_between_any_two_apis_in_the_middle_of_its_work() {
    for (from, to) in pairs() {
        let session = SessionId::generate();
        let requests = change(from, to, session).await;
        assert_eq!(requests.len(), 6, "{from:?} to {to:?}");
        let again = change(from, to, session).await;
        assert!(requests == again, "{from:?} to {to:?}: the bytes differ");
    }
}
