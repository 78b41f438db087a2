//! What the Messages API demands of a request.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::Wire;
use super::super::schema_rules::{is_plain, is_said, list, tools, unknown};
use super::super::wire::signature;

/// The keys that a request may have.
const KEYS: &[&str] = &[
    "model",
    "max_tokens",
    "stream",
    "system",
    "messages",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
];

/// Returns what is wrong with a request by the rules of the API; empty if nothing is.
pub(in super::super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    unknown(body, KEYS, "the request", &mut faults);
    let most = body["max_tokens"].as_u64().unwrap_or(0);
    if body["stream"] != true || most == 0 || !is_said(&body["model"]) {
        faults.push("`stream`, `max_tokens` or `model` is not what it has to be".to_owned());
    }
    if body.to_string().matches("\"cache_control\"").count() > 4 {
        faults.push("more than four places to cache".to_owned());
    }
    tools(
        list(&body["tools"]).iter().map(|tool| (&tool["name"], &tool["input_schema"])),
        &mut faults,
    );
    thinking(body, most, &mut faults);
    messages(list(&body["messages"]), &mut faults);
    faults
}

fn thinking(body: &Value, most: u64, faults: &mut Vec<String>) {
    if body["thinking"]["type"] != "enabled" {
        return;
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 || budget >= most {
        faults.push(format!("a budget of {budget} of {most} tokens"));
    }
    if ["any", "tool"].iter().any(|kind| body["tool_choice"]["type"] == *kind) {
        faults.push("who thinks cannot be made to call a tool".to_owned());
    }
    let last = list(&body["messages"]).iter().rev().find(|message| message["role"] == "assistant");
    let Some(last) = last else { return };
    let kind = |block: &Value| block["type"].as_str().unwrap_or_default().to_owned();
    let kinds: Vec<_> = list(&last["content"]).iter().map(kind).collect();
    let thought = kinds.first().is_some_and(|kind| kind.ends_with("thinking"));
    if kinds.iter().any(|kind| kind == "tool_use") && !thought {
        faults.push("the last answer has calls and begins without thinking".to_owned());
    }
}

fn messages(messages: &[Value], faults: &mut Vec<String>) {
    let mut ids = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        let blocks = blocks_of(&message["content"]);
        if message["role"] != expected || blocks.is_empty() {
            faults.push(format!("message {at} is not one of the {expected}: {message}"));
        }
        let mut say = |what: &str, block: &Value| {
            faults.push(format!("message {at}: {what}: {block}"));
        };
        let mut called = BTreeSet::new();
        for (place, block) in blocks.iter().enumerate() {
            match (expected, block["type"].as_str().unwrap_or_default()) {
                (_, "text") if is_said(&block["text"]) => {}
                ("user", "image") if block["source"]["data"].is_string() => {}
                ("user", "tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    let before = blocks[..place].iter().all(|it| it["type"] == "tool_result");
                    if !open.remove(id) || !before || blocks_of(&block["content"]).is_empty() {
                        say("a result of no call, or not at the beginning", block);
                    }
                }
                ("assistant", "thinking") => {
                    let said = block["thinking"].as_str().unwrap_or_default();
                    if block["signature"] != signature(Wire::Messages, said).as_str() {
                        say("the thinking is not as it came", block);
                    }
                }
                ("assistant", "redacted_thinking") if block["data"].is_string() => {}
                ("assistant", kind) if kind.ends_with("_tool_use") => {}
                ("assistant", kind) if kind.ends_with("_tool_result") => {}
                ("assistant", "tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default();
                    let sound = is_plain(id, 64) && ids.insert(id.to_owned());
                    if !sound || !block["input"].is_object() {
                        say("no call", block);
                    }
                    called.insert(id.to_owned());
                }
                _ => say("no block", block),
            }
        }
        if !open.is_empty() {
            say("no results", &Value::from(open.iter().cloned().collect::<Vec<_>>()));
        }
        open = called;
    }
    if !open.is_empty() || messages.len().is_multiple_of(2) {
        faults.push("the last message is not one of the user".to_owned());
    }
}

/// Returns the blocks of a content. A text stands for a block with it.
fn blocks_of(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        other => list(other).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Value {
        let signed = signature(Wire::Messages, "hm");
        json!({
            "model": "m", "stream": true, "max_tokens": 4096,
            "thinking": { "type": "enabled", "budget_tokens": 1024 },
            "tools": [{ "name": "read", "input_schema": { "type": "object" } }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "a" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": signed },
                    { "type": "tool_use", "id": "c", "name": "read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c", "content": [{ "type": "text", "text": "x" }] },
                    { "type": "text", "text": "b" },
                ] },
            ],
        })
    }

    #[test]
    fn a_sound_request_is_accepted() {
        assert_eq!(faults(&sound()), Vec::<String>::new());
    }

    #[test]
    fn each_thing_that_the_api_refuses_is_a_fault() {
        type Change = fn(&mut Value);
        let changes: &[Change] = &[
            |body| body["max_tokens"] = json!(0),
            |body| body["seed"] = json!(1),
            |body| body["thinking"]["budget_tokens"] = json!(4096),
            |body| body["tool_choice"] = json!({ "type": "any" }),
            |body| body["tools"][0]["name"] = json!("a b"),
            |body| drop(body["messages"].as_array_mut().unwrap().pop()),
            |body| drop(body["messages"].as_array_mut().unwrap().remove(0)),
            |body| body["messages"][0]["content"][0]["text"] = json!(" "),
            |body| body["messages"][1]["content"][0]["signature"] = json!("other"),
            |body| drop(body["messages"][1]["content"].as_array_mut().unwrap().remove(0)),
            |body| body["messages"][1]["content"][1]["id"] = json!("a b"),
            |body| body["messages"][2]["content"][0]["tool_use_id"] = json!("d"),
            |body| body["messages"][2]["content"].as_array_mut().unwrap().reverse(),
            |body| drop(body["messages"][2]["content"].as_array_mut().unwrap().remove(0)),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut body = sound();
            change(&mut body);
            assert_ne!(faults(&body), Vec::<String>::new(), "change {at}");
        }
    }
}
