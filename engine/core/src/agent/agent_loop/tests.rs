//! The loop on fakes, polled by hand: nothing here waits for anything but itself.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use protocol::{
    AssistantMessage, EntryId, Failure, FailureClass, InputId, Message, ModelRoute, Part,
    SessionEntry, SessionId, SessionMessage, StopReason, Timestamp, ToolCall, ToolResult, Usage,
    UserInput,
};
use serde_json::json;

use super::*;
use crate::agent::{
    Assignment, Inputs, Limits, Listener, Model, RequestChanges, RequestHooks, SessionInit,
};
use crate::compaction::{BranchSummaryPolicy, CompactionPolicy};
use crate::ports::{
    Access, AccountId, AccountLimits, AttemptFailure, CancelToken, Clock, Concurrency, Gate,
    GateEvent, GateRequest, ModelAnswer, ModelEvent, ModelLocation, ModelRequest, ModelStream,
    OpenedLog, Permit as GatePermit, Provider, ProviderInfo, Requester, SessionHeader, SessionLog,
    SessionLogError, SessionLogs, Timer, ToolDeclaration, ToolOutcome, ToolOutput, ToolRunner,
};
use crate::request::{FallbackRevert, ModelClient, RequestPolicy, RetryPolicy, Routes};
use crate::session::{ContextMessage, MovePreview, Moved, SessionContext, SessionMove};

/// Polls a future until it is ready; what is pending without end fails the test.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("nothing moves any more");
}

mod compaction;
mod findings;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_678)
    }
}

/// Says what it was given, one answer after another, and keeps what it was asked.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Vec<ModelEvent>>>>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Script {
    fn of(answers: impl IntoIterator<Item = AssistantMessage>) -> Self {
        let answers = answers.into_iter().map(|answer| {
            let AssistantMessage { content, stop_reason, usage, .. } = answer;
            let answer = ModelAnswer { content, stop_reason };
            vec![ModelEvent::Used(usage), ModelEvent::Ended(answer)]
        });
        Self { answers: Arc::new(Mutex::new(answers.collect())), ..Self::default() }
    }

    /// Returns the model that this script plays. It is asked once at a time and not again.
    fn model(&self) -> ModelClient {
        let retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
        ModelClient {
            routes: Routes::only(Arc::new(self.clone())),
            gate: Arc::new(OpenGate),
            requester: Requester::Person,
            timer: Arc::new(Still),
            clock: Arc::new(Noon),
            policy: RequestPolicy { retry, ..RequestPolicy::default() },
        }
    }
}

static INFO: LazyLock<ProviderInfo> = LazyLock::new(|| ProviderInfo {
    api: "script",
    route: ModelRoute { provider: "script".into(), id: "m".into(), base_url: None, thinking: None },
    account: AccountId::of_provider("script"),
    limits: AccountLimits::default(),
    location: ModelLocation::Local,
});

impl Provider for Script {
    fn info(&self) -> &ProviderInfo {
        &INFO
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        ModelStream { request_bytes: 0, events: stream::iter(answer).boxed() }
    }
}

/// Admits every request at once.
struct OpenGate;

impl Gate for OpenGate {
    fn acquire(&self, _request: GateRequest) -> BoxStream<'static, GateEvent> {
        stream::iter([GateEvent::Admitted(GatePermit::new(drop))]).boxed()
    }
}

/// Stands still.
struct Still;

impl Timer for Still {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _duration: Duration) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

/// Each call takes as many polls as its name says; `alone-N` is exclusive.
#[derive(Default)]
struct Clockwork {
    running: Mutex<Vec<String>>,
    seen: Mutex<Vec<String>>,
}

