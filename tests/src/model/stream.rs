//! An answer as bytes on the wire: server-sent events, cut where it hurts most.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Call, Cut, Said};

/// How many bytes the pieces of a stream have, one after the other: most cut a line, an event or a
/// character in two.
const PIECES: &[usize] = &[1, 7, 3, 64, 2, 11, 200, 5, 1, 31];

/// Returns the events of an answer, as they stand in the body.
pub(super) fn events(said: &Said, model: &str) -> String {
    let mut body = String::from(": a comment first\n\n");
    let mut chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        event(&mut body, model, &json!([choice]), &Value::Null);
    };
    chunk(&json!({ "role": "assistant", "content": "" }), None);
    for piece in pieces(&said.thinking, 9) {
        chunk(&json!({ "reasoning_content": piece }), None);
    }
    for piece in pieces(&said.text, 5) {
        chunk(&json!({ "content": piece }), None);
    }
    for (index, call) in said.calls.iter().enumerate() {
        calls(index, call, |delta| chunk(delta, None));
    }
    let finish = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    chunk(&json!({}), Some(finish));
    let tokens = said.tokens;
    let usage = json!({
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
        "prompt_tokens_details": { "cached_tokens": tokens.cached },
    });
    event(&mut body, model, &json!([]), &usage);
    body.push_str("data: [DONE]\n\n");
    body
}

fn event(body: &mut String, model: &str, choices: &Value, usage: &Value) {
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_767_323_045,
        "model": model, "choices": choices, "usage": usage,
    });
    body.push_str(&format!("data: {chunk}\n\n"));
}

/// A call comes with its name first and its arguments piece by piece.
fn calls(index: usize, call: &Call, mut chunk: impl FnMut(&Value)) {
    let id = call.id.as_deref().unwrap_or_default();
    let function = json!({ "name": call.name, "arguments": "" });
    let first = json!({ "index": index, "id": id, "type": "function", "function": function });
    chunk(&json!({ "tool_calls": [first] }));
    for piece in pieces(&call.arguments, 8) {
        let more = json!({ "index": index, "function": { "arguments": piece } });
        chunk(&json!({ "tool_calls": [more] }));
    }
}

/// Cuts a text into pieces of so many characters, that grow: a long text has few pieces all the same.
pub(super) fn pieces(text: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let length = length.max(letters.len() / 50);
    letters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

/// Returns what is left of a body that is cut; `end` is what the event has that tells why it ends.
pub(super) fn cut<'body>(body: &'body str, cut: Cut, end: &str) -> &'body [u8] {
    let bytes = body.as_bytes();
    let end = match cut {
        Cut::AtOnce => 0,
        Cut::InCharacter => {
            let first = bytes.iter().position(|byte| *byte >= 0x80);
            first.expect("an answer that is cut in a character has one of several bytes") + 1
        }
        Cut::Reset => bytes.len() / 2,
        Cut::BeforeFinish => {
            let finish = body.find(end).expect("each answer has an end");
            let before = &body[..finish];
            let event = before.rfind("\n\n").max(before.rfind("\n\r\n").map(|at| at + 1));
            event.expect("the end is told in an event") + 2
        }
    };
    &bytes[..end]
}

/// Cuts a body into the pieces that are sent one by one.
pub(super) fn frames(body: &[u8]) -> Vec<Bytes> {
    let least = body.len() / 1000;
    let mut rest = Bytes::copy_from_slice(body);
    let mut frames = Vec::new();
    let mut sizes = PIECES.iter().cycle();
    while !rest.is_empty() {
        // A long body is not worth more than a thousand pieces.
        let size = *sizes.next().expect("it goes round").max(&least);
        frames.push(rest.split_to(size.min(rest.len())));
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = r#""finish_reason":""#;

    fn said() -> Said {
        let calls = vec![Call::new("read", &json!({ "path": "größe" })).with_id("c1")];
        Said { text: "Straße".to_owned(), calls, ..Said::default() }
    }

    #[test]
    fn the_events_say_what_was_to_be_said() {
        let body = events(&said(), "m");
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let chunks: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
        let joined = |pointer: &str| {
            let texts = chunks.iter().filter_map(|chunk| chunk.pointer(pointer)?.as_str());
            texts.collect::<String>()
        };
        assert_eq!(joined("/choices/0/delta/content"), "Straße");
        let arguments = joined("/choices/0/delta/tool_calls/0/function/arguments");
        assert_eq!(arguments, r#"{"path":"größe"}"#);
        assert_eq!(joined("/choices/0/finish_reason"), "tool_calls");
        assert!(body.ends_with("data: [DONE]\n\n"));
    }

    #[test]
    fn the_pieces_are_the_body_and_some_cut_a_character() {
        let body = events(&said(), "m");
        let frames = frames(body.as_bytes());
        assert_eq!(frames.concat(), body.as_bytes());
        assert!(frames.len() > 50, "{}", frames.len());
        assert!(std::str::from_utf8(cut(&body, Cut::InCharacter, END)).is_err());
        let early = String::from_utf8(cut(&body, Cut::BeforeFinish, END).to_vec()).unwrap();
        assert!(early.ends_with("\n\n") && !early.contains("tool_calls\"}"), "{early}");
    }
}
