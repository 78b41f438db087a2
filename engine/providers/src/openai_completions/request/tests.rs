use std::num::NonZeroU32;

use engine::ports::{RequestOptions, ToolChoice};
use protocol::{Content, Message, Part};
use serde_json::json;

use super::*;
use crate::api::Api;
use crate::call_ids::CallIds;
use crate::history::Images;
use crate::known_model::KnownModel;
use crate::test_support::{
    self, assistant, call as called, image, request, result, text, thinking, thinking_in, user,
};

fn endpoint() -> Endpoint {
    // The answers of `assistant` are those of this model.
    let (provider, model) = ("x".to_owned(), "x".to_owned());
    Endpoint { provider, model, ..test_support::endpoint(Api::OpenAiCompletions) }
}

fn said(compat: &Compat, request: &ModelRequest) -> Value {
    said_at(&endpoint(), compat, request)
}

fn said_at(endpoint: &Endpoint, compat: &Compat, request: &ModelRequest) -> Value {
    serde_json::to_value(body(endpoint, compat, request)).unwrap()
}

/// The switches of a known provider.
fn of(provider: &str) -> Compat {
    Compat::detect(provider, "http://127.0.0.1:1/v1", "m")
}

fn conversation() -> ModelRequest {
    request(vec![
        user("Do it."),
        assistant(vec![
            thinking("hm"),
            text("I look."),
            called("call_1", "read", &json!({ "path": "a" })),
            called("call_2", "read file!", &json!({})),
        ]),
        result("call_1", "read", "ä"),
        result("call_2", "read file!", ""),
        assistant(vec![called("call_3", "yield", &json!({}))]),
        result("call_3", "yield", "no"),
        assistant(vec![thinking("nothing to say")]),
        user("Go on."),
    ])
}

fn line(compat: &Compat, at: usize) -> Value {
    said(compat, &conversation())["messages"][at].clone()
}

#[test]
fn a_request_is_said_in_the_words_of_chat_completions() {
    let tool = |name: &str| {
        json!({
            "type": "function",
            "function": { "name": name, "description": format!("Does {name}."), "parameters": { "type": "object" } },
        })
    };
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    assert_eq!(
        said(&Compat::standard(), &conversation()),
        json!({
            "model": "x",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Do it." },
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [
                        call("call_1", "read", "{\"path\":\"a\"}"),
                        call("call_2", "read_file_", "{}"),
                    ],
                },
                { "role": "tool", "tool_call_id": "call_1", "content": "ä" },
                { "role": "tool", "tool_call_id": "call_2", "content": "(no output)" },
                { "role": "assistant", "content": null, "tool_calls": [call("call_3", "yield", "{}")] },
                { "role": "tool", "tool_call_id": "call_3", "content": "no" },
                { "role": "user", "content": "Go on." },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [tool("read"), tool("yield")],
        })
    );
}

#[test]
fn arguments_that_were_no_json_are_not_repeated() {
    let mut broken = conversation();
    let Part::ToolCall(mut bad) = called("call_1", "read", &json!({})) else { panic!() };
    bad.malformed = Some("{bad".to_owned());
    broken.messages = vec![user("a").into(), assistant(vec![Part::ToolCall(bad)]).into()];
    let body = said(&Compat::standard(), &broken);
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn without_tools_nothing_is_said_of_tools() {
    let mut bare = conversation();
    bare.tools = [].into();
    bare.messages.truncate(1);
    bare.system = "".into();
    bare.choice = ToolChoice::Force("yield".to_owned());
    let body = said(&Compat::standard(), &bare);
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "stream", "stream_options"]);
    assert_eq!(body["messages"][0]["role"], "user");
}

#[test]
fn switch_forcing_names_the_tool_or_leaves_it_alone() {
    let mut forced = conversation();
    forced.choice = ToolChoice::Force("yield".to_owned());
    let named = said(&Compat::standard(), &forced);
    let choice = json!({ "type": "function", "function": { "name": "yield" } });
    assert_eq!((named["tools"].as_array().unwrap().len(), &named["tool_choice"]), (2, &choice));
    let alone = said(&of("ollama"), &forced);
    assert_eq!(alone["tools"].as_array().unwrap().len(), 1);
    assert_eq!(alone["tools"][0]["function"]["name"], "yield");
    assert_eq!(alone["tool_choice"], "required");
}

#[test]
fn switch_call_ids_of_nine_letters_match_between_call_and_result() {
    let mistral = of("mistral");
    assert_eq!(mistral.call_ids, CallIds::Nine);
    let call = line(&mistral, 2)["tool_calls"][0]["id"].clone();
    assert_eq!(call, line(&mistral, 3)["tool_call_id"]);
    let id = call.as_str().unwrap();
    assert!(id.len() == 9 && id.chars().all(|it| it.is_ascii_alphanumeric()), "{id}");
    assert_eq!(call, "t7n5fr1c6");
}