#[async_trait]
impl ToolRunner for Clockwork {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::from([])
    }

    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        let access = |call: &ToolCall| match call.name.as_str() {
            "alone-4" | "yield" => Access { concurrency: Concurrency::Exclusive, ..Access::none() },
            _ => Access::none(),
        };
        calls.iter().map(access).collect()
    }

    async fn call(&self, call: ToolCall) -> ToolOutcome {
        self.running.lock().unwrap().push(call.name.clone());
        let mut polls: u32 = call.name.rsplit('-').next().unwrap().parse().unwrap_or(1);
        std::future::poll_fn(|context| {
            let running = self.running.lock().unwrap().join(" ");
            self.seen.lock().unwrap().push(running);
            polls -= 1;
            if polls == 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.running.lock().unwrap().retain(|name| *name != call.name);
        match call.name.as_str() {
            "yield" => ToolOutcome::Yielded(json!(1)),
            name => ToolOutcome::Output(ToolOutput::text(format!("{name} is done"))),
        }
    }

    async fn interrupt(&self) {
        self.running.lock().unwrap().clear();
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Listener for Heard {
    fn event(&self, event: SessionEvent) {
        let word = match event {
            SessionEvent::ToolExecutionStart { tool_name, .. } => format!("start {tool_name}"),
            SessionEvent::ToolExecutionEnd { tool_name, .. } => format!("end {tool_name}"),
            SessionEvent::RetryFallbackApplied { from, to, error_message } => {
                format!("{from} -> {to}: {error_message}")
            }
            _ => return,
        };
        self.0.lock().unwrap().push(word);
    }
}

/// Gives a session nothing while it works.
struct NoInputs;

#[async_trait]
impl Inputs for NoInputs {
    async fn before_request(&self) -> RequestChanges {
        RequestChanges::default()
    }

    async fn before_stop(&self) -> Vec<UserInput> {
        Vec::new()
    }

    async fn interrupts(&self) -> bool {
        false
    }
}

/// A log in memory that begins with `old`.
#[derive(Clone, Default)]
struct Shelf {
    old: Vec<ContextMessage>,
    session: Option<SessionId>,
    added: Arc<Mutex<Vec<SessionEntry>>>,
}

#[async_trait]
impl SessionLogs for Shelf {
    async fn open(&self, _at: &Path, header: SessionHeader) -> Result<OpenedLog, SessionLogError> {
        let log = Box::new(self.clone());
        let answers = self.old.iter().filter_map(|said| match said.message.as_model() {
            Some(Message::Assistant(answer)) => Some(answer.usage),
            _other => None,
        });
        let used: Vec<_> = answers.collect();
        let context = SessionContext {
            messages: self.old.clone(),
            answers: u32::try_from(used.len()).unwrap(),
            used: Some(used.into_iter().sum()),
            ..SessionContext::default()
        };
        Ok(OpenedLog {
            session: self.session.unwrap_or(header.id),
            context,
            damage: Vec::new(),
            log,
        })
    }
}

#[async_trait]
impl SessionLog for Shelf {
    async fn append(
        &mut self,
        _at: Timestamp,
        entry: SessionEntry,
    ) -> Result<EntryId, SessionLogError> {
        let mut added = self.added.lock().unwrap();
        added.push(entry);
        Ok(EntryId::new(added.len().to_string()))
    }

    async fn preview(&mut self, target: Option<EntryId>) -> Result<MovePreview, SessionLogError> {
        panic!("the loop stays on its branch: {target:?}")
    }

    async fn go_to(&mut self, _at: Timestamp, to: SessionMove) -> Result<Moved, SessionLogError> {
        panic!("the loop stays on its branch: {to:?}")
    }
}

impl Shelf {
    fn results(&self) -> Vec<ToolResult> {
        let added = self.added.lock().unwrap();
        let results = added.iter().filter_map(|entry| match entry {
            SessionEntry::Message {
                message: SessionMessage::Model(Message::ToolResult(result)),
                ..
            } => Some(result.clone()),
            _ => None,
        });
        results.collect()
    }

    fn texts(&self) -> Vec<String> {
        self.results().iter().map(ToolResult::text).collect()
    }
}

fn prompt_id() -> InputId {
    "019b7cc9-0000-7000-8000-000000000000".parse().unwrap()
}

/// Returns what a user said, as the log has it.
fn said(text: &str, id: InputId) -> ContextMessage {
    ContextMessage { input_id: Some(id), ..other(Message::user(text, Noon.now())) }
}

/// Returns what a model or a tool said, as the log has it.
fn other(message: Message) -> ContextMessage {
    ContextMessage { entry: EntryId::new("1"), input_id: None, message: message.into() }
}

fn answer(calls: &[(&str, &str)]) -> AssistantMessage {
    let call = |(id, name): &(&str, &str)| {
        let (id, name) = ((*id).to_owned(), (*name).to_owned());
        Part::ToolCall(ToolCall {
            id,
            name,
            arguments: serde_json::Map::new(),
            malformed: None,
            thought_signature: None,
        })
    };
    AssistantMessage {
        content: calls.iter().map(call).collect(),
        api: "script".into(),
        provider: "script".into(),
        model: "m".into(),
        usage: Usage::ZERO,
        stop_reason: if calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse },
        error_message: None,
        timestamp: Noon.now(),
    }
}

fn conversation(shelf: &Shelf) -> Conversation {
    let header =
        SessionHeader { id: SessionId::generate(), cwd: "/w".into(), at: Noon.now(), parent: None };
    let assignment = Assignment { id: prompt_id(), prompt: "do it".to_owned(), schema: None };
    let init = SessionInit {
        system: "be good".into(),
        model: "script/m".parse().unwrap(),
        tools: Vec::new(),
        assignment: Some(assignment),
    };
    let opened = Conversation::open(shelf, Path::new("/l"), header, init, Arc::new(Noon));
    let mut opened = finish(opened).unwrap();
    for call in opened.unanswered_calls() {
        finish(opened.answer_interrupted_call(&call, "interrupted".to_owned())).unwrap();
    }
    opened
}

fn limits() -> Limits {
    Limits { turns: 50.try_into().unwrap(), tokens: None, cost: None }
}

fn context<'a>(
    script: &Script,
    tools: &'a dyn ToolRunner,
    listener: &'a dyn Listener,
) -> AgentContext<'a> {
    let model = Model { route: INFO.route.clone(), client: script.model() };
    let abort = CancelToken::default();
    let request_hooks = RequestHooks::default();
    AgentContext {
        model,
        tools,
        only: None,
        inputs: &NoInputs,
        listener,
        limits: limits(),
        compaction: CompactionPolicy::default(),
        branch_summary: BranchSummaryPolicy::default(),
        request_hooks,
        abort,
    }
}

