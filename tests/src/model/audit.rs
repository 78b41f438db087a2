//! Holds each request of a conversation against the one before: what was said stays said, byte for
//! byte, and what the model answered is in it as the model had sent it.

use serde_json::Value;

use super::asked::text;
use super::{Answer, Asked, Call, Said, Wire};

/// Returns what is wrong with `asked`, which follows on `before`, which was given `answer`.
pub(super) fn faults(before: &Asked, answer: &Answer, asked: &Asked) -> Vec<String> {
    let mut faults = Vec::new();
    let model = asked.model();
    if model != before.model() {
        faults.push(format!("the model was {} and is {model}", before.model()));
    }
    if asked.summary().is_some() && asked.summary() != before.summary() {
        faults.extend(after_compaction(before, asked));
        return faults;
    }
    for (at, message) in before.raw.iter().enumerate() {
        match asked.raw.get(at) {
            Some(now) if now == message => {}
            Some(now) => faults.push(format!("message {at} was {message} and is {now}")),
            None => faults.push(format!("message {at} is gone: {message}")),
        }
    }
    let since = asked.messages().get(before.raw.len()..).unwrap_or_default();
    let ids = if asked.wire == Wire::Gemini { Ids::Ordered } else { Ids::Given };
    match (answer.said(), since) {
        // What was not said whole may be asked for again, or count as far as it came.
        (None, _) => {}
        (Some(said), [first, ..]) if !said.is_empty() => compare(first, said, ids, &mut faults),
        // Nothing said is nothing to send back: no provider takes an empty answer.
        (Some(said), [first, ..]) if said.is_empty() && first["role"] == "user" => {}
        (Some(said), since) => faults.push(format!("after {said:?} comes {since:?}")),
    }
    faults
}

/// Holds a request that begins with a new summary against the one before: what it keeps is what was
/// said last, byte for byte, and less than before.
fn after_compaction(before: &Asked, asked: &Asked) -> Option<String> {
    // The system prompt and the summary come first. The user's next message may stand beside it.
    let kept = asked.raw.iter().skip(2).filter(|message| before.raw.contains(message)).count();
    let fewer = asked.raw.len() < before.raw.len() + 2;
    (kept == 0 || !fewer).then(|| format!("of {} messages {kept} are kept", before.raw.len()))
}

/// How calls are known again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// By the ids that they were given.
    Given,
    /// By their order.
    Ordered,
}

fn compare(message: &Value, said: &Said, ids: Ids, faults: &mut Vec<String>) {
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let fits = calls.len() == said.calls.len();
    let same = calls.iter().zip(&said.calls).all(|(call, said)| is(call, said, ids));
    if message["role"] != "assistant" || text(message) != said.text || !fits || !same {
        faults.push(format!("the answer was {said:?} and became {message}"));
    }
}

/// Returns whether `call` is what was said, made acceptable where it was not.
fn is(call: &Value, said: &Call, ids: Ids) -> bool {
    let function = &call["function"];
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let sane = !said.name.is_empty() && said.name.len() <= 64 && said.name.chars().all(allowed);
    let name = !sane || function["name"] == said.name.as_str();
    let sent = serde_json::from_str::<Value>(&said.arguments).ok().filter(Value::is_object);
    let sent = sent.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let arguments = function["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
    // An identity that was there twice had to become another.
    let same = |id: &str| id.starts_with("twice") || call["id"] == id;
    let id = ids == Ids::Ordered || said.id.as_deref().is_none_or(same);
    name && id && arguments == Some(sent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(messages: &Value) -> Asked {
        let body = json!({ "model": "m", "messages": messages });
        Asked::read(body.to_string().as_bytes(), None).unwrap()
    }

    fn call() -> Answer {
        Answer::calls(vec![Call::new("read", &json!({ "path": "a" })).with_id("c")])
    }

    fn sent(arguments: &str) -> Value {
        let function = json!({ "name": "read", "arguments": arguments });
        json!([{ "id": "c", "type": "function", "function": function }])
    }

    #[test]
    fn a_conversation_that_goes_on_is_accepted() {
        let begin = json!({ "role": "user", "content": "a" });
        let before = asked(&json!([begin]));
        let answer = json!({ "role": "assistant", "tool_calls": sent("{ \"path\": \"a\" }") });
        let after = asked(&json!([begin, answer, { "role": "tool", "content": "x" }]));
        assert_eq!(faults(&before, &call(), &after), Vec::<String>::new());
        assert_eq!(faults(&before, &Answer::Silence, &before), Vec::<String>::new());
        let reminded = asked(&json!([begin, { "role": "user", "content": "yield" }]));
        assert_eq!(faults(&before, &Answer::nothing(), &reminded), Vec::<String>::new());
    }

    #[test]
    fn what_is_forgotten_changed_or_asked_twice_is_a_fault() {
        let begin = json!({ "role": "user", "content": "a" });
        let before = asked(&json!([begin]));
        let changed = json!({ "role": "assistant", "tool_calls": sent("{\"path\":\"b\"}") });
        let otherwise = json!({ "role": "user", "content": "b" });
        let answer = json!({ "role": "assistant", "tool_calls": sent("{\"path\":\"a\"}") });
        for messages in [
            json!([]),
            json!([begin]),
            json!([otherwise, answer]),
            json!([begin, changed]),
            json!([begin, { "role": "assistant", "content": "x" }]),
            json!([begin, { "role": "user", "content": "go on" }]),
        ] {
            assert_eq!(faults(&before, &call(), &asked(&messages)).len().min(1), 1, "{messages}");
        }
    }
}
