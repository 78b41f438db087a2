//! OpenAI's Responses API: what is asked is read as if it had been asked over Chat Completions, what
//! is said goes out as the events of a response, and a request is held against the API's rules.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::asked::text;
use super::schema_rules::{is_plain, is_said, list, tools, unknown};
use super::stream::pieces;
use super::wire::signature;
use super::{Said, Wire};

/// Returns a request as it would have been over Chat Completions.
pub(super) fn as_completions(body: &Value) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    if let Some(system) = body["instructions"].as_str() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        let role = item["role"].as_str().unwrap_or_default();
        match (kind, role) {
            ("message", "assistant") => {
                let said = text(item);
                let open = answer(&mut messages);
                let before = open["content"].as_str().unwrap_or_default().to_owned();
                open["content"] = format!("{before}{said}").into();
            }
            ("message", "developer") => {
                messages.push(json!({ "role": "system", "content": text(item) }));
            }
            ("message", role) => messages.push(json!({ "role": role, "content": text(item) })),
            ("function_call", _) => {
                let function = json!({ "name": item["name"], "arguments": item["arguments"] });
                let call =
                    json!({ "id": item["call_id"], "type": "function", "function": function });
                let open = answer(&mut messages);
                if !open["tool_calls"].is_array() {
                    open["tool_calls"] = json!([]);
                }
                open["tool_calls"].as_array_mut().expect("it was just made").push(call);
            }
            ("function_call_output", _) => {
                let content = text(&json!({ "content": item["output"] }));
                let id = &item["call_id"];
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            }
            _ => {}
        }
    }
    let tool = |tool: &Value| json!({ "type": "function", "function": tool });
    let tools: Vec<_> = list(&body["tools"]).iter().map(tool).collect();
    let choice = json!({ "function": { "name": body["tool_choice"]["name"] } });
    json!({
        "model": body["model"], "stream": body["stream"], "messages": messages, "tools": tools,
        "tool_choice": choice,
    })
}

/// Returns the answer that the last items are of.
fn answer(messages: &mut Vec<Value>) -> &mut Value {
    if messages.last().is_none_or(|last| last["role"] != "assistant") {
        messages.push(json!({ "role": "assistant", "content": null }));
    }
    messages.last_mut().expect("there is one now")
}

/// Returns the events of an answer, as they stand in the body.
pub(super) fn events(said: &Said, model: &str) -> String {
    let mut events = Events::default();
    let response = |status: &str, output: &[Value], usage: &Value| {
        json!({
            "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": status,
            "model": model, "output": output, "usage": usage, "parallel_tool_calls": true,
            "tool_choice": "auto", "tools": [],
        })
    };
    let begun = response("in_progress", &[], &Value::Null);
    events.add("response.created", json!({ "response": begun }));
    events.add("response.in_progress", json!({ "response": begun }));
    if !said.thinking.is_empty() {
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let item = |summary: Value, encrypted: Value| {
            json!({
                "type": "reasoning", "id": "rs_1", "summary": summary,
                "encrypted_content": encrypted,
            })
        };
        let encrypted = signature(Wire::Responses, &said.thinking);
        let (first, last) =
            (item(json!([]), Value::Null), item(json!([part(&said.thinking)]), encrypted.into()));
        events.begin(&first);
        events.part("reasoning_summary_part.added", "summary_index", &part(""));
        events.deltas("reasoning_summary_text", ("summary_index", "text"), &said.thinking, 9);
        events.part("reasoning_summary_part.done", "summary_index", &part(&said.thinking));
        events.end(last);
    }
    if !said.text.is_empty() || said.calls.is_empty() {
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let item = |status: &str, content: Value| {
            json!({
                "type": "message", "id": "msg_1", "status": status, "role": "assistant",
                "content": content,
            })
        };
        events.begin(&item("in_progress", json!([])));
        events.part("content_part.added", "content_index", &part(""));
        events.deltas("output_text", ("content_index", "text"), &said.text, 5);
        events.part("content_part.done", "content_index", &part(&said.text));
        events.end(item("completed", json!([part(&said.text)])));
    }
    for call in &said.calls {
        let id = call.id.as_deref().unwrap_or_default();
        let item = |status: &str, arguments: &str| {
            json!({
                "type": "function_call", "id": format!("fc_{}", signature(Wire::Responses, id)),
                "status": status, "call_id": id, "name": call.name, "arguments": arguments,
            })
        };
        events.begin(&item("in_progress", ""));
        events.deltas("function_call_arguments", ("", "arguments"), &call.arguments, 8);
        events.end(item("completed", &call.arguments));
    }
    let tokens = said.tokens;
    let usage = json!({
        "input_tokens": tokens.prompt,
        "input_tokens_details": { "cached_tokens": tokens.cached },
        "output_tokens": tokens.completion,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": tokens.prompt + tokens.completion,
    });
    let ended = response("completed", &events.output, &usage);
    events.add("response.completed", json!({ "response": ended }));
    events.body
}

