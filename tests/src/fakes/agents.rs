//! Models that obey their prompt, and session logs in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::compaction::Preparation;
use engine::ports::{
    AccountId, AccountLimits, AttemptFailure, ModelAnswer, ModelEvent, ModelLocation, ModelRequest,
    ModelStream, Models, OpenedLog, Provider, ProviderInfo, SessionHeader, SessionLog,
    SessionLogError, SessionLogs, ToolChoice,
};
use engine::session::{MemorySessionLogs, MovePreview, Moved, SessionMove};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use protocol::{
    Agent, Content, EntryId, Failure, FailureClass, Message, ModelRoute, Part, SessionEntry,
    SessionId, StopReason, TaskSpec, Timestamp, ToolCall, Usage, UserMessage, Work,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{FakeTools, task};

/// Returns a task whose model obeys `words`, one turn after another, separated by `;`:
/// `yield JSON`, `give-up WHY`, `say WORDS`, `call TOOL [TOOL…]`, `use TOOL JSON [& TOOL JSON…]`, `crash`
/// (each time),
/// `crash-once`, `hang` (says nothing), `hang-once WORDS` (begins to say them), `stream N` (says the
/// numbers up to N, one by one), `fail` (as the provider does). After the last word it says nothing.
#[must_use]
pub fn agent(name: &str, words: &str) -> TaskSpec {
    let model =
        ModelRoute { provider: "fake".into(), id: "m".into(), base_url: None, thinking: None };
    let work = Work::from(Agent {
        model,
        prompt: words.to_owned(),
        fallback: Vec::new(),
        yields: Vec::new(),
        context: None,
        approvals: Default::default(),
        subagent: None,
        servers: Default::default(),
    });
    TaskSpec { work, ..task(name, "") }
}

/// What a request for a summary has in its instructions if it is not to be answered.
pub const HANGING_SUMMARY: &str = "take your time";

/// Answers every model that there is.
#[derive(Clone, Default)]
pub struct FakeModels {
    asked: Arc<Mutex<Asked>>,
    /// How many requests there were.
    count: Arc<watch::Sender<usize>>,
    tools: FakeTools,
}

#[derive(Default)]
struct Asked {
    requests: Vec<ModelRequest>,
    /// How many tools ran at most when one was asked.
    busiest: usize,
    crashed: BTreeMap<SessionId, usize>,
}

impl FakeModels {
    /// Returns models that see what runs of `tools`.
    #[must_use]
    pub fn beside(tools: &FakeTools) -> Self {
        Self { asked: Arc::default(), count: Arc::default(), tools: tools.clone() }
    }

    /// Returns every request, in the order in which it was made.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// Waits until there were so many requests.
    pub async fn until_asked(&self, times: usize) {
        let mut count = self.count.subscribe();
        let _ended = count.wait_for(|count| *count >= times).await;
    }

    /// Returns how many tools ran when a model was asked, at most.
    #[must_use]
    pub fn busiest(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).busiest
    }
}

impl Models for FakeModels {
    fn key_variables(&self, route: &ModelRoute) -> Vec<String> {
        vec![format!("{}_KEY", route.provider)]
    }

    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        if route.provider == "unknown" {
            return Err(Failure::new(FailureClass::Invalid, "no such provider"));
        }
        let account = AccountId::of_provider(&route.provider);
        let (route, location) = (route.clone(), ModelLocation::Remote);
        let info = ProviderInfo {
            api: "fake",
            route,
            account,
            limits: AccountLimits::default(),
            location,
        };
        Ok(Arc::new(FakeProvider { models: self.clone(), info }))
    }
}

struct FakeProvider {
    models: FakeModels,
    info: ProviderInfo,
}

impl Provider for FakeProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        ModelStream { request_bytes: 0, events: self.models.events(request) }
    }
}