fn play(shelf: &Shelf, script: &Script, hands: &Clockwork, heard: &Heard) -> AgentEnd {
    let mut conversation = conversation(shelf);
    finish(run(&mut conversation, &mut context(script, hands, heard), None))
}

#[test]
fn calls_run_side_by_side_and_their_results_stand_in_the_order_of_the_calls() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let calls = answer(&[("a", "take-9"), ("b", "take-1"), ("c", "take-5")]);
    let end = play(&shelf, &Script::of([calls, answer(&[("y", "yield")])]), &hands, &heard);
    assert_eq!(end, AgentEnd::Yielded(json!(1)));
    assert_eq!(shelf.texts(), ["take-9 is done", "take-1 is done", "take-5 is done", "received"]);
    let expected = [
        "start take-9",
        "start take-1",
        "start take-5",
        "end take-1",
        "end take-5",
        "end take-9",
        "start yield",
        "end yield",
    ];
    assert_eq!(*heard.0.lock().unwrap(), expected);
}

#[test]
fn an_exclusive_tool_never_overlaps_another() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let calls = answer(&[("a", "take-9"), ("b", "alone-4"), ("c", "take-5"), ("d", "take-1")]);
    play(&shelf, &Script::of([calls]), &hands, &heard);
    let seen = hands.seen.lock().unwrap();
    assert!(seen.iter().any(|running| running == "take-5 take-1"), "{seen:?}");
    assert!(seen.iter().any(|running| running == "alone-4"), "{seen:?}");
    let overlaps = |running: &&String| running.contains("alone-4") && running.contains(' ');
    assert_eq!(seen.iter().find(overlaps), None);
}

#[test]
fn what_stands_behind_a_yield_is_not_carried_out() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let calls = answer(&[("a", "take-1"), ("b", "yield"), ("c", "take-5")]);
    assert_eq!(play(&shelf, &Script::of([calls]), &hands, &heard), AgentEnd::Yielded(json!(1)));
    assert_eq!(shelf.texts(), ["take-1 is done", "received", prompts::AFTER_YIELD]);
    assert!(!hands.seen.lock().unwrap().iter().any(|running| running.contains("take-5")));
}