/// The events of a response that is being written.
#[derive(Default)]
struct Events {
    body: String,
    count: usize,
    /// The items that are complete.
    output: Vec<Value>,
    /// The id of the item that is not.
    item: Value,
}

impl Events {
    fn add(&mut self, kind: &str, data: Value) {
        let mut typed = json!({ "type": kind, "sequence_number": self.count });
        for (key, value) in data.as_object().into_iter().flatten() {
            typed[key] = value.clone();
        }
        self.count += 1;
        self.body.push_str(&format!("event: {kind}\ndata: {typed}\n\n"));
    }

    fn begin(&mut self, item: &Value) {
        self.item = item["id"].clone();
        let data = json!({ "output_index": self.output.len(), "item": item });
        self.add("response.output_item.added", data);
    }

    fn end(&mut self, item: Value) {
        let data = json!({ "output_index": self.output.len(), "item": item });
        self.add("response.output_item.done", data);
        self.output.push(item);
    }

    fn part(&mut self, kind: &str, index: &str, part: &Value) {
        let at = self.output.len();
        let data = json!({ "item_id": self.item, "output_index": at, index: 0, "part": part });
        self.add(&format!("response.{kind}"), data);
    }

    /// Adds a text in pieces, and then whole under the second of `names`. The first is that of the
    /// index of its part, if it is one.
    fn deltas(&mut self, kind: &str, names: (&str, &str), text: &str, size: usize) {
        let mut about = json!({ "item_id": self.item, "output_index": self.output.len() });
        if !names.0.is_empty() {
            about[names.0] = 0.into();
        }
        let with = |name: &str, text: &str| {
            let mut data = about.clone();
            data[name] = text.into();
            data
        };
        for piece in pieces(text, size) {
            self.add(&format!("response.{kind}.delta"), with("delta", &piece));
        }
        self.add(&format!("response.{kind}.done"), with(names.1, text));
    }
}

/// The keys that a request may have.
const KEYS: &[&str] = &[
    "model",
    "instructions",
    "input",
    "stream",
    "store",
    "reasoning",
    "include",
    "max_output_tokens",
    "prompt_cache_key",
    "prompt_cache_retention",
    "tools",
    "tool_choice",
];

/// Returns what is wrong with a request by the rules of the API; empty if nothing is.
pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    unknown(body, KEYS, "the request", &mut faults);
    if body["stream"] != true || body["store"] != false || !is_said(&body["model"]) {
        faults.push("`stream`, `store` or `model` is not what it has to be".to_owned());
    }
    tools(
        list(&body["tools"]).iter().map(|tool| (&tool["name"], &tool["parameters"])),
        &mut faults,
    );
    let items = list(&body["input"]);
    let mut open = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let next = items.get(at + 1);
        let fault = item_fault(item, next, &mut open, &mut ids);
        faults.extend(fault.map(|fault| format!("item {at}: {fault}: {item}")));
    }
    if !open.is_empty() {
        faults.push(format!("no output of {open:?}"));
    }
    if items.last().is_none_or(|last| last["role"] == "assistant" || last["type"] == "reasoning") {
        faults.push("the last item is an answer, or there is none".to_owned());
    }
    faults
}

