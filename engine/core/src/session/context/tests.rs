//! What the entries of a branch give, entry type by entry type.

use protocol::{Content, SessionMessage};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

/// Returns the context of entries with the ids 0, 1, 2 …
fn context(entries: &[SessionEntry]) -> SessionContext {
    let ids: Vec<_> = (0..entries.len()).map(|id| EntryId::new(id.to_string())).collect();
    let path = (0..).zip(entries).zip(&ids).map(|((second, entry), id)| PathEntry {
        id,
        at: at(second),
        entry,
    });
    build_context(&path.collect::<Vec<_>>())
}

fn said(text: &str) -> SessionEntry {
    SessionEntry::message(Message::user(text, at(0)))
}

fn answer(model: &str) -> SessionEntry {
    let answer = json!({
        "role": "assistant", "content": "ok", "api": "x", "provider": "p", "model": model,
        "usage": {}, "stopReason": "stop", "timestamp": 5,
    });
    SessionEntry::message(serde_json::from_value::<SessionMessage>(answer).unwrap())
}

fn compaction(summary: &str, kept: &str) -> SessionEntry {
    SessionEntry::Compaction {
        summary: summary.to_owned(),
        short_summary: None,
        first_kept_entry_id: Some(EntryId::new(kept)),
        tokens_before: 9,
        details: None,
        preserve_data: None,
        from_extension: false,
    }
}

/// Returns a word for each message.
fn words(context: &SessionContext) -> Vec<String> {
    let word = |message: &ContextMessage| match &message.message {
        SessionMessage::Model(Message::User(said)) => said.text(),
        SessionMessage::Model(Message::Assistant(answer)) => format!("answer of {}", answer.model),
        SessionMessage::CompactionSummary(summary) => format!("sum: {}", summary.summary),
        SessionMessage::BranchSummary(summary) => format!("branch: {}", summary.summary),
        SessionMessage::Custom(custom) => format!("custom: {}", custom.custom_type),
        other => panic!("{other:?}"),
    };
    context.messages.iter().map(word).collect()
}

#[test]
fn a_compaction_gives_its_summary_then_what_it_keeps_then_what_follows() {
    let first = ["a", "b", "c"].map(said);
    let entries = |more: Vec<SessionEntry>| [first.to_vec(), more].concat();
    let once = context(&entries(vec![compaction("s", "1"), said("d")]));
    assert_eq!(words(&once), ["sum: s", "b", "c", "d"]);
    let twice = context(&entries(vec![compaction("s", "1"), said("d"), compaction("t", "4")]));
    assert_eq!(words(&twice), ["sum: t", "d"]);
    let all = context(&entries(vec![compaction("s", "0"), said("d")]));
    assert_eq!(words(&all), ["sum: s", "a", "b", "c", "d"]);
    // What a compaction keeps is never after it, and never that of an older compaction.
    for gone in ["x", "4"] {
        let none = context(&entries(vec![compaction("s", gone), said("d")]));
        assert_eq!(words(&none), ["sum: s", "d"], "{gone}");
    }
    let over = context(&entries(vec![compaction("s", "1"), compaction("t", "2")]));
    assert_eq!(words(&over), ["sum: t", "c"]);
}

#[test]
fn the_state_of_an_extension_is_not_in_the_context_and_its_message_is() {
    let content = vec![Content::text("x")];
    let custom = |custom_type: &str| SessionEntry::CustomMessage {
        custom_type: custom_type.to_owned(),
        content: content.clone(),
        display: false,
        details: None,
        attribution: None,
    };
    let state = SessionEntry::Custom { custom_type: "state".to_owned(), data: None };
    let context = context(&[state, custom("note"), said("a")]);
    assert_eq!(words(&context), ["custom: note", "a"]);
    let SessionMessage::Custom(message) = &context.messages[0].message else { panic!() };
    assert_eq!((message.timestamp, &message.content), (at(1), &content));
    assert_eq!(context.messages[0].entry, EntryId::new("1"));
}

