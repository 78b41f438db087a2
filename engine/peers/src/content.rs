//! What a server returns, as content for the model.

use engine::ports::McpResult;
use protocol::Content;
use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use serde_json::Value;

use crate::printable;

/// The types of images that models read.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The longest name or address in a note, in characters.
const NAME: usize = 500;

/// Returns the result of a call.
pub(crate) fn result(result: CallToolResult) -> McpResult {
    filled(McpResult {
        content: result.content.into_iter().map(block).collect(),
        structured: result.structured_content,
        is_error: result.is_error.unwrap_or_default(),
    })
}

/// Returns the result of a call that is not as the protocol has it. Content of an unknown type becomes a note.
pub(crate) fn lenient_result(mut value: Value) -> Option<McpResult> {
    let blocks = match value.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return None,
        None if value.get("structuredContent").is_some() => Vec::new(),
        None => return None,
    };
    let content = blocks.into_iter().map(|value| {
        let kind = value["type"].as_str().unwrap_or("unknown").to_owned();
        match serde_json::from_value(value) {
            Ok(known) => block(known),
            Err(_unknown) => note(format_args!("content of type {}", printable::line(&kind, NAME))),
        }
    });
    Some(filled(McpResult {
        content: content.collect(),
        is_error: value["isError"] == true,
        structured: value.get_mut("structuredContent").map(Value::take),
    }))
}

/// Shows structured content if the result has nothing else.
fn filled(mut result: McpResult) -> McpResult {
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured) {
        result.content.push(Content::Text { text: structured.to_string() });
    }
    result
}

/// Returns what a resource holds.
pub(crate) fn resource(result: ReadResourceResult) -> Vec<Content> {
    result
        .contents
        .into_iter()
        .map(|contents| match contents {
            ResourceContents::TextResourceContents { text, .. } => Content::Text { text },
            contents => embedded(contents),
        })
        .collect()
}

/// Returns the text of a message of a prompt.
pub(crate) fn text(content: ContentBlock) -> String {
    match block(content) {
        Content::Text { text } => text,
        Content::Image { mime_type, .. } => format!("[image of type {mime_type}: not shown]"),
    }
}

fn block(block: ContentBlock) -> Content {
    match block {
        ContentBlock::Text(text) => Content::Text { text: text.text },
        ContentBlock::Image(it) => image(it.data, &it.mime_type),
        ContentBlock::Audio(it) => {
            let (kind, bytes) = (printable::line(&it.mime_type, NAME), bytes(&it.data));
            note(format_args!("audio of type {kind}, {bytes} bytes"))
        }
        ContentBlock::ResourceLink(link) => {
            let (uri, name) = (printable::line(&link.uri, NAME), printable::line(&link.name, NAME));
            Content::Text { text: format!("[link to the resource {uri}: {name}]") }
        }
        ContentBlock::Resource(it) => embedded(it.resource),
        _ => note(format_args!("content of an unknown type")),
    }
}

fn embedded(contents: ResourceContents) -> Content {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            Content::Text { text: format!("[resource {}]\n{text}", printable::line(&uri, NAME)) }
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            if IMAGES.contains(&&kind[..]) {
                return image(blob, &kind);
            }
            let (uri, kind) = (printable::line(&uri, NAME), printable::line(&kind, NAME));
            note(format_args!("resource {uri} of type {kind}, {} bytes", bytes(&blob)))
        }
        _ => note(format_args!("resource of an unknown type")),
    }
}

/// Returns an image, or a note if it is not one that models read.
fn image(data: String, mime_type: &str) -> Content {
    let mut data = data;
    data.retain(|letter| !letter.is_ascii_whitespace());
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let is_base64 = !digits.is_empty()
        && data.len() - digits.len() <= 2
        && data.len().is_multiple_of(4)
        && digits.bytes().all(is_digit);
    match is_base64 && IMAGES.contains(&mime_type) {
        true => Content::Image { data, mime_type: mime_type.to_owned() },
        false => note(format_args!("image of type {}", printable::line(mime_type, NAME))),
    }
}

fn note(what: std::fmt::Arguments<'_>) -> Content {
    Content::Text { text: format!("[{what}: not shown]") }
}

/// Returns the number of bytes of a text in base64.
fn bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mapped(value: Value) -> McpResult {
        result(serde_json::from_value(value).unwrap())
    }

    fn texts(result: &McpResult) -> Vec<&str> {
        let shown = result.content.iter().map(|content| match content {
            Content::Text { text } => &text[..],
            Content::Image { mime_type, .. } => mime_type,
        });
        shown.collect()
    }

    #[test]
    fn each_type_of_content_is_a_text_an_image_or_a_note() {
        let result = mapped(json!({"content": [
            {"type": "text", "text": "hello\u{1b}"},
            {"type": "image", "data": "aGVs\nbG8=", "mimeType": "image/png"},
            {"type": "image", "data": "not base64!", "mimeType": "image/png"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/svg+xml"},
            {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a\u{1b}[31m"},
            {"type": "resource", "resource": {"uri": "x:t", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x:b", "blob": "aGVsbG8="}},
            {"type": "resource", "resource": {"uri": "x:i", "blob": "aGVsbG8=", "mimeType": "image/gif"}},
        ], "isError": true}));
        assert_eq!(
            texts(&result),
            [
                "hello\u{1b}",
                "image/png",
                "[image of type image/png: not shown]",
                "[image of type image/svg+xml: not shown]",
                "[audio of type audio/wav, 5 bytes: not shown]",
                "[link to the resource file:///a: a]",
                "[resource x:t]\ninside",
                "[resource x:b of type application/octet-stream, 5 bytes: not shown]",
                "image/gif",
            ]
        );
        assert!(result.is_error);
        let image =
            Content::Image { data: "aGVsbG8=".to_owned(), mime_type: "image/png".to_owned() };
        assert_eq!(result.content[1], image);
    }

    #[test]
    fn structured_content_is_a_text_where_there_is_no_other() {
        let structured = json!({"z": 1, "a": [2]});
        let alone = mapped(json!({"content": [], "structuredContent": structured}));
        assert_eq!(texts(&alone), [r#"{"z":1,"a":[2]}"#]);
        let beside = json!([{"type": "text", "text": "it"}]);
        let both = mapped(json!({"content": beside, "structuredContent": structured}));
        assert_eq!((texts(&both), both.structured.as_ref()), (vec!["it"], Some(&structured)));
    }

    #[test]
    fn content_of_an_unknown_type_is_a_note_and_the_rest_is_kept() {
        let value = json!({"content": [{"type": "video"}, {"type": "text", "text": "it"}, 7]});
        let lenient = lenient_result(value).unwrap();
        let unknown = "[content of type unknown: not shown]";
        assert_eq!(texts(&lenient), ["[content of type video: not shown]", "it", unknown]);
        for none in [json!({}), json!([]), json!(null), json!({"content": "text"})] {
            assert_eq!(lenient_result(none), None);
        }
    }
}
