//! What the tests of this crate share: a clock that stands still, requests, and answers collected.

mod loopback;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::ports::{
    Clock, Gate, GateEvent, GateRequest, ModelAnswer, ModelEvent, ModelRequest, Permit, PermitNews,
    Provider, RequestOptions, RequestOutcome, Requester, Timer, ToolChoice, ToolDeclaration,
};
use engine::request::{ModelClient, Progress, RequestPolicy, RetryPolicy, Routes, Watchdog};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use protocol::{
    AssistantMessage, Content, Failure, Message, Part, SessionId, StopReason, Timestamp, ToolCall,
    ToolResult, Usage,
};
use serde_json::{Value, json};

pub(crate) use loopback::{Loopback, Reply, ReplyEnd, closed};

use crate::answer_parser::ParseContext;
use crate::api::Api;
use crate::blocks::Events;
use crate::body_parser::BodyParser;
use crate::catalogue::{Catalogue, CatalogueConfig};
use crate::endpoint::{Endpoint, base_url};
use crate::known_model::KnownModel;
use crate::thinking_refusals::ThinkingRefusals;

/// A clock that stands still.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        noon()
    }
}

pub(crate) fn noon() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_000)
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock)
}

/// A policy whose waits are over quickly.
fn brisk() -> RequestPolicy {
    let retry = RetryPolicy {
        max_retries: 3,
        base_delay: Duration::from_millis(5),
        max_delay: Duration::from_secs(60),
        quota_wait: Duration::ZERO,
    };
    // However busy the machine is, a server that answers is not silent.
    let limit = Duration::from_secs(60);
    let watchdog = Watchdog { first_event: limit, idle: limit };
    RequestPolicy {
        retry,
        watchdog,
        local_watchdog: watchdog,
        concurrency: None,
        outage: None,
        ..RequestPolicy::default()
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

/// Admits every request at once, and notes the pauses that providers ask for.
struct OpenGate(Arc<Mutex<Vec<Observed>>>);

impl Gate for OpenGate {
    fn acquire(&self, _request: GateRequest) -> BoxStream<'static, GateEvent> {
        let observed = Arc::clone(&self.0);
        let permit = Permit::new(move |news| {
            if let PermitNews::Ended(RequestOutcome::Failed { wait: Some(wait), .. }) = news {
                observed.lock().unwrap().push(Observed::Pause(wait));
            }
        });
        stream::iter([GateEvent::Admitted(permit)]).boxed()
    }
}

/// What a client observes of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observed {
    Text(String),
    Thinking(String),
    Calling(String),
    Notice(String),
    /// The account is to be left alone for so long.
    Pause(Duration),
    Retrying {
        delay: Duration,
        why: String,
    },
    Ended(AssistantMessage),
    Failed {
        failure: Failure,
        partial: AssistantMessage,
    },
}

/// Asks a provider as the engine does, and returns all that it reports until the end.
pub(crate) async fn ask(provider: Arc<dyn Provider>, request: ModelRequest) -> Vec<Observed> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let client = ModelClient {
        routes: Routes::only(provider),
        gate: Arc::new(OpenGate(Arc::clone(&told))),
        requester: Requester::Person,
        timer: Arc::new(RuntimeTimer(tokio::time::Instant::now())),
        clock: clock(),
        policy: brisk(),
    };
    let tell = |progress: Progress<'_>| {
        told.lock().unwrap().push(match progress {
            Progress::Text { text, .. } => Observed::Text(text.to_owned()),
            Progress::Thinking { text, .. } => Observed::Thinking(text.to_owned()),
            Progress::Calling { tool, .. } => Observed::Calling(tool.to_owned()),
            Progress::Arguments { .. } => return,
            Progress::Retrying { delay, failure, .. } => {
                Observed::Retrying { delay, why: failure.message.clone() }
            }
            Progress::Notice(text) => Observed::Notice(text.to_owned()),
            Progress::Waiting { .. } | Progress::Unshared { .. } => panic!("{progress:?}"),
        });
    };
    let end = client.ask(&request, &tell).await;
    drop(client);
    let mut told = std::mem::take(&mut *told.lock().unwrap());
    told.push(match end {
        Ok(message) => Observed::Ended(message),
        Err(failed) => Observed::Failed { failure: failed.failure, partial: failed.partial },
    });
    told
}

/// A model `m` of the provider `acme` over this API.
pub(crate) fn endpoint(api: Api) -> Endpoint {
    Endpoint {
        provider: "acme".to_owned(),
        model: "m".to_owned(),
        base: base_url("https://h/v1").unwrap(),
        api,
        level: None,
        known: KnownModel::default(),
        compat: Arc::default(),
        thinking_refusals: ThinkingRefusals::default(),
        key: None,
        variable: "ACME_API_KEY".to_owned(),
        proxy: None,
        hidden: Vec::new(),
    }
}

