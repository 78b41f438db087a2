//! The fields of messages that hold what a model thought. It is sent back in the field in which it came,
//! unless the server has refused that.

use bytes::Bytes;
use serde_json::Value;

/// The fields. A message that has several has the same thinking in each.
pub(super) const FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// Returns the field of this name.
pub(super) fn thinking_field(name: &str) -> Option<&'static str> {
    FIELDS.into_iter().find(|field| *field == name)
}

/// Returns the body of a request without what the model thought; `None` if it has nothing of that.
pub(crate) fn without_thinking(body: &[u8]) -> Option<Bytes> {
    let mut body: Value = serde_json::from_slice(body).ok()?;
    let mut removed = false;
    for message in body.get_mut("messages")?.as_array_mut()? {
        let Some(message) = message.as_object_mut() else { continue };
        for field in FIELDS {
            removed |= message.shift_remove(field).is_some();
        }
    }
    removed.then(|| Bytes::from(body.to_string()))
}

/// Words of servers that refuse a field that they do not know.
const UNKNOWN_FIELD: [&str; 12] = [
    "reasoning",
    "thinking",
    "extra",
    "additional",
    "propert",
    "unexpected",
    "unknown",
    "unrecognized",
    "unsupported",
    "not supported",
    "not permitted",
    "not allowed",
];

/// Returns whether a request may have been refused because of a field, by the message of its failure. A
/// server that says nothing may have refused anything.
pub(crate) fn may_refuse_field(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    !message.contains(": ") || UNKNOWN_FIELD.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_thinking_is_removed_from_a_request() {
        let message = |field: &str| json!({ "role": "assistant", "content": "a", field: "hm" });
        let body = |messages: Value| json!({ "model": "m", "messages": messages, "reasoning": { "effort": "low" } });
        let asked = json!({ "role": "user", "content": "a" });
        let thought = body(json!([asked, message("reasoning"), message("reasoning_content")]));
        let without = body(json!([asked, message("name"), message("name")]));
        let without = without.to_string().replace(r#","name":"hm""#, "");
        let removed = without_thinking(thought.to_string().as_bytes()).unwrap();
        assert_eq!(String::from_utf8(removed.to_vec()).unwrap(), without);
        assert_eq!(without_thinking(without.as_bytes()), None);
        assert_eq!(without_thinking(b"{}"), None);
    }

    #[test]
    fn a_server_that_refuses_a_field_is_known_by_its_words() {
        for refusal in [
            "acme answers 400 Bad Request",
            "acme answers 400 Bad Request: property 'reasoning_content' is unsupported",
            "acme answers 422 Unprocessable Entity: Extra inputs are not permitted",
            "acme answers 400 Bad Request: Unrecognized request argument supplied",
        ] {
            assert!(may_refuse_field(refusal), "{refusal}");
        }
        assert!(!may_refuse_field("acme answers 400 Bad Request: max_tokens is too large"));
    }
}
