//! Builds a request of Chat Completions, with the switches of its server.

use engine::ports::{ModelRequest, ToolChoice, ToolDeclaration};
use protocol::ThinkingLevel;
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::compat::{
    Compat, Forcing, Presence, Strict, SystemRole, ThinkingFormat, ThinkingReplay,
    ThinkingWithChoice,
};
use super::thinking_fields::{FIELDS, thinking_field};
use crate::call_ids::{CallIdMap, tool_name};
use crate::endpoint::Endpoint;
use crate::exchange::{Body, WireRequest, body_of};
use crate::history::{Block, CallResult, ContentItem, Turn, turns};
use crate::openai_responses::levels;

/// Stands between tool results and a message of the user where an answer has to.
const ACKNOWLEDGED: &str = "I have processed the tool results.";

/// Returns a request as HTTP.
pub(crate) fn request(endpoint: &Endpoint, request: &ModelRequest) -> WireRequest {
    let mut compat = Compat::detect(&endpoint.provider, endpoint.base.as_str(), &endpoint.model)
        .with(&endpoint.compat);
    if endpoint.thinking_refusals.contains(&endpoint.base, &endpoint.model) {
        compat.replay = ThinkingReplay::Dropped;
    }
    let body = body_of(&body(endpoint, &compat, request));
    let url = endpoint.url(&["chat", "completions"]);
    WireRequest { url, headers: HeaderMap::new(), body }
}

/// A tool that is offered.
#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Returns the body of a request.
fn body<'a>(endpoint: &Endpoint, compat: &Compat, request: &'a ModelRequest) -> Body<Tool<'a>> {
    let mut body = Map::new();
    let mut insert = |key: &str, value: Value| body.insert(key.to_owned(), value);
    insert("model", endpoint.model.as_str().into());
    let messages = messages(endpoint, compat, request);
    let called = messages.iter().any(|message| message.get("tool_calls").is_some());
    insert("messages", messages.into());
    insert("stream", true.into());
    if compat.usage == Presence::Included {
        insert("stream_options", json!({ "include_usage": true }));
    }
    if compat.store == Presence::Included {
        insert("store", false.into());
    }
    if let Some(limit) = endpoint.output_limit(request) {
        insert(compat.limit_field, limit.get().into());
    }
    // Some gateways refuse calls in a conversation without tools.
    let has_tools = !request.tools.is_empty() || called;
    let tools = has_tools.then(|| tools(compat, request));
    if let Some(choice) = tool_choice(compat, request).filter(|_| !request.tools.is_empty()) {
        insert("tool_choice", choice);
    }
    if let Some((key, value)) = thinking(endpoint, compat, request) {
        insert(key, value);
    }
    if !compat.open_router.is_empty() {
        insert("provider", Value::Object(compat.open_router.clone()));
    }
    if !compat.vercel_gateway.is_empty() {
        insert("providerOptions", json!({ "gateway": compat.vercel_gateway }));
    }
    body.extend(compat.extra_body.clone());
    let tools = tools.filter(|_| !body.contains_key("tools"));
    Body { fields: body, tools }
}

/// Returns the tools that are offered: one of them if a call of it is forced and cannot be named.
fn tools<'a>(compat: &Compat, request: &'a ModelRequest) -> Vec<Tool<'a>> {
    let offered = |tool: &&ToolDeclaration| match (&request.choice, compat.forcing) {
        (ToolChoice::Force(name), Forcing::OnlyTool | Forcing::Never) => tool.name == *name,
        (ToolChoice::Force(_), Forcing::Named)
        | (ToolChoice::Free | ToolChoice::Never | ToolChoice::Any, _) => true,
    };
    let strict = match compat.strict {
        Strict::Omitted => None,
        Strict::All => Some(true),
        Strict::None => Some(false),
    };
    let tool = |tool: &'a ToolDeclaration| {
        let ToolDeclaration { name, description, parameters } = tool;
        Tool { kind: "function", function: Function { name, description, parameters, strict } }
    };
    request.tools.iter().filter(offered).map(tool).collect()
}

