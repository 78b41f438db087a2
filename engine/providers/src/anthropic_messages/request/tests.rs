use std::num::NonZeroU32;

use engine::ports::RequestOptions;
use protocol::{AssistantMessage, Message, Part, StopReason};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::endpoint::base_url;
use crate::known_model::KnownModel;
use crate::test_support::{
    self, answer_of, assistant, call, image, request as asked, result, text, thinking, user,
};

fn endpoint(model: &str) -> Endpoint {
    let (provider, model) = ("anthropic".to_owned(), model.to_owned());
    Endpoint { provider, model, ..test_support::endpoint(Api::AnthropicMessages) }
}

const BUDGET: &str = "claude-sonnet-4-5";

/// An answer of this model.
fn own(content: Vec<Part>) -> Message {
    answer_of(("anthropic-messages", "anthropic", BUDGET), content)
}

fn signed(text: &str, signature: &str) -> Part {
    Part::Thinking { thinking: text.to_owned(), signature: Some(signature.to_owned()) }
}

fn with(options: RequestOptions, messages: Vec<Message>) -> ModelRequest {
    ModelRequest { options, ..asked(messages) }
}

fn level(level: ThinkingLevel) -> RequestOptions {
    RequestOptions { thinking: Some(level), ..RequestOptions::default() }
}

#[test]
fn a_request_is_said_in_the_words_of_messages() {
    let Message::ToolResult(mut failed) = result("toolu_2", "read", "no") else { panic!() };
    failed.is_error = true;
    failed.content.push(image());
    let conversation = asked(vec![
        user("Do it."),
        own(vec![
            signed("hm", "c2ln"),
            Part::RedactedThinking { data: "ZGF0YQ==".to_owned() },
            text("I look."),
            call("toolu_1", "read", &json!({ "path": "a" })),
            call("toolu_2", "read file!", &json!({})),
        ]),
        result("toolu_1", "read", "ä"),
        Message::ToolResult(failed),
        user("Go on."),
    ]);
    let tool = |name: &str| json!({ "name": name, "description": format!("Does {name}."), "input_schema": { "type": "object" } });
    let mut last = tool("yield");
    last["cache_control"] = json!({ "type": "ephemeral" });
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "aGk=" });
    let expected = json!({
        "model": BUDGET,
        "max_tokens": 21_333,
        "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
        "messages": [
            {
                "role": "user",
                "content": [{ "type": "text", "text": "Do it.", "cache_control": { "type": "ephemeral" } }],
            },
            {
                "role": "assistant",
                "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                    { "type": "redacted_thinking", "data": "ZGF0YQ==" },
                    { "type": "text", "text": "I look." },
                    { "type": "tool_use", "id": "toolu_1", "name": "read", "input": { "path": "a" } },
                    { "type": "tool_use", "id": "toolu_2", "name": "read_file_", "input": {} },
                ],
            },
            {
                "role": "user",
                "content": [
                    { "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "ä" }] },
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": [{ "type": "text", "text": "no" }, { "type": "image", "source": source }],
                        "is_error": true,
                    },
                    { "type": "text", "text": "Go on.", "cache_control": { "type": "ephemeral" } },
                ],
            },
        ],
        "tools": [tool("read"), last],
    });
    assert_eq!(said(&endpoint(BUDGET), &conversation), expected);
}

#[test]
fn the_version_is_a_header_and_the_path_is_found_below_any_base() {
    for base in ["https://h", "https://h/v1", "https://h/v1/messages", "https://h/"] {
        let endpoint = Endpoint { base: base_url(base).unwrap(), ..endpoint(BUDGET) };
        let sent = request(&endpoint, &asked(vec![user("a")]));
        assert_eq!(sent.url.as_str(), "https://h/v1/messages", "{base}");
        assert_eq!(sent.headers["anthropic-version"], "2023-06-01");
        assert_eq!(sent.headers.get("anthropic-beta"), None);
    }
    let thinks = with(level(ThinkingLevel::Low), vec![user("a")]);
    let sent = request(&endpoint(BUDGET), &thinks);
    assert_eq!(sent.headers["anthropic-beta"], "interleaved-thinking-2025-05-14");
}

