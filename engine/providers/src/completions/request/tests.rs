use engine::ports::ToolChoice;
use serde_json::json;

use super::*;
use crate::known_providers::{CallIds, KnownProvider, STANDARD};
use crate::test_support::{assistant, call as called, request, result, text, thinking, user};

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

fn line(dialect: &Dialect, at: usize) -> Value {
    body("m", dialect, &conversation())["messages"][at].clone()
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
        body("qwen/qwen3", &STANDARD, &conversation()),
        json!({
            "model": "qwen/qwen3",
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
    broken.messages = vec![assistant(vec![Part::ToolCall(bad)]).into()];
    let body = body("m", &STANDARD, &broken);
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn without_tools_nothing_is_said_of_tools() {
    let mut bare = conversation();
    bare.tools = [].into();
    bare.system = "".into();
    bare.choice = ToolChoice::Force("yield".to_owned());
    let body = body("m", &STANDARD, &bare);
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "stream", "stream_options"]);
    assert_eq!(body["messages"][0]["role"], "user");
}

#[test]
fn switch_forcing_names_the_tool_or_leaves_it_alone() {
    let mut forced = conversation();
    forced.choice = ToolChoice::Force("yield".to_owned());
    let named = body("m", &STANDARD, &forced);
    let choice = json!({ "type": "function", "function": { "name": "yield" } });
    assert_eq!((named["tools"].as_array().unwrap().len(), &named["tool_choice"]), (2, &choice));
    let ollama = KnownProvider::find("ollama").unwrap().dialect;
    let alone = body("m", &ollama, &forced);
    assert_eq!(alone["tools"].as_array().unwrap().len(), 1);
    assert_eq!(alone["tools"][0]["function"]["name"], "yield");
    assert_eq!(alone["tool_choice"], "required");
}

#[test]
fn switch_call_ids_of_nine_letters_match_between_call_and_result() {
    let mistral = KnownProvider::find("mistral").unwrap().dialect;
    assert_eq!(mistral.call_ids, CallIds::Nine);
    let call = line(&mistral, 2)["tool_calls"][0]["id"].clone();
    assert_eq!(call, line(&mistral, 3)["tool_call_id"]);
    let id = call.as_str().unwrap();
    assert!(id.len() == 9 && id.chars().all(|it| it.is_ascii_alphanumeric()), "{id}");
    assert_eq!(call, "t7n5fr1c6");
}

#[test]
fn switch_result_names_says_which_tool_has_answered() {
    let named = Dialect { result_names: ResultNames::Included, ..STANDARD };
    let expected = json!({ "role": "tool", "tool_call_id": "call_2", "content": "(no output)", "name": "read_file_" });
    assert_eq!(line(&named, 4), expected);
    assert_eq!(KnownProvider::find("mistral").unwrap().dialect.result_names, ResultNames::Included);
}

#[test]
fn switch_thinking_gives_back_what_the_model_thought_where_it_is_wanted() {
    for (provider, field) in [("deepseek", "reasoning_content"), ("openrouter", "reasoning")] {
        let dialect = KnownProvider::find(provider).unwrap().dialect;
        assert_eq!(line(&dialect, 2)[field], "hm", "{provider}");
        assert_eq!(line(&dialect, 5).get(field), None);
    }
}

#[test]
fn what_is_acceptable_stays_as_it_is() {
    let mut ids = CallIdMap::new(CallIds::Plain);
    assert_eq!(ids.of("call_1"), "call_1");
    assert_eq!(ids.of("call_1"), "call_1");
    assert_eq!(ids.of("call_2|item_9"), "call_2");
    assert_eq!(CallIdMap::new(CallIds::Nine).of("a1B2c3D4e"), "a1B2c3D4e");
}

#[test]
fn no_two_calls_become_one_and_each_identity_is_acceptable() {
    let long = "x".repeat(300);
    let odd = ["", "a b", "a_b", "a\nb", "ä", "c|1", "c|2", "c", &long, &format!("{long}y")];
    for kind in [CallIds::Plain, CallIds::Nine] {
        let mut ids = CallIdMap::new(kind);
        let given: BTreeSet<_> = odd.iter().map(|id| ids.of(id)).collect();
        assert_eq!(given.len(), odd.len());
        for id in given {
            let letters = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
            assert!(!id.is_empty() && id.len() <= MAX_LEN && id.chars().all(letters), "{id}");
            let nine = id.len() == 9 && id.chars().all(|it| it.is_ascii_alphanumeric());
            assert!(kind == CallIds::Plain || nine, "{id}");
        }
    }
}