#[test]
fn a_call_that_a_crash_interrupted_gets_an_answer_and_is_not_run_again() {
    let result = ToolResult {
        tool_call_id: "a".to_owned(),
        tool_name: "take-1".to_owned(),
        content: vec![protocol::Content::text("take-1 is done")],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: Noon.now(),
    };
    let old = vec![
        said("do it", prompt_id()),
        other(Message::Assistant(answer(&[("a", "take-1"), ("b", "take-5")]))),
        other(Message::ToolResult(result)),
    ];
    let shelf = Shelf { old, ..Shelf::default() };
    let (hands, heard) = (Clockwork::default(), Heard::default());
    let script = Script::of([answer(&[("b", "yield")])]);
    assert_eq!(play(&shelf, &script, &hands, &heard), AgentEnd::Yielded(json!(1)));
    let results = shelf.results();
    assert_eq!((results[0].tool_call_id.as_str(), results[0].is_error), ("b", true));
    assert_eq!(results[0].text(), "interrupted");
    assert_eq!(results[1].tool_call_id, "b-2", "an identity that was used gets a number");
    assert_eq!(*hands.seen.lock().unwrap(), ["yield"]);
    let asked = script.asked.lock().unwrap();
    assert_eq!((asked.len(), asked[0].messages.len()), (1, 4), "everything said before is there");
}

#[test]
fn the_result_of_a_call_that_is_lost_is_not_said_again() {
    let result = ToolResult {
        tool_call_id: "lost".to_owned(),
        tool_name: "take-1".to_owned(),
        content: vec![protocol::Content::text("take-1 is done")],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: Noon.now(),
    };
    let old = vec![said("do it", prompt_id()), other(Message::ToolResult(result))];
    let script = Script::of([answer(&[("y", "yield")])]);
    let shelf = Shelf { old, ..Shelf::default() };
    play(&shelf, &script, &Clockwork::default(), &Heard::default());
    let asked = script.asked.lock().unwrap();
    assert_eq!(asked[0].messages.len(), 1);
}

#[test]
fn what_was_said_before_a_crash_is_not_said_twice_and_what_was_not_is() {
    let choice = ToolChoice::Force("yield".to_owned());
    let input = UserInput::new(InputId::generate(), "go on");
    let prompt = Prompt { input: input.clone(), choice: choice.clone() };
    // A log has the text as it was cut: only the id counts.
    let cases = [vec![], vec![said("go", input.id)], vec![said("go on", InputId::generate())]];
    for (told, expected) in cases.into_iter().zip([2, 2, 3]) {
        let old = [said("do it", prompt_id())].into_iter().chain(told).collect();
        let mut conversation = conversation(&Shelf { old, ..Shelf::default() });
        let script = Script::of([answer(&[("y", "yield")])]);
        let (hands, heard) = (Clockwork::default(), Heard::default());
        let mut context = context(&script, &hands, &heard);
        finish(run(&mut conversation, &mut context, Some(prompt.clone())));
        let asked = script.asked.lock().unwrap();
        assert_eq!((asked[0].messages.len(), &asked[0].choice), (expected, &choice));
    }
}

#[test]
fn two_calls_with_one_identity_become_two() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let calls = answer(&[("x", "take-5"), ("x", "take-1"), ("", "take-9")]);
    play(&shelf, &Script::of([calls]), &hands, &heard);
    let ids: Vec<_> = shelf.results().into_iter().map(|result| result.tool_call_id).collect();
    assert_eq!(ids, ["x", "x-2", "call"]);
}

#[test]
fn calls_of_a_log_that_share_an_id_get_their_own_and_each_one_result() {
    let result = |id: &str| {
        other(Message::ToolResult(ToolResult {
            tool_call_id: id.to_owned(),
            tool_name: "take-1".to_owned(),
            content: vec![protocol::Content::text(id)],
            details: None,
            is_error: false,
            pruned_at: None,
            timestamp: Noon.now(),
        }))
    };
    let called = |calls: &[(&str, &str)]| other(Message::Assistant(answer(calls)));
    let mut old = vec![
        said("do it", prompt_id()),
        called(&[("a", "take-1")]),
        result("a"),
        called(&[("a", "take-1"), ("a", "take-1")]),
        result("a"),
    ];
    let opened = |old: Vec<ContextMessage>| {
        let shelf = Shelf { old, ..Shelf::default() };
        let messages = conversation(&shelf).messages;
        let results = messages.iter().filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(result.tool_call_id.clone()),
            Message::User(_) | Message::Assistant(_) => None,
        });
        (results.collect::<Vec<_>>(), shelf.results())
    };
    let (ids, added) = opened(old.clone());
    assert_eq!((ids, added.len()), (["a", "a-2", "a-3"].map(str::to_owned).into(), 1));
    // What was added then is found again.
    old.extend(added.into_iter().map(|result| other(Message::ToolResult(result))));
    let (ids, added) = opened(old);
    assert_eq!((ids, added.len()), (["a", "a-2", "a-3"].map(str::to_owned).into(), 0));
}