#[test]
fn each_level_is_told_as_the_model_wants_it() {
    let told = |model: &str, of: ThinkingLevel| {
        let body = said(&endpoint(model), &with(level(of), vec![user("a")]));
        let get = |key: &str| body.get(key).cloned().unwrap_or_default();
        (get("max_tokens"), get("thinking"), get("output_config"))
    };
    let budget = |tokens: u32| json!({ "type": "enabled", "budget_tokens": tokens });
    let adaptive = |of: &str| (json!({ "type": "adaptive" }), json!({ "effort": of }));
    let nothing = (json!(21_333), Value::Null, Value::Null);
    assert_eq!(told(BUDGET, ThinkingLevel::Off), nothing);
    assert_eq!(told(BUDGET, ThinkingLevel::Medium), (json!(29_525), budget(8192), Value::Null));
    assert_eq!(told(BUDGET, ThinkingLevel::XHigh), (json!(54_101), budget(32_768), Value::Null));
    let old = (json!(2730), Value::Null, Value::Null);
    assert_eq!(told("claude-3-5-haiku-latest", ThinkingLevel::High), old);
    assert_eq!(told("claude-opus-4-6", ThinkingLevel::Off), nothing);
    let (thinking, effort) = adaptive("max");
    assert_eq!(told("claude-opus-4-6", ThinkingLevel::XHigh), (json!(21_333), thinking, effort));
    let (thinking, effort) = adaptive("low");
    assert_eq!(told("claude-mythos-5", ThinkingLevel::Off), (json!(21_333), thinking, effort));
}

#[test]
fn the_limit_of_an_answer_holds_its_thinking() {
    let told = |limit: u32| {
        let options =
            RequestOptions { output_limit: NonZeroU32::new(limit), ..level(ThinkingLevel::High) };
        let body = said(&endpoint(BUDGET), &with(options, vec![user("a")]));
        (body["max_tokens"].clone(), body.pointer("/thinking/budget_tokens").cloned())
    };
    assert_eq!(told(100_000), (json!(64_000), Some(json!(16_384))));
    assert_eq!(told(4096), (json!(4096), Some(json!(3072))));
    assert_eq!(told(2000), (json!(2000), None));
}

#[test]
fn what_is_known_about_a_model_limits_its_answers_and_says_how_it_thinks() {
    let told = |facts: &str, limit: Option<u32>| {
        let known = KnownModel::of(&serde_json::from_str(facts).unwrap());
        let output_limit = limit.and_then(NonZeroU32::new);
        let options = RequestOptions { output_limit, ..level(ThinkingLevel::Medium) };
        let endpoint = Endpoint { known, ..endpoint("m") };
        let body = said(&endpoint, &with(options, vec![user("a")]));
        let budget = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64);
        let effort = body.pointer("/output_config/effort").and_then(Value::as_str);
        (body["max_tokens"].as_u64().unwrap(), budget, effort.unwrap_or_default().to_owned())
    };
    let quiet = r#"{ "output": 4096, "thinking": false }"#;
    assert_eq!(told(quiet, None), (1365, None, String::new()));
    assert_eq!(told(quiet, Some(9_000)), (4096, None, String::new()));
    let small = r#"{ "output": 4096, "thinkingMode": "budget" }"#;
    assert_eq!(told(small, None), (4096, Some(3072), String::new()));
    let large = r#"{ "output": 128000, "thinkingMode": "anthropic-budget-effort" }"#;
    assert_eq!(told(large, None), (50_858, Some(8192), "medium".to_owned()));
    assert_eq!(told(large, Some(1500)), (1500, None, String::new()));
    let adaptive = r#"{ "output": 30000, "thinkingMode": "anthropic-adaptive" }"#;
    assert_eq!(told(adaptive, None), (10_000, None, "medium".to_owned()));
}

#[test]
fn who_has_to_call_a_tool_does_not_think() {
    for (choice, expected) in [
        (ToolChoice::Any, json!({ "type": "any" })),
        (ToolChoice::Force("yield".to_owned()), json!({ "type": "tool", "name": "yield" })),
    ] {
        let forced = ModelRequest { choice, ..with(level(ThinkingLevel::High), vec![user("a")]) };
        let body = said(&endpoint(BUDGET), &forced);
        assert_eq!((&body["tool_choice"], body.get("thinking")), (&expected, None));
    }
    let never = ModelRequest {
        choice: ToolChoice::Never,
        ..with(level(ThinkingLevel::High), vec![user("a")])
    };
    let body = said(&endpoint(BUDGET), &never);
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
    assert!(body.get("thinking").is_some());
}

