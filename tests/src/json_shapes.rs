//! The shapes of the lines of `--mode json`, to compare them with a recording of another program.

use serde_json::Value;

/// A recording of pi, which answers a prompt with one call of `bash` and a text.
pub const RECORDED: &str = include_str!("json_shapes/pi.jsonl");

/// Keys at any depth of the lines of one type.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    /// The type of the line.
    pub line: &'static str,
    /// The key.
    pub key: &'static str,
}

/// What the recording has and Regatta has not: the id that a provider gives its answer.
pub const ONLY_RECORDED: &[LeftOut] = &[
    LeftOut { line: "message_update", key: "responseId" },
    LeftOut { line: "message_end", key: "responseId" },
    LeftOut { line: "turn_end", key: "responseId" },
    LeftOut { line: "agent_end", key: "responseId" },
];

/// What Regatta has and the recording has not: what a program may know of a call that has ended, and
/// where a cost is from.
pub const ONLY_OWN: &[LeftOut] = &[
    LeftOut { line: "tool_execution_end", key: "details" },
    LeftOut { line: "message_start", key: "details" },
    LeftOut { line: "message_end", key: "details" },
    LeftOut { line: "turn_end", key: "details" },
    LeftOut { line: "agent_end", key: "details" },
    LeftOut { line: "message_start", key: "costSource" },
    LeftOut { line: "message_update", key: "costSource" },
    LeftOut { line: "message_end", key: "costSource" },
    LeftOut { line: "turn_end", key: "costSource" },
    LeftOut { line: "agent_end", key: "costSource" },
];

/// Returns the shapes of lines: their keys at every depth, without values, but for those that say what
/// a line or message is. The content of arguments and the keys `left_out` are not part of it. Of the
/// pieces of a block, and of the updates of a call, the last one stands for all.
#[must_use]
pub fn shapes(lines: &[Value], left_out: &[LeftOut]) -> Vec<Value> {
    let mut merged: Vec<&Value> = Vec::new();
    for line in lines {
        if piece(line).is_some() && merged.last().and_then(|last| piece(last)) == piece(line) {
            merged.pop();
        }
        merged.push(line);
    }
    let shape_of = |line: &Value| {
        let keys = left_out.iter().filter(|it| line["type"] == it.line).map(|it| it.key);
        shape(line, &keys.collect::<Vec<_>>())
    };
    merged.into_iter().map(shape_of).collect()
}

/// Returns what a piece is one of.
fn piece(line: &Value) -> Option<(&Value, &Value)> {
    let event = &line["assistantMessageEvent"];
    let is_piece = line["type"] == "tool_execution_update"
        || event["type"].as_str().is_some_and(|name| name.ends_with("_delta"));
    is_piece.then(|| (&event["type"], &event["contentIndex"]))
}

fn shape(value: &Value, left_out: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
            let mut shapes: Vec<_> = kept
                .map(|(key, value)| {
                    let shape = match key.as_str() {
                        "args" | "arguments" => Value::Null,
                        "type" | "role" | "stopReason" | "contentIndex" => value.clone(),
                        _ => shape(value, left_out),
                    };
                    (key.clone(), shape)
                })
                .collect();
            shapes.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(shapes.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(|item| shape(item, left_out)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}

/// Returns the lines of the recording.
///
/// # Panics
/// Never: each of them is JSON.
#[must_use]
pub fn recorded() -> Vec<Value> {
    RECORDED.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}
