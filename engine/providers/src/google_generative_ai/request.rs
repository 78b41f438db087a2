//! Builds a request of the Generative Language API.

use engine::ports::{ModelRequest, ToolChoice, ToolDeclaration};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::models::{Generation, generation, thinking};
use crate::call_ids::tool_name;
use crate::endpoint::Endpoint;
use crate::exchange::{WireRequest, body_of};
use crate::history::{Block, CallResult, ContentItem, Images, Turn, is_base64, turns};

/// Stands in the place of the signature of a call that another model has made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns a request as HTTP.
pub(crate) fn request(endpoint: &Endpoint, request: &ModelRequest) -> WireRequest {
    let method = format!("{}:streamGenerateContent", endpoint.model);
    // Who gives no more than a host means the version of the API that is documented.
    let bare = endpoint.base.path().trim_end_matches('/').is_empty();
    let path: &[&str] = if bare { &["v1beta", "models", &method] } else { &["models", &method] };
    let mut url = endpoint.url(path);
    url.query_pairs_mut().append_pair("alt", "sse");
    let body = body_of(&body(endpoint, request));
    WireRequest { url, headers: HeaderMap::new(), body }
}

/// Returns the body of a request.
fn body(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    let generation = generation(&endpoint.model);
    let mut body = Map::new();
    let mut insert = |key: &str, value: Value| body.insert(key.to_owned(), value);
    if !request.system.trim().is_empty() {
        insert("systemInstruction", json!({ "parts": [{ "text": &*request.system }] }));
    }
    insert("contents", contents(endpoint, request, generation));
    if !request.tools.is_empty() {
        let declarations: Vec<_> = request.tools.iter().map(declaration).collect();
        insert("tools", json!([{ "functionDeclarations": declarations }]));
        let choice = match &request.choice {
            ToolChoice::Free => None,
            ToolChoice::Never => Some(json!({ "mode": "NONE" })),
            ToolChoice::Any => Some(json!({ "mode": "ANY" })),
            ToolChoice::Force(name) => {
                Some(json!({ "mode": "ANY", "allowedFunctionNames": [name] }))
            }
        };
        choice.map(|choice| insert("toolConfig", json!({ "functionCallingConfig": choice })));
    }
    let mut generated = Map::new();
    if let Some(limit) = endpoint.output_limit(request) {
        generated.insert("maxOutputTokens".to_owned(), limit.get().into());
    }
    if let Some(thinking) = thinking(endpoint).thinking_config(endpoint.thinking(request)) {
        generated.insert("thinkingConfig".to_owned(), thinking);
    }
    if !generated.is_empty() {
        insert("generationConfig", Value::Object(generated));
    }
    Value::Object(body)
}

fn declaration(tool: &ToolDeclaration) -> Value {
    let ToolDeclaration { name, description, parameters } = tool;
    json!({ "name": name, "description": description, "parametersJsonSchema": parameters })
}

fn contents(endpoint: &Endpoint, request: &ModelRequest, generation: Generation) -> Value {
    let reader = endpoint.reader(Images::Seen);
    let mut contents: Vec<Value> = Vec::new();
    for turn in turns(request.messages.iter().map(AsRef::as_ref), &reader) {
        match turn {
            Turn::User(pieces) => {
                let parts: Vec<_> = pieces.iter().map(part).collect();
                contents.push(json!({ "role": "user", "parts": parts }));
            }
            Turn::Answer(blocks) => {
                let parts = said(&blocks, generation);
                if !parts.is_empty() {
                    contents.push(json!({ "role": "model", "parts": parts }));
                }
            }
            // The results of one answer have to be in one content.
            Turn::Results(results) => {
                let parts: Vec<_> = results.iter().map(|it| response(it, generation)).collect();
                contents.push(json!({ "role": "user", "parts": parts }));
                contents.extend(images_after(&results, generation));
            }
        }
    }
    contents.into()
}

fn part(piece: &ContentItem<'_>) -> Value {
    match piece {
        ContentItem::Text(text) => json!({ "text": text }),
        ContentItem::Image { data, mime_type } => {
            json!({ "inlineData": { "mimeType": mime_type, "data": data } })
        }
    }
}

/// Returns the parts of an answer.
fn said(blocks: &[Block<'_>], generation: Generation) -> Vec<Value> {
    let mut first_call = true;
    let mut part = |block: &Block<'_>| {
        let signed = |mut part: Value, signature: Option<&str>| {
            if let Some(signature) = signature.filter(|signature| is_base64(signature)) {
                part["thoughtSignature"] = signature.into();
            }
            part
        };
        match block {
            Block::Text { text, signature } => Some(signed(json!({ "text": text }), *signature)),
            // Without a signature it is a summary for people.
            Block::Thinking { thinking, signature } => {
                let signature = signature.filter(|signature| is_base64(signature))?;
                Some(signed(json!({ "text": thinking, "thought": true }), Some(signature)))
            }
            Block::Redacted(_) | Block::ServerTool(_) => None,
            Block::Call { call, signature } => {
                let function = json!({ "name": tool_name(&call.name), "args": call.arguments });
                let mut part = signed(json!({ "functionCall": function }), *signature);
                let needed = matches!(generation, Generation::Level(_)) && first_call;
                if needed && part.get("thoughtSignature").is_none() {
                    part["thoughtSignature"] = NO_SIGNATURE.into();
                }
                first_call = false;
                Some(part)
            }
        }
    };
    blocks.iter().filter_map(&mut part).collect()
}

fn response(result: &CallResult<'_>, generation: Generation) -> Value {
    let texts = result.content.iter().filter_map(|piece| match piece {
        ContentItem::Text(text) => Some(*text),
        ContentItem::Image { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let key = if result.is_error { "error" } else { "output" };
    let mut response = json!({ "name": tool_name(&result.call.name), "response": { key: text } });
    let images: Vec<_> = images(result).collect();
    if matches!(generation, Generation::Level(_)) && !images.is_empty() {
        response["parts"] = images.into();
    }
    json!({ "functionResponse": response })
}

fn images<'a>(result: &'a CallResult<'_>) -> impl Iterator<Item = Value> + 'a {
    result.content.iter().filter(|piece| matches!(piece, ContentItem::Image { .. })).map(part)
}

/// Returns the content with the images of results, for models whose results hold texts only.
fn images_after(results: &[CallResult<'_>], generation: Generation) -> Option<Value> {
    if matches!(generation, Generation::Level(_)) {
        return None;
    }
    let images: Vec<_> = results.iter().flat_map(images).collect();
    if images.is_empty() {
        return None;
    }
    let label = std::iter::once(json!({ "text": "Tool result image:" }));
    let parts: Vec<_> = label.chain(images).collect();
    Some(json!({ "role": "user", "parts": parts }))
}

#[cfg(test)]
mod tests;