#[test]
fn no_thinking_begins_between_a_call_of_another_model_and_the_answer_to_its_result() {
    let thinks = |answer: Message, more: Option<Message>| {
        let messages = [user("a"), answer, result("c", "read", "x")].into_iter().chain(more);
        let body = said(&endpoint(BUDGET), &with(level(ThinkingLevel::High), messages.collect()));
        body.get("thinking").is_some()
    };
    let called = || call("c", "read", &json!({}));
    assert!(!thinks(assistant(vec![thinking("hm"), called()]), None));
    assert!(!thinks(own(vec![called()]), None));
    assert!(thinks(own(vec![signed("hm", "c2ln"), called()]), None));
    // An adaptive model takes either.
    let adaptive = endpoint("claude-opus-4-6");
    let messages = vec![user("a"), assistant(vec![called()]), result("c", "read", "x")];
    let body = said(&adaptive, &with(level(ThinkingLevel::High), messages));
    assert_eq!(body["thinking"]["type"], "adaptive");
}

#[test]
fn a_conversation_that_ends_with_an_answer_is_gone_on_with() {
    let body = said(&endpoint(BUDGET), &asked(vec![user("a"), own(vec![text("b")])]));
    assert_eq!(body["messages"][2]["content"][0]["text"], "Continue.");
}

#[test]
fn a_paused_answer_is_sent_back_as_the_end_of_the_request() {
    let paused = |message: Message| match message {
        Message::Assistant(answer) => {
            Message::Assistant(AssistantMessage { stop_reason: StopReason::ToolUse, ..answer })
        }
        other => panic!("{other:?} is no answer"),
    };
    let thought = || signed("hm", "c2ln");
    let body = |answer: Message| {
        said(&endpoint(BUDGET), &with(level(ThinkingLevel::High), vec![user("a"), paused(answer)]))
    };
    let sent = body(own(vec![thought(), text("b \n"), thought()]));
    let expected = json!([
        { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
        { "type": "text", "text": "b" },
    ]);
    assert_eq!(sent["messages"][1], json!({ "role": "assistant", "content": expected }));
    assert_eq!(sent["messages"].as_array().map(Vec::len), Some(2));
    assert!(sent.get("thinking").is_some());
    // The API refuses to begin to think in the middle of an answer.
    let sent = body(own(vec![text("b")]));
    assert_eq!(sent["messages"][1]["content"], json!([{ "type": "text", "text": "b" }]));
    assert_eq!(sent.get("thinking"), None);
    // Another model cannot go on with it.
    let other = body(assistant(vec![text("b")]));
    assert_eq!(other["messages"][2]["content"][0]["text"], "Continue.");
}

#[test]
fn what_tools_of_the_provider_did_is_sent_back_as_it_came_and_an_open_use_only_where_it_goes_on() {
    let part = |block: &Value| Part::ServerTool { block: block.as_object().unwrap().clone() };
    let search = |id: &str| json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "q" } });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] });
    let answer = |stop_reason, parts| match own(parts) {
        Message::Assistant(it) => Message::Assistant(AssistantMessage { stop_reason, ..it }),
        other => panic!("{other:?} is no answer"),
    };
    let sent = |messages| said(&endpoint(BUDGET), &asked(messages))["messages"].clone();
    // A paused answer may go on with the result of what it has begun.
    let first = answer(StopReason::ToolUse, vec![text("a"), part(&search("s1"))]);
    let paused = vec![user("a"), first];
    let expected = json!([{ "type": "text", "text": "a" }, search("s1")]);
    assert_eq!(sent(paused.clone())[1], json!({ "role": "assistant", "content": expected }));
    let second = answer(StopReason::Stop, vec![part(&found), part(&search("s2")), text("b")]);
    let whole = sent([paused, vec![second, user("c")]].concat());
    let text_of = |text: &str| json!({ "type": "text", "text": text });
    let expected = json!([text_of("a"), search("s1"), found, text_of("b")]);
    assert_eq!(whole[1]["content"], expected);
    let cut =
        sent(vec![user("a"), answer(StopReason::Length, vec![part(&search("s1"))]), user("c")]);
    assert_eq!(cut[1]["content"], json!([text_of(NO_SERVER_RESULT)]));
    // Another model does not get them.
    let foreign = sent(vec![user("a"), assistant(vec![part(&found), text("b")]), user("c")]);
    assert_eq!(foreign[1]["content"], json!([text_of("b")]));
}

#[test]
fn the_cache_is_kept_as_long_as_is_asked() {
    let marks = |cache| {
        let options = RequestOptions { cache, ..RequestOptions::default() };
        let body = said(&endpoint(BUDGET), &with(options, vec![user("a")])).to_string();
        (body.matches("cache_control").count(), body.contains(r#""ttl":"1h""#))
    };
    assert_eq!(marks(CacheRetention::None), (0, false));
    assert_eq!(marks(CacheRetention::Short), (3, false));
    assert_eq!(marks(CacheRetention::Long), (3, true));
}

fn said(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    serde_json::to_value(body(endpoint, request)).unwrap()
}
