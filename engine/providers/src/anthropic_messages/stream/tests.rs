use protocol::{FailureClass, Part, StopReason};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::test_support::{answered, call, failed, sse, text};

const API: Api = Api::AnthropicMessages;

fn start() -> Value {
    let usage = json!({ "input_tokens": 25, "cache_read_input_tokens": 5, "output_tokens": 1 });
    json!({ "type": "message_start", "message": { "id": "msg_1", "role": "assistant", "content": [], "usage": usage } })
}

fn block(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    [
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 15 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn whole(blocks: &[Value], reason: &str) -> String {
    let events: Vec<_> = [start()].iter().chain(blocks).cloned().chain(end(reason)).collect();
    sse(&events)
}

#[test]
fn thinking_text_and_calls_come_with_their_signatures() {
    let stream = whole(
        &[
            json!({ "type": "ping" }),
            block(0, &json!({ "type": "thinking", "thinking": "", "signature": "" })),
            delta(0, &json!({ "type": "thinking_delta", "thinking": "hm" })),
            delta(0, &json!({ "type": "signature_delta", "signature": "c2l" })),
            delta(0, &json!({ "type": "signature_delta", "signature": "n" })),
            stop(0),
            block(1, &json!({ "type": "redacted_thinking", "data": "ZGF0YQ==" })),
            stop(1),
            block(2, &json!({ "type": "text", "text": "" })),
            delta(2, &json!({ "type": "text_delta", "text": "" })),
            delta(2, &json!({ "type": "text_delta", "text": "Grüße" })),
            stop(2),
            block(3, &json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
            delta(3, &json!({ "type": "input_json_delta", "partial_json": "" })),
            delta(3, &json!({ "type": "input_json_delta", "partial_json": "{\"path\":" })),
            delta(3, &json!({ "type": "input_json_delta", "partial_json": "\"ä\"}" })),
            stop(3),
            json!({ "type": "content_block_new_kind", "index": 9 }),
        ],
        "tool_use",
    );
    let (answer, usage) = answered(API, &stream);
    let thinking = Part::Thinking { thinking: "hm".to_owned(), signature: Some("c2ln".to_owned()) };
    let redacted = Part::RedactedThinking { data: "ZGF0YQ==".to_owned() };
    let expected =
        [thinking, redacted, text("Grüße"), call("toolu_1", "read", &json!({ "path": "ä" }))];
    assert_eq!(
        (answer.content.as_slice(), answer.stop_reason),
        (&expected[..], StopReason::ToolUse)
    );
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (25, 5, 15));
}

#[test]
fn blocks_may_interleave_and_a_call_may_have_its_input_at_once() {
    let stream = whole(
        &[
            block(0, &json!({ "type": "tool_use", "id": "a", "name": "read", "input": {} })),
            block(
                1,
                &json!({ "type": "tool_use", "id": "b", "name": "edit", "input": { "x": 1 } }),
            ),
            delta(0, &json!({ "type": "input_json_delta", "partial_json": "{}" })),
            stop(1),
            stop(0),
        ],
        "tool_use",
    );
    let (answer, _) = answered(API, &stream);
    let expected = [call("a", "read", &json!({})), call("b", "edit", &json!({ "x": 1 }))];
    assert_eq!(answer.content, expected);
}

#[test]
fn blocks_of_tools_of_the_provider_are_kept_as_they_came() {
    let search = |input: Value| json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": input });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [
        { "type": "web_search_result", "url": "https://h", "encrypted_content": "ZGF0YQ==" },
    ] });
    let stream = whole(
        &[
            block(0, &search(json!({}))),
            delta(0, &json!({ "type": "input_json_delta", "partial_json": "{\"query\":" })),
            delta(0, &json!({ "type": "input_json_delta", "partial_json": "\"q\"}" })),
            stop(0),
            block(1, &found),
            stop(1),
            block(2, &json!({ "type": "brand_new", "id": "n" })),
            stop(2),
        ],
        "pause_turn",
    );
    let (answer, _) = answered(API, &stream);
    let part = |block: &Value| Part::ServerTool { block: block.as_object().unwrap().clone() };
    assert_eq!(answer.content, [part(&search(json!({ "query": "q" }))), part(&found)]);
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
}

#[test]
fn each_stop_reason_has_its_end() {
    let said = [
        block(0, &json!({ "type": "text", "text": "" })),
        delta(0, &json!({ "type": "text_delta", "text": "a" })),
        stop(0),
    ];
    for (reason, expected) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("pause_turn", StopReason::ToolUse),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
    ] {
        assert_eq!(answered(API, &whole(&said, reason)).0.stop_reason, expected, "{reason}");
    }
    for (reason, class) in [
        ("refusal", FailureClass::Refused),
        ("sensitive", FailureClass::Refused),
        ("brand_new", FailureClass::Transient),
    ] {
        assert_eq!(failed(API, &whole(&said, reason)).class, class, "{reason}");
    }
}

#[test]
fn a_stream_that_breaks_the_rules_is_no_answer() {
    let text_block = || block(0, &json!({ "type": "text", "text": "" }));
    let grow = |index| delta(index, &json!({ "type": "text_delta", "text": "a" }));
    let [last, stopped] = end("end_turn");
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("no start", vec![text_block(), grow(0), stop(0), last.clone(), stopped.clone()]),
        ("two starts", vec![start(), start(), last.clone(), stopped.clone()]),
        ("no stop", vec![start(), text_block(), grow(0), stop(0), last.clone()]),
        ("no reason", vec![start(), text_block(), grow(0), stop(0), stopped.clone()]),
        ("an open block", vec![start(), text_block(), grow(0), last.clone(), stopped.clone()]),
        ("an unknown block", vec![start(), grow(3), last.clone(), stopped.clone()]),
        ("a block twice", vec![start(), text_block(), text_block(), last.clone(), stopped.clone()]),
        (
            "a stop twice",
            vec![start(), text_block(), stop(0), stop(0), last.clone(), stopped.clone()],
        ),
        (
            "another kind",
            vec![
                start(),
                text_block(),
                delta(0, &json!({ "type": "input_json_delta", "partial_json": "{}" })),
                stop(0),
                last,
                stopped,
            ],
        ),
    ];
    for (what, events) in cases {
        assert_eq!(failed(API, &sse(&events)).class, FailureClass::Transient, "{what}");
    }
    let cut = whole(&[text_block(), grow(0), stop(0)], "end_turn");
    for chunk in ["data: {\"type\":\"content_block_del\n\n", "data: x\n\n", "data: []\n\n"] {
        let broken = cut.replacen(
            "event: content_block_stop",
            &format!("{chunk}event: content_block_stop"),
            1,
        );
        assert_eq!(failed(API, &broken).class, FailureClass::Transient, "{chunk}");
    }
}

#[test]
fn an_error_in_the_stream_has_its_class() {
    let error =
        |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "Overloaded" } });
    for (kind, class) in [
        ("overloaded_error", FailureClass::Transient),
        ("invalid_request_error", FailureClass::Invalid),
    ] {
        let failure = failed(API, &sse(&[start(), error(kind)]));
        assert_eq!(failure.class, class, "{kind}");
        assert!(failure.message.contains("Overloaded"), "{}", failure.message);
    }
}
