//! Builds the body of a Chat Completions request, with tool call ids as the provider accepts them.

use crate::known_providers::CallIds;
use crate::known_providers::{Dialect, Forcing, ResultNames};
use engine::ports::{ModelRequest, ToolChoice, ToolDeclaration};
use protocol::{AssistantMessage, Message, Part, ToolCall};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum length of a tool's name in characters.
const MAX_NAME: usize = 64;

/// Returns the body of a request for `model`.
pub(crate) fn body(model: &str, dialect: &Dialect, request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(dialect, request).into());
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    insert_tools(&mut body, dialect, request);
    Value::Object(body)
}

fn insert_tools(body: &mut Map<String, Value>, dialect: &Dialect, request: &ModelRequest) {
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
        (ToolChoice::Force(name), Forcing::OnlyTool) => {
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
    let mut ids = CallIdMap::new(dialect.call_ids);
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
                if dialect.result_names == ResultNames::Included {
                    line["name"] = name(&result.tool_name).into();
                }
                said.push(line);
            }
        }
    }
    said
}

/// Returns the message for an answer of the model; `None` if it would be empty, because providers
/// refuse empty messages.
fn assistant(dialect: &Dialect, ids: &mut CallIdMap, answer: &AssistantMessage) -> Option<Value> {
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

fn call(ids: &mut CallIdMap, call: &ToolCall) -> Value {
    // Malformed arguments are sent as an empty object: a model that sees its own malformed JSON
    // repeats it, and some providers refuse such a request.
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "id": ids.of(&call.id),
        "type": "function",
        "function": { "name": name(&call.name), "arguments": arguments },
    })
}

/// Returns `given` as a name that providers accept. A model can call a tool that does not exist, by
/// a name that is not valid.
fn name(given: &str) -> String {
    let allowed = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
    let letters = given.chars().take(MAX_NAME);
    let name: String = letters.map(|it| if allowed(it) { it } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The maximum length of a call id in characters.
const MAX_LEN: usize = 40;

/// Maps the call ids of a session to ids that the provider accepts. Equal ids stay equal and
/// different ids stay different.
#[derive(Debug)]
pub(crate) struct CallIdMap {
    kind: CallIds,
    given: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl CallIdMap {
    pub(crate) fn new(kind: CallIds) -> Self {
        Self { kind, given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Returns the id that requests contain in place of `id`.
    pub(crate) fn of(&mut self, id: &str) -> String {
        if let Some(given) = self.given.get(id) {
            return given.clone();
        }
        let first = match self.kind {
            CallIds::Plain => plain(id),
            CallIds::Nine => nine(id, 0),
        };
        let mut salt = 0;
        let mut free = first.clone();
        while self.taken.contains(&free) {
            salt += 1;
            free = match self.kind {
                CallIds::Plain => salted(&first, id, salt),
                CallIds::Nine => nine(id, salt),
            };
        }
        self.taken.insert(free.clone());
        self.given.insert(id.to_owned(), free.clone());
        free
    }
}

/// Returns `id` in the form of `CallIds::Plain`. Some ids have two halves separated by `|`, of
/// which only the first identifies the call.
fn plain(id: &str) -> String {
    let half = id.split('|').next().unwrap_or(id);
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if !half.is_empty() && half.len() <= MAX_LEN && half.chars().all(allowed) {
        return half.to_owned();
    }
    let clean: String = half.chars().map(|it| if allowed(it) { it } else { '_' }).collect();
    salted(&clean, id, 0)
}

fn salted(clean: &str, id: &str, salt: u64) -> String {
    let clean: String = clean.chars().take(MAX_LEN - 12).collect();
    format!("{clean}_{}", digits(hash(id, salt), 11))
}

fn nine(id: &str, salt: u64) -> String {
    let fits = id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric());
    if fits && salt == 0 { id.to_owned() } else { digits(hash(id, salt), 9) }
}

/// Returns the FNV-1a hash, which is stable: a call must have the same id in every request.
fn hash(text: &str, salt: u64) -> u64 {
    let bytes = text.bytes().chain(salt.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn digits(mut number: u64, count: usize) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digit = || {
        let letter = LETTERS[usize::try_from(number % 36).unwrap_or(0)];
        number /= 36;
        char::from(letter)
    };
    (0..count).map(|_| digit()).collect()
}

#[cfg(test)]
mod tests;