#[test]
fn a_model_that_had_the_last_word_before_a_crash_is_not_asked_for_another() {
    let mut last = answer(&[]);
    last.content = vec![Part::text("done!".to_owned())];
    let old = vec![said("do it", prompt_id()), other(Message::Assistant(last))];
    let shelf = Shelf { old, ..Shelf::default() };
    let script = Script::of([]);
    let end = play(&shelf, &script, &Clockwork::default(), &Heard::default());
    assert_eq!(end, AgentEnd::Silent("it ended without a yield".to_owned()));
    assert!(script.asked.lock().unwrap().is_empty());
}

#[test]
fn an_answer_without_an_end_is_none() {
    let (shelf, script) = (Shelf::default(), Script::of([]));
    let AgentEnd::Failed(failure) = play(&shelf, &script, &Clockwork::default(), &Heard::default())
    else {
        panic!("there was no answer")
    };
    assert_eq!(failure, Failure::new(FailureClass::Transient, "the answer ended in the middle"));
}

#[test]
fn what_failed_is_in_the_log_and_not_in_the_conversation() {
    let shelf = Shelf::default();
    let failure = Failure::new(FailureClass::Refused, "no");
    let partial = AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some("no".to_owned()),
        ..answer(&[])
    };
    let script = Script::default();
    let failed = ModelEvent::Failed(AttemptFailure::from(failure.clone()));
    script.answers.lock().unwrap().push_back(vec![failed]);
    let mut conversation = conversation(&shelf);
    let (hands, heard) = (Clockwork::default(), Heard::default());
    let mut context = context(&script, &hands, &heard);
    assert_eq!(finish(run(&mut conversation, &mut context, None)), AgentEnd::Failed(failure));
    assert_eq!(conversation.messages.len(), 1);
    let logged = shelf.added.lock().unwrap().last().cloned();
    assert_eq!(logged, Some(SessionEntry::message(Message::Assistant(partial))));
}

#[test]
fn at_its_limit_a_model_is_told_so_once_and_nothing_but_a_yield_is_carried_out() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let script = Script::of([
        answer(&[("a", "take-1")]),
        answer(&[("b", "take-5"), ("c", "yield")]),
        answer(&[("d", "take-9")]),
    ]);
    let limits = Limits { turns: 1.try_into().unwrap(), tokens: None, cost: None };
    let mut conversation = conversation(&shelf);
    let mut context = AgentContext { limits, ..context(&script, &hands, &heard) };
    assert_eq!(finish(run(&mut conversation, &mut context, None)), AgentEnd::Yielded(json!(1)));
    assert_eq!(shelf.texts(), ["take-1 is done", prompts::ONLY_YIELD, "received"]);
    assert!(!hands.seen.lock().unwrap().iter().any(|running| running.contains("take-5")));
    let input = UserInput::new(InputId::generate(), "not that");
    let prompt = Prompt::free(input);
    let AgentEnd::Failed(failure) = finish(run(&mut conversation, &mut context, Some(prompt)))
    else {
        panic!("it had one more turn, and that was the last")
    };
    assert_eq!(failure.class, FailureClass::Budget);
    let asked = script.asked.lock().unwrap();
    let choices: Vec<_> = asked.iter().map(|request| request.choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Free, ToolChoice::Force("yield".to_owned())]);
}