/// Returns what is wrong with one item; `open` are the calls without an output so far.
fn item_fault(
    item: &Value,
    next: Option<&Value>,
    open: &mut BTreeSet<String>,
    ids: &mut BTreeSet<String>,
) -> Option<&'static str> {
    let kind = item["type"].as_str().unwrap_or("message");
    let call_id = item["call_id"].as_str().unwrap_or_default().to_owned();
    let id = item["id"].as_str();
    let prefixed = |prefix: &str| id.is_none_or(|id| id.starts_with(prefix) && is_plain(id, 64));
    let role = item["role"].as_str().unwrap_or_default();
    match kind {
        "reasoning" => {
            let texts = list(&item["summary"]).iter().filter_map(|part| part["text"].as_str());
            let expected = signature(Wire::Responses, &texts.collect::<Vec<_>>().join("\n\n"));
            let follows = next
                .is_some_and(|next| next["type"] == "function_call" || next["role"] == "assistant");
            if item["encrypted_content"] != expected.as_str() || !prefixed("rs_") {
                return Some("the reasoning is not as it came");
            }
            (!follows).then_some("the reasoning has no item after it")
        }
        "message" if role == "assistant" => {
            let said = list(&item["content"]).iter().all(|part| part["type"] == "output_text");
            (!said || !prefixed("msg_")).then_some("no message of an answer")
        }
        "message" => {
            if !open.is_empty() {
                return Some("it comes before the outputs of calls");
            }
            let sound = match &item["content"] {
                Value::String(_) => is_said(&item["content"]),
                content => list(content).iter().all(|part| match part["type"].as_str() {
                    Some("input_text") => is_said(&part["text"]),
                    Some("input_image") => part["image_url"].is_string(),
                    _ => false,
                }),
            };
            let known = ["user", "system", "developer"].contains(&role);
            (!sound || !known).then_some("no message")
        }
        "function_call" => {
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let object = serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object());
            let sound = is_plain(&call_id, 64) && ids.insert(call_id.clone()) && prefixed("fc_");
            open.insert(call_id);
            (!object || !sound).then_some("no call")
        }
        "function_call_output" => {
            let output = &item["output"];
            let sound = output.is_string() || !list(output).is_empty();
            (!open.remove(&call_id) || !sound).then_some("an output of no call")
        }
        _ => Some("no item"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Value {
        let encrypted = signature(Wire::Responses, "hm");
        let summary = json!([{ "type": "summary_text", "text": "hm" }]);
        json!({
            "model": "m", "stream": true, "store": false,
            "tools": [{ "type": "function", "name": "read", "parameters": { "type": "object" } }],
            "input": [
                { "role": "developer", "content": "s" },
                { "role": "user", "content": [{ "type": "input_text", "text": "a" }] },
                { "type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": encrypted },
                { "type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c", "output": "x" },
            ],
        })
    }

    #[test]
    fn a_sound_request_is_accepted_and_read() {
        assert_eq!(faults(&sound()), Vec::<String>::new());
        let read = as_completions(&sound());
        let roles: Vec<_> = list(&read["messages"]).iter().map(|it| it["role"].clone()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(read["messages"][2]["tool_calls"][0]["id"], "c");
    }

    #[test]
    fn each_thing_that_the_api_refuses_is_a_fault() {
        type Change = fn(&mut Value);
        let changes: &[Change] = &[
            |body| body["store"] = json!(true),
            |body| body["seed"] = json!(1),
            |body| body["tools"][0]["name"] = json!("a b"),
            |body| body["input"][2]["encrypted_content"] = json!("x"),
            |body| drop(body["input"].as_array_mut().unwrap().remove(3)),
            |body| drop(body["input"].as_array_mut().unwrap().remove(4)),
            |body| body["input"][3]["arguments"] = json!("{"),
            |body| body["input"][3]["id"] = json!("x_1"),
            |body| body["input"][4]["call_id"] = json!("d"),
            |body| body["input"][1]["content"] = json!([{ "type": "input_text", "text": " " }]),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut body = sound();
            change(&mut body);
            assert_ne!(faults(&body), Vec::<String>::new(), "change {at}");
        }
    }
}