pub(crate) fn context(endpoint: &Endpoint) -> ParseContext<'_> {
    ParseContext { endpoint, price: None, now: noon() }
}

/// Parses a body that comes in these chunks. Returns all events; the last is the end.
pub(crate) fn parse<'a>(api: Api, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
    let (endpoint, mut events) = (endpoint(api), Events::new());
    let mut body = BodyParser::new("text/event-stream", api.parser());
    let pushed = chunks
        .into_iter()
        .find_map(|chunk| body.push(&context(&endpoint), chunk, &mut events).err());
    let last = pushed.unwrap_or_else(|| body.finish(&context(&endpoint), &mut events));
    events.push_back(last);
    events.into()
}

/// Returns the answer in a stream, and the usage that was counted last.
pub(crate) fn answered(api: Api, stream: &str) -> (ModelAnswer, Option<Usage>) {
    let mut events = parse(api, [stream.as_bytes()]);
    let Some(ModelEvent::Ended(answer)) = events.pop() else { panic!("{stream}") };
    let used = events.iter().rev().find_map(|event| match event {
        ModelEvent::Used(usage) => Some(*usage),
        _ => None,
    });
    (answer, used)
}

/// Returns the failure in which a stream ends.
pub(crate) fn failed(api: Api, stream: &str) -> Failure {
    match parse(api, [stream.as_bytes()]).pop() {
        Some(ModelEvent::Failed(failed)) => failed.failure,
        other => panic!("{other:?}: {stream}"),
    }
}

/// Returns a stream of these events, each with its `type` as the name, if it has one.
pub(crate) fn sse(events: &[Value]) -> String {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(event).collect()
}

/// A catalogue in whose environment every key is `key`.
pub(crate) fn catalogue() -> Catalogue {
    Catalogue::new(CatalogueConfig {
        user: Arc::new(crate::user_provider::NoUserProviders),
        keys: Arc::new(|_| Some("key".to_owned())),
        prices: BTreeMap::new(),
        clock: clock(),
    })
}

pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        session: SessionId::generate(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: [tool("read"), tool("yield")].into(),
        choice: ToolChoice::Free,
        options: RequestOptions::default(),
    }
}

pub(crate) fn tool(name: &str) -> ToolDeclaration {
    ToolDeclaration {
        name: name.to_owned(),
        description: format!("Does {name}.").into(),
        parameters: json!({ "type": "object" }).into(),
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::user(text, noon())
}

pub(crate) fn text(text: &str) -> Part {
    Part::text(text)
}

pub(crate) fn thinking(thinking: &str) -> Part {
    Part::thinking(thinking)
}

/// What a model thought, in this field of its message.
pub(crate) fn thinking_in(field: &str, thinking: &str) -> Part {
    Part::Thinking { thinking: thinking.to_owned(), signature: Some(field.to_owned()) }
}

pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Part {
    Part::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
        malformed: None,
        thought_signature: None,
    })
}

/// An answer of the model `x` of the provider `x` over Chat Completions.
pub(crate) fn assistant(content: Vec<Part>) -> Message {
    answer_of(("openai-completions", "x", "x"), content)
}

/// An answer of a model, which is given as API, provider and name.
pub(crate) fn answer_of(model: (&str, &str, &str), content: Vec<Part>) -> Message {
    let (api, provider, model) = model;
    Message::Assistant(AssistantMessage {
        content,
        api: api.to_owned(),
        provider: provider.to_owned(),
        model: model.to_owned(),
        usage: Usage::ZERO,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: noon(),
    })
}

pub(crate) fn result(id: &str, name: &str, text: &str) -> Message {
    Message::ToolResult(ToolResult {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content: vec![Content::text(text)],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: noon(),
    })
}

/// An image of two bytes.
pub(crate) fn image() -> Content {
    Content::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() }
}

/// Returns how it ended.
pub(crate) fn end(events: &[Observed]) -> Result<&AssistantMessage, &Failure> {
    match events.last() {
        Some(Observed::Ended(message)) => Ok(message),
        Some(Observed::Failed { failure, .. }) => Err(failure),
        other => panic!("{other:?} is not an end"),
    }
}

/// Returns the reasons for which it was asked again.
pub(crate) fn retries(events: &[Observed]) -> Vec<String> {
    let retries = events.iter().filter_map(|event| match event {
        Observed::Retrying { why, .. } => Some(why.clone()),
        _ => None,
    });
    retries.collect()
}

/// A chunk of an answer with this delta.
pub(crate) fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

/// A chunk that ends an answer.
pub(crate) fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}