fn tool_choice(compat: &Compat, request: &ModelRequest) -> Option<Value> {
    match (&request.choice, compat.forcing) {
        (ToolChoice::Free, _) | (_, Forcing::Never) => None,
        (ToolChoice::Never, _) => Some(json!("none")),
        (ToolChoice::Any, _) | (ToolChoice::Force(_), Forcing::OnlyTool) => Some(json!("required")),
        (ToolChoice::Force(name), Forcing::Named) => {
            Some(json!({ "type": "function", "function": { "name": name } }))
        }
    }
}

/// Returns the key and the value that tell how much to think.
fn thinking(
    endpoint: &Endpoint,
    compat: &Compat,
    request: &ModelRequest,
) -> Option<(&'static str, Value)> {
    let level = endpoint.thinking(request)?;
    let forced = matches!(request.choice, ToolChoice::Any | ToolChoice::Force(_));
    let allowed = match compat.thinking_with_choice {
        ThinkingWithChoice::Allowed => true,
        ThinkingWithChoice::NotForced => !forced,
        ThinkingWithChoice::Never => tool_choice(compat, request).is_none(),
    };
    if !allowed {
        return None;
    }
    let level = match (levels(&endpoint.model), endpoint.known.levels.as_slice()) {
        (Some(named), []) => level.clamp_to(named),
        (Some(_), known) => level.clamp_to(known),
        (None, _) => level,
    };
    let own = compat.efforts.get(&level).cloned();
    let is_on = level != ThinkingLevel::Off;
    let effort = || own.unwrap_or_else(|| if is_on { level.to_string() } else { "none".into() });
    match compat.thinking {
        ThinkingFormat::Unsupported => None,
        ThinkingFormat::OpenAi => Some(("reasoning_effort", effort().into())),
        ThinkingFormat::OpenRouter => Some(("reasoning", json!({ "effort": effort() }))),
        ThinkingFormat::Zai => {
            let kind = if is_on { "enabled" } else { "disabled" };
            Some(("thinking", json!({ "type": kind })))
        }
        ThinkingFormat::Qwen => Some(("enable_thinking", is_on.into())),
        ThinkingFormat::QwenChatTemplate => {
            Some(("chat_template_kwargs", json!({ "enable_thinking": is_on })))
        }
    }
}

fn messages(endpoint: &Endpoint, compat: &Compat, request: &ModelRequest) -> Vec<Value> {
    let mut ids = CallIdMap::new(compat.call_ids);
    let mut said = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        let thinks = endpoint.known.levels_or(levels(&endpoint.model)).is_some();
        let role = match compat.system_role {
            SystemRole::Developer if thinks => "developer",
            SystemRole::Developer | SystemRole::System => "system",
        };
        said.push(json!({ "role": role, "content": &*request.system }));
    }
    let reader = endpoint.reader(compat.images);
    let mut answered = false;
    for turn in turns(request.messages.iter().map(AsRef::as_ref), &reader) {
        let results = matches!(turn, Turn::Results(_));
        match turn {
            Turn::User(pieces) => {
                if answered && compat.answer_after_results == Presence::Included {
                    said.push(json!({ "role": "assistant", "content": ACKNOWLEDGED }));
                }
                said.push(json!({ "role": "user", "content": content(&pieces) }));
            }
            Turn::Answer(blocks) => said.extend(answer(compat, &mut ids, &blocks)),
            Turn::Results(results) => {
                said.extend(results.iter().map(|it| result(compat, &mut ids, it)));
                said.extend(images_after(&results));
            }
        }
        answered = results;
    }
    said
}

