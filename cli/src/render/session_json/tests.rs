//! The lines of whole sessions on fakes, and of sequences of events that are rare.

use std::sync::Arc;

use engine::ports::{
    AccountId, AccountLimits, ModelAnswer, ModelEvent, ModelLocation, ModelRequest, ModelStream,
    Models, Provider, ProviderInfo,
};
use engine::request::RequestPolicy;
use futures_util::{StreamExt, stream};
use protocol::{
    AgentEnd, AnswerStart, AssistantMessage, CompactionReason, Cost, CostSource, Failure,
    FailureClass, InputId, Message, MessageRole, ModelRoute, Part, QueueKind, SessionEvent,
    StopReason, Timestamp, ToolCall, Usage,
};
use serde_json::{Map, Value, json};
use tests::fakes::{TestEngine, TestSession, input};
use tests::json_shapes::{ONLY_OWN, ONLY_RECORDED, recorded, shapes};

use super::SessionJson;

/// A model that calls `read`, piece by piece, and then says that it is done.
struct OneCall;

impl Models for OneCall {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(Piecewise(ProviderInfo {
            api: "openai-completions",
            route: route.clone(),
            account: AccountId::of_provider(&route.provider),
            limits: AccountLimits::default(),
            location: ModelLocation::Remote,
        })))
    }
}

struct Piecewise(ProviderInfo);

impl Provider for Piecewise {
    fn info(&self) -> &ProviderInfo {
        &self.0
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let is_first = request.messages.len() == 1;
        let (pieces, part, stop_reason) = if is_first { call() } else { text() };
        let used = ModelEvent::Used(Usage { input: 580, output: 11, ..Usage::ZERO });
        let ended = ModelEvent::Ended(ModelAnswer { content: vec![part], stop_reason });
        let events = stream::iter(pieces.into_iter().chain([used, ended])).boxed();
        ModelStream { request_bytes: 0, events }
    }
}

fn call() -> (Vec<ModelEvent>, Part, StopReason) {
    let arguments = json!({ "command": "echo tool-ran" }).as_object().cloned().unwrap_or_default();
    let (id, name) = ("call_1".to_owned(), "read".to_owned());
    let json = |json: &str| ModelEvent::Arguments { block: 0, json: json.to_owned() };
    let pieces = vec![
        ModelEvent::Calling { block: 0, id: id.clone(), tool: name.clone() },
        json("{\"command\":\"echo too"),
        json("l-ran\"}"),
    ];
    let (malformed, thought_signature) = (None, None);
    let call = ToolCall { id, name, arguments, malformed, thought_signature };
    (pieces, Part::ToolCall(call), StopReason::ToolUse)
}

fn text() -> (Vec<ModelEvent>, Part, StopReason) {
    let pieces = ["tool ", "finished"].map(|text| ModelEvent::Text { block: 0, text: text.into() });
    (pieces.to_vec(), Part::text("tool finished"), StopReason::Stop)
}

#[test(flavor = "multi_thread")]
async fn a_prompt_a_call_and_an_answer_are_the_lines_that_pi_writes() {
    let policy = RequestPolicy::default();
    let engine = TestEngine::with_models(1, Arc::new(OneCall), policy, "").await;
    let mut it = TestSession::open(&engine, "/sessions/one.jsonl".as_ref()).await;
    it.session.prompt(input("run-tool"));
    let (mut json, mut lines) = (SessionJson::default(), Vec::new());
    while lines.last().is_none_or(|line: &Value| line["type"] != "agent_end") {
        let event = it.next().await.expect("the session is open");
        lines.extend(json.lines(&event));
    }
    let (own, recorded) = (shapes(&lines, ONLY_OWN), shapes(&recorded(), ONLY_RECORDED));
    for (own, recorded) in own.iter().zip(&recorded) {
        assert_eq!(own, recorded);
    }
    assert_eq!(own.len(), recorded.len());
    let is_piece = |line: &&Value| line["assistantMessageEvent"]["type"] == "toolcall_delta";
    let last = lines.iter().rev().find(is_piece).map(|line| &line["message"]["content"][0]);
    assert_eq!(last.map(|call| &call["arguments"]), Some(&json!({ "command": "echo tool-ran" })));
}

fn answer_start() -> SessionEvent {
    let answer = AnswerStart {
        api: "a".into(),
        provider: "p".into(),
        model: "m".into(),
        timestamp: Timestamp::from_millisecond(7),
    };
    SessionEvent::MessageStart { role: MessageRole::Assistant, answer: Some(answer) }
}

fn types(json: &mut SessionJson, events: &[SessionEvent]) -> Vec<String> {
    let lines = events.iter().flat_map(|event| json.lines(event));
    lines.map(|line| line["type"].as_str().unwrap_or_default().to_owned()).collect()
}

fn failed() -> SessionEvent {
    SessionEvent::AgentEnd { end: AgentEnd::Failed(Failure::new(FailureClass::Budget, "no turn")) }
}

#[test]
fn work_that_fails_without_an_answer_ends_with_a_message_that_says_why() {
    let mut json = SessionJson::default();
    let user = Message::user("hi", Timestamp::from_millisecond(1));
    let events = [
        SessionEvent::AgentStart,
        SessionEvent::TurnStart { turn: 1 },
        SessionEvent::MessageStart { role: MessageRole::User, answer: None },
        SessionEvent::MessageEnd { message: user },
        SessionEvent::TurnEnd { turn: 1 },
    ];
    let began = ["agent_start", "turn_start", "message_start", "message_end"];
    assert_eq!(types(&mut json, &events), began);
    let end = json.lines(&failed());
    let kinds: Vec<_> = end.iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["message_start", "message_end", "turn_end", "agent_end"]);
    let last = &end[3]["messages"][1];
    assert_eq!((&last["stopReason"], &last["errorMessage"]), (&json!("error"), &json!("no turn")));
    assert_eq!(end[2]["message"], *last);
}

