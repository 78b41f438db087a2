use std::num::NonZeroU32;

use engine::ports::RequestOptions;
use protocol::{Message, Part, ThinkingLevel};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::known_model::KnownModel;
use crate::test_support::{
    self, answer_of, assistant, call, image, request as asked, result, text, user,
};

fn endpoint(model: &str) -> Endpoint {
    let (provider, model) = ("openai".to_owned(), model.to_owned());
    Endpoint { provider, model, ..test_support::endpoint(Api::OpenAiResponses) }
}

fn reasoned() -> Value {
    json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA+/=" })
}

fn conversation(reasoning: Option<Value>) -> ModelRequest {
    let thinking = Part::Thinking {
        thinking: "hm".to_owned(),
        signature: reasoning.map(|item| item.to_string()),
    };
    let said = Part::Text { text: "I look.".to_owned(), signature: Some("msg_1".to_owned()) };
    let called = call("call_1|fc_1", "read", &json!({ "path": "a" }));
    asked(vec![
        user("Do it."),
        answer_of(("openai-responses", "openai", "gpt-5"), vec![thinking, said, called]),
        result("call_1|fc_1", "read", "ä"),
    ])
}

#[test]
fn a_request_is_said_in_the_words_of_responses() {
    let request = conversation(Some(reasoned()));
    let tool = |name: &str| {
        json!({
            "type": "function", "name": name, "description": format!("Does {name}."),
            "parameters": { "type": "object" }, "strict": false,
        })
    };
    let content = json!([{ "type": "output_text", "text": "I look.", "annotations": [] }]);
    let expected = json!({
        "model": "gpt-5",
        "input": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "input_text", "text": "Do it." }] },
            reasoned(),
            { "type": "message", "role": "assistant", "content": content, "id": "msg_1", "status": "completed" },
            { "type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"a\"}", "id": "fc_1" },
            { "type": "function_call_output", "call_id": "call_1", "output": "ä" },
        ],
        "stream": true,
        "store": false,
        "reasoning": { "summary": "auto" },
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": cache_key(&endpoint("gpt-5"), &request),
        "tools": [tool("read"), tool("yield")],
    });
    assert_eq!(said(&endpoint("gpt-5"), &request), expected);
    let sent = super::request(&endpoint("gpt-5"), &request);
    assert_eq!(sent.url.as_str(), "https://h/v1/responses");
}

#[test]
fn sessions_that_begin_alike_have_one_cache_key() {
    let key =
        |request: &ModelRequest| said(&endpoint("gpt-5"), request)["prompt_cache_key"].clone();
    let (one, two) = (asked(vec![user("a")]), asked(vec![user("b")]));
    assert_ne!(one.session, two.session);
    assert_eq!(key(&one), key(&two));
    let length = key(&one).as_str().map_or(0, str::len);
    assert!((1..=MAX_ID).contains(&length), "{length}");
    let other = ModelRequest { system: "Be long.".into(), ..one.clone() };
    assert_ne!(key(&one), key(&other));
    let fewer = ModelRequest { tools: one.tools[..1].into(), ..one.clone() };
    assert_ne!(key(&one), key(&fewer));
    let cache = CacheRetention::None;
    let options = RequestOptions { cache, ..RequestOptions::default() };
    assert_eq!(key(&ModelRequest { options, ..one }), Value::Null);
}

#[test]
fn a_model_of_which_it_is_known_that_it_thinks_is_told_how_much() {
    let told = |facts: &str, level| {
        let known = KnownModel::of(&serde_json::from_str(facts).unwrap());
        let options = RequestOptions { thinking: Some(level), ..RequestOptions::default() };
        let request = ModelRequest { options, ..asked(vec![user("a")]) };
        let body = said(&Endpoint { known, ..endpoint("m") }, &request);
        (body["input"][0]["role"].clone(), body["reasoning"]["effort"].clone())
    };
    let expected = |role: &str, effort: Value| (json!(role), effort);
    assert_eq!(told("{}", ThinkingLevel::High), expected("system", Value::Null));
    let thinks = r#"{ "thinking": true }"#;
    assert_eq!(told(thinks, ThinkingLevel::XHigh), expected("developer", json!("high")));
    let few = r#"{ "levels": ["minimal", "low"] }"#;
    assert_eq!(told(few, ThinkingLevel::High), expected("developer", json!("low")));
    let never = r#"{ "thinking": false }"#;
    assert_eq!(told(never, ThinkingLevel::High), expected("system", Value::Null));
}