/// Returns the content of a message of the user: a text, or parts if there are images.
fn content(pieces: &[ContentItem<'_>]) -> Value {
    match texts(pieces) {
        Some(text) => text.into(),
        None => pieces.iter().map(part).collect(),
    }
}

/// Returns the pieces as one text; `None` if there are images.
fn texts(pieces: &[ContentItem<'_>]) -> Option<String> {
    let text = |piece: &ContentItem<'_>| match piece {
        ContentItem::Text(text) => Some((*text).to_owned()),
        ContentItem::Image { .. } => None,
    };
    let texts: Option<Vec<_>> = pieces.iter().map(text).collect();
    texts.map(|texts| texts.join("\n"))
}

fn part(piece: &ContentItem<'_>) -> Value {
    match piece {
        ContentItem::Text(text) => json!({ "type": "text", "text": text }),
        ContentItem::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
    }
}

/// Returns the message for an answer of the model; `None` if it would be empty, because providers
/// refuse empty messages.
fn answer(compat: &Compat, ids: &mut CallIdMap, blocks: &[Block<'_>]) -> Option<Value> {
    let (mut text, mut thought) = (String::new(), String::new());
    let mut field = match compat.replay {
        ThinkingReplay::Field(field) => Some(field),
        ThinkingReplay::AsReceived | ThinkingReplay::Dropped | ThinkingReplay::Text => None,
    };
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text: more, .. } => text.push_str(more),
            Block::Thinking { thinking, signature } => {
                let received = signature.and_then(thinking_field);
                match compat.replay {
                    ThinkingReplay::AsReceived if received.is_none() => continue,
                    ThinkingReplay::AsReceived => field = field.or(received),
                    ThinkingReplay::Dropped | ThinkingReplay::Field(_) | ThinkingReplay::Text => {}
                }
                thought.push_str(thinking);
            }
            Block::Redacted(_) | Block::ServerTool(_) => {}
            Block::Call { call: called, .. } => calls.push(call(ids, called)),
        }
    }
    if compat.replay == ThinkingReplay::Text && !thought.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{thought}{gap}{text}");
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = match (text.is_empty(), compat.text_of_calls) {
        (false, _) => text.into(),
        (true, Presence::Omitted) => Value::Null,
        // A text of one space is the least that is accepted.
        (true, Presence::Included) => " ".into(),
    };
    let mut line = json!({ "role": "assistant", "content": content });
    let needed = compat.thinking_of_calls == Presence::Included
        && compat.replay != ThinkingReplay::Dropped
        && !calls.is_empty();
    let field = field.filter(|_| needed || !thought.is_empty());
    if let Some(field) = field.or(needed.then_some(FIELDS[0])) {
        line[field] = if thought.is_empty() { " ".into() } else { thought.into() };
    }
    if !calls.is_empty() {
        line["tool_calls"] = calls.into();
    }
    Some(line)
}

fn call(ids: &mut CallIdMap, call: &protocol::ToolCall) -> Value {
    // Malformed arguments are sent as an empty object: a model that sees its own malformed JSON
    // repeats it, and some providers refuse such a request.
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({ "name": tool_name(&call.name), "arguments": arguments });
    json!({ "id": ids.of(&call.id), "type": "function", "function": function })
}

fn result(compat: &Compat, ids: &mut CallIdMap, result: &CallResult<'_>) -> Value {
    let text: Vec<_> = result.content.iter().filter_map(text_of).collect();
    let text = if text.is_empty() { "(see the image below)".to_owned() } else { text.join("\n") };
    let id = ids.of(&result.call.id);
    let mut line = json!({ "role": "tool", "tool_call_id": id, "content": text });
    if compat.result_names == Presence::Included {
        line["name"] = tool_name(&result.call.name).into();
    }
    line
}

fn text_of<'a>(piece: &ContentItem<'a>) -> Option<&'a str> {
    match piece {
        ContentItem::Text(text) => Some(text),
        ContentItem::Image { .. } => None,
    }
}

/// Returns the message with the images of tool results, which are texts only.
fn images_after(results: &[CallResult<'_>]) -> Option<Value> {
    let pieces = results.iter().flat_map(|result| &result.content);
    let images: Vec<_> =
        pieces.filter(|piece| matches!(piece, ContentItem::Image { .. })).map(part).collect();
    if images.is_empty() {
        return None;
    }
    let label = json!({ "type": "text", "text": "Images of the tool results:" });
    let content: Vec<_> = std::iter::once(label).chain(images).collect();
    Some(json!({ "role": "user", "content": content }))
}

#[cfg(test)]
mod tests;
