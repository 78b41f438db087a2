//! Messages for the tests of compaction.

use std::sync::Arc;

use protocol::{
    AssistantMessage, Content, Message, Part, StopReason, Timestamp, ToolCall, ToolResult, Usage,
};
use serde_json::json;

fn at() -> Timestamp {
    Timestamp::from_millisecond(0)
}

pub(super) fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text, at()))
}

pub(super) fn answer(content: Vec<Part>) -> Arc<Message> {
    Arc::new(Message::Assistant(AssistantMessage {
        content,
        api: "a".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        usage: Usage::ZERO,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: at(),
    }))
}

pub(super) fn call(id: &str, tool: &str, path: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.to_owned(),
        name: tool.to_owned(),
        arguments: json!({ "path": path }).as_object().unwrap().clone(),
        malformed: None,
        thought_signature: None,
    })
}

pub(super) fn called(id: &str, tool: &str, path: &str) -> Arc<Message> {
    answer(vec![call(id, tool, path)])
}

pub(super) fn result(id: &str, tool: &str, text: &str) -> Arc<Message> {
    Arc::new(Message::ToolResult(ToolResult {
        tool_call_id: id.to_owned(),
        tool_name: tool.to_owned(),
        content: vec![Content::text(text)],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: at(),
    }))
}
