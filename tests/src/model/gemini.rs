//! Google's Generative Language API: what is asked is read as if it had been asked over Chat
//! Completions, what is said goes out as chunks of a candidate, and a request is held against the
//! API's rules.

use serde_json::{Value, json};

use super::schema_rules::{is_said, list, tools, unknown};
use super::stream::pieces;
use super::wire::signature;
use super::{Said, Wire};

/// Stands in the place of the signature of a call that another model has made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the model that is asked at a path.
pub(super) fn model_of(path: &str) -> Option<&str> {
    path.strip_prefix("/v1beta/models/")?.strip_suffix(":streamGenerateContent")
}

/// Returns a request as it would have been over Chat Completions. Calls are known by their order.
pub(super) fn as_completions(body: &Value, model: &str) -> Value {
    let system = &body["systemInstruction"]["parts"][0]["text"];
    let mut messages = vec![json!({ "role": "system", "content": system })];
    let (mut called, mut answered) = (0, 0);
    for content in list(&body["contents"]) {
        let mut own = json!({ "role": "user", "content": null });
        let mut text = String::new();
        let mut calls = Vec::new();
        for part in list(&content["parts"]) {
            if let Some(call) = part.get("functionCall") {
                let arguments = call["args"].to_string();
                let function = json!({ "name": call["name"], "arguments": arguments });
                let id = format!("call_{called}");
                calls.push(json!({ "id": id, "type": "function", "function": function }));
                called += 1;
            } else if let Some(result) = part.get("functionResponse") {
                let response = &result["response"];
                let said = response["output"].as_str().or_else(|| response["error"].as_str());
                let id = format!("call_{answered}");
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": said }));
                answered += 1;
            } else if part["thought"] != true {
                text.push_str(part["text"].as_str().unwrap_or_default());
            }
        }
        if !text.is_empty() {
            own["content"] = text.as_str().into();
        }
        if content["role"] == "model" {
            own["role"] = "assistant".into();
        }
        if !calls.is_empty() {
            own["tool_calls"] = calls.into();
        }
        if own["role"] == "assistant" || !text.is_empty() {
            messages.push(own);
        }
    }
    let tool = |tool: &Value| json!({ "type": "function", "function": tool });
    let tools: Vec<_> = list(&body["tools"][0]["functionDeclarations"]).iter().map(tool).collect();
    let forced = &body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"][0];
    let choice = json!({ "function": { "name": forced } });
    json!({
        "model": model, "stream": true, "messages": messages, "tools": tools, "tool_choice": choice,
    })
}

/// Returns the chunks of an answer, as they stand in the body.
pub(super) fn events(said: &Said) -> String {
    let mut body = String::new();
    let mut chunk = |parts: Value| {
        let candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        body.push_str(&format!("data: {}\r\n\r\n", json!({ "candidates": [candidate] })));
    };
    for piece in pieces(&said.thinking, 9) {
        chunk(json!([{ "text": piece, "thought": true }]));
    }
    for piece in pieces(&said.text, 5) {
        chunk(json!([{ "text": piece }]));
    }
    for (at, call) in said.calls.iter().enumerate() {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        let mut part = json!({ "functionCall": { "name": call.name, "args": arguments } });
        // Only the first of several calls has a signature.
        if at == 0 {
            part["thoughtSignature"] = signature(Wire::Gemini, &call_text(&part)).into();
        }
        chunk(json!([part]));
    }
    let tokens = said.tokens;
    let usage = json!({
        "promptTokenCount": tokens.prompt,
        "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.completion,
        "totalTokenCount": tokens.prompt + tokens.completion,
    });
    let content = json!({ "role": "model", "parts": [{ "text": "" }] });
    let last = json!({ "content": content, "finishReason": "STOP", "index": 0 });
    let last = json!({ "candidates": [last], "usageMetadata": usage });
    body.push_str(&format!("data: {last}\r\n\r\n"));
    body
}

/// Returns what a signature of a call is made of.
fn call_text(part: &Value) -> String {
    let call = &part["functionCall"];
    format!("{}{}", call["name"], call["args"])
}

/// Returns what is wrong with a request by the rules of the API; empty if nothing is.
pub(super) fn faults(body: &Value, model: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let keys = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"];
    unknown(body, &keys, "the request", &mut faults);
    let config = &body["generationConfig"]["thinkingConfig"];
    if config.get("thinkingBudget").is_some() && config.get("thinkingLevel").is_some() {
        faults.push(format!("a level and a budget of thinking: {config}"));
    }
    let declared = list(&body["tools"]).iter().flat_map(|it| list(&it["functionDeclarations"]));
    // A name of the API may also be written as in its protocol buffers.
    let schema = |it: &Value| match &it["parametersJsonSchema"] {
        Value::Null => it["parameters_json_schema"].clone(),
        schema => schema.clone(),
    };
    let declared: Vec<_> = declared.map(|it| (it["name"].clone(), schema(it))).collect();
    tools(declared.iter().map(|(name, schema)| (name, schema)), &mut faults);
    let mut open: Option<Vec<String>> = None;
    let contents = list(&body["contents"]);
    for (at, content) in contents.iter().enumerate() {
        let fault = content_fault((at, content), model, &mut open);
        faults.extend(fault.map(|fault| format!("content {at}: {fault}: {content}")));
    }
    if open.is_some() || contents.last().is_none_or(|last| last["role"] != "user") {
        faults.push("the last content is not of the user".to_owned());
    }
    faults
}