#[test]
fn what_a_session_used_before_a_crash_counts_and_it_is_told_of_its_limit_once() {
    let session = SessionId::generate();
    let told = |limit: &str| vec![said(&prompts::yield_now(limit), InputId::of_limit(session))];
    let turns = Limits { turns: 1.try_into().unwrap(), tokens: None, cost: None };
    let tokens = Limits { tokens: Some(7), ..limits() };
    let cases = [
        (turns, vec![], "1 turns"),
        (turns, told("1 turns"), "1 turns"),
        (tokens, vec![], "7 tokens"),
    ];
    for (limits, told, limit) in cases {
        let mut answered = answer(&[("a", "take-1")]);
        answered.usage = Usage { output: 7, ..Usage::ZERO };
        let old = vec![said("do it", prompt_id()), other(Message::Assistant(answered))];
        let result = ToolResult {
            tool_call_id: "a".to_owned(),
            tool_name: "take-1".to_owned(),
            content: vec![protocol::Content::text("take-1 is done")],
            details: None,
            is_error: false,
            pruned_at: None,
            timestamp: Noon.now(),
        };
        let old = old.into_iter().chain([other(Message::ToolResult(result))]).chain(told).collect();
        let mut conversation =
            conversation(&Shelf { old, session: Some(session), ..Shelf::default() });
        let script = Script::of([answer(&[("y", "yield")])]);
        let (hands, heard) = (Clockwork::default(), Heard::default());
        let mut context = AgentContext { limits, ..context(&script, &hands, &heard) };
        assert_eq!(finish(run(&mut conversation, &mut context, None)), AgentEnd::Yielded(json!(1)));
        let asked = script.asked.lock().unwrap();
        assert_eq!(asked[0].choice, ToolChoice::Force("yield".to_owned()), "{limit}");
        let last = Message::user(prompts::yield_now(limit), Noon.now());
        assert_eq!((asked[0].messages.len(), &*asked[0].messages[3]), (4, &last), "{limit}");
    }
}

#[test]
fn every_request_has_the_system_prompt_and_the_whole_conversation() {
    let shelf = Shelf::default();
    let answers =
        [answer(&[("a", "take-1")]), answer(&[("b", "take-5")]), answer(&[("y", "yield")])];
    let script = Script::of(answers);
    play(&shelf, &script, &Clockwork::default(), &Heard::default());
    let added = shelf.added.lock().unwrap();
    let said = added.iter().filter_map(SessionEntry::model_message);
    let said: Vec<_> = said.collect();
    for (turn, request) in script.asked.lock().unwrap().iter().enumerate() {
        assert_eq!(&*request.system, "be good");
        let heard: Vec<_> = request.messages.iter().map(|message| &**message).collect();
        assert_eq!(heard, said[..2 * turn + 1], "turn {turn}");
    }
}

/// Has no more disk.
struct Exhausted;

#[async_trait]
impl ToolRunner for Exhausted {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::from([])
    }

    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        calls.iter().map(|_| Access::none()).collect()
    }

    async fn call(&self, _call: ToolCall) -> ToolOutcome {
        ToolOutcome::ResourceExhausted("no space left on device".to_owned())
    }

    async fn interrupt(&self) {}
}

#[test]
fn a_tool_for_which_the_machine_has_no_more_ends_the_session() {
    let shelf = Shelf::default();
    let mut conversation = conversation(&shelf);
    let script = Script::of([answer(&[("a", "write"), ("b", "write")])]);
    let heard = Heard::default();
    let mut context = context(&script, &Exhausted, &heard);
    let AgentEnd::Failed(failure) = finish(run(&mut conversation, &mut context, None)) else {
        panic!("it went on")
    };
    assert_eq!(failure.class, FailureClass::Resources);
    assert_eq!(shelf.results().len(), 2, "every call has its result");
}

/// Hands out what it holds.
#[derive(Default)]
struct Given {
    steering: Mutex<VecDeque<Vec<UserInput>>>,
    follow_ups: Mutex<VecDeque<UserInput>>,
    interrupting: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Inputs for Given {
    async fn before_request(&self) -> RequestChanges {
        let steering = self.steering.lock().unwrap().pop_front().unwrap_or_default();
        RequestChanges { steering, ..RequestChanges::default() }
    }

    async fn before_stop(&self) -> Vec<UserInput> {
        self.follow_ups.lock().unwrap().pop_front().into_iter().collect()
    }

    async fn interrupts(&self) -> bool {
        self.interrupting.load(std::sync::atomic::Ordering::SeqCst)
    }
}

fn input(text: &str) -> UserInput {
    UserInput::new(InputId::generate(), text)
}

/// Returns what users said in a request.
fn user_texts(request: &ModelRequest) -> Vec<String> {
    let texts = request.messages.iter().filter_map(|message| match &**message {
        Message::User(said) => Some(said.text()),
        Message::Assistant(_) | Message::ToolResult(_) => None,
    });
    texts.collect()
}

#[test]
fn steering_is_in_the_request_after_the_results_and_a_follow_up_where_the_model_would_stop() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let script = Script::of([answer(&[("a", "take-1")]), answer(&[]), answer(&[])]);
    let steering = VecDeque::from([vec![], vec![input("left"), input("left")]]);
    let given = Given {
        steering: Mutex::new(steering),
        follow_ups: Mutex::new(VecDeque::from([input("and then")])),
        ..Given::default()
    };
    let mut conversation = conversation(&shelf);
    let mut context = AgentContext { inputs: &given, ..context(&script, &hands, &heard) };
    let end = finish(run(&mut conversation, &mut context, None));
    assert_eq!(end, AgentEnd::Silent("it ended without a yield".to_owned()));
    let asked = script.asked.lock().unwrap();
    let texts: Vec<_> = asked.iter().map(user_texts).collect();
    let steered = ["do it", "left", "left"].map(str::to_owned).to_vec();
    let followed = [steered.clone(), vec!["and then".to_owned()]].concat();
    assert_eq!(texts, [vec!["do it".to_owned()], steered, followed]);
    assert!(matches!(*asked[1].messages[2], Message::ToolResult(_)), "results come first");
}