impl FakeModels {
    fn events(&self, request: &ModelRequest) -> BoxStream<'static, ModelEvent> {
        let turn = request.messages.iter().filter(|said| matches!(***said, Message::Assistant(_)));
        let turn = turn.count();
        let script = match request.messages.first().map(|said| &**said) {
            Some(Message::User(UserMessage { content, .. })) => match content.first() {
                Some(Content::Text { text }) => text.clone(),
                Some(Content::Image { .. }) | None => String::new(),
            },
            _ => String::new(),
        };
        let word = script.split(';').nth(turn).unwrap_or("say").trim().to_owned();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.requests.push(request.clone());
        self.count.send_replace(asked.requests.len());
        if &*request.system == Preparation::SYSTEM && script.contains(HANGING_SUMMARY) {
            return stream::pending().boxed();
        }
        asked.busiest = asked.busiest.max(self.tools.running());
        let crashes = asked.crashed.entry(request.session).or_default();
        let (verb, rest) = word.split_once(' ').unwrap_or((&word, ""));
        let call = |number: usize, name: &str, arguments: Value| {
            Part::ToolCall(ToolCall {
                id: format!("call_{turn}_{number}"),
                name: name.to_owned(),
                arguments: arguments.as_object().cloned().unwrap_or_default(),
                malformed: None,
                thought_signature: None,
            })
        };
        let value = || serde_json::from_str(rest).unwrap_or(Value::Null);
        let content = match verb {
            "yield" => vec![call(0, "yield", json!({ "data": value() }))],
            "give-up" => vec![call(0, "yield", json!({ "error": rest }))],
            "call" => {
                let names = rest.split(' ').enumerate();
                names.map(|(number, name)| call(number, name, json!({}))).collect()
            }
            "use" => {
                let calls =
                    rest.split(" & ").map(|call| call.split_once(' ').unwrap_or((call, "")));
                let calls = calls.enumerate().map(|(number, (name, json))| {
                    call(number, name, serde_json::from_str(json).unwrap_or(Value::Null))
                });
                calls.collect()
            }
            "crash" => panic!("the fake provider crashed"),
            "crash-once" if *crashes == 0 => {
                *crashes += 1;
                drop(asked);
                panic!("the fake provider crashed");
            }
            "crash-once" => vec![call(0, "yield", json!({ "data": { "after": turn } }))],
            "hang" => return stream::pending().boxed(),
            "hang-once" if *crashes == 0 => {
                *crashes += 1;
                let begun = stream::iter([ModelEvent::Text { block: 0, text: rest.to_owned() }]);
                return begun.chain(stream::pending()).boxed();
            }
            "stream" => {
                let numbers = (1..=rest.parse().unwrap_or(1)).map(|number: u32| number.to_string());
                let content = vec![Part::text(numbers.clone().collect::<String>())];
                let ended =
                    ModelEvent::Ended(ModelAnswer { content, stop_reason: StopReason::Stop });
                return stream::iter(
                    numbers.map(|text| ModelEvent::Text { block: 0, text }).chain([ended]),
                )
                .boxed();
            }
            "fail" => {
                let failed = AttemptFailure::new(FailureClass::Invalid, "no such model");
                return stream::iter([ModelEvent::Failed(failed)]).boxed();
            }
            _ => vec![Part::text(rest.to_owned())],
        };
        let mut events: Vec<_> = content.iter().enumerate().flat_map(pieces).collect();
        events.push(ModelEvent::Used(Usage { input: 10, output: 1, ..Usage::ZERO }));
        events.push(ModelEvent::Ended(ModelAnswer { content, stop_reason: StopReason::Stop }));
        stream::iter(events).boxed()
    }
}

/// Returns how a block of an answer comes.
fn pieces((block, part): (usize, &Part)) -> Vec<ModelEvent> {
    match part {
        Part::ToolCall(call) => {
            let json = Value::Object(call.arguments.clone()).to_string();
            let begun = ModelEvent::Calling { block, id: call.id.clone(), tool: call.name.clone() };
            vec![begun, ModelEvent::Arguments { block, json }]
        }
        Part::Text { text, .. } => vec![ModelEvent::Text { block, text: text.clone() }],
        Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::ServerTool { .. } => {
            Vec::new()
        }
    }
}

/// Session logs in memory, which fail or crash when a tool says so.
#[derive(Clone, Default)]
pub struct FakeLogs(MemorySessionLogs);

impl FakeLogs {
    /// Returns what the log at `path` holds.
    #[must_use]
    pub fn at(&self, path: &Path) -> Vec<SessionEntry> {
        self.0.entries(path)
    }

    /// Returns the ids of its entries.
    #[must_use]
    pub fn ids_at(&self, path: &Path) -> Vec<EntryId> {
        self.0.ids(path)
    }

    /// Returns what the log of `task` holds, whatever its run is.
    #[must_use]
    pub fn of(&self, task: &str) -> Vec<SessionEntry> {
        let paths = self.0.paths();
        let found = paths.iter().find(|path| {
            path.parent().is_some_and(|folder| folder.file_name().is_some_and(|name| name == task))
        });
        found.map(|path| self.at(path)).unwrap_or_default()
    }
}

#[async_trait]
impl SessionLogs for FakeLogs {
    async fn open(&self, path: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let opened = self.0.open(path, header).await?;
        Ok(OpenedLog { log: Box::new(FakeLog(opened.log)), ..opened })
    }
}

struct FakeLog(Box<dyn SessionLog>);

#[async_trait]
impl SessionLog for FakeLog {
    async fn append(
        &mut self,
        at: Timestamp,
        entry: SessionEntry,
    ) -> Result<EntryId, SessionLogError> {
        if let Some(Message::ToolResult(result)) = entry.model_message() {
            assert_ne!(result.text(), "fatal", "the session crashes");
            if result.text() == "lost" {
                let (what, source) = ("write a log".to_owned(), "it was told not to".into());
                return Err(SessionLogError { what, class: FailureClass::Resources, source });
            }
        }
        self.0.append(at, entry).await
    }

    async fn preview(&mut self, target: Option<EntryId>) -> Result<MovePreview, SessionLogError> {
        self.0.preview(target).await
    }

    async fn go_to(&mut self, at: Timestamp, to: SessionMove) -> Result<Moved, SessionLogError> {
        self.0.go_to(at, to).await
    }
}

/// Returns whether a request leaves the model no choice but to yield.
#[must_use]
pub fn is_forced(request: &ModelRequest) -> bool {
    request.choice == ToolChoice::Force("yield".to_owned())
}
