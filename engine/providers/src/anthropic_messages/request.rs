//! Builds a request of the Messages API.

use engine::ports::{CacheRetention, ModelRequest, ToolChoice, ToolDeclaration};
use protocol::{Message, ThinkingLevel};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::models::{Off, Profile, Thinking, budget, effort, profile};
use crate::call_ids::{CallIdMap, CallIds, tool_name};
use crate::endpoint::Endpoint;
use crate::exchange::{Body, WireRequest, body_of};
use crate::history::{Block, ContentItem, Images, Reader, Turn, turns};

/// The version of the API.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Lets models of a budget think between the calls of one answer.
const INTERLEAVED: (&str, &str) = ("anthropic-beta", "interleaved-thinking-2025-05-14");

/// The smallest budget that the API accepts, in tokens.
const MIN_BUDGET: u32 = 1024;

/// The number of tokens that are left for the answer itself, beside its thinking.
const MIN_ANSWER: u32 = 1024;

/// Returns a request as HTTP.
pub(crate) fn request(endpoint: &Endpoint, request: &ModelRequest) -> WireRequest {
    let mut headers = HeaderMap::new();
    let mut header = |(name, value): (&'static str, &'static str)| {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    };
    header(VERSION);
    let body = body(endpoint, request);
    let thinking = body.fields.get("thinking");
    if thinking.is_some_and(|thinking| thinking.get("budget_tokens").is_some()) {
        header(INTERLEAVED);
    }
    // Some write the version of the API as a part of the base URL.
    let versioned = endpoint.base.path().trim_end_matches('/').ends_with("/v1");
    let path: &[&str] = if versioned { &["messages"] } else { &["v1", "messages"] };
    WireRequest { url: endpoint.url(path), headers, body: body_of(&body) }
}

/// A tool that is offered.
#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

/// Returns the body of a request.
fn body<'a>(endpoint: &Endpoint, request: &'a ModelRequest) -> Body<Tool<'a>> {
    let profile = profile(endpoint);
    let reader = endpoint.reader(Images::Seen);
    let turns = turns(request.messages.iter().map(AsRef::as_ref), &reader);
    let last = LastTurn::of(request, &reader);
    let amount = Amount::of(endpoint, request, &profile, (&turns, last));
    let mut body = Map::new();
    let mut insert = |key: &str, value: Value| body.insert(key.to_owned(), value);
    insert("model", endpoint.model.as_str().into());
    insert("max_tokens", amount.max_tokens.into());
    insert("stream", true.into());
    if !request.system.trim().is_empty() {
        let mut system = json!({ "type": "text", "text": &*request.system });
        mark(&mut system, request.options.cache);
        insert("system", json!([system]));
    }
    insert("messages", messages((&turns, last), request.options.cache).into());
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            ToolChoice::Free => None,
            ToolChoice::Never => Some(json!({ "type": "none" })),
            ToolChoice::Any => Some(json!({ "type": "any" })),
            ToolChoice::Force(name) => Some(json!({ "type": "tool", "name": name })),
        };
        choice.map(|choice| insert("tool_choice", choice));
    }
    match amount.thinking {
        ThinkingAmount::Default => {}
        ThinkingAmount::Budget(tokens) => {
            insert("thinking", json!({ "type": "enabled", "budget_tokens": tokens }));
        }
        ThinkingAmount::Effort(effort) => {
            insert("thinking", json!({ "type": "adaptive" }));
            insert("output_config", json!({ "effort": effort }));
        }
        ThinkingAmount::BudgetAndEffort(tokens, effort) => {
            insert("thinking", json!({ "type": "enabled", "budget_tokens": tokens }));
            insert("output_config", json!({ "effort": effort }));
        }
    }
    let has_tools = !request.tools.is_empty();
    Body { fields: body, tools: has_tools.then(|| tools(&request.tools, request.options.cache)) }
}

/// How long the answer may be, and how much of it may be thinking.
#[derive(Debug, PartialEq, Eq)]
struct Amount {
    max_tokens: u32,
    thinking: ThinkingAmount,
}