/// Returns what is wrong with one content, which has this index; `open` are the names of the calls before it.
fn content_fault(
    (at, content): (usize, &Value),
    model: &str,
    open: &mut Option<Vec<String>>,
) -> Option<&'static str> {
    let parts = list(&content["parts"]);
    let of = |key: &'static str| parts.iter().filter(move |part| part.get(key).is_some());
    let name = |part: &Value, key: &str| part[key]["name"].as_str().unwrap_or_default().to_owned();
    let awaited = open.take();
    let calls: Vec<_> = of("functionCall").map(|part| name(part, "functionCall")).collect();
    let results: Vec<_> =
        of("functionResponse").map(|part| name(part, "functionResponse")).collect();
    if awaited.clone().unwrap_or_default() != results {
        return Some("the results are not those of the calls before");
    }
    if !results.is_empty() && results.len() != parts.len() {
        return Some("results stand beside something else");
    }
    if !calls.is_empty() {
        *open = Some(calls.clone());
    }
    let signed = |part: &Value| match part["thoughtSignature"].as_str() {
        None | Some(NO_SIGNATURE) => true,
        Some(given) => given == signature(Wire::Gemini, &call_text(part)),
    };
    let first = of("functionCall").next();
    let demanded = model.starts_with("gemini-3");
    let empty = |part: &Value| {
        part.get("text").is_some_and(|text| !is_said(text))
            && part.get("thoughtSignature").is_none()
    };
    match content["role"].as_str() {
        _ if parts.is_empty() || parts.iter().any(empty) => Some("nothing is said"),
        Some("user") if calls.is_empty() => None,
        Some("model") if at == 0 || !results.is_empty() => Some("the model begins or has results"),
        Some("model") if !parts.iter().all(signed) => Some("a signature is not as it came"),
        Some("model")
            if demanded && first.is_some_and(|it| it.get("thoughtSignature").is_none()) =>
        {
            Some("the first call has no signature")
        }
        Some("model") => None,
        _ => Some("no role"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Value {
        let call = |name: &str| json!({ "functionCall": { "name": name, "args": { "a": 1 } } });
        let mut first = call("read");
        first["thoughtSignature"] = signature(Wire::Gemini, &call_text(&first)).into();
        let result = |name: &str| json!({ "functionResponse": { "name": name, "response": { "output": "x" } } });
        let declared = json!({ "name": "read", "parametersJsonSchema": { "type": "object" } });
        json!({
            "systemInstruction": { "parts": [{ "text": "s" }] },
            "tools": [{ "functionDeclarations": [declared] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "a" }] },
                { "role": "model", "parts": [first, call("edit")] },
                { "role": "user", "parts": [result("read"), result("edit")] },
            ],
        })
    }

    #[test]
    fn a_sound_request_is_accepted_and_read() {
        assert_eq!(faults(&sound(), "gemini-3-pro"), Vec::<String>::new());
        let read = as_completions(&sound(), "m");
        let roles: Vec<_> = list(&read["messages"]).iter().map(|it| it["role"].clone()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
        assert_eq!(read["messages"][2]["tool_calls"][1]["id"], read["messages"][4]["tool_call_id"]);
    }

    #[test]
    fn each_thing_that_the_api_refuses_is_a_fault() {
        type Change = fn(&mut Value);
        let changes: &[Change] = &[
            |body| body["seed"] = json!(1),
            |body| body["tools"][0]["functionDeclarations"][0]["name"] = json!("a b"),
            |body| body["contents"][0]["parts"][0]["text"] = json!(""),
            |body| body["contents"][1]["parts"][0]["thoughtSignature"] = json!("AAAA"),
            |body| body["contents"][1]["parts"].as_array_mut().unwrap().reverse(),
            |body| body["contents"][2]["parts"].as_array_mut().unwrap().reverse(),
            |body| drop(body["contents"][2]["parts"].as_array_mut().unwrap().pop()),
            |body| drop(body["contents"].as_array_mut().unwrap().pop()),
            |body| drop(body["contents"].as_array_mut().unwrap().remove(0)),
            |body| body["contents"][0]["role"] = json!("system"),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut body = sound();
            change(&mut body);
            assert_ne!(faults(&body, "gemini-3-pro"), Vec::<String>::new(), "change {at}");
        }
    }
}
