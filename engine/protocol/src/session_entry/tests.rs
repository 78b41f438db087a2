//! Every entry is written as session files have it and read again, and what is not known stays.

use serde_json::json;

use super::*;
use crate::Timestamp;

/// An entry of each type as it stands in a file, without its id, parent and time.
fn written() -> Vec<Value> {
    vec![
        json!({ "type": "session_init", "systemPrompt": "s", "task": "t", "tools": ["read"],
                "outputSchema": true }),
        json!({ "type": "model_change", "model": "a/b", "role": "smol" }),
        json!({ "type": "thinking_level_change", "thinkingLevel": "high" }),
        json!({ "type": "thinking_level_change", "thinkingLevel": null }),
        json!({ "type": "service_tier_change", "serviceTier": null }),
        json!({ "type": "message",
                "message": { "role": "user", "content": [{ "type": "text", "text": "hi" }],
                             "timestamp": 5 } }),
        json!({ "type": "custom_message", "customType": "c", "display": false,
                "content": [{ "type": "text", "text": "hi" }], "details": { "a": 1 },
                "attribution": "agent" }),
        json!({ "type": "custom", "customType": "c", "data": [1] }),
        json!({ "type": "compaction", "summary": "s", "shortSummary": "i",
                "firstKeptEntryId": "0000000a", "tokensBefore": 7, "details": { "readFiles": [] },
                "preserveData": { "x": 1 }, "fromExtension": true }),
        json!({ "type": "branch_summary", "fromId": "root", "summary": "s", "details": 1 }),
        json!({ "type": "label", "targetId": "0000000a", "label": "here" }),
        json!({ "type": "label", "targetId": "0000000a" }),
        json!({ "type": "mode_change", "mode": "plan", "data": {} }),
        json!({ "type": "ttsr_injection", "injectedRules": ["r"] }),
        json!({ "type": "mcp_tool_selection", "selectedToolNames": ["a"] }),
        json!({ "type": "session_info", "name": "n" }),
        json!({ "type": "title_change", "title": "n", "source": "user" }),
        json!({ "type": "leaf" }),
    ]
}

#[test]
fn each_type_of_entry_is_read_and_written_as_it_was() {
    let mut types: Vec<_> = TYPES.to_vec();
    for value in written() {
        let entry: SessionEntry = serde_json::from_value(value.clone()).unwrap();
        assert!(!matches!(entry, SessionEntry::Unknown(_)), "{value}");
        types.retain(|kind| value["type"] != *kind);
        let mut again = serde_json::to_value(entry).unwrap();
        again.sort_all_objects();
        let mut value = value;
        value.sort_all_objects();
        assert_eq!(again, value);
    }
    assert_eq!(types, Vec::<&str>::new(), "types without an example");
}

#[test]
fn an_entry_of_an_unknown_type_keeps_its_fields_and_their_order() {
    let text = r#"{"type":"wild","z":1,"a":{"y":[null],"b":2.50}}"#;
    let entry: SessionEntry = serde_json::from_str(text).unwrap();
    assert!(matches!(entry, SessionEntry::Unknown(_)));
    let again = serde_json::to_string(&entry).unwrap();
    assert_eq!(again, text.replace("2.50", "2.5"));
}

#[test]
fn unknown_fields_of_a_known_entry_are_skipped_and_missing_ones_are_named() {
    let value = json!({ "type": "model_change", "model": "a/b", "resolvedModelIsFallback": false });
    let entry = SessionEntry::ModelChange { model: "a/b".to_owned(), role: None };
    assert_eq!(serde_json::from_value::<SessionEntry>(value).unwrap(), entry);
    let error = serde_json::from_value::<SessionEntry>(json!({ "type": "label" })).unwrap_err();
    assert_eq!(error.to_string(), "missing field `targetId`");
    let error = serde_json::from_value::<SessionEntry>(json!({ "a": 1 })).unwrap_err();
    assert_eq!(error.to_string(), "missing field `type`");
}

#[test]
fn the_names_that_other_programs_use_are_read() {
    let read = |value| serde_json::from_value::<SessionEntry>(value).unwrap();
    assert_eq!(
        read(json!({ "type": "model_change", "provider": "a", "modelId": "b/c" })),
        SessionEntry::ModelChange { model: "a/b/c".to_owned(), role: None }
    );
    let compaction = read(json!({ "type": "compaction", "summary": "s", "fromHook": true }));
    assert!(matches!(compaction, SessionEntry::Compaction { from_extension: true, .. }));
    let plain = json!({ "type": "custom_message", "customType": "c", "content": "hi" });
    let SessionEntry::CustomMessage { content, .. } = read(plain) else { panic!() };
    assert_eq!(content, [Content::text("hi")]);
}

#[test]
fn the_usage_of_an_entry_is_that_of_an_answer() {
    let usage = Usage { input: 3, ..Usage::ZERO };
    let answer = json!({
        "role": "assistant", "content": "b", "api": "x", "provider": "y", "model": "z",
        "usage": { "input": 3, "cost": { "total": 0 } }, "stopReason": "stop", "timestamp": 5,
    });
    let answer: SessionMessage = serde_json::from_value(answer).unwrap();
    assert_eq!(SessionEntry::message(answer).usage(), Some(usage));
    let user = Message::user("a", Timestamp::from_millisecond(1));
    assert_eq!(SessionEntry::message(user).usage(), None);
    assert_eq!(SessionEntry::Leaf {}.usage(), None);
}
