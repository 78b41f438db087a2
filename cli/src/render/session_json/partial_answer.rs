//! An answer of a model while it arrives, rebuilt from its deltas.

use std::collections::BTreeMap;

use protocol::{AnswerStart, AssistantMessage, Message, Part, SessionEvent, StopReason, Usage};
use serde_json::{Map, Value, json};

use super::partial_json::partial_object;

/// An answer that has started and not ended.
#[derive(Debug)]
pub(super) struct PartialAnswer {
    start: AnswerStart,
    blocks: BTreeMap<usize, Block>,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, json: String },
}

impl PartialAnswer {
    pub(super) fn new(start: AnswerStart) -> Self {
        Self { start, blocks: BTreeMap::new() }
    }

    /// Returns the message with nothing but this reason for its end.
    pub(super) fn empty(start: &AnswerStart, stop: StopReason, error: Option<&str>) -> Value {
        message_value(&Message::Assistant(AssistantMessage {
            content: Vec::new(),
            api: start.api.clone(),
            provider: start.provider.clone(),
            model: start.model.clone(),
            usage: Usage::ZERO,
            stop_reason: stop,
            error_message: error.map(str::to_owned),
            timestamp: start.timestamp,
        }))
    }

    /// Returns the message as far as it has come.
    pub(super) fn snapshot(&self) -> Value {
        let mut message = Self::empty(&self.start, StopReason::Stop, None);
        let mut calls = 0..;
        message["content"] = self.blocks.values().map(|block| block.snapshot(&mut calls)).collect();
        message
    }

    /// Applies a delta. Returns the fields of its `assistantMessageEvent` without `partial`; none for
    /// a delta of a block of another kind.
    pub(super) fn update(&mut self, event: &SessionEvent) -> Vec<Map<String, Value>> {
        let (index, block) = match event {
            SessionEvent::TextStart { content_index } => {
                (content_index, Block::Text(String::new()))
            }
            SessionEvent::ThinkingStart { content_index } => {
                (content_index, Block::Thinking(String::new()))
            }
            SessionEvent::ToolcallStart { content_index, tool_call_id, tool_name } => {
                let (id, name) = (tool_call_id.clone(), tool_name.clone());
                (content_index, Block::Call { id, name, json: String::new() })
            }
            SessionEvent::TextDelta { content_index, delta } => {
                return self.append(*content_index, "text", delta);
            }
            SessionEvent::ThinkingDelta { content_index, delta } => {
                return self.append(*content_index, "thinking", delta);
            }
            SessionEvent::ToolcallDelta { content_index, delta } => {
                return self.append(*content_index, "toolcall", delta);
            }
            _other => return Vec::new(),
        };
        let kind = block.kind();
        match self.blocks.insert(*index, block) {
            None => vec![fields(kind, "start", *index)],
            Some(_again) => Vec::new(),
        }
    }

    fn append(&mut self, index: usize, kind: &str, delta: &str) -> Vec<Map<String, Value>> {
        let mut events = Vec::new();
        let block = self.blocks.entry(index).or_insert_with(|| {
            // A slow reader misses deltas, also starts.
            events.push(fields(kind, "start", index));
            match kind {
                "text" => Block::Text(String::new()),
                "thinking" => Block::Thinking(String::new()),
                _ => Block::Call { id: String::new(), name: String::new(), json: String::new() },
            }
        });
        if block.kind() != kind {
            return Vec::new();
        }
        let (Block::Text(text) | Block::Thinking(text) | Block::Call { json: text, .. }) = block;
        text.push_str(delta);
        let mut event = fields(kind, "delta", index);
        event.insert("delta".to_owned(), delta.into());
        events.push(event);
        events
    }

    /// Takes over the parts of the whole message, and returns for each block that had started the
    /// fields of the event that ends it.
    pub(super) fn finish(self, message: &AssistantMessage) -> Vec<Map<String, Value>> {
        let ends = self.blocks.into_iter().map(|(index, block)| {
            let kind = block.kind();
            let mut event = fields(kind, "end", index);
            let part = message.content.get(index);
            let (key, content) = match (block, part) {
                (Block::Text(_), Some(Part::Text { text, .. })) => ("content", text.clone().into()),
                (Block::Thinking(_), Some(Part::Thinking { thinking, .. })) => {
                    ("content", thinking.clone().into())
                }
                (Block::Text(text) | Block::Thinking(text), _) => ("content", text.into()),
                (Block::Call { .. }, Some(call @ Part::ToolCall(_))) => {
                    ("toolCall", serde_json::to_value(call).unwrap_or_default())
                }
                (block @ Block::Call { .. }, _) => ("toolCall", block.snapshot(&mut (0..))),
            };
            event.insert(key.to_owned(), content);
            event
        });
        ends.collect()
    }
}

impl Block {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Thinking(_) => "thinking",
            Self::Call { .. } => "toolcall",
        }
    }

    fn snapshot(&self, calls: &mut std::ops::RangeFrom<usize>) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text }),
            Self::Thinking(thinking) => json!({ "type": "thinking", "thinking": thinking }),
            Self::Call { id, name, json } => json!({
                "type": "toolCall", "id": id, "name": name, "arguments": partial_object(json),
                "partialArgs": json, "streamIndex": calls.next(),
            }),
        }
    }
}

fn fields(kind: &str, what: &str, index: usize) -> Map<String, Value> {
    let fields = [("type", format!("{kind}_{what}").into()), ("contentIndex", index.into())];
    fields.map(|(key, value): (&str, Value)| (key.to_owned(), value)).into_iter().collect()
}

/// Returns a message as JSON. The usage of an answer has all the counts that pi writes, 0 where they
/// are not known, and where the cost is from.
pub(super) fn message_value(message: &Message) -> Value {
    let mut value = serde_json::to_value(message).unwrap_or_default();
    if let Some(Value::Object(usage)) = value.get_mut("usage") {
        let mut cost = match usage.remove("cost") {
            Some(Value::Object(cost)) => cost,
            _unknown => Map::new(),
        };
        for key in ["input", "output", "cacheRead", "cacheWrite", "total"] {
            cost.entry(key).or_insert_with(|| 0.into());
        }
        usage.insert("cost".to_owned(), cost.into());
        // 0 is what other programs expect where no cost is known: this says that it is not one.
        usage.entry("costSource").or_insert_with(|| "unknown".into());
    }
    value
}
