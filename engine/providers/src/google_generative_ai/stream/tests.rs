use protocol::{FailureClass, Part, StopReason, ToolCall};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::test_support::{answered, failed, sse, text};

const API: Api = Api::GoogleGenerativeAi;

fn parts(parts: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn finish(reason: &str) -> Value {
    let candidate = json!({ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": reason });
    json!({ "candidates": [candidate] })
}

#[test]
fn thoughts_text_and_calls_come_with_their_signatures() {
    let called = json!({ "functionCall": { "name": "read", "args": { "path": "ä" } }, "thoughtSignature": "Y2FsbA==" });
    let usage = json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 30,
        "candidatesTokenCount": 5, "thoughtsTokenCount": 7,
    });
    let stream = sse(&[
        parts(&json!([{ "text": "h", "thought": true }])),
        parts(&json!([{ "text": "m", "thought": true }])),
        parts(&json!([{ "text": "Grü" }])),
        parts(&json!([{ "text": "ße" }, { "executableCode": {} }])),
        parts(&json!([{ "text": "", "thoughtSignature": "dGV4dA==" }])),
        parts(&json!([called, { "functionCall": { "name": "list" } }])),
        finish("STOP"),
        json!({ "usageMetadata": usage }),
    ]);
    let (answer, usage) = answered(API, &stream);
    let call = |name: &str, arguments: Value, signature: Option<&str>| {
        Part::ToolCall(ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
            malformed: None,
            thought_signature: signature.map(str::to_owned),
        })
    };
    let expected = [
        Part::thinking("hm"),
        text("Grüße"),
        Part::Text { text: String::new(), signature: Some("dGV4dA==".to_owned()) },
        call("read", json!({ "path": "ä" }), Some("Y2FsbA==")),
        call("list", json!({}), None),
    ];
    assert_eq!(
        (answer.content.as_slice(), answer.stop_reason),
        (&expected[..], StopReason::ToolUse)
    );
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (70, 30, 12));
}

#[test]
fn a_part_with_a_signature_stays_alone() {
    let signed = json!({ "text": "b", "thoughtSignature": "Yg==" });
    let stream = sse(&[
        parts(&json!([{ "text": "a" }])),
        parts(&json!([signed])),
        parts(&json!([{ "text": "c" }])),
        finish("STOP"),
    ]);
    let own = Part::Text { text: "b".to_owned(), signature: Some("Yg==".to_owned()) };
    assert_eq!(answered(API, &stream).0.content, [text("a"), own, text("c")]);
}

#[test]
fn each_finish_reason_has_its_end() {
    let ends = |reason: &str| sse(&[parts(&json!([{ "text": "a" }])), finish(reason)]);
    assert_eq!(answered(API, &ends("STOP")).0.stop_reason, StopReason::Stop);
    assert_eq!(answered(API, &ends("MAX_TOKENS")).0.stop_reason, StopReason::Length);
    for (reason, class) in [
        ("SAFETY", FailureClass::Refused),
        ("RECITATION", FailureClass::Refused),
        ("PROHIBITED_CONTENT", FailureClass::Refused),
        ("MALFORMED_FUNCTION_CALL", FailureClass::Transient),
        ("OTHER", FailureClass::Transient),
        ("BRAND_NEW", FailureClass::Transient),
    ] {
        assert_eq!(failed(API, &ends(reason)).class, class, "{reason}");
    }
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    assert_eq!(failed(API, &sse(&[blocked])).class, FailureClass::Refused);
}

#[test]
fn a_stream_without_its_end_or_with_an_error_is_no_answer() {
    let begun = parts(&json!([{ "text": "a" }]));
    assert_eq!(failed(API, &sse(std::slice::from_ref(&begun))).class, FailureClass::Transient);
    let error = json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": "busy" } });
    assert_eq!(failed(API, &sse(&[begun.clone(), error])).class, FailureClass::Transient);
    for broken in ["data: {\"candidates\":[\n\n", "data: x\n\n", "data: [1]\n\n"] {
        let stream =
            format!("{}{broken}{}", sse(std::slice::from_ref(&begun)), sse(&[finish("STOP")]));
        assert_eq!(failed(API, &stream).class, FailureClass::Transient, "{broken}");
    }
}
