//! Moves of a session to earlier entries of its log, and entries that are neither inputs nor answers.

use std::path::Path;
use std::sync::Arc;

use actors::SessionHandle;
use engine::agent::{Navigation, SummaryOfLeft};
use engine::compaction::SummaryInstructions;
use engine::ports::CancelLevel;
use protocol::{
    AgentEnd, BashExecution, Content, CustomMessage, EntryId, FailureClass, FileMention, Message,
    SessionEntry, SessionEvent, SessionMessage, Timestamp,
};
use serde_json::json;
use tests::fakes::{HANGING_SUMMARY, TestEngine, TestSession, input, silent};

const LOG: &str = "/sessions/one.jsonl";

/// Opens a session in which two prompts are answered.
async fn talked(engine: &TestEngine) -> TestSession {
    let mut it = TestSession::open(engine, Path::new(LOG)).await;
    for prompt in ["say one; say two; say three", "and a second"] {
        it.session.prompt(input(prompt));
        assert_eq!(it.end().await, silent());
    }
    it
}

/// Returns the entries of the log that have this type.
fn of_type(engine: &TestEngine, kind: &str) -> Vec<serde_json::Value> {
    let entries = engine.logs.at(Path::new(LOG));
    let entries = entries.iter().map(|it| serde_json::to_value(it).expect("an entry is JSON"));
    entries.filter(|entry| entry["type"] == kind).collect()
}

/// Returns the id of the entry that says this.
fn entry_with(engine: &TestEngine, text: &str) -> EntryId {
    let entries = engine.logs.at(Path::new(LOG));
    let place = entries.iter().position(|entry| match entry.model_message() {
        Some(Message::User(said)) => said.text() == text,
        Some(Message::Assistant(answer)) => answer.text() == text,
        Some(Message::ToolResult(_)) | None => false,
    });
    engine.logs.ids_at(Path::new(LOG))[place.expect("it was said")].clone()
}

fn to(target: EntryId, summary: SummaryOfLeft) -> Navigation {
    Navigation { target: Some(target), summary, label: None }
}

/// Returns what the model was told in the last request.
fn told(engine: &TestEngine) -> Vec<String> {
    let texts = |message: &Arc<Message>| match &**message {
        Message::User(said) => said.text(),
        Message::Assistant(answer) => answer.text(),
        Message::ToolResult(result) => result.text(),
    };
    engine.models.requests().last().expect("it was asked").messages.iter().map(texts).collect()
}

async fn messages(session: &SessionHandle) -> usize {
    session.state().await.expect("it is open").messages
}

#[test(flavor = "multi_thread")]
async fn a_session_goes_on_before_a_prompt_and_its_model_sums_up_the_branch_that_is_left() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = talked(&engine).await;
    let (first, second) = (entry_with(&engine, "one"), entry_with(&engine, "and a second"));
    let old_leaf = engine.logs.ids_at(Path::new(LOG)).last().cloned();
    let asked = SummaryOfLeft::Asked(SummaryInstructions::Additional("Name the numbers.".into()));
    let label = Some("here".to_owned());
    let navigation = Navigation { label, ..to(second, asked) };
    let moved = it.session.navigate(navigation).await.expect("it moves");
    assert_eq!(moved.text.as_deref(), Some("and a second"), "it may be changed and asked again");
    assert_eq!((moved.old_leaf, moved.new_leaf.clone()), (old_leaf, moved.summary.clone()));
    let tree = it.find(|event| match event {
        SessionEvent::SessionTree { summary_entry_id, messages, .. } => {
            Some((summary_entry_id.clone(), *messages))
        }
        _ => None,
    });
    let summary = moved.summary.expect("there is one");
    assert_eq!(tree.await, (Some(summary.as_str().to_owned()), 3));
    let request = told(&engine).concat();
    assert!(request.contains("[User]: and a second\n\n[Assistant]: two"), "{request}");
    assert!(request.contains("Name the numbers.") && !request.contains("[Assistant]: one"));
    let written = of_type(&engine, "branch_summary").pop().expect("it is in the log");
    assert_eq!(
        (written["fromId"].as_str(), written["details"]["usage"]["input"].as_u64()),
        (Some(first.as_str()), Some(10))
    );
    let labels = of_type(&engine, "label");
    assert_eq!(labels[0]["targetId"].as_str(), Some(summary.as_str()));

    it.session.prompt(input("go on"));
    assert_eq!(it.end().await, silent());
    let told = told(&engine);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[2].starts_with("The conversation went on from an earlier point."), "{told:?}");
    let before = messages(&it.session).await;
    assert_eq!(before, 5);
    it.session.close().await;

    let it = TestSession::open(&engine, Path::new(LOG)).await;
    assert_eq!(messages(&it.session).await, before, "the move survives the end of the session");
}

#[test(flavor = "multi_thread")]
async fn an_abort_while_a_branch_is_summed_up_leaves_the_session_where_it_is() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = talked(&engine).await;
    let (entries, target) = (engine.logs.at(Path::new(LOG)), entry_with(&engine, "one"));
    let slow = SummaryInstructions::Additional(HANGING_SUMMARY.to_owned());
    let moving = it.session.navigate(to(target, SummaryOfLeft::Asked(slow)));
    let aborting = async {
        engine.models.until_asked(3).await;
        it.session.abort(CancelLevel::Gently);
    };
    let (moved, ()) = tokio::join!(moving, aborting);
    let refused = moved.expect_err("it was aborted");
    assert!(refused.message.contains("aborted"), "{}", refused.message);
    assert_eq!(engine.logs.at(Path::new(LOG)), entries);
    it.session.prompt(input("and a third"));
    assert_eq!(it.end().await, silent());
    assert_eq!(told(&engine)[2..], ["and a second", "two", "and a third"]);
}

