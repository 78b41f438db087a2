use proptest::prelude::*;
use protocol::{Part, StopReason, Usage};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::blocks::MAX_CALLS;
use crate::test_support::{context, delta, endpoint, finish, text, thinking, thinking_in};

fn assembled(chunks: &[Value]) -> Result<ModelAnswer, AttemptFailure> {
    let (mut answer, endpoint) = (CompletionParser::default(), endpoint(Api::OpenAiCompletions));
    for chunk in chunks {
        answer.push_chunk(chunk, &context(&endpoint), &mut Events::new())?;
    }
    Ok(answer.take_answer())
}

#[test]
fn why_a_model_stops_is_said_in_many_ways() {
    let cases = [
        ("stop", Ok(StopReason::Stop)),
        ("end", Ok(StopReason::Stop)),
        ("tool_calls", Ok(StopReason::Stop)),
        ("length", Ok(StopReason::Length)),
        ("content_filter", Err(FailureClass::Refused)),
        ("network_error", Err(FailureClass::Transient)),
        ("error\u{7}", Err(FailureClass::Transient)),
    ];
    for (reason, expected) in cases {
        let whole = assembled(&[delta(&json!({ "content": "a" })), finish(reason)]);
        let told = whole.map(|it| it.stop_reason).map_err(|it| it.failure.class);
        assert_eq!(told, expected, "{reason}");
    }
    let call = json!({ "tool_calls": [{ "id": "a", "function": { "name": "x" } }] });
    assert_eq!(
        assembled(&[delta(&call), finish("stop")]).unwrap().stop_reason,
        StopReason::ToolUse
    );
}

#[test]
fn content_may_come_in_parts_and_keeps_its_order() {
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }, { "type": "text", "text": "a" }]);
    let whole = assembled(&[
        delta(&json!({ "content": parts })),
        delta(&json!({ "reasoning_text": "so", "reasoning": "" })),
        delta(&json!({ "content": "b", "refusal": "c" })),
    ]);
    let whole = whole.unwrap();
    let so = thinking_in("reasoning_text", "so");
    assert_eq!(whole.content, [thinking("hm"), text("a"), so, text("bc")]);
}

#[test]
fn usage_is_found_where_providers_put_it() {
    let usage = json!({ "prompt_tokens": 3, "completion_tokens": 4 });
    for chunk in [
        json!({ "usage": usage, "choices": [] }),
        json!({ "choices": [{ "delta": {}, "usage": usage }] }),
        json!({ "x_groq": { "usage": usage } }),
    ] {
        assert_eq!(used(&[chunk]).map(|it| it.tokens()), Some(7));
    }
    let so_far = json!({ "choices": [], "usage": { "prompt_tokens": 5 } });
    let last = json!({ "usage": usage, "choices": [] });
    assert_eq!(used(&[so_far, last]).map(|it| it.tokens()), Some(7));
    assert_eq!(used(&[finish("stop")]), None);
}

/// Returns what a model said at last that it used.
fn used(chunks: &[Value]) -> Option<Usage> {
    let (mut answer, mut pieces) = (CompletionParser::default(), Events::new());
    let endpoint = endpoint(Api::OpenAiCompletions);
    for chunk in chunks {
        answer.push_chunk(chunk, &context(&endpoint), &mut pieces).unwrap();
    }
    pieces.into_iter().rev().find_map(|piece| match piece {
        ModelEvent::Used(used) => Some(used),
        _ => None,
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop_oneof![Just("stop"), Just("read"), Just("{\"a\":1}"), Just("{")].prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("choices"),
        Just("delta"),
        Just("message"),
        Just("content"),
        Just("tool_calls"),
        Just("function"),
        Just("name"),
        Just("arguments"),
        Just("id"),
        Just("index"),
        Just("usage"),
        Just("finish_reason"),
        Just("reasoning"),
        Just("text"),
        Just("error"),
        Just("prompt_tokens"),
        Just("completion_tokens"),
        Just("thinking"),
        Just("cost"),
    ];
    leaf.prop_recursive(6, 64, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_chunk_is_too_strange(
        deltas in proptest::collection::vec(any_json(), 0..6),
        chunks in proptest::collection::vec(any_json(), 0..6),
    ) {
        let deltas = deltas.iter().map(delta);
        let chunks: Vec<_> = deltas.chain(chunks).collect();
        if let Ok(whole) = assembled(&chunks) {
            prop_assert!(whole.content.len() <= 3 * MAX_CALLS);
        }
    }

    #[test]
    fn words_are_never_lost(words in proptest::collection::vec(".{0,20}", 0..20)) {
        let chunks: Vec<_> = words.iter().map(|it| delta(&json!({ "content": it }))).collect();
        let whole = assembled(&chunks).unwrap();
        let said: String = whole.content.iter().map(|part| match part {
            Part::Text { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(said, words.concat());
    }
}