#[test]
fn steering_that_interrupts_skips_the_calls_that_have_not_ended() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let calls = answer(&[("a", "take-9"), ("b", "take-1"), ("c", "alone-4"), ("d", "take-5")]);
    let script = Script::of([calls, answer(&[])]);
    let steering = VecDeque::from([vec![], vec![input("not that")]]);
    let given = Given { steering: Mutex::new(steering), ..Given::default() };
    given.interrupting.store(true, std::sync::atomic::Ordering::SeqCst);
    let mut conversation = conversation(&shelf);
    let mut context = AgentContext { inputs: &given, ..context(&script, &hands, &heard) };
    finish(run(&mut conversation, &mut context, None));
    let skipped = prompts::SKIPPED;
    assert_eq!(shelf.texts(), [skipped, "take-1 is done", skipped, skipped]);
    let expected = [
        "start take-9",
        "start take-1",
        "end take-1",
        "end take-9",
        "start alone-4",
        "end alone-4",
        "start take-5",
        "end take-5",
    ];
    assert_eq!(*heard.0.lock().unwrap(), expected);
    assert!(hands.running.lock().unwrap().is_empty(), "nothing runs on");
    let asked = script.asked.lock().unwrap();
    assert_eq!(user_texts(&asked[1]), ["do it", "not that"]);
}

#[test]
fn an_abort_wins_against_a_stream_that_stands_still_and_keeps_what_came() {
    let shelf = Shelf::default();
    let script = Script::default();
    let (hands, heard) = (Clockwork::default(), Heard::default());
    let mut conversation = conversation(&shelf);
    let mut context = context(&script, &hands, &heard);
    context.model.client.routes = Routes::only(Arc::new(Stalled));
    let abort = context.abort.clone();
    {
        let mut running = pin!(run(&mut conversation, &mut context, None));
        let mut context = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut context).is_pending());
        abort.cancel(crate::ports::CancelLevel::Gently);
        assert_eq!(finish(running), AgentEnd::Aborted);
    }
    let logged = shelf.added.lock().unwrap().last().cloned();
    let Some(Message::Assistant(partial)) = logged.as_ref().and_then(SessionEntry::model_message)
    else {
        panic!("what came is in the log: {logged:?}")
    };
    assert_eq!((partial.stop_reason, partial.text().as_str()), (StopReason::Aborted, "half"));
    assert_eq!((partial.api.as_str(), conversation.messages.len()), ("script", 1));
    // The provider has not counted it.
    assert_eq!((partial.usage.output, partial.usage.cost), (1, None));
    assert!(partial.usage.input > 0, "{partial:?}");
}

/// Begins an answer and stands still.
struct Stalled;

impl Provider for Stalled {
    fn info(&self) -> &ProviderInfo {
        &INFO
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        let begun = ["ha", "lf"].map(|text| ModelEvent::Text { block: 0, text: text.to_owned() });
        ModelStream {
            request_bytes: 0,
            events: stream::iter(begun).chain(stream::pending()).boxed(),
        }
    }
}

/// Another model that says what a script says.
struct Other(Script, ProviderInfo);

impl Provider for Other {
    fn info(&self) -> &ProviderInfo {
        &self.1
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        self.0.stream(request)
    }
}

