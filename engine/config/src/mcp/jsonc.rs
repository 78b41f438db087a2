//! JSON as people write it, with comments and commas at the end: a tree whose nodes have their places.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::lines::Lines;
use crate::mistake::Mistake;
use crate::yaml::{DEPTH, Node, Value};

/// Parses one document. An empty text is null.
///
/// # Errors
/// The text is not JSON, or is nested too deeply.
pub(super) fn read(text: &str) -> Result<Node, Mistake> {
    let plain = plain_json(text);
    let lines = Lines::of(&plain);
    if plain.trim().is_empty() {
        return Ok(Node { line: 1, span: 0..0, value: Value::Null });
    }
    let raw: &RawValue = serde_json::from_str(&plain).map_err(|error| {
        let line = u64::try_from(error.line()).unwrap_or(u64::MAX).max(1);
        // The text of the error may quote the file, which may have secrets.
        Mistake::in_line(line, "it is not valid JSON")
    })?;
    Reader { whole: &plain, lines: &lines }.node(raw, DEPTH)
}

/// Returns a text with spaces in the place of each byte of its comments and of commas before a closing bracket.
pub(super) fn plain_json(text: &str) -> String {
    let mut plain = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut at = 0;
    // The position of a comma that no value follows yet.
    let mut comma = None;
    while let Some(byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at = end_of_string(bytes, at);
                continue;
            }
            (b'/', Some(b'/' | b'*')) => {
                let end = end_of_comment(bytes, at);
                for byte in &mut plain[at..end] {
                    *byte = if *byte == b'\n' { b'\n' } else { b' ' };
                }
                at = end;
                continue;
            }
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Whole characters are replaced, so it is UTF-8 still.
    String::from_utf8_lossy(&plain).into_owned()
}

/// Returns the place behind a string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the place behind a comment that begins at `start`.
pub(super) fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 2..];
    let length = match bytes[start + 1] {
        b'/' => rest.iter().position(|byte| *byte == b'\n'),
        _ => rest.windows(2).position(|pair| pair == b"*/").map(|end| end + 2),
    };
    length.map_or(bytes.len(), |length| start + 2 + length)
}

struct Reader<'a> {
    whole: &'a str,
    lines: &'a Lines,
}

impl Reader<'_> {
    /// Returns the tree of a value. The whole text is known to be JSON.
    fn node(&self, raw: &RawValue, depth: usize) -> Result<Node, Mistake> {
        let text = raw.get();
        let start = text.as_ptr().addr().saturating_sub(self.whole.as_ptr().addr());
        let line = self.lines.of_offset(start);
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Mistake::in_line(line, "it is nested too deeply"));
        };
        let fault = |_error| Mistake::in_line(line, "it is not valid JSON");
        let value = match text.as_bytes().first() {
            Some(b'{') => {
                let Entries(entries) = serde_json::from_str(text).map_err(fault)?;
                let members = entries.into_iter().map(|(name, raw)| {
                    let value = self.node(raw, depth)?;
                    Ok((self.key(name, value.span.start), value))
                });
                Value::Map(members.collect::<Result<_, _>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(fault)?;
                let items = items.into_iter().map(|item| self.node(item, depth));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            _ => scalar(serde_json::from_str(text).map_err(fault)?),
        };
        Ok(Node { line, span: start..start + text.len(), value })
    }

    /// Returns the node of a key whose value begins at `value`. Only a colon and white space are between them.
    fn key(&self, name: String, value: usize) -> Node {
        let before = self.whole.as_bytes().get(..value).unwrap_or_default();
        let end = before.iter().rposition(|byte| *byte == b'"').unwrap_or_default();
        let mut start = end;
        while let Some(quote) = before[..start].iter().rposition(|byte| *byte == b'"') {
            let escapes = before[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
            start = quote;
            if escapes % 2 == 0 {
                break;
            }
        }
        Node { line: self.lines.of_offset(start), span: start..end + 1, value: Value::Text(name) }
    }
}

fn scalar(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Bool(flag) => Value::Bool(flag),
        serde_json::Value::Number(number) => {
            number.as_u64().map_or_else(|| Value::Number(number.to_string()), Value::Integer)
        }
        serde_json::Value::String(text) => Value::Text(text),
        _ => Value::Null,
    }
}

/// The entries of an object, in their order.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_commas_are_blank_and_each_node_has_its_place() {
        let text = "{ // ä \"x\"\n  \"a\\\"b\": [1, -2, /* , */ ],\n  /* é\n */ \"c\": { \"d\": \"//\", },\n}";
        let plain = plain_json(text);
        assert_eq!((plain.len(), plain.matches('\n').count()), (text.len(), 4));
        let node = read(text).unwrap();
        let Value::Map(members) = &node.value else { panic!("it is an object") };
        let [(one, list), (other, object)] = members.as_slice() else { panic!("there are two") };
        assert_eq!((&text[one.span.clone()], one.line), ("\"a\\\"b\"", 2));
        assert_eq!((&text[other.span.clone()], other.line), ("\"c\"", 4));
        assert_eq!(&text[object.span.clone()], "{ \"d\": \"//\", }");
        let Value::List(items) = &list.value else { panic!("it is a list") };
        let values: Vec<_> = items.iter().map(|item| item.value.clone()).collect();
        assert_eq!(values, [Value::Integer(1), Value::Number("-2".to_owned())]);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_line_and_quotes_nothing() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        for (text, line) in [
            ("{\n\"a\": canary\n}", 2),
            ("{\"a\": \"canary", 1),
            ("[1,,]", 1),
            ("{} {}", 1),
            (&deep, 1),
            ("/", 1),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}: {mistake}");
            assert!(!mistake.message.contains("canary"), "{mistake}");
        }
        for empty in ["", "  \n", "// only a remark", "/* endless"] {
            assert_eq!(read(empty).unwrap().value, Value::Null, "{empty:?}");
        }
    }
}