#[derive(Debug, PartialEq, Eq)]
enum ThinkingAmount {
    /// Nothing is said of thinking.
    Default,
    Budget(u32),
    Effort(&'static str),
    BudgetAndEffort(u32, &'static str),
}

impl Amount {
    fn of(
        endpoint: &Endpoint,
        request: &ModelRequest,
        profile: &Profile,
        (turns, last): (&[Turn<'_>], LastTurn),
    ) -> Self {
        let given = request.options.output_limit.map(|limit| limit.get().min(profile.max_output));
        let max_tokens = given.unwrap_or(profile.max_output / 3).max(1);
        let none = Self { max_tokens, thinking: ThinkingAmount::Default };
        let level = endpoint.thinking(request).filter(|_| !is_forced(request));
        match (profile.thinking, level) {
            (Thinking::Never, _) | (_, None) => none,
            (Thinking::Adaptive { highest, can_be_off }, Some(level)) => {
                let effort = effort(level, highest, can_be_off).map(ThinkingAmount::Effort);
                Self { thinking: effort.unwrap_or(ThinkingAmount::Default), ..none }
            }
            // The API refuses to begin to think between a call and the answer to its result.
            (Thinking::Budget | Thinking::BudgetAndEffort { .. }, Some(_))
                if answers_without_thinking(turns, last) =>
            {
                none
            }
            (Thinking::Budget, Some(level)) => {
                Self::with_budget(level, given, profile.max_output).unwrap_or(none)
            }
            (Thinking::BudgetAndEffort { highest }, Some(level)) => {
                let amount = Self::with_budget(level, given, profile.max_output).unwrap_or(none);
                amount.and_effort(effort(level, highest, Off::Possible))
            }
        }
    }

    /// Returns this amount, with the effort if it has a budget.
    fn and_effort(self, effort: Option<&'static str>) -> Self {
        match (self.thinking, effort) {
            (ThinkingAmount::Budget(tokens), Some(effort)) => {
                Self { thinking: ThinkingAmount::BudgetAndEffort(tokens, effort), ..self }
            }
            (thinking, _) => Self { thinking, ..self },
        }
    }

    /// Returns the amount for a budget; `None` if there is no room for thinking.
    fn with_budget(level: ThinkingLevel, given: Option<u32>, most: u32) -> Option<Self> {
        let budget = budget(level)?;
        let max_tokens = given.unwrap_or_else(|| (most / 3).saturating_add(budget).min(most));
        let budget = budget.min(max_tokens.saturating_sub(MIN_ANSWER));
        let thinking = ThinkingAmount::Budget(budget);
        (budget >= MIN_BUDGET).then_some(Self { max_tokens, thinking })
    }
}

/// Returns whether the model has to call a tool. It cannot think then.
fn is_forced(request: &ModelRequest) -> bool {
    match request.choice {
        ToolChoice::Free | ToolChoice::Never => false,
        ToolChoice::Any | ToolChoice::Force(_) => !request.tools.is_empty(),
    }
}

/// What the model that is asked has said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastTurn {
    /// An answer in which it has paused: it goes on with it if the request ends with it.
    Paused,
    /// Anything else, with an answer to follow.
    Over,
}

impl LastTurn {
    fn of(request: &ModelRequest, reader: &Reader<'_>) -> Self {
        match request.messages.last().map(AsRef::as_ref) {
            Some(Message::Assistant(it)) if it.is_paused() && reader.is_author_of(it) => {
                Self::Paused
            }
            Some(Message::User(_) | Message::Assistant(_) | Message::ToolResult(_)) | None => {
                Self::Over
            }
        }
    }
}

/// Returns whether the conversation waits for an answer to tool results, or for the rest of a paused one,
/// and the answer before does not begin with thinking.
fn answers_without_thinking(turns: &[Turn<'_>], last_turn: LastTurn) -> bool {
    let last = turns.iter().rposition(|turn| matches!(turn, Turn::Answer(_)));
    let Some((Turn::Answer(blocks), after)) = last.and_then(|at| turns[at..].split_first()) else {
        return false;
    };
    let results = after.iter().any(|turn| matches!(turn, Turn::Results(_)));
    let thought = match blocks.first() {
        Some(Block::Thinking { signature, .. }) => signature.is_some(),
        Some(Block::Redacted(_)) => true,
        Some(Block::Text { .. } | Block::ServerTool(_) | Block::Call { .. }) | None => false,
    };
    (results || last_turn == LastTurn::Paused) && !thought
}

fn tools(tools: &[ToolDeclaration], cache: CacheRetention) -> Vec<Tool<'_>> {
    let mut tools: Vec<_> = tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = cached(cache);
    }
    tools
}

fn tool(tool: &ToolDeclaration) -> Tool<'_> {
    let ToolDeclaration { name, description, parameters } = tool;
    Tool { name, description, input_schema: parameters, cache_control: None }
}

/// Lets the provider cache the request up to and including `block`.
fn mark(block: &mut Value, cache: CacheRetention) {
    if let Some(cached) = cached(cache) {
        block["cache_control"] = cached;
    }
}

/// Returns what lets the provider cache a request up to where it stands.
fn cached(cache: CacheRetention) -> Option<Value> {
    match cache {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({ "type": "ephemeral" })),
        CacheRetention::Long => Some(json!({ "type": "ephemeral", "ttl": "1h" })),
    }
}

