//! Builds a request of the Responses API. The provider stores nothing: each request has the whole
//! conversation.

use engine::ports::{CacheRetention, ModelRequest, ToolChoice, ToolDeclaration};
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::models::{effort, levels};
use crate::call_ids::{CallIdMap, CallIds, is_allowed, tool_name};
use crate::endpoint::Endpoint;
use crate::exchange::{Body, WireRequest, body_of};
use crate::history::{Block, CallResult, ContentItem, Images, Turn, turns};

/// The maximum length of ids of items in characters.
const MAX_ID: usize = 64;

/// Returns a request as HTTP.
pub(crate) fn request(endpoint: &Endpoint, request: &ModelRequest) -> WireRequest {
    let body = body_of(&body(endpoint, request));
    WireRequest { url: endpoint.url(&["responses"]), headers: HeaderMap::new(), body }
}

/// A tool that is offered.
#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

/// Returns the body of a request.
fn body<'a>(endpoint: &Endpoint, request: &'a ModelRequest) -> Body<Tool<'a>> {
    let levels = endpoint.known.levels_or(levels(&endpoint.model));
    let level = endpoint.thinking(request);
    let mut body = Map::new();
    let mut insert = |key: &str, value: Value| body.insert(key.to_owned(), value);
    insert("model", endpoint.model.as_str().into());
    insert(
        "input",
        input(endpoint, request, if levels.is_some() { "developer" } else { "system" }),
    );
    insert("stream", true.into());
    insert("store", false.into());
    if let Some(levels) = levels {
        let mut reasoning = json!({ "summary": "auto" });
        if let Some(level) = level {
            reasoning["effort"] = effort(level.clamp_to(levels)).into();
        }
        insert("reasoning", reasoning);
        insert("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(limit) = endpoint.output_limit(request) {
        insert("max_output_tokens", limit.get().into());
    }
    match request.options.cache {
        CacheRetention::None => {}
        CacheRetention::Short => {
            insert("prompt_cache_key", cache_key(endpoint, request).into());
        }
        CacheRetention::Long => {
            insert("prompt_cache_key", cache_key(endpoint, request).into());
            insert("prompt_cache_retention", "24h".into());
        }
    }
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            ToolChoice::Free => None,
            ToolChoice::Never => Some(json!("none")),
            ToolChoice::Any => Some(json!("required")),
            ToolChoice::Force(name) => Some(json!({ "type": "function", "name": name })),
        };
        choice.map(|choice| insert("tool_choice", choice));
    }
    let tools = (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect());
    Body { fields: body, tools }
}

/// Returns the key by which the provider brings requests to the cache that holds their beginning: the
/// same for all sessions that begin alike, as the tasks of a run do.
fn cache_key(endpoint: &Endpoint, request: &ModelRequest) -> String {
    let mut hash = Sha256::new().chain_update(&endpoint.model);
    let tools = request.tools.iter().flat_map(|tool| [tool.name.as_str(), &*tool.description]);
    for text in std::iter::once(&*request.system).chain(tools) {
        hash.update([0]);
        hash.update(text);
    }
    let hash = hash.finalize();
    let hash = hash.iter().take(16).map(|byte| format!("{byte:02x}"));
    format!("regatta-{}", hash.collect::<String>())
}

fn tool(tool: &ToolDeclaration) -> Tool<'_> {
    let ToolDeclaration { name, description, parameters } = tool;
    Tool { kind: "function", name, description, parameters, strict: false }
}

fn input(endpoint: &Endpoint, request: &ModelRequest, system_role: &str) -> Value {
    let mut ids = CallIdMap::new(CallIds::Plain(MAX_ID));
    let mut items = Vec::new();
    if !request.system.trim().is_empty() {
        items.push(json!({ "role": system_role, "content": &*request.system }));
    }
    let reader = endpoint.reader(Images::Seen);
    for turn in turns(request.messages.iter().map(AsRef::as_ref), &reader) {
        match turn {
            Turn::User(pieces) => {
                let content: Vec<_> = pieces.iter().map(piece).collect();
                items.push(json!({ "role": "user", "content": content }));
            }
            Turn::Answer(blocks) => {
                let own = Own::of(&blocks);
                items.extend(blocks.iter().filter_map(|block| said(&mut ids, block, own)));
            }
            Turn::Results(results) => items.extend(results.iter().map(|it| output(&mut ids, it))),
        }
    }
    items.into()
}

/// Whether the items of an answer have the ids that the provider gave them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    /// The answer is one of this model, with its reasoning: its items belong together.
    Ids,
    /// Items without ids, which belong to nothing.
    None,
}

impl Own {
    fn of(blocks: &[Block<'_>]) -> Self {
        let reasoned = blocks.iter().any(|block| match block {
            Block::Thinking { signature, .. } => signature.and_then(reasoning).is_some(),
            Block::Text { .. } | Block::Redacted(_) | Block::ServerTool(_) | Block::Call { .. } => {
                false
            }
        });
        if reasoned { Self::Ids } else { Self::None }
    }
}

/// Returns the reasoning item in a signature.
fn reasoning(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    (item.get("type").and_then(Value::as_str) == Some("reasoning")).then_some(item)
}

fn piece(piece: &ContentItem<'_>) -> Value {
    match piece {
        ContentItem::Text(text) => json!({ "type": "input_text", "text": text }),
        ContentItem::Image { data, mime_type } => {
            json!({ "type": "input_image", "image_url": format!("data:{mime_type};base64,{data}") })
        }
    }
}

/// Returns the item of a part of an answer.
fn said(ids: &mut CallIdMap, block: &Block<'_>, own: Own) -> Option<Value> {
    match block {
        Block::Text { text, signature } => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            let mut item = json!({ "type": "message", "role": "assistant", "content": content });
            if let Some(id) = signature.filter(|id| own == Own::Ids && is_id(id, "msg_")) {
                item["id"] = id.into();
                item["status"] = "completed".into();
            }
            Some(item)
        }
        // Only what the provider can verify is reasoning; a summary alone is for people.
        Block::Thinking { signature, .. } => signature.and_then(reasoning),
        Block::Redacted(_) | Block::ServerTool(_) => None,
        Block::Call { call, .. } => {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            let mut item = json!({
                "type": "function_call",
                "call_id": ids.of(&call.id),
                "name": tool_name(&call.name),
                "arguments": arguments,
            });
            let id = call.id.split_once('|').map(|(_call, item)| item);
            if let Some(id) = id.filter(|id| own == Own::Ids && is_id(id, "fc_")) {
                item["id"] = id.into();
            }
            Some(item)
        }
    }
}

/// Returns whether an item may have this id.
fn is_id(id: &str, prefix: &str) -> bool {
    id.starts_with(prefix) && id.len() <= MAX_ID && id.chars().all(is_allowed)
}

fn output(ids: &mut CallIdMap, result: &CallResult<'_>) -> Value {
    let text = |piece: &ContentItem<'_>| match piece {
        ContentItem::Text(text) => Some((*text).to_owned()),
        ContentItem::Image { .. } => None,
    };
    let texts: Option<Vec<String>> = result.content.iter().map(text).collect();
    let output = match texts {
        Some(texts) => Value::from(texts.join("\n")),
        None => result.content.iter().map(piece).collect(),
    };
    json!({ "type": "function_call_output", "call_id": ids.of(&result.call.id), "output": output })
}

#[cfg(test)]
mod tests;