#[test]
fn switch_result_names_says_which_tool_has_answered() {
    let named = Compat { result_names: Presence::Included, ..Compat::standard() };
    let expected = json!({ "role": "tool", "tool_call_id": "call_2", "content": "(no output)", "name": "read_file_" });
    assert_eq!(line(&named, 4), expected);
    assert_eq!(of("mistral").result_names, Presence::Included);
}

#[test]
fn switch_thinking_gives_back_what_the_model_thought_where_it_is_wanted() {
    assert_eq!(of("openrouter").replay, ThinkingReplay::Field("reasoning"));
    assert_eq!(of("deepseek").replay, ThinkingReplay::Field("reasoning_content"));
    for field in ["reasoning", "reasoning_content"] {
        let compat = Compat { replay: ThinkingReplay::Field(field), ..Compat::standard() };
        assert_eq!(line(&compat, 2)[field], "hm");
        assert_eq!(line(&compat, 5).get(field), None);
    }
}

#[test]
fn what_a_model_thought_is_sent_back_in_the_field_in_which_it_came() {
    let said = |compat: &Compat, thoughts: Vec<Part>, with: Part| {
        let content = thoughts.into_iter().chain([with]).collect();
        let conversation = request(vec![user("Do it."), assistant(content), user("Go on.")]);
        let mut said = said(compat, &conversation)["messages"][2].clone();
        let message = said.as_object_mut().unwrap();
        message.retain(|name, _| !["role", "content", "tool_calls"].contains(&name.as_str()));
        said
    };
    let call = || called("c", "read", &json!({}));
    for name in ["gateway", "vllm", "litellm", "groq", "ollama"] {
        for field in ["reasoning_content", "reasoning", "reasoning_text"] {
            let hm = || thinking_in(field, "hm");
            assert_eq!(said(&of(name), vec![hm()], call()), json!({ field: "hm" }), "{name}");
            assert_eq!(said(&of(name), vec![hm(), hm()], text("a")), json!({ field: "hmhm" }));
        }
        // Nothing is sent where there was none, or where it came in no field.
        assert_eq!(said(&of(name), vec![], call()), json!({}), "{name}");
        assert_eq!(said(&of(name), vec![thinking("hm")], call()), json!({}), "{name}");
        assert_eq!(said(&of(name), vec![thinking_in("x", "hm")], call()), json!({}), "{name}");
    }
    let hm = || vec![thinking_in("reasoning_content", "hm")];
    assert_eq!(said(&of("openrouter"), hm(), call()), json!({ "reasoning": "hm" }));
    let refused = Compat { replay: ThinkingReplay::Dropped, ..of("gateway") };
    assert_eq!(said(&refused, hm(), call()), json!({}));
    let needed = Compat { thinking_of_calls: Presence::Included, ..of("gateway") };
    assert_eq!(said(&needed, vec![], call()), json!({ "reasoning_content": " " }));
}

/// The request of one message with these options.
fn asked(choice: ToolChoice, options: RequestOptions) -> ModelRequest {
    ModelRequest { choice, options, ..request(vec![user("Do it.")]) }
}

fn level(level: ThinkingLevel) -> RequestOptions {
    RequestOptions { thinking: Some(level), ..RequestOptions::default() }
}

#[test]
fn switch_store_says_that_nothing_is_kept() {
    let stored = Compat { store: Presence::Included, ..Compat::standard() };
    assert_eq!(said(&stored, &conversation())["store"], false);
    assert_eq!(said(&Compat::standard(), &conversation()).get("store"), None);
}

#[test]
fn switch_system_role_is_the_developer_for_models_that_think() {
    let compat = Compat { system_role: SystemRole::Developer, ..Compat::standard() };
    assert_eq!(line(&compat, 0)["role"], "system");
    let thinks = Endpoint { model: "gpt-5".to_owned(), ..endpoint() };
    assert_eq!(said_at(&thinks, &compat, &conversation())["messages"][0]["role"], "developer");
}

