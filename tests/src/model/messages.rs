//! Anthropic's Messages API: what is asked is read as if it had been asked over Chat Completions, and
//! what is said goes out as the events of a message.

use serde_json::{Value, json};

use super::asked::text;
use super::schema_rules::list;
use super::stream::pieces;
use super::wire::signature;
use super::{Call, Said, Wire};

mod rules;

pub(super) use rules::faults;

/// Returns a request as it would have been over Chat Completions.
pub(super) fn as_completions(body: &Value) -> Value {
    let system = json!({ "role": "system", "content": words(&body["system"]) });
    let asked = list(&body["messages"]).iter().flat_map(messages);
    let messages: Vec<_> = std::iter::once(system).chain(asked).collect();
    let tools: Vec<_> = list(&body["tools"]).iter().map(tool).collect();
    let choice = json!({ "function": { "name": body["tool_choice"]["name"] } });
    json!({
        "model": body["model"], "stream": body["stream"], "messages": messages, "tools": tools,
        "tool_choice": choice,
    })
}

/// Returns the words of a content, which is a text or blocks.
fn words(content: &Value) -> String {
    text(&json!({ "content": content }))
}

/// Results of tools are blocks of a user's message here, and messages of their own there.
fn messages(message: &Value) -> Vec<Value> {
    let blocks = list(&message["content"]);
    let of_type = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let result = |block: &Value| {
        let (id, content) = (&block["tool_use_id"], words(&block["content"]));
        json!({ "role": "tool", "tool_call_id": id, "content": content })
    };
    let call = |block: &Value| {
        let function = json!({ "name": block["name"], "arguments": block["input"].to_string() });
        json!({ "id": block["id"], "type": "function", "function": function })
    };
    let mut messages: Vec<_> = of_type("tool_result").map(result).collect();
    let calls: Vec<_> = of_type("tool_use").map(call).collect();
    let said = words(&message["content"]);
    let mut own = json!({ "role": message["role"], "content": said });
    if !calls.is_empty() {
        own["tool_calls"] = calls.into();
    }
    if messages.is_empty() || !said.is_empty() {
        messages.push(own);
    }
    messages
}

fn tool(tool: &Value) -> Value {
    let function = json!({
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool["input_schema"],
    });
    json!({ "type": "function", "function": function })
}

/// Returns the events of an answer, as they stand in the body.
pub(super) fn events(said: &Said, model: &str) -> String {
    let mut body = String::new();
    let tokens = said.tokens;
    let input = json!({
        "input_tokens": tokens.prompt.saturating_sub(tokens.cached + tokens.written),
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.written,
        "output_tokens": 1,
    });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": input,
    });
    event(&mut body, "message_start", json!({ "message": message }));
    event(&mut body, "ping", json!({}));
    let mut index = 0;
    if !said.thinking.is_empty() {
        let deltas = pieces(&said.thinking, 9).into_iter();
        let deltas = deltas.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
        let signed = signature(Wire::Messages, &said.thinking);
        let signed = json!({ "type": "signature_delta", "signature": signed });
        let first = json!({ "type": "thinking", "thinking": "", "signature": "" });
        block(&mut body, index, &first, deltas.chain([signed]));
        index += 1;
    }
    if !said.text.is_empty() || said.calls.is_empty() {
        let deltas = pieces(&said.text, 5).into_iter();
        let deltas = deltas.map(|piece| json!({ "type": "text_delta", "text": piece }));
        block(&mut body, index, &json!({ "type": "text", "text": "" }), deltas);
        index += 1;
    }
    for (call, index) in said.calls.iter().zip(index..) {
        let deltas = pieces(&call.arguments, 8).into_iter();
        let deltas =
            deltas.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        block(&mut body, index, &beginning(call), deltas);
    }
    let reason = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    let usage = json!({ "output_tokens": tokens.completion });
    event(&mut body, "message_delta", json!({ "delta": delta, "usage": usage }));
    event(&mut body, "message_stop", json!({}));
    body
}

/// A call comes with its name first and its arguments piece by piece.
fn beginning(call: &Call) -> Value {
    let id = call.id.as_deref().unwrap_or_default();
    json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} })
}

fn block(body: &mut String, index: usize, first: &Value, deltas: impl Iterator<Item = Value>) {
    event(body, "content_block_start", json!({ "index": index, "content_block": first }));
    for delta in deltas {
        event(body, "content_block_delta", json!({ "index": index, "delta": delta }));
    }
    event(body, "content_block_stop", json!({ "index": index }));
}

fn event(body: &mut String, kind: &str, mut data: Value) {
    data["type"] = kind.into();
    body.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
}

#[cfg(test)]
mod tests {
    use super::super::Asked;
    use super::*;

    #[test]
    fn a_request_is_read_with_its_results_as_messages_of_their_own() {
        let call = json!({ "type": "tool_use", "id": "c", "name": "Write", "input": { "a": 1 } });
        let result = json!({ "type": "tool_result", "tool_use_id": "c", "content": "written" });
        let body = json!({
            "model": "m",
            "system": [{ "type": "text", "text": "You are." }],
            "tools": [{ "name": "Write", "description": "Writes.", "input_schema": {} }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Do it." }] },
                { "role": "assistant", "content": [call] },
                { "role": "user", "content": [result] },
            ],
        });
        let body = as_completions(&body).to_string();
        let asked = Asked::read(body.as_bytes(), None).unwrap();
        assert_eq!((asked.prompt().as_str(), asked.answers()), ("Do it.", 1));
        assert_eq!((asked.results(), asked.tools()), (vec!["written".into()], vec!["Write"]));
        let function = &asked.messages()[2]["tool_calls"][0]["function"];
        assert_eq!(function["arguments"], "{\"a\":1}");
    }

    #[test]
    fn the_events_say_what_was_to_be_said() {
        let calls = vec![Call::new("Write", &json!({ "path": "größe" })).with_id("c1")];
        let said = Said { text: "Straße".to_owned(), calls, ..Said::default() };
        let body = events(&said, "m");
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
        let joined = |pointer: &str| {
            let texts = events.iter().filter_map(|event| event.pointer(pointer)?.as_str());
            texts.collect::<String>()
        };
        assert_eq!(joined("/delta/text"), "Straße");
        assert_eq!(joined("/delta/partial_json"), r#"{"path":"größe"}"#);
        assert_eq!(joined("/content_block/name"), "Write");
        assert_eq!(joined("/delta/stop_reason"), "tool_use");
        assert!(body.ends_with("data: {\"type\":\"message_stop\"}\n\n"), "{body}");
    }
}
