use std::io::Write as _;
use std::time::{Duration, Instant};

use engine::ports::ModelAnswer;
use proptest::prelude::*;
use protocol::Part;
use serde_json::{Value, json};

use super::*;
use crate::api::Api;
use crate::test_support::{delta, finish, parse, sse};

mod mutated;
mod scenarios;

const APIS: [Api; 4] =
    [Api::OpenAiCompletions, Api::OpenAiResponses, Api::AnthropicMessages, Api::GoogleGenerativeAi];

/// The thinking, the text and the arguments of a sample.
struct Said<'a> {
    thinking: &'a [&'a str],
    text: &'a [&'a str],
    arguments: &'a [&'a str],
}

const SAID: Said<'_> = Said {
    thinking: &["Ich ", "überlege 😀"],
    text: &["Die ", "Straße", " ist lang."],
    arguments: &["{\"path\":", "\"größe\"", "}"],
};

/// Returns a stream in which the model says this, and where the event begins that ends it.
fn sample(api: Api, said: &Said<'_>) -> (String, usize) {
    let (events, last) = match api {
        Api::OpenAiCompletions => completion(said),
        Api::OpenAiResponses => response(said),
        Api::AnthropicMessages => message(said),
        Api::GoogleGenerativeAi => candidate(said),
    };
    let begin = sse(&events);
    let end = begin.len();
    (begin + &sse(&last), end)
}

fn completion(said: &Said<'_>) -> (Vec<Value>, Vec<Value>) {
    let call = |call: Value| delta(&json!({ "tool_calls": [call] }));
    let thinking = said.thinking.iter().map(|it| delta(&json!({ "reasoning_content": it })));
    let text = said.text.iter().map(|it| delta(&json!({ "content": it })));
    let begin = call(json!({ "index": 0, "id": "c", "function": { "name": "read" } }));
    let arguments = said.arguments.iter();
    let arguments =
        arguments.map(|it| call(json!({ "index": 0, "function": { "arguments": it } })));
    let events = thinking.chain(text).chain([begin]).chain(arguments).collect();
    (events, vec![finish("tool_calls")])
}

fn response(said: &Said<'_>) -> (Vec<Value>, Vec<Value>) {
    let arguments = said.arguments.concat();
    let items = [
        (
            "reasoning_summary_text",
            json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "gA==" }),
            said.thinking,
        ),
        (
            "output_text",
            json!({ "type": "message", "content": [{ "type": "output_text", "text": said.text.concat() }] }),
            said.text,
        ),
        (
            "function_call_arguments",
            json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": arguments }),
            said.arguments,
        ),
    ];
    let mut events = vec![json!({ "type": "response.created", "response": {} })];
    for (index, (kind, item, deltas)) in items.into_iter().enumerate() {
        let of = |kind: String, key: &str, value: Value| json!({ "type": kind, "output_index": index, key: value });
        events.push(of("response.output_item.added".to_owned(), "item", item.clone()));
        let kind = format!("response.{kind}.delta");
        events.extend(deltas.iter().map(|it| of(kind.clone(), "delta", json!(it))));
        events.push(of("response.output_item.done".to_owned(), "item", item));
    }
    let usage = json!({ "input_tokens": 5, "output_tokens": 7 });
    (events, vec![json!({ "type": "response.completed", "response": { "usage": usage } })])
}

