use protocol::{FailureClass, Part, StopReason};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::test_support::{answered, call, failed, sse, text};

const API: Api = Api::OpenAiResponses;

fn created() -> Value {
    json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress" } })
}

fn added(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn grows(kind: &str, index: u64, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": delta })
}

fn completed() -> Value {
    let details = json!({ "cached_tokens": 30 });
    let usage = json!({ "input_tokens": 100, "input_tokens_details": details, "output_tokens": 7 });
    json!({ "type": "response.completed", "response": { "status": "completed", "usage": usage } })
}

fn message(content: &Value) -> Value {
    json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content })
}

fn function(arguments: &str) -> Value {
    json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": arguments })
}

fn stream(events: &[Value]) -> String {
    sse(&[&[created()], events].concat())
}

#[test]
fn reasoning_text_and_calls_come_with_their_ids() {
    let reasoning =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" });
    let said = json!([{ "type": "output_text", "text": "Grüße" }]);
    let part = |index| json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": index });
    let stream = stream(&[
        added(0, &json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        part(0),
        grows("reasoning_summary_text", 0, "hm"),
        part(1),
        grows("reasoning_summary_text", 0, "so"),
        done(0, &reasoning),
        added(1, &message(&json!([]))),
        added(2, &function("")),
        grows("output_text", 1, "Grü"),
        grows("function_call_arguments", 2, "{\"path\":"),
        grows("output_text", 1, "ße"),
        json!({ "type": "response.brand_new", "output_index": 9 }),
        grows("function_call_arguments", 2, "\"ä\"}"),
        done(1, &message(&said)),
        done(2, &function("{\"path\":\"ä\"}")),
        completed(),
    ]);
    let (answer, usage) = answered(API, &stream);
    let signature = Some(reasoning.to_string());
    let expected = [
        Part::Thinking { thinking: "hm\n\nso".to_owned(), signature },
        Part::Text { text: "Grüße".to_owned(), signature: Some("msg_1".to_owned()) },
        call("call_1|fc_1", "read", &json!({ "path": "ä" })),
    ];
    assert_eq!(
        (answer.content.as_slice(), answer.stop_reason),
        (&expected[..], StopReason::ToolUse)
    );
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (70, 30, 7));
}

#[test]
fn what_was_not_streamed_is_taken_from_the_item_that_is_done() {
    let said =
        json!([{ "type": "output_text", "text": "a" }, { "type": "refusal", "refusal": "b" }]);
    let stream = stream(&[
        added(0, &message(&json!([]))),
        done(0, &message(&said)),
        added(1, &function("")),
        done(1, &function("{}")),
        completed(),
    ]);
    let (answer, _) = answered(API, &stream);
    assert_eq!(answer.content.len(), 2);
    let Part::Text { text, .. } = &answer.content[0] else { panic!() };
    assert_eq!(text, "ab");
}

#[test]
fn a_refusal_is_a_text_and_each_status_has_its_end() {
    let refusal = json!([{ "type": "refusal", "refusal": "no" }]);
    let said =
        [added(0, &message(&json!([]))), grows("refusal", 0, "no"), done(0, &message(&refusal))];
    let incomplete = |why: &str| {
        let details = json!({ "reason": why });
        json!({ "type": "response.incomplete", "response": { "incomplete_details": details } })
    };
    let ends = |last: Value| stream(&[&said[..], &[last]].concat());
    let (answer, _) = answered(API, &ends(completed()));
    assert_eq!(answer.stop_reason, StopReason::Stop);
    let (answer, _) = answered(API, &ends(incomplete("max_output_tokens")));
    assert_eq!(answer.stop_reason, StopReason::Length);
    assert_eq!(failed(API, &ends(incomplete("content_filter"))).class, FailureClass::Refused);
    let error = |code: &str| {
        let error = json!({ "code": code, "message": "oops" });
        json!({ "type": "response.failed", "response": { "status": "failed", "error": error } })
    };
    let failure = failed(API, &ends(error("server_error")));
    assert_eq!(failure.class, FailureClass::Transient);
    assert!(failure.message.contains("oops"), "{}", failure.message);
    assert_eq!(failed(API, &ends(error("insufficient_quota"))).class, FailureClass::Quota);
    let event = json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow" });
    assert_eq!(failed(API, &ends(event)).class, FailureClass::Transient);
}

#[test]
fn a_reasoning_item_that_the_provider_will_not_know_again_is_not_signed() {
    let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let stream = stream(&[
        added(0, &item),
        grows("reasoning_text", 0, "hm"),
        done(0, &item),
        added(1, &message(&json!([]))),
        grows("output_text", 1, "a"),
        done(1, &json!({ "type": "message", "content": [{ "type": "output_text", "text": "a" }] })),
        completed(),
    ]);
    assert_eq!(answered(API, &stream).0.content, [Part::thinking("hm"), text("a")]);
}

#[test]
fn a_stream_that_breaks_the_rules_is_no_answer() {
    let said = |text: &str| done(0, &message(&json!([{ "type": "output_text", "text": text }])));
    let begun = || added(0, &message(&json!([])));
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("no end", vec![begun(), grows("output_text", 0, "a"), said("a")]),
        ("an open item", vec![begun(), grows("output_text", 0, "a"), completed()]),
        ("a lost piece", vec![begun(), grows("output_text", 0, "a"), said("ab"), completed()]),
        ("not added", vec![grows("output_text", 0, "a"), completed()]),
        ("twice", vec![begun(), begun(), said(""), completed()]),
        ("another kind", vec![begun(), grows("function_call_arguments", 0, "{}"), completed()]),
        (
            "lost arguments",
            vec![
                added(0, &function("")),
                grows("function_call_arguments", 0, "{}"),
                done(0, &function("{\"a\":1}")),
                completed(),
            ],
        ),
    ];
    for (what, events) in cases {
        assert_eq!(failed(API, &stream(&events)).class, FailureClass::Transient, "{what}");
    }
    let done = format!("{}data: [DONE]\n\n", stream(&[begun(), said("a")]));
    assert_eq!(failed(API, &done).class, FailureClass::Transient);
}
