//! Plans in JSON. The parser tells where a value stands by leaving its text as it is.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::node::{DEPTH, Key, Node, NodeValue, ValueError};

pub(super) fn parse(text: &str) -> Result<Node, ValueError> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| mistake(text, 0, &error))?;
    node(text, raw, DEPTH)
}

/// Returns the tree of a value, which stands in `whole`. The whole text is known to be JSON.
fn node(whole: &str, raw: &RawValue, depth: usize) -> Result<Node, ValueError> {
    let text = raw.get();
    let start = offset(whole, text);
    let span = start..start + text.len();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(ValueError::new(span, "it is too deeply nested"));
    };
    let fault = |error| mistake(text, start, &error);
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let Entries(entries) = serde_json::from_str(text).map_err(fault)?;
            map(whole, entries, depth)?
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(fault)?;
            let items = items.into_iter().map(|item| node(whole, item, depth));
            NodeValue::List(items.collect::<Result<_, _>>()?)
        }
        _ => match serde_json::from_str(text).map_err(fault)? {
            Value::Bool(flag) => NodeValue::Bool(flag),
            Value::Number(number) => NodeValue::Number(number),
            Value::String(text) => NodeValue::Text(text),
            Value::Null | Value::Array(_) | Value::Object(_) => NodeValue::Null,
        },
    };
    Ok(Node { span, value })
}

fn map(
    whole: &str,
    entries: Vec<(String, &RawValue)>,
    depth: usize,
) -> Result<NodeValue, ValueError> {
    let mut known = HashSet::new();
    let mut map = Vec::with_capacity(entries.len());
    for (name, raw) in entries {
        let value = node(whole, raw, depth)?;
        // Only a colon and white space stand between a key and its value.
        let before = &whole[..value.span.start];
        let written = before.rfind('"').and_then(|end| Some(before[..end].rfind('"')?..end + 1));
        let span = written.unwrap_or_else(|| value.span.clone());
        if !known.insert(name.clone()) {
            return Err(ValueError::new(span, format!("duplicate key `{name}`")));
        }
        map.push((Key { span, name }, value));
    }
    Ok(NodeValue::Map(map))
}

/// Returns the position in `whole` of `part`, which is a part of it.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// Converts an error in `text`, which begins at `start`.
fn mistake(text: &str, start: usize, error: &serde_json::Error) -> ValueError {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let line: usize = before.map(str::len).sum();
    let mut at = (line + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let message = error.to_string();
    let place = message.rfind(" at line ").unwrap_or(message.len());
    ValueError::new(start + at..start + at, &message[..place])
}

/// The entries of an object, also those with equal keys.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}