#[test(flavor = "multi_thread")]
async fn a_move_that_is_asked_for_while_an_aborted_call_still_ends_waits_for_it() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = TestSession::open(&engine, Path::new(LOG)).await;
    it.session.prompt(input("say one; call cling"));
    assert_eq!(it.end().await, silent());
    let first = entry_with(&engine, "one");
    it.session.prompt(input("and a second"));
    engine.tools.until_busy().await;
    it.session.abort(CancelLevel::Gently);
    assert_eq!(it.end().await, AgentEnd::Aborted);
    let moving = it.session.navigate(to(first.clone(), SummaryOfLeft::AsSet));
    let kill = async { it.session.abort(CancelLevel::AtOnce) };
    let (moved, ()) = tokio::join!(moving, kill);
    assert_eq!(moved.expect("it moves").new_leaf, Some(first));
}

#[test(flavor = "multi_thread")]
async fn a_move_without_a_summary_asks_no_model_and_one_to_where_the_session_is_changes_nothing() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = talked(&engine).await;
    let leaf = engine.logs.ids_at(Path::new(LOG)).last().cloned().expect("it has entries");
    let entries = engine.logs.at(Path::new(LOG)).len();
    let moved = it.session.navigate(to(leaf.clone(), SummaryOfLeft::AsSet)).await;
    assert_eq!(moved.expect("it is there").new_leaf, Some(leaf));
    let nothing = EntryId::new("ffffffff");
    let unknown = it.session.navigate(to(nothing, SummaryOfLeft::AsSet)).await;
    let unknown = unknown.expect_err("there is none").message;
    assert!(unknown.contains("no entry `ffffffff`"), "{unknown}");
    assert_eq!(engine.logs.at(Path::new(LOG)).len(), entries);

    let one = entry_with(&engine, "one");
    for _again in 0..2 {
        let moved = it.session.navigate(to(one.clone(), SummaryOfLeft::AsSet)).await;
        assert_eq!(moved.expect("it moves").new_leaf, Some(one.clone()));
    }
    assert_eq!(engine.logs.at(Path::new(LOG)).len(), entries + 1, "one entry says where it is");
    assert_eq!((engine.models.requests().len(), messages(&it.session).await), (2, 2));
    let root = Navigation::default();
    let moved = it.session.navigate(root).await.expect("it moves");
    assert_eq!((moved.new_leaf, messages(&it.session).await), (None, 0));
    it.session.prompt(input("call wait"));
    engine.tools.until_busy().await;
    let busy = it.session.navigate(to(one, SummaryOfLeft::AsSet)).await.expect_err("it works");
    assert_eq!(busy.message, "the session is working");
    engine.tools.release();
    assert_eq!(it.end().await, silent());
    assert_eq!(told(&engine)[0], "call wait", "nothing of the other branches is told");
}

#[test(flavor = "multi_thread")]
async fn messages_of_programs_are_logged_by_their_kind_and_unknown_ones_reach_no_model() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut it = talked(&engine).await;
    let timestamp = Timestamp::from_millisecond(1_000);
    let ran = BashExecution {
        command: "make".into(),
        output: "fine".into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        meta: None,
        exclude_from_context: false,
        timestamp,
    };
    let hook = json!({
        "role": "hookMessage", "customType": "memo", "content": "remember", "display": true,
        "timestamp": 1_000,
    });
    let unknown = json!({ "role": "hologram", "content": "secret" });
    let custom = CustomMessage {
        custom_type: "card".into(),
        content: vec![Content::text("a card")],
        display: false,
        details: None,
        attribution: None,
        timestamp,
    };
    let read = |value| serde_json::from_value::<SessionMessage>(value).expect("it is a message");
    let files = FileMention { files: Vec::new(), timestamp };
    let rules = SessionEntry::TtsrInjection { injected_rules: vec!["no-todo".into()] };
    for entry in [
        SessionEntry::message(SessionMessage::BashExecution(ran)),
        SessionEntry::message(SessionMessage::FileMention(files)),
        SessionEntry::message(read(hook)),
        SessionEntry::message(SessionMessage::Custom(custom)),
        SessionEntry::message(read(unknown)),
        rules,
    ] {
        it.session.append(entry).await.expect("it is appended");
    }
    let made_by_the_session = SessionEntry::Leaf {};
    let refused = it.session.append(made_by_the_session).await.expect_err("it is no message");
    assert_eq!(refused.class, FailureClass::Invalid);
    let appended: Vec<_> = engine
        .logs
        .at(Path::new(LOG))
        .iter()
        .rev()
        .take(6)
        .rev()
        .map(|entry| serde_json::to_value(entry).expect("an entry is JSON"))
        .map(|entry| match entry["type"].as_str() {
            Some("message") => entry["message"]["role"].as_str().unwrap_or("?").to_owned(),
            Some("custom_message") => format!("custom_message {}", entry["customType"]),
            other => other.unwrap_or("?").to_owned(),
        })
        .collect();
    assert_eq!(
        appended,
        [
            "bashExecution",
            "fileMention",
            "custom_message \"memo\"",
            "custom_message \"card\"",
            "hologram",
            "ttsr_injection",
        ]
    );
    let before = messages(&it.session).await;
    assert_eq!(before, 8, "two turns, and four messages that models read");
    it.session.prompt(input("and now"));
    assert_eq!(it.end().await, silent());
    let told = told(&engine);
    assert_eq!(told.len(), 9, "{told:?}");
    let all = told.join("\n");
    assert!(all.contains("Ran `make`") && all.contains("remember") && all.contains("a card"));
    assert!(!all.contains("secret") && !all.contains("no-todo"), "{all}");
}
