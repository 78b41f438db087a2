use serde_json::json;

use super::*;

fn sound() -> Value {
    let call = |id: &str| {
        json!({ "id": id, "type": "function",
                "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } })
    };
    let parameters = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tool = |name: &str| {
        let function = json!({ "name": name, "description": "It.", "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true },
        "tools": [tool("read"), tool("yield")],
        "messages": [
            { "role": "system", "content": "You are." },
            { "role": "user", "content": "Do it." },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "a", "content": "1" },
            { "role": "tool", "tool_call_id": "b", "content": "" },
            { "role": "assistant", "content": "Done." },
            { "role": "user", "content": [{ "type": "text", "text": "Really?" }] },
        ],
    })
}

fn complaints(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut body = sound();
    change(&mut body);
    faults(&Asked::read(body.to_string().as_bytes(), None).unwrap())
}

#[test]
fn a_sound_request_is_accepted() {
    assert_eq!(complaints(|_| ()), Vec::<String>::new());
    let forced = json!({ "type": "function", "function": { "name": "yield" } });
    assert_eq!(complaints(|body| body["tool_choice"] = forced), Vec::<String>::new());
}

#[test]
fn each_thing_a_strict_provider_refuses_is_a_fault() {
    type Change = fn(&mut Value);
    let changes: &[(&str, Change)] = &[
        ("store", |body| body["store"] = json!(false)),
        ("stream", |body| body["stream"] = json!(false)),
        ("model", |body| body["model"] = json!("")),
        ("tools", |body| body["tools"] = json!([])),
        ("one name", |body| body["tools"][1] = body["tools"][0].clone()),
        ("no name", |body| body["tools"][0]["function"]["name"] = json!("a b")),
        ("additional", |body| {
            body["tools"][0]["function"]["parameters"]["additionalProperties"] = json!(true);
        }),
        ("no object", |body| body["tools"][0]["function"]["parameters"]["type"] = json!("array")),
        ("forces", |body| {
            let other = json!({ "type": "function", "function": { "name": "other" } });
            body["tool_choice"] = other;
        }),
        ("message 0", |body| body["messages"][0]["role"] = json!("user")),
        ("message 1 is of", |body| body["messages"][1]["role"] = json!("system")),
        ("role", |body| body["messages"][1]["role"] = json!("developer")),
        ("content", |body| body["messages"][1]["content"] = json!("")),
        ("content", |body| body["messages"][2]["content"] = json!("")),
        ("content", |body| body["messages"][5]["content"] = json!(null)),
        ("content", |body| body["messages"][3]["content"] = json!(null)),
        ("awaited", |body| body["messages"][3]["tool_call_id"] = json!("b")),
        ("before the results", |body| {
            body["messages"].as_array_mut().unwrap().remove(4);
        }),
        ("awaited is []", |body| {
            let again = body["messages"][4].clone();
            body["messages"].as_array_mut().unwrap().insert(5, again);
        }),
        ("ids are", |body| body["messages"][2]["tool_calls"][1]["id"] = json!("a")),
        ("arguments", |body| {
            body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{\"path\"");
        }),
        ("arguments", |body| {
            body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("[]");
        }),
        ("no name of a tool", |body| {
            body["messages"][2]["tool_calls"][0]["function"]["name"] = json!("a b");
        }),
        ("the last message", |body| {
            body["messages"].as_array_mut().unwrap().pop();
        }),
        ("no results", |body| {
            body["messages"].as_array_mut().unwrap().truncate(4);
        }),
    ];
    for (word, change) in changes {
        let said = complaints(change);
        assert!(said.iter().any(|fault| fault.contains(word)), "{word}: {said:?}");
    }
}