#[test]
fn what_is_known_about_a_model_goes_before_its_name() {
    let compat = Compat { system_role: SystemRole::Developer, ..Compat::standard() };
    let told = |model: &str, facts: &str, of: ThinkingLevel| {
        let known = KnownModel::of(&serde_json::from_str(facts).unwrap());
        let endpoint = Endpoint { model: model.to_owned(), known, ..endpoint() };
        let options = RequestOptions { output_limit: NonZeroU32::new(500), ..level(of) };
        let body = said_at(&endpoint, &compat, &asked(ToolChoice::Free, options));
        let role = body["messages"][0]["role"].as_str().unwrap_or_default().to_owned();
        (role, body.get("reasoning_effort").cloned(), body["max_tokens"].clone())
    };
    let of = |role: &str, effort: &str, limit: u32| {
        (role.to_owned(), (!effort.is_empty()).then(|| json!(effort)), json!(limit))
    };
    use ThinkingLevel::{High, Off};
    let thinks = r#"{ "thinking": true, "output": 300 }"#;
    assert_eq!(told("m", thinks, High), of("developer", "high", 300));
    let few = r#"{ "levels": ["low"] }"#;
    assert_eq!(told("gpt-5.1", few, Off), of("developer", "low", 500));
    assert_eq!(told("gpt-5.1", "{}", Off), of("developer", "none", 500));
    assert_eq!(told("gpt-5", r#"{ "thinking": false }"#, High), of("system", "", 500));
}

#[test]
fn a_model_of_which_it_is_known_whether_it_sees_images_gets_them_or_a_text() {
    let shown = |images: Option<Images>, compat: &Compat| {
        let known = KnownModel { images, ..KnownModel::default() };
        let Message::User(mut said) = user("Look.") else { panic!() };
        said.content.push(image());
        let request = ModelRequest { messages: vec![Message::User(said).into()], ..conversation() };
        let body = said_at(&Endpoint { known, ..endpoint() }, compat, &request);
        body["messages"].to_string().contains("data:image/png")
    };
    let blind = Compat { images: Images::Replaced, ..Compat::standard() };
    let standard = Compat::standard();
    assert_eq!([shown(None, &standard), shown(None, &blind)], [true, false]);
    assert!(shown(Some(Images::Seen), &blind) && !shown(Some(Images::Replaced), &standard));
}

#[test]
fn switch_usage_asks_for_what_is_counted() {
    let silent = Compat { usage: Presence::Omitted, ..Compat::standard() };
    assert_eq!(said(&silent, &conversation()).get("stream_options"), None);
}

#[test]
fn switch_limit_field_names_the_limit_of_an_answer() {
    let options =
        RequestOptions { output_limit: NonZeroU32::new(500), ..RequestOptions::default() };
    let limited = asked(ToolChoice::Free, options);
    assert_eq!(said(&Compat::standard(), &limited)["max_tokens"], 500);
    let newer = Compat { limit_field: "max_completion_tokens", ..Compat::standard() };
    assert_eq!(said(&newer, &limited)["max_completion_tokens"], 500);
}

#[test]
fn switch_thinking_tells_the_level_in_the_format_of_the_server() {
    let told = |thinking, of_level| {
        let compat = Compat { thinking, ..Compat::standard() };
        let mut body = said(&compat, &asked(ToolChoice::Free, level(of_level)));
        for key in ["model", "messages", "stream", "stream_options", "tools"] {
            body.as_object_mut().unwrap().remove(key);
        }
        body
    };
    use ThinkingLevel::{High, Off};
    let cases = [
        (ThinkingFormat::Unsupported, json!({}), json!({})),
        (
            ThinkingFormat::OpenAi,
            json!({ "reasoning_effort": "high" }),
            json!({ "reasoning_effort": "none" }),
        ),
        (
            ThinkingFormat::OpenRouter,
            json!({ "reasoning": { "effort": "high" } }),
            json!({ "reasoning": { "effort": "none" } }),
        ),
        (
            ThinkingFormat::Zai,
            json!({ "thinking": { "type": "enabled" } }),
            json!({ "thinking": { "type": "disabled" } }),
        ),
        (
            ThinkingFormat::Qwen,
            json!({ "enable_thinking": true }),
            json!({ "enable_thinking": false }),
        ),
        (
            ThinkingFormat::QwenChatTemplate,
            json!({ "chat_template_kwargs": { "enable_thinking": true } }),
            json!({ "chat_template_kwargs": { "enable_thinking": false } }),
        ),
    ];
    for (format, high, off) in cases {
        assert_eq!((told(format, High), told(format, Off)), (high, off), "{format:?}");
    }
    let unsaid = said(&Compat::standard(), &asked(ToolChoice::Free, RequestOptions::default()));
    assert_eq!(unsaid.get("reasoning_effort"), None);
}

#[test]
fn switch_efforts_names_levels_otherwise() {
    let told = said(&of("deepseek"), &asked(ToolChoice::Free, level(ThinkingLevel::XHigh)));
    assert_eq!(told["reasoning_effort"], "max");
}

#[test]
fn switch_thinking_with_choice_leaves_the_level_out() {
    let told = |thinking_with_choice, choice| {
        let compat = Compat { thinking_with_choice, ..Compat::standard() };
        let body = said(&compat, &asked(choice, level(ThinkingLevel::Low)));
        body.get("reasoning_effort").is_some()
    };
    let forced = || ToolChoice::Force("yield".to_owned());
    assert!(told(ThinkingWithChoice::Allowed, forced()));
    assert!(!told(ThinkingWithChoice::NotForced, forced()));
    assert!(told(ThinkingWithChoice::NotForced, ToolChoice::Never));
    assert!(!told(ThinkingWithChoice::Never, ToolChoice::Never));
    assert!(told(ThinkingWithChoice::Never, ToolChoice::Free));
}

#[test]
fn switch_replay_as_text_puts_thinking_before_the_text() {
    let compat = Compat { replay: ThinkingReplay::Text, ..Compat::standard() };
    assert_eq!(line(&compat, 2)["content"], "hm\n\nI look.");
}

#[test]
fn switch_thinking_and_text_of_calls_fill_what_a_server_demands() {
    let compat = of("kimi");
    let line = line(&compat, 5);
    assert_eq!((&line["content"], &line["reasoning_content"]), (&json!(" "), &json!(" ")));
}

#[test]
fn switch_answer_after_results_stands_before_the_user() {
    let compat = Compat { answer_after_results: Presence::Included, ..Compat::standard() };
    let conversation = request(vec![
        user("Do it."),
        assistant(vec![called("c", "read", &json!({}))]),
        result("c", "read", "x"),
        user("Stop."),
    ]);
    let body = said(&compat, &conversation);
    let roles = body["messages"].as_array().unwrap().iter().map(|line| line["role"].as_str());
    let roles: Vec<_> = roles.map(Option::unwrap).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn switch_strict_is_said_of_each_tool() {
    for (strict, expected) in [(Strict::All, Some(true)), (Strict::None, Some(false))] {
        let compat = Compat { strict, ..Compat::standard() };
        let body = said(&compat, &conversation());
        assert_eq!(body["tools"][1]["function"]["strict"].as_bool(), expected);
    }
}

#[test]
fn switch_images_replaces_what_a_model_cannot_see() {
    let content = vec![Content::text("Look."), image()];
    let Message::User(mut user) = user("") else { panic!() };
    user.content = content;
    let request = request(vec![Message::User(user)]);
    let seen = said(&Compat::standard(), &request);
    let url = &seen["messages"][1]["content"][1]["image_url"]["url"];
    assert_eq!(url, "data:image/png;base64,aGk=");
    let blind = Compat { images: crate::history::Images::Replaced, ..Compat::standard() };
    let blind = said(&blind, &request);
    assert!(blind["messages"][1]["content"].as_str().unwrap().starts_with("Look.\n[An image"));
}

#[test]
fn switch_routing_and_extra_body_are_added() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let compat = Compat {
        open_router: object(json!({ "only": ["a"] })),
        vercel_gateway: object(json!({ "order": ["b"] })),
        extra_body: object(json!({ "seed": 7 })),
        ..Compat::standard()
    };
    let body = said(&compat, &conversation());
    assert_eq!(body["provider"], json!({ "only": ["a"] }));
    assert_eq!(body["providerOptions"], json!({ "gateway": { "order": ["b"] } }));
    assert_eq!(body["seed"], 7);
}

#[test]
fn images_of_tool_results_follow_the_results() {
    let Message::ToolResult(mut seen) = result("c", "read", "") else { panic!() };
    seen.content = vec![image()];
    let conversation = request(vec![
        user("Do it."),
        assistant(vec![called("c", "read", &json!({}))]),
        Message::ToolResult(seen),
    ]);
    let body = said(&Compat::standard(), &conversation);
    assert_eq!(body["messages"][3]["content"], "(see the image below)");
    assert_eq!(body["messages"][4]["role"], "user");
    assert_eq!(body["messages"][4]["content"][1]["type"], "image_url");
}

#[test]
fn a_choice_of_tools_is_said_as_it_is_meant() {
    let told = |choice| said(&Compat::standard(), &asked(choice, RequestOptions::default()));
    assert_eq!(told(ToolChoice::Never)["tool_choice"], "none");
    assert_eq!(told(ToolChoice::Any)["tool_choice"], "required");
    assert_eq!(told(ToolChoice::Free).get("tool_choice"), None);
    let never = Compat { forcing: Forcing::Never, ..Compat::standard() };
    let forced = asked(ToolChoice::Force("yield".to_owned()), RequestOptions::default());
    let told = said(&never, &forced);
    assert_eq!((told.get("tool_choice"), told["tools"].as_array().unwrap().len()), (None, 1));
}
