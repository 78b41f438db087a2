//! Messages are written as session files have them, and read leniently.

use serde_json::json;

use super::*;

#[test]
fn messages_are_written_as_session_files_of_version_3_have_them() {
    let at = Timestamp::from_millisecond(1_767_323_045_678);
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "read".to_owned(),
        arguments: json!({ "path": "a" }).as_object().unwrap().clone(),
        malformed: None,
        thought_signature: None,
    };
    let assistant = Message::Assistant(AssistantMessage {
        content: vec![Part::thinking("hm"), Part::ToolCall(call)],
        api: "offline".to_owned(),
        provider: "offline".to_owned(),
        model: "demo".to_owned(),
        usage: Usage { input: 60, output: 5, cache_read: 40, cost: None, ..Usage::ZERO },
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: at,
    });
    let written = serde_json::to_value(&assistant).unwrap();
    assert_eq!(
        written,
        json!({
            "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "hm" },
                { "type": "toolCall", "id": "call_1", "name": "read", "arguments": { "path": "a" } },
            ],
            "api": "offline", "provider": "offline", "model": "demo",
            "usage": { "input": 60, "output": 5, "cacheRead": 40, "cacheWrite": 0, "totalTokens": 105 },
            "stopReason": "toolUse",
            "timestamp": 1_767_323_045_678_i64,
        })
    );
    assert_eq!(serde_json::from_value::<Message>(written).unwrap(), assistant);
    let result = Message::ToolResult(ToolResult {
        tool_call_id: "call_1".to_owned(),
        tool_name: "read".to_owned(),
        content: vec![Content::text("b")],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: at,
    });
    let written = serde_json::to_value(&result).unwrap();
    assert_eq!(written["role"], "toolResult");
    assert_eq!(written["toolCallId"], "call_1");
    assert_eq!(serde_json::from_value::<Message>(written).unwrap(), result);
}

#[test]
fn signatures_images_and_redacted_thinking_are_written_and_read_again_as_they_came() {
    let parts = [
        (
            Part::Text { text: "a".to_owned(), signature: Some("msg_1".to_owned()) },
            json!({ "type": "text", "text": "a", "textSignature": "msg_1" }),
        ),
        (
            Part::Thinking { thinking: String::new(), signature: Some("s+/=".to_owned()) },
            json!({ "type": "thinking", "thinking": "", "thinkingSignature": "s+/=" }),
        ),
        (
            Part::RedactedThinking { data: "d".to_owned() },
            json!({ "type": "redactedThinking", "data": "d" }),
        ),
        (
            Part::ServerTool { block: Map::from_iter([("type".to_owned(), json!("x_tool_use"))]) },
            json!({ "type": "serverTool", "block": { "type": "x_tool_use" } }),
        ),
        (
            Part::ToolCall(ToolCall {
                id: "c".to_owned(),
                name: "read".to_owned(),
                arguments: Map::new(),
                malformed: None,
                thought_signature: Some("t".to_owned()),
            }),
            json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": {}, "thoughtSignature": "t" }),
        ),
    ];
    for (part, expected) in parts {
        let written = serde_json::to_value(&part).unwrap();
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<Part>(written).unwrap(), part);
    }
    let image = Content::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
    let written = serde_json::to_value(&image).unwrap();
    assert_eq!(written, json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }));
    assert_eq!(serde_json::from_value::<Content>(written).unwrap(), image);
}

#[test]
fn content_is_read_as_text_or_blocks_and_blocks_of_unknown_types_are_left_out() {
    let read = |content| {
        let value = json!({ "role": "user", "content": content, "timestamp": 1.5 });
        serde_json::from_value::<Message>(value)
    };
    let at = Timestamp::from_millisecond(1);
    assert_eq!(read(json!("hi")).unwrap(), Message::user("hi", at));
    let blocks = json!([{ "type": "hologram", "x": 1 }, { "type": "text", "text": "hi" }]);
    assert_eq!(read(blocks).unwrap(), Message::user("hi", at));
    assert!(read(json!([{ "type": "text" }])).is_err());
    assert!(read(json!([{ "text": "hi" }])).is_err());
}

#[test]
fn attachments_and_who_a_message_is_from_are_written_and_read_again() {
    let attachment = Attachment {
        id: "1".to_owned(),
        kind: AttachmentKind::Document,
        file_name: "a.txt".to_owned(),
        mime_type: "text/plain".to_owned(),
        size: 2,
        content: "YQo=".to_owned(),
        extracted_text: Some("a\n".to_owned()),
        preview: None,
    };
    let mut said = UserMessage::new(vec![], Timestamp::from_millisecond(1));
    said.attachments.push(attachment);
    said.synthetic = true;
    said.attribution = Some(Attribution::Agent);
    let written = serde_json::to_value(Message::User(said.clone())).unwrap();
    assert_eq!(
        written,
        json!({
            "role": "user", "content": [],
            "attachments": [{ "id": "1", "type": "document", "fileName": "a.txt",
                "mimeType": "text/plain", "size": 2, "content": "YQo=", "extractedText": "a\n" }],
            "synthetic": true, "attribution": "agent", "timestamp": 1,
        })
    );
    assert_eq!(serde_json::from_value::<Message>(written).unwrap(), Message::User(said));
}