#[test]
fn a_crash_ends_what_was_under_way_and_the_work_goes_on() {
    let mut json = SessionJson::default();
    let call = SessionEvent::ToolExecutionStart {
        tool_call_id: "c".into(),
        tool_name: "read".into(),
        args: Map::new(),
    };
    let restart = SessionEvent::SessionRestart { error_message: "it crashed".into() };
    let events = [
        SessionEvent::AgentStart,
        SessionEvent::TurnStart { turn: 1 },
        answer_start(),
        call,
        restart,
        SessionEvent::AgentStart,
        SessionEvent::TurnStart { turn: 1 },
    ];
    let expected = [
        "agent_start",
        "turn_start",
        "message_start",
        "tool_execution_start",
        "message_end",
        "tool_execution_end",
        "turn_end",
        "session_restart",
        "turn_start",
    ];
    let types = types(&mut json, &events);
    assert_eq!(types, expected);
}

#[test]
fn what_waits_is_said_whenever_it_changes() {
    let mut json = SessionJson::default();
    let (one, two) = (InputId::generate(), InputId::generate());
    let queued = |input_id, queue, text: &str| SessionEvent::InputQueued {
        input_id,
        queue,
        text: text.to_owned(),
    };
    let events = [
        queued(one, QueueKind::Steering, "left"),
        queued(two, QueueKind::FollowUp, "then"),
        queued(InputId::generate(), QueueKind::Prompt, "no queue"),
        SessionEvent::InputTaken { input_id: one },
        SessionEvent::InputDropped { input_id: two },
        SessionEvent::InputTaken { input_id: one },
    ];
    let lines: Vec<_> = events.iter().flat_map(|event| json.lines(event)).collect();
    let update = |steering: &[&str], follow_up: &[&str]| json!({ "type": "queue_update", "steering": steering, "followUp": follow_up });
    let expected = [
        update(&["left"], &[]),
        update(&["left"], &["then"]),
        update(&[], &["then"]),
        update(&[], &[]),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_has_no_snapshot_is_written_as_it_is() {
    let mut json = SessionJson::default();
    let events = [
        SessionEvent::CompactionStart { reason: CompactionReason::Overflow },
        SessionEvent::AutoRetryEnd { success: true, attempt: 2, final_error: None },
    ];
    let lines: Vec<_> = events.iter().flat_map(|event| json.lines(event)).collect();
    let expected = [
        json!({ "type": "compaction_start", "reason": "overflow" }),
        json!({ "type": "auto_retry_end", "success": true, "attempt": 2 }),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_cost_has_its_source_beside_it_and_0_with_unknown_is_none() {
    let written = |cost: Option<u64>, cost_source| {
        let cost = cost.map(Cost::from_nanodollars);
        let usage = Usage { cost, cost_source, ..Usage::ZERO };
        let message = AssistantMessage {
            content: Vec::new(),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage,
            stop_reason: StopReason::Stop,
            error_message: None,
            timestamp: Timestamp::from_millisecond(0),
        };
        let value = super::partial_answer::message_value(&Message::Assistant(message));
        (value["usage"]["cost"]["total"].as_f64(), value["usage"]["costSource"].clone())
    };
    let cents = Some(10_000_000);
    assert_eq!(written(None, CostSource::Unknown), (Some(0.0), json!("unknown")));
    assert_eq!(written(cents, CostSource::Priced), (Some(0.01), json!("priced")));
    assert_eq!(written(cents, CostSource::Reported), (Some(0.01), json!("reported")));
}

/// Returns the size of all lines of a call with so many subagents of two turns, and the last progress.
fn lines_of_subagents(count: usize) -> (usize, String) {
    let task = |number| {
        let assignment = "Read the module, and say what it does. ".repeat(3);
        json!({ "id": format!("Module{number}"), "assignment": assignment })
    };
    let args = json!({ "tasks": (0..count).map(task).collect::<Vec<_>>() });
    let (tool_call_id, tool_name) = ("1".to_owned(), "task".to_owned());
    let args = args.as_object().unwrap().clone();
    let mut json = SessionJson::default();
    let start = SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args };
    let (mut size, mut last) = (json.lines(&start)[0].to_string().len(), String::new());
    for said in ["started", "· read", "· yield", "done"] {
        for number in 0..count {
            let (tool_call_id, line) = ("1".to_owned(), format!("{number}-Module{number} {said}"));
            for line in json.lines(&SessionEvent::ToolExecutionUpdate { tool_call_id, line }) {
                size += line.to_string().len();
                last = line["partialResult"]["content"][0]["text"].as_str().unwrap().to_owned();
            }
        }
    }
    (size, last)
}

#[test]
fn the_updates_of_two_hundred_subagents_grow_with_their_number_and_stay_below_ten_megabytes() {
    let (few, last) = lines_of_subagents(4);
    assert!(last.ends_with("3-Module3 done\n") && last.lines().count() == 16, "{last}");
    assert!(few < 100_000, "{few}");
    let (many, last) = lines_of_subagents(200);
    assert!(many < 4_000_000, "{many}");
    assert!(last.contains(" done\n"), "the last ones are not far behind: {last}");
    let (more, _) = lines_of_subagents(400);
    assert!(more < many * 3, "{many} and {more}");
}