#[test]
fn items_without_their_reasoning_have_no_ids() {
    for reasoning in [None, Some(json!({ "type": "other" }))] {
        let body = said(&endpoint("gpt-5"), &conversation(reasoning));
        let input = body["input"].as_array().unwrap();
        let kinds: Vec<_> = input.iter().map(|item| item["type"].as_str().unwrap_or("")).collect();
        assert_eq!(kinds, ["", "", "message", "function_call", "function_call_output"]);
        assert!(input.iter().all(|item| item.get("id").is_none()), "{input:?}");
    }
}

#[test]
fn answers_of_other_models_are_texts_and_calls() {
    let odd = "a call of another provider|with two halves";
    let foreign = assistant(vec![
        Part::Thinking { thinking: "hm".to_owned(), signature: Some(reasoned().to_string()) },
        text("b"),
        call(odd, "read", &json!({})),
    ]);
    let body = said(&endpoint("gpt-5"), &asked(vec![user("a"), foreign, result(odd, "read", "x")]));
    let input = &body["input"];
    assert_eq!(input[2]["content"][0]["text"], "hm");
    assert_eq!(input[3]["content"][0]["text"], "b");
    assert_eq!(input[4]["call_id"], input[5]["call_id"]);
    let id = input[4]["call_id"].as_str().unwrap();
    assert!(id.len() <= 64 && id.chars().all(is_allowed), "{id}");
}

#[test]
fn options_are_told_as_the_model_knows_them() {
    let told = |model: &str, options: RequestOptions| {
        said(&endpoint(model), &ModelRequest { options, ..asked(vec![user("a")]) })
    };
    let plain = told("gpt-4.1", RequestOptions::default());
    assert_eq!((plain.get("reasoning"), &plain["input"][0]["role"]), (None, &json!("system")));
    let level = |level| RequestOptions { thinking: Some(level), ..RequestOptions::default() };
    assert_eq!(told("o3", level(ThinkingLevel::XHigh))["reasoning"]["effort"], "high");
    assert_eq!(told("gpt-5.2", level(ThinkingLevel::Off))["reasoning"]["effort"], "none");
    let limited = RequestOptions { output_limit: NonZeroU32::new(7), ..RequestOptions::default() };
    assert_eq!(told("gpt-5", limited)["max_output_tokens"], 7);
    let cached = |cache| {
        let body = told("gpt-5", RequestOptions { cache, ..RequestOptions::default() });
        (body.get("prompt_cache_key").is_some(), body.get("prompt_cache_retention").cloned())
    };
    assert_eq!(cached(CacheRetention::None), (false, None));
    assert_eq!(cached(CacheRetention::Long), (true, Some(json!("24h"))));
}

#[test]
fn a_choice_of_tools_and_images_of_results_are_said() {
    let told = |choice| {
        let body = said(&endpoint("gpt-5"), &ModelRequest { choice, ..asked(vec![user("a")]) });
        body.get("tool_choice").cloned()
    };
    assert_eq!(told(ToolChoice::Free), None);
    assert_eq!(told(ToolChoice::Never), Some(json!("none")));
    assert_eq!(told(ToolChoice::Any), Some(json!("required")));
    let named = json!({ "type": "function", "name": "yield" });
    assert_eq!(told(ToolChoice::Force("yield".to_owned())), Some(named));
    let Message::ToolResult(mut seen) = result("c", "read", "a") else { panic!() };
    seen.content.push(image());
    let called = assistant(vec![call("c", "read", &json!({}))]);
    let body = said(&endpoint("gpt-5"), &asked(vec![user("a"), called, Message::ToolResult(seen)]));
    let expected = json!([
        { "type": "input_text", "text": "a" },
        { "type": "input_image", "image_url": "data:image/png;base64,aGk=" },
    ]);
    assert_eq!(body["input"][3]["output"], expected);
}

fn said(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    serde_json::to_value(body(endpoint, request)).unwrap()
}
