//! Says a request in the words of Chat Completions.

use engine::ports::{ModelRequest, ToolChoice, ToolDeclaration};
use protocol::{AssistantMessage, Message, Part, ToolCall};
use serde_json::{Map, Value, json};

use super::ids::Ids;
use crate::known::{Dialect, Forcing, ResultNames};

/// The most characters of a tool's name.
const LONGEST_NAME: usize = 64;

/// Returns the body of a request for `model`.
pub(crate) fn body(model: &str, dialect: &Dialect, request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(dialect, request).into());
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    choose(&mut body, dialect, request);
    Value::Object(body)
}

fn choose(body: &mut Map<String, Value>, dialect: &Dialect, request: &ModelRequest) {
    if request.tools.is_empty() {
        return;
    }
    let all = |_: &&ToolDeclaration| true;
    let (tools, choice) = match (&request.choice, dialect.forcing) {
        (ToolChoice::Free, _) => (request.tools.iter().filter(all).map(tool).collect(), None),
        (ToolChoice::Force(name), Forcing::Named) => {
            let choice = json!({ "type": "function", "function": { "name": name } });
            (request.tools.iter().filter(all).map(tool).collect(), Some(choice))
        }
        (ToolChoice::Force(name), Forcing::Alone) => {
            let forced = request.tools.iter().filter(|tool| tool.name == *name);
            (forced.map(tool).collect(), Some(json!("required")))
        }
    };
    body.insert("tools".to_owned(), Value::Array(tools));
    if let Some(choice) = choice {
        body.insert("tool_choice".to_owned(), choice);
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn messages(dialect: &Dialect, request: &ModelRequest) -> Vec<Value> {
    let mut ids = Ids::new(dialect.call_ids);
    let mut said = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        said.push(json!({ "role": "system", "content": &*request.system }));
    }
    for message in &request.messages {
        match &**message {
            Message::User(user) => said.push(json!({ "role": "user", "content": user.text() })),
            Message::Assistant(answer) => said.extend(assistant(dialect, &mut ids, answer)),
            Message::ToolResult(result) => {
                let text = result.text();
                let content = if text.is_empty() { "(no output)" } else { &text };
                let id = ids.of(&result.tool_call_id);
                let mut line = json!({ "role": "tool", "tool_call_id": id, "content": content });
                if dialect.result_names == ResultNames::Given {
                    line["name"] = name(&result.tool_name).into();
                }
                said.push(line);
            }
        }
    }
    said
}

/// Returns what the model said; nothing where it said nothing, which providers do not accept.
fn assistant(dialect: &Dialect, ids: &mut Ids, answer: &AssistantMessage) -> Option<Value> {
    let mut text = String::new();
    let mut thinking = String::new();
    let mut calls = Vec::new();
    for part in &answer.content {
        match part {
            Part::Text { text: more } => text.push_str(more),
            Part::Thinking { thinking: more } => thinking.push_str(more),
            Part::ToolCall(one) => calls.push(call(ids, one)),
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let mut line = json!({ "role": "assistant", "content": content });
    if let Some(field) = dialect.thinking.filter(|_| !thinking.is_empty()) {
        line[field] = thinking.into();
    }
    if !calls.is_empty() {
        line["tool_calls"] = calls.into();
    }
    Some(line)
}

fn call(ids: &mut Ids, call: &ToolCall) -> Value {
    // A model that sees its own broken JSON breaks it again, and some providers refuse it.
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "id": ids.of(&call.id),
        "type": "function",
        "function": { "name": name(&call.name), "arguments": arguments },
    })
}

/// Returns a tool's name as providers accept it: what the model called may have been no tool.
fn name(given: &str) -> String {
    let allowed = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
    let letters = given.chars().take(LONGEST_NAME);
    let name: String = letters.map(|it| if allowed(it) { it } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests;