#[test]
fn a_summary_of_a_branch_is_a_message_unless_it_is_empty() {
    let branch = |summary: &str| SessionEntry::BranchSummary {
        from_id: EntryId::new("root"),
        summary: summary.to_owned(),
        details: None,
        from_extension: false,
    };
    assert_eq!(words(&context(&[branch(""), branch("left")])), ["branch: left"]);
}

#[test]
fn the_state_at_the_end_is_what_was_set_last() {
    let change = |model: &str, role: Option<&str>| SessionEntry::ModelChange {
        model: model.to_owned(),
        role: role.map(str::to_owned),
    };
    let thinking = |level: Option<&str>| SessionEntry::ThinkingLevelChange {
        thinking_level: level.map(str::to_owned),
    };
    let mode = |mode: &str| SessionEntry::ModeChange { mode: mode.to_owned(), data: None };
    let rules = |rule: &str| SessionEntry::TtsrInjection { injected_rules: vec![rule.to_owned()] };
    let found = context(&[
        change("p/a", None),
        change("p/small", Some("smol")),
        thinking(Some("high")),
        rules("one"),
        mode("plan"),
        SessionEntry::ServiceTierChange { service_tier: Some("flex".to_owned()) },
        SessionEntry::McpToolSelection { selected_tool_names: vec!["t".to_owned()] },
        // The state counts also where a compaction has replaced the messages.
        compaction("s", "x"),
        change("p/b", Some("default")),
        rules("two"),
        answer("c"),
    ]);
    assert_eq!(found.model(), Some("p/b"));
    assert_eq!(found.models["smol"], "p/small");
    assert_eq!((found.thinking_level.as_deref(), found.has_thinking_entry), (Some("high"), true));
    assert_eq!(found.service_tier.as_deref(), Some("flex"));
    assert_eq!(found.injected_rules, ["one", "two"].map(str::to_owned).into());
    assert_eq!(found.mode, Some(Mode { name: "plan".to_owned(), data: None }));
    assert_eq!(found.mcp_tools, Some(vec!["t".to_owned()]));
    let over = context(&[thinking(Some("high")), mode("plan"), thinking(None), mode("none")]);
    assert_eq!((over.thinking_level, over.has_thinking_entry, over.mode), (None, true, None));
}

#[test]
fn without_a_change_of_the_model_it_is_the_one_that_answered_last() {
    let small =
        SessionEntry::ModelChange { model: "p/s".to_owned(), role: Some("smol".to_owned()) };
    let found = context(&[answer("a"), small.clone(), answer("b")]);
    assert_eq!(found.model(), Some("p/b"));
    assert_eq!(context(&[small]).model(), None);
    assert_eq!(context(&[]), SessionContext::default());
}

#[test]
fn an_input_is_known_by_its_id() {
    let id = InputId::generate();
    let input =
        SessionEntry::Message { message: Message::user("a", at(0)).into(), input_id: Some(id) };
    let found = context(&[input, said("b")]);
    let ids: Vec<_> = found.messages.iter().map(|message| message.input_id).collect();
    assert_eq!(ids, [Some(id), None]);
}

#[test]
fn findings_are_known_also_if_a_summary_stands_for_them() {
    let finding = |title: &str, is_error: bool| {
        let result = json!({
            "role": "toolResult", "toolCallId": title, "toolName": "report_finding", "content": [],
            "details": { "title": title }, "isError": is_error, "timestamp": 5,
        });
        SessionEntry::message(serde_json::from_value::<SessionMessage>(result).unwrap())
    };
    let entries = [
        said("a"),
        answer("m"),
        finding("one", false),
        finding("wrong", true),
        said("b"),
        compaction("all", "4"),
        finding("two", false),
    ];
    assert_eq!(context(&entries).findings, [json!({ "title": "one" }), json!({ "title": "two" })]);
}
