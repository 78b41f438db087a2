use std::num::NonZeroU32;

use engine::ports::RequestOptions;
use protocol::{Message, Part, ThinkingLevel};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::endpoint::base_url;
use crate::test_support::{
    self, answer_of, assistant, call, image, request as asked, result, user,
};

fn endpoint(model: &str) -> Endpoint {
    let (provider, model) = ("google".to_owned(), model.to_owned());
    Endpoint { provider, model, ..test_support::endpoint(Api::GoogleGenerativeAi) }
}

const OLD: &str = "gemini-2.5-pro";
const NEW: &str = "gemini-3-pro-preview";

fn signed_call(id: &str, signature: &str) -> Part {
    let mut part = call(id, "read", &json!({ "path": "a" }));
    if let Part::ToolCall(call) = &mut part {
        call.thought_signature = Some(signature.to_owned());
    }
    part
}

#[test]
fn a_request_is_said_in_the_words_of_google() {
    let Message::ToolResult(mut failed) = result("c2", "read", "no") else { panic!() };
    failed.is_error = true;
    let thought = |signature: Option<&str>| Part::Thinking {
        thinking: "hm".to_owned(),
        signature: signature.map(str::to_owned),
    };
    let conversation = asked(vec![
        user("Do it."),
        answer_of(
            ("google-generative-ai", "google", OLD),
            vec![
                thought(Some("c2ln")),
                thought(None),
                thought(Some("not base64!")),
                Part::Text { text: "I look.".to_owned(), signature: Some("dGV4dA==".to_owned()) },
                signed_call("c1", "Y2FsbA=="),
                call("c2", "read", &json!({ "path": "b" })),
            ],
        ),
        result("c1", "read", "ä"),
        Message::ToolResult(failed),
        user("Go on."),
    ]);
    let tool = |name: &str| json!({ "name": name, "description": format!("Does {name}."), "parametersJsonSchema": { "type": "object" } });
    let response = |key: &str, text: &str| json!({ "functionResponse": { "name": "read", "response": { key: text } } });
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "contents": [
            { "role": "user", "parts": [{ "text": "Do it." }] },
            {
                "role": "model",
                "parts": [
                    { "text": "hm", "thought": true, "thoughtSignature": "c2ln" },
                    { "text": "I look.", "thoughtSignature": "dGV4dA==" },
                    { "functionCall": { "name": "read", "args": { "path": "a" } }, "thoughtSignature": "Y2FsbA==" },
                    { "functionCall": { "name": "read", "args": { "path": "b" } } },
                ],
            },
            { "role": "user", "parts": [response("output", "ä"), response("error", "no")] },
            { "role": "user", "parts": [{ "text": "Go on." }] },
        ],
        "tools": [{ "functionDeclarations": [tool("read"), tool("yield")] }],
        "generationConfig": { "thinkingConfig": { "includeThoughts": true } },
    });
    assert_eq!(body(&endpoint(OLD), &conversation), expected);
}

#[test]
fn the_model_is_a_part_of_the_path() {
    for (base, expected) in [
        ("https://h", "https://h/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
        (
            "https://h/v1beta",
            "https://h/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        ("https://h/x?a=b", "https://h/x/models/gemini-2.5-pro:streamGenerateContent?a=b&alt=sse"),
    ] {
        let endpoint = Endpoint { base: base_url(base).unwrap(), ..endpoint(OLD) };
        assert_eq!(request(&endpoint, &asked(vec![user("a")])).url.as_str(), expected);
    }
}

#[test]
fn a_call_of_another_model_is_accepted_without_a_signature_by_models_that_demand_one() {
    let messages = vec![
        user("a"),
        assistant(vec![signed_call("c1", "Y2FsbA=="), signed_call("c2", "Y2FsbA==")]),
        result("c1", "read", "x"),
        result("c2", "read", "x"),
    ];
    let signatures = |model: &str| {
        let body = body(&endpoint(model), &asked(messages.clone()));
        let parts = body["contents"][1]["parts"].as_array().unwrap().clone();
        parts.iter().map(|part| part.get("thoughtSignature").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(signatures(OLD), [None, None]);
    assert_eq!(signatures(NEW), [Some(json!("skip_thought_signature_validator")), None]);
}

#[test]
fn images_of_results_are_in_them_or_after_them() {
    let Message::ToolResult(mut seen) = result("c", "read", "a") else { panic!() };
    seen.content.push(image());
    let called = assistant(vec![call("c", "read", &json!({}))]);
    let request = asked(vec![user("a"), called, Message::ToolResult(seen)]);
    let inline = json!({ "inlineData": { "mimeType": "image/png", "data": "aGk=" } });
    let new = body(&endpoint(NEW), &request);
    assert_eq!(new["contents"][2]["parts"][0]["functionResponse"]["parts"], json!([inline]));
    assert_eq!(new["contents"].as_array().unwrap().len(), 3);
    let old = body(&endpoint(OLD), &request);
    assert_eq!(old["contents"][3]["parts"], json!([{ "text": "Tool result image:" }, inline]));
}

#[test]
fn options_and_a_choice_of_tools_are_told() {
    let options = RequestOptions {
        thinking: Some(ThinkingLevel::High),
        output_limit: NonZeroU32::new(7),
        ..RequestOptions::default()
    };
    let told =
        |choice| body(&endpoint(NEW), &ModelRequest { choice, options, ..asked(vec![user("a")]) });
    let config = json!({ "includeThoughts": true, "thinkingLevel": "HIGH" });
    let expected = json!({ "maxOutputTokens": 7, "thinkingConfig": config });
    let free = told(ToolChoice::Free);
    assert_eq!((&free["generationConfig"], free.get("toolConfig")), (&expected, None));
    let mode = |choice| told(choice)["toolConfig"]["functionCallingConfig"].clone();
    assert_eq!(mode(ToolChoice::Never), json!({ "mode": "NONE" }));
    assert_eq!(mode(ToolChoice::Any), json!({ "mode": "ANY" }));
    let named = json!({ "mode": "ANY", "allowedFunctionNames": ["yield"] });
    assert_eq!(mode(ToolChoice::Force("yield".to_owned())), named);
    let bare = ModelRequest { tools: [].into(), system: "".into(), ..asked(vec![user("a")]) };
    let bare = body(&endpoint("gemini-2.0-flash"), &bare);
    assert_eq!(bare, json!({ "contents": [{ "role": "user", "parts": [{ "text": "a" }] }] }));
}