#[test]
fn a_model_that_cannot_be_had_is_followed_by_its_fallback_which_answers_the_same_request() {
    let (shelf, hands, heard) = (Shelf::default(), Clockwork::default(), Heard::default());
    let usage = Usage { input: 3, ..Usage::ZERO };
    let first = Script::of([AssistantMessage { usage, ..answer(&[("a", "take-1")]) }]);
    let gone = AttemptFailure::new(FailureClass::Auth, "no such key");
    let gone = vec![ModelEvent::Used(usage), ModelEvent::Failed(gone)];
    first.answers.lock().unwrap().push_back(gone);
    let second = Script::of([AssistantMessage { usage, ..answer(&[("b", "yield")]) }]);
    let route: ModelRoute = "spare/n".parse().unwrap();
    let info = ProviderInfo {
        account: AccountId::of_provider("spare"),
        route: route.clone(),
        ..INFO.clone()
    };
    let spare: Arc<dyn Provider> = Arc::new(Other(second.clone(), info));
    let mut context = context(&first, &hands, &heard);
    let routes = context.model.client.routes.clone();
    let routes = routes.with([spare], Arc::default(), FallbackRevert::CooldownExpiry);
    context.model.client.routes = routes;
    let mut conversation = conversation(&shelf);
    let end = finish(run(&mut conversation, &mut context, None));
    assert_eq!(end, AgentEnd::Yielded(json!(1)));
    let asked = |script: &Script| -> Vec<usize> {
        script.asked.lock().unwrap().iter().map(|request| request.messages.len()).collect()
    };
    assert_eq!((asked(&first), asked(&second)), (vec![1, 3], vec![3]), "the history is kept");
    let added = shelf.added.lock().unwrap().clone();
    let answers = added.iter().filter_map(|entry| match (entry, entry.model_message()) {
        (SessionEntry::ModelChange { model, .. }, _) => Some(format!("to {model}")),
        (_, Some(Message::Assistant(said))) => {
            let failed = if said.stop_reason == StopReason::Error { " failed" } else { "" };
            Some(format!("{}/{}{failed} {}", said.provider, said.model, said.usage.input))
        }
        _ => None,
    });
    assert_eq!(
        answers.collect::<Vec<_>>(),
        ["to script/m", "script/m 3", "script/m failed 3", "to spare/n", "spare/n 3"]
    );
    assert_eq!(conversation.usage.used.input, 9, "what the first has used counts");
    assert_eq!(heard.0.lock().unwrap()[2], "script/m -> spare/n: no such key");
}

/// An answer of this text.
fn answer_of(text: &str, stop_reason: StopReason) -> AssistantMessage {
    AssistantMessage { content: vec![Part::text(text)], stop_reason, ..answer(&[]) }
}

#[test]
fn a_paused_answer_goes_on_and_one_with_a_call_as_text_says_why_it_is_none() {
    let paused = || answer_of("I look.", StopReason::ToolUse);
    let written = answer_of("<tool_call>\n{}", StopReason::Stop);
    let heard = Heard::default();
    let script = Script::of([paused(), paused(), written]);
    let end = play(&Shelf::default(), &script, &Clockwork::default(), &heard);
    let AgentEnd::Silent(why) = end else { panic!("{end:?}") };
    assert!(why.starts_with("it wrote a call as text (`<tool_call>`)"), "{why}");
    let asked = |script: &Script| script.asked.lock().unwrap().len();
    assert_eq!(asked(&script), 3);
    // A model that only pauses is not asked without end.
    let script = Script::of((0..99).map(|_| paused()));
    let end = play(&Shelf::default(), &script, &Clockwork::default(), &heard);
    let paused_only = AgentEnd::Silent("it paused, and did not go on to a yield".to_owned());
    assert_eq!((&end, asked(&script)), (&paused_only, 21));
    // A pause in which nothing was said is an end: the next request would be the same.
    for empty in [answer_of(" ", StopReason::ToolUse), answer(&[])] {
        let empty = AssistantMessage { stop_reason: StopReason::ToolUse, ..empty };
        let script = Script::of([paused(), empty]);
        let end = play(&Shelf::default(), &script, &Clockwork::default(), &heard);
        assert_eq!((&end, asked(&script)), (&paused_only, 2));
    }
}
