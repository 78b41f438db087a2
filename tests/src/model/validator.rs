//! Holds one request against what a strict provider accepts. It knows nothing of other requests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Asked;

/// The keys that a request may have.
const KEYS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "reasoning_effort",
];

/// Returns what is wrong with a request; empty if nothing is.
pub(super) fn faults(asked: &Asked) -> Vec<String> {
    let mut faults = Vec::new();
    let body = &asked.body;
    unknown(body, KEYS, "the request", &mut faults);
    if body["stream"] != true {
        faults.push("`stream` is not true".to_owned());
    }
    if asked.model().is_empty() {
        faults.push("no model is named".to_owned());
    }
    tools(asked, &mut faults);
    messages(asked, &mut faults);
    faults
}

fn unknown(value: &Value, known: &[&str], what: &str, faults: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        faults.push(format!("{what} is no object"));
        return;
    };
    let strange = object.keys().filter(|key| !known.contains(&key.as_str()));
    faults.extend(strange.map(|key| format!("{what} has the key `{key}`")));
}

fn tools(asked: &Asked, faults: &mut Vec<String>) {
    if let Some(tools) = asked.body.get("tools") {
        let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
        if tools.is_empty() {
            faults.push("`tools` is no list, or an empty one".to_owned());
        }
        for tool in tools {
            unknown(tool, &["type", "function"], "a tool", faults);
            let function = &tool["function"];
            let keys = ["name", "description", "parameters", "strict"];
            unknown(function, &keys, "a tool's function", faults);
            let name = function["name"].as_str().unwrap_or_default();
            named(name, faults);
            if function["description"].as_str().is_none_or(str::is_empty) {
                faults.push(format!("tool `{name}` has no description"));
            }
            closed(&function["parameters"], name, faults);
        }
    }
    let names = asked.tools();
    let different: BTreeSet<_> = names.iter().collect();
    if different.len() != names.len() {
        faults.push(format!("two tools have one name: {names:?}"));
    }
    match asked.body.get("tool_choice") {
        None => {}
        Some(Value::String(word)) if ["auto", "none", "required"].contains(&word.as_str()) => {}
        Some(choice) if choice["type"] == "function" => {
            unknown(choice, &["type", "function"], "`tool_choice`", faults);
            if !asked.forced().is_some_and(|forced| names.contains(&forced)) {
                faults.push(format!("{choice} forces a tool that is not there"));
            }
        }
        Some(other) => faults.push(format!("`tool_choice` is {other}")),
    }
}

/// Checks that a schema is one of an object that has no room for other properties.
fn closed(schema: &Value, name: &str, faults: &mut Vec<String>) {
    if schema["type"] != "object" || !schema["properties"].is_object() {
        faults.push(format!("the parameters of `{name}` are no object: {schema}"));
    }
    if schema["additionalProperties"] != false {
        faults.push(format!("the parameters of `{name}` may have additional properties"));
    }
    for noise in ["$schema", "title"] {
        if schema.get(noise).is_some() {
            faults.push(format!("the parameters of `{name}` have a `{noise}`"));
        }
    }
}

fn named(name: &str, faults: &mut Vec<String>) {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        faults.push(format!("{name:?} is no name of a tool"));
    }
}

fn messages(asked: &Asked, faults: &mut Vec<String>) {
    let messages = asked.messages();
    let mut ids = BTreeSet::new();
    // The calls of the last answer that have no result yet, in their order.
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            faults.push(format!("message {at} ({role}) comes before the results of {open:?}"));
            open.clear();
        }
        if (role == "system") != (at == 0) {
            faults.push(format!("message {at} is of {role:?}"));
        }
        match role {
            "system" | "user" => {
                unknown(message, &["role", "content"], &format!("message {at}"), faults);
                said(message, at, faults);
            }
            "assistant" => open = answer(message, at, &mut ids, faults),
            "tool" => {
                let keys = ["role", "content", "tool_call_id", "name"];
                unknown(message, &keys, &format!("message {at}"), faults);
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if open.first().is_some_and(|first| first == id) {
                    open.remove(0);
                } else {
                    faults.push(format!("message {at} answers {id:?}, awaited is {open:?}"));
                }
                if !message["content"].is_string() && !message["content"].is_array() {
                    faults.push(format!("message {at} has no content"));
                }
            }
            other => faults.push(format!("message {at} has the role {other:?}")),
        }
    }
    match messages.last().and_then(|message| message["role"].as_str()) {
        Some("user" | "tool") if open.is_empty() => {}
        Some("tool") => faults.push(format!("no results of {open:?}")),
        last => faults.push(format!("the last message is of {last:?}")),
    }
}

/// Checks that there are words where there have to be some.
fn said(message: &Value, at: usize, faults: &mut Vec<String>) {
    let role = &message["role"];
    match &message["content"] {
        Value::String(text) if !text.is_empty() => {}
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                if role == "user" && is_image(part) {
                    continue;
                }
                unknown(part, &["type", "text"], &format!("a part of message {at}"), faults);
                if part["type"] != "text" || part["text"].as_str().is_none_or(str::is_empty) {
                    faults.push(format!("message {at} ({role}) has the part {part}"));
                }
            }
        }
        other => faults.push(format!("message {at} ({role}) has the content {other}")),
    }
}

/// Returns whether a part of a message is an image with its data.
fn is_image(part: &Value) -> bool {
    let url = part["image_url"]["url"].as_str().unwrap_or_default();
    let data = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let is_whole = data.is_some_and(|(kind, data)| !kind.is_empty() && !data.is_empty());
    let mut faults = Vec::new();
    unknown(part, &["type", "image_url"], "an image", &mut faults);
    unknown(&part["image_url"], &["url", "detail"], "an image", &mut faults);
    part["type"] == "image_url" && is_whole && faults.is_empty()
}

/// Checks an answer of the model and returns the identities of its calls.
fn answer(
    message: &Value,
    at: usize,
    ids: &mut BTreeSet<String>,
    faults: &mut Vec<String>,
) -> Vec<String> {
    let keys = ["role", "content", "tool_calls", "reasoning_content"];
    unknown(message, &keys, &format!("message {at}"), faults);
    let Some(calls) = message.get("tool_calls") else {
        said(message, at, faults);
        return Vec::new();
    };
    let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
    if calls.is_empty() {
        faults.push(format!("`tool_calls` of message {at} is no list, or an empty one"));
    }
    // Beside calls there may be nothing; if there is something, it is something.
    if !message["content"].is_null() {
        said(message, at, faults);
    }
    let mut open = Vec::new();
    for call in calls {
        unknown(call, &["id", "type", "function"], &format!("a call of message {at}"), faults);
        unknown(&call["function"], &["name", "arguments"], "the function of a call", faults);
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        if id.is_empty() || !ids.insert(id.clone()) || call["type"] != "function" {
            faults.push(format!("message {at} has the call {call}, and ids are {ids:?}"));
        }
        named(call["function"]["name"].as_str().unwrap_or_default(), faults);
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            faults.push(format!("message {at} has the arguments {arguments:?}"));
        }
        open.push(id);
    }
    open
}

#[cfg(test)]
mod tests;