/// Returns the messages. Their roles alternate, and the last one is of the user, unless the model goes on
/// with its own.
fn messages((turns, last): (&[Turn<'_>], LastTurn), cache: CacheRetention) -> Vec<Value> {
    let mut ids = CallIdMap::new(CallIds::Plain(64));
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let (role, blocks) = match turn {
            Turn::User(pieces) => ("user", pieces.iter().map(piece).collect()),
            Turn::Answer(blocks) => {
                ("assistant", blocks.iter().filter_map(|block| said(&mut ids, block)).collect())
            }
            Turn::Results(results) => {
                let result = |result: &crate::history::CallResult<'_>| {
                    let content: Vec<_> = result.content.iter().map(piece).collect();
                    let id = ids.of(&result.call.id);
                    let mut block =
                        json!({ "type": "tool_result", "tool_use_id": id, "content": content });
                    if result.is_error {
                        block["is_error"] = true.into();
                    }
                    block
                };
                ("user", results.iter().map(result).collect::<Vec<_>>())
            }
        };
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, before)) if *last == role => before.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    let paused = usize::from(last == LastTurn::Paused);
    let over = messages.len().saturating_sub(paused);
    messages[..over].iter_mut().for_each(|(_, blocks)| drop_open_uses(blocks));
    if let (LastTurn::Paused, Some((_, blocks))) = (last, messages.last_mut()) {
        end_as_accepted(blocks);
    } else if messages.last().is_none_or(|(role, _)| *role == "assistant") {
        messages.push(("user", vec![json!({ "type": "text", "text": "Continue." })]));
    }
    let users = messages.iter_mut().rev().filter(|(role, _)| *role == "user");
    for (_, blocks) in users.take(2) {
        if let Some(last) = blocks.last_mut() {
            mark(last, cache);
        }
    }
    let message = |(role, content)| json!({ "role": role, "content": Value::Array(content) });
    messages.into_iter().map(message).collect()
}

/// Removes each use of a tool of the provider without a result, which the API refuses in an answer that does
/// not go on.
fn drop_open_uses(blocks: &mut Vec<Value>) {
    let is_use = |block: &Value| block["type"].as_str().is_some_and(|it| it.ends_with("_tool_use"));
    let results: Vec<Value> = blocks.iter().map(|block| block["tool_use_id"].clone()).collect();
    blocks.retain(|block| !is_use(block) || results.contains(&block["id"]));
    if blocks.is_empty() {
        blocks.push(json!({ "type": "text", "text": NO_SERVER_RESULT }));
    }
}

/// Stands in the place of an answer that has nothing but a use of a tool of the provider without a result.
const NO_SERVER_RESULT: &str = "(The result of a tool is missing here.)";

/// Removes what the API refuses at the end of a request that ends with an answer: thinking, and white space
/// after a text. There is a text, or a block of a tool of the provider.
fn end_as_accepted(blocks: &mut Vec<Value>) {
    let is_thinking = |block: &Value| {
        block["type"].as_str().is_some_and(|it| matches!(it, "thinking" | "redacted_thinking"))
    };
    let last = blocks.iter().rposition(|block| !is_thinking(block));
    blocks.truncate(last.map_or(0, |last| last + 1));
    if let Some(Value::String(text)) = blocks.last_mut().and_then(|last| last.get_mut("text")) {
        text.truncate(text.trim_end().len());
    }
}

fn piece(piece: &ContentItem<'_>) -> Value {
    match piece {
        ContentItem::Text(text) => json!({ "type": "text", "text": text }),
        ContentItem::Image { data, mime_type } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            json!({ "type": "image", "source": source })
        }
    }
}

/// Returns a part of an answer; `None` if the API would refuse it.
fn said(ids: &mut CallIdMap, block: &Block<'_>) -> Option<Value> {
    let text =
        |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match block {
        Block::Text { text: said, .. } => text(said),
        Block::Thinking { thinking, signature: Some(signature) } => {
            Some(json!({ "type": "thinking", "thinking": thinking, "signature": signature }))
        }
        // The API refuses thinking that nothing proves.
        Block::Thinking { thinking, signature: None } => text(thinking),
        Block::Redacted(data) => Some(json!({ "type": "redacted_thinking", "data": data })),
        Block::ServerTool(block) => Some(Value::Object((*block).clone())),
        Block::Call { call, .. } => {
            let (id, name) = (ids.of(&call.id), tool_name(&call.name));
            Some(json!({ "type": "tool_use", "id": id, "name": name, "input": call.arguments }))
        }
    }
}

#[cfg(test)]
mod tests;