fn message(said: &Said<'_>) -> (Vec<Value>, Vec<Value>) {
    let blocks = [
        (json!({ "type": "thinking" }), "thinking_delta", "thinking", said.thinking),
        (json!({ "type": "text" }), "text_delta", "text", said.text),
        (
            json!({ "type": "tool_use", "id": "c", "name": "read", "input": {} }),
            "input_json_delta",
            "partial_json",
            said.arguments,
        ),
    ];
    let usage = json!({ "usage": { "input_tokens": 5, "output_tokens": 1 } });
    let mut events = vec![json!({ "type": "message_start", "message": usage })];
    for (index, (block, kind, key, deltas)) in blocks.into_iter().enumerate() {
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.extend(deltas.iter().map(|it| {
            let delta = json!({ "type": kind, key: it });
            json!({ "type": "content_block_delta", "index": index, "delta": delta })
        }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    (events, vec![json!({ "type": "message_stop" })])
}

fn candidate(said: &Said<'_>) -> (Vec<Value>, Vec<Value>) {
    let part = |part: Value| json!({ "candidates": [{ "content": { "parts": [part] } }] });
    let thinking = said.thinking.iter().map(|it| part(json!({ "text": it, "thought": true })));
    let text = said.text.iter().map(|it| part(json!({ "text": it })));
    let arguments: Value = serde_json::from_str(&said.arguments.concat()).unwrap();
    let call = json!({ "functionCall": { "id": "c", "name": "read", "args": arguments } });
    let events = thinking.chain(text).chain([part(call)]).collect();
    (events, vec![json!({ "candidates": [{ "finishReason": "STOP" }] })])
}

fn answer(events: &[ModelEvent]) -> Option<&ModelAnswer> {
    match events.last() {
        Some(ModelEvent::Ended(answer)) => Some(answer),
        _ => None,
    }
}

#[test]
fn every_api_says_the_same_in_its_own_words() {
    for api in APIS {
        let (stream, _) = sample(api, &SAID);
        let events = parse(api, [stream.as_bytes()]);
        let answer = answer(&events).unwrap_or_else(|| panic!("{api:?}: {events:?}"));
        let said: Vec<_> = answer
            .content
            .iter()
            .map(|part| match part {
                Part::Thinking { thinking, .. } => ("thinking", thinking.clone()),
                Part::Text { text, .. } => ("text", text.clone()),
                Part::ToolCall(call) => ("call", Value::Object(call.arguments.clone()).to_string()),
                Part::RedactedThinking { .. } | Part::ServerTool { .. } => panic!("{api:?}"),
            })
            .collect();
        let expected = [
            ("thinking", SAID.thinking.concat()),
            ("text", SAID.text.concat()),
            ("call", SAID.arguments.concat()),
        ];
        assert_eq!(said, expected, "{api:?}");
        // The pieces name the block that they are a part of, and are all of it.
        let mut pieces = vec![String::new(); 3];
        for event in &events {
            match event {
                ModelEvent::Thinking { block, text } | ModelEvent::Text { block, text } => {
                    pieces[*block].push_str(text);
                }
                ModelEvent::Arguments { block, json } => pieces[*block].push_str(json),
                _ => {}
            }
        }
        assert_eq!(pieces, expected.map(|(_, text)| text), "{api:?}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_before_its_end_is_no_answer() {
    for api in APIS {
        let (stream, end) = sample(api, &SAID);
        for at in test_limit::sample(0..end, 40).into_iter().chain([end]) {
            let events = parse(api, [&stream.as_bytes()[..at]]);
            assert!(answer(&events).is_none(), "{api:?} cut at {at} of {end}");
        }
        assert!(answer(&parse(api, [stream.as_bytes()])).is_some());
    }
}

proptest! {
    #[test]
    fn however_a_stream_is_cut_into_chunks_it_is_one_answer(
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        for api in APIS {
            let stream = sample(api, &SAID).0.into_bytes();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.extend([0, stream.len()]);
            at.sort_unstable();
            let chunks = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
            prop_assert_eq!(parse(api, chunks), parse(api, [&stream[..]]));
        }
    }
}

/// Returns a stream of about this many bytes in pieces of eight letters.
fn long(api: Api, bytes: usize) -> String {
    let empty = Said { thinking: &["hm"], text: &["abcdefgh"], arguments: &["{}"] };
    let event = sample(api, &Said { text: &["abcdefgh", "abcdefgh"], ..empty }).0.len()
        - sample(api, &empty).0.len();
    // Responses repeat the text at its end.
    let text = vec!["abcdefgh"; bytes / event];
    sample(api, &Said { text: &text, ..empty }).0
}

#[test]
fn a_stream_of_ten_megabytes_is_read_in_one_pass() {
    for api in APIS {
        let mut took = Vec::new();
        // In quick depth parts of a megabyte.
        for kilobytes in test_limit::by_depth([128, 256], [1 << 10, 10 << 10]) {
            let stream = long(api, kilobytes << 10);
            let began = Instant::now();
            let events = parse(api, stream.as_bytes().chunks(16 << 10));
            took.push(began.elapsed());
            assert!(answer(&events).is_some(), "{api:?}");
        }
        let shown = format!("{api:?}: first {:?}, then {:?}\n", took[0], took[1]);
        std::io::stderr().write_all(shown.as_bytes()).unwrap();
        let limit = Duration::from_secs(test_limit::by_depth(3, 60));
        test_limit::took_at_most(took[1], limit, shown);
    }
}

#[test]
fn a_stream_without_end_is_refused_before_it_fills_the_memory() {
    let endpoint = crate::test_support::endpoint(Api::AnthropicMessages);
    let context = crate::test_support::context(&endpoint);
    let mut body = BodyParser::new("text/event-stream", endpoint.api.parser());
    let chunk = [b":", "x".repeat(1 << 20).as_bytes(), b"\n\n"].concat();
    let mut events = Events::new();
    body.push(&context, &chunk, &mut events).unwrap();
    // All but the last megabytes have come.
    body.size += MAX_STREAM - (10 << 20);
    let last = (0..10).find_map(|_| body.push(&context, &chunk, &mut events).err());
    let Some(ModelEvent::Failed(failed)) = last else { panic!("{last:?}") };
    assert_eq!(failed.failure.class, FailureClass::Invalid);
    assert!(events.is_empty());
}
